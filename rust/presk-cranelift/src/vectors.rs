//! Vectors: each lane the scalar operation.

use cranelift_codegen::ir::{InstBuilder, Value};
use presk_kernel::ir::{Real, Vector};

use crate::extremes;
use crate::generator::Generator;
use crate::scalars::constant_of;
use crate::types;

impl<'k> Generator<'_, 'k> {
    pub(crate) fn vector(&mut self, vector: &'k Vector) -> Value {
        self.nodes += 1;
        match vector {
            Vector::Variable(number) => self.get('v', *number),
            Vector::Splat(real) => self.splat(real),
            Vector::Load(access) => self.load_vector(access),
            Vector::Unary(operator, operand) => {
                let operand = self.vector(operand);
                self.unary(*operator, operand)
            }
            Vector::Binary(operator, left, right) => {
                let known = extremes::of(*operator, splat_constant(left), splat_constant(right));
                if let Some(factor) = self.factor_for(*operator, splat_constant(right)) {
                    let (left, factor) = (self.vector(left), self.constant_vector(factor));
                    return self.builder.ins().fmul(left, factor);
                }
                let (left, right) = (self.vector(left), self.vector(right));
                match known {
                    Some(known) if self.facts.is_x86 => self.extreme(known, left, right),
                    _ => self.binary(*operator, left, right),
                }
            }
            Vector::Fma(operands) => {
                let [a, b, c] = &**operands;
                let (a, b, c) = (self.vector(a), self.vector(b), self.vector(c));
                self.builder.ins().fma(a, b, c)
            }
            Vector::Select(mask, a, b) => {
                let mask = self.mask(mask);
                let (a, b) = (self.vector(a), self.vector(b));
                self.chosen(mask, a, b)
            }
            Vector::FromInt(float, operand) => self.converted_lanes(operand, *float),
            Vector::Round(float, operand) => {
                let operand = self.vector(operand);
                self.rounded_lanes(operand, *float)
            }
        }
    }

    fn splat(&mut self, real: &'k Real) -> Value {
        if let Some(value) = self.loaded_ahead(real) {
            return value;
        }
        if let Real::Constant(constant) = real {
            return self.constant_vector(*constant);
        }
        let real = self.real(real);
        self.builder.ins().splat(types::vector(self.kernel.arithmetic), real)
    }
}

fn splat_constant(vector: &Vector) -> Option<f64> {
    match vector {
        Vector::Splat(real) => constant_of(real),
        _ => None,
    }
}
