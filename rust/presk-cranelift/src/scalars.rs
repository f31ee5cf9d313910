//! Reals, integers and truth values: one value each.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{ConstantData, InstBuilder, MemFlagsData, Value, types as clif};
use presk_kernel::ir::{Arithmetic, Bool, Comparison, Constant, Int, IntBinary, Real, RealBinary, RealUnary};

use crate::extremes::{self, Extreme};
use crate::generator::{Generator, Position};
use crate::types;

impl<'k> Generator<'_, 'k> {
    pub(crate) fn real(&mut self, real: &'k Real) -> Value {
        self.nodes += 1;
        match real {
            Real::Constant(constant) => self.constant_real(*constant),
            Real::Variable(number) => self.get('s', *number),
            Real::Load(access) => self.load_real(access),
            Real::Unary(operator, operand) => {
                let operand = self.real(operand);
                self.unary(*operator, operand)
            }
            Real::Call(function, operand) => {
                let operand = self.real(operand);
                self.call(*function, operand)
            }
            Real::Binary(operator, left, right) => self.binary_real(*operator, left, right),
            Real::Fma(operands) => {
                let [a, b, c] = &**operands;
                let (a, b, c) = (self.real(a), self.real(b), self.real(c));
                self.builder.ins().fma(a, b, c)
            }
            Real::Select(condition, a, b) => {
                let condition = self.bool(condition);
                let (a, b) = (self.real(a), self.real(b));
                self.select_real(condition, a, b)
            }
            Real::Round(float, operand) => {
                let operand = self.real(operand);
                self.rounded(operand, *float)
            }
            Real::FromInt(float, operand) => {
                let operand = self.int(operand);
                self.converted(operand, *float)
            }
        }
    }

    fn binary_real(&mut self, operator: RealBinary, left: &'k Real, right: &'k Real) -> Value {
        let known = extremes::of(operator, constant_of(left), constant_of(right));
        if let Some(factor) = self.factor_for(operator, constant_of(right)) {
            let (left, factor) = (self.real(left), self.constant_real(factor));
            return self.builder.ins().fmul(left, factor);
        }
        let (left, right) = (self.real(left), self.real(right));
        match (operator, known) {
            (RealBinary::Pow, _) => self.call_pow(left, right),
            (RealBinary::Max | RealBinary::Min, Some(known)) if self.facts.is_x86 => self.extreme(known, left, right),
            _ => self.binary(operator, left, right),
        }
    }

    /// What multiplies as exactly as a constant divides: the inverse of a power of two.
    pub(crate) fn factor_for(&self, operator: RealBinary, divisor: Option<f64>) -> Option<Constant> {
        let divisor = divisor.filter(|_| operator == RealBinary::Div)?;
        let most = if self.kernel.arithmetic == Arithmetic::F32 { 126 } else { 1022 };
        let (size, fraction) = (divisor.abs(), divisor.to_bits() << 12);
        let is_power = fraction == 0 && size >= 2f64.powi(-most) && size <= 2f64.powi(most);
        is_power.then(|| Constant::new(1.0 / divisor))
    }

    /// A maximum or minimum with a constant, without the tests a NaN and zeros of both signs would need.
    pub(crate) fn extreme(&mut self, known: Extreme, left: Value, right: Value) -> Value {
        let (constant, other) = if known.is_left { (left, right) } else { (right, left) };
        let (low, high) = if known.is_maximum { (other, constant) } else { (constant, other) };
        let takes_constant = self.builder.ins().fcmp(FloatCC::LessThan, low, high);
        let of = self.builder.func.dfg.value_type(other);
        let chosen = if of.is_vector() {
            let mask = self.builder.ins().bitcast(of, types::cast(), takes_constant);
            self.builder.ins().bitselect(mask, constant, other)
        } else {
            self.builder.ins().select(takes_constant, constant, other)
        };
        if known.clears_sign { self.builder.ins().fadd(chosen, constant) } else { chosen }
    }

    /// An operation of one real, or of each lane.
    pub(crate) fn unary(&mut self, operator: RealUnary, operand: Value) -> Value {
        match operator {
            RealUnary::Neg => self.builder.ins().fneg(operand),
            RealUnary::Abs => self.builder.ins().fabs(operand),
            RealUnary::Floor => self.builder.ins().floor(operand),
            RealUnary::Sqrt => self.builder.ins().sqrt(operand),
        }
    }

    /// An operation of two reals, or of each pair of lanes. Cranelift's fmax and fmin are IEEE 754-2019's maximum and
    /// minimum.
    pub(crate) fn binary(&mut self, operator: RealBinary, left: Value, right: Value) -> Value {
        match operator {
            RealBinary::Add => self.builder.ins().fadd(left, right),
            RealBinary::Sub => self.builder.ins().fsub(left, right),
            RealBinary::Mul => self.builder.ins().fmul(left, right),
            RealBinary::Div => self.builder.ins().fdiv(left, right),
            RealBinary::Max => self.builder.ins().fmax(left, right),
            RealBinary::Min => self.builder.ins().fmin(left, right),
            RealBinary::Pow => self.call_pow(left, right),
        }
    }

    /// A constant. On x86-64 one that isn't 0 is lane 0 of a vector constant, which leaves a loop where a scalar one would
    /// be made again in each round.
    pub(crate) fn constant_real(&mut self, constant: Constant) -> Value {
        let value = constant.value();
        if !self.facts.is_x86 || value.to_bits() == 0 {
            return match self.kernel.arithmetic {
                Arithmetic::F32 => self.builder.ins().f32const(narrow(value)),
                Arithmetic::F64 => self.builder.ins().f64const(value),
            };
        }
        let vector = self.constant_vector(constant);
        self.builder.ins().extractlane(vector, 0)
    }

    pub(crate) fn constant_vector(&mut self, constant: Constant) -> Value {
        let value = constant.value();
        let bytes = match self.kernel.arithmetic {
            Arithmetic::F32 => narrow(value).to_le_bytes().repeat(4),
            Arithmetic::F64 => value.to_le_bytes().repeat(2),
        };
        let data = self.builder.func.dfg.constants.insert(ConstantData::from(bytes));
        self.builder.ins().vconst(types::vector(self.kernel.arithmetic), data)
    }

    /// On x86-64 a choice between reals is a branch, one between integers isn't.
    fn select_real(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if !self.facts.is_x86 {
            return self.builder.ins().select(condition, a, b);
        }
        let (real, bits) = (types::real(self.kernel.arithmetic), types::bits(self.kernel.arithmetic));
        let a = self.builder.ins().bitcast(bits, MemFlagsData::new(), a);
        let b = self.builder.ins().bitcast(bits, MemFlagsData::new(), b);
        let chosen = self.builder.ins().select(condition, a, b);
        self.builder.ins().bitcast(real, MemFlagsData::new(), chosen)
    }

    pub(crate) fn int(&mut self, int: &'k Int) -> Value {
        self.nodes += 1;
        match int {
            Int::Constant(value) => self.whole(*value),
            Int::Counter(number) => self.counter(*number),
            Int::Variable(number) => self.get('n', *number),
            Int::Load(access) => self.load_int(access),
            Int::Neg(operand) => {
                let operand = self.int(operand);
                self.builder.ins().ineg(operand)
            }
            Int::Abs(operand) => {
                let operand = self.int(operand);
                self.builder.ins().iabs(operand)
            }
            Int::Binary(operator, left, right) => {
                let (left, right) = (self.int(left), self.int(right));
                self.binary_int(*operator, left, right)
            }
            Int::Divide(division, operand, divisor) => self.divide(*division, operand, *divisor),
            Int::Select(condition, a, b) => {
                let condition = self.bool(condition);
                let (a, b) = (self.int(a), self.int(b));
                self.builder.ins().select(condition, a, b)
            }
        }
    }

    fn counter(&mut self, number: u32) -> Value {
        let counter =
            self.nest.iter().find(|counter| counter.number == number).expect("the verifier has seen its loop");
        match counter.position {
            Position::Fixed(value) => self.whole(value),
            Position::Running(value, 0) => value,
            Position::Running(value, ahead) => self.builder.ins().iadd_imm_s(value, ahead),
        }
    }

    fn binary_int(&mut self, operator: IntBinary, left: Value, right: Value) -> Value {
        match operator {
            IntBinary::Add => self.builder.ins().iadd(left, right),
            IntBinary::Sub => self.builder.ins().isub(left, right),
            IntBinary::Mul => self.builder.ins().imul(left, right),
            IntBinary::Max | IntBinary::Min => {
                let order = if operator == IntBinary::Max { IntCC::SignedGreaterThan } else { IntCC::SignedLessThan };
                let takes_left = self.builder.ins().icmp(order, left, right);
                self.builder.ins().select(takes_left, left, right)
            }
        }
    }

    /// A truth value: 0 or 1 in eight bits.
    pub(crate) fn bool(&mut self, bool: &'k Bool) -> Value {
        self.nodes += 1;
        match bool {
            Bool::Constant(value) => self.builder.ins().iconst(clif::I8, i64::from(*value)),
            Bool::Variable(number) => self.get('b', *number),
            Bool::Load(access) => self.load_bool(access),
            Bool::CompareReal(comparison, left, right) => {
                let (left, right) = (self.real(left), self.real(right));
                self.builder.ins().fcmp(float_condition(*comparison), left, right)
            }
            Bool::CompareInt(comparison, left, right) => {
                let (left, right) = (self.int(left), self.int(right));
                self.builder.ins().icmp(int_condition(*comparison), left, right)
            }
            Bool::Not(operand) => {
                let operand = self.bool(operand);
                self.builder.ins().bxor_imm_u(operand, 1)
            }
            Bool::And(left, right) => {
                let (left, right) = (self.bool(left), self.bool(right));
                self.builder.ins().band(left, right)
            }
            Bool::Or(left, right) => {
                let (left, right) = (self.bool(left), self.bool(right));
                self.builder.ins().bor(left, right)
            }
        }
    }
}

pub(crate) fn constant_of(real: &Real) -> Option<f64> {
    match real {
        Real::Constant(constant) => Some(constant.value()),
        _ => None,
    }
}

/// A constant of an f32 kernel, which is exactly an f32.
#[allow(clippy::cast_possible_truncation, reason = "the constant is an f32 already")]
fn narrow(value: f64) -> f32 {
    value as f32
}

pub(crate) fn float_condition(comparison: Comparison) -> FloatCC {
    match comparison {
        Comparison::Lt => FloatCC::LessThan,
        Comparison::Le => FloatCC::LessThanOrEqual,
        Comparison::Eq => FloatCC::Equal,
        Comparison::Ne => FloatCC::NotEqual,
        Comparison::Ge => FloatCC::GreaterThanOrEqual,
        Comparison::Gt => FloatCC::GreaterThan,
    }
}

pub(crate) fn int_condition(comparison: Comparison) -> IntCC {
    match comparison {
        Comparison::Lt => IntCC::SignedLessThan,
        Comparison::Le => IntCC::SignedLessThanOrEqual,
        Comparison::Eq => IntCC::Equal,
        Comparison::Ne => IntCC::NotEqual,
        Comparison::Ge => IntCC::SignedGreaterThanOrEqual,
        Comparison::Gt => IntCC::SignedGreaterThan,
    }
}
