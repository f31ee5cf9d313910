//! Typed expressions of several lanes, one method a kind of value.

use super::values::{arity, binary_name, comparison, real_operator, unary_name};
use super::{Kind, Typed, Typer, check_number, type_error};
use crate::ir::{Arithmetic, Comparison, Float, Int, Mask, RealBinary, RealUnary, Vector, Wholes};
use crate::raw::{Raw, RawKind, VariableKind};

impl Typer<'_> {
    /// An expression where a vector is wanted.
    pub fn vector(self, raw: &Raw) -> Typed<Vector> {
        match &raw.kind {
            RawKind::Variable(VariableKind::Vector, number) => {
                check_number(*number, raw.place)?;
                Ok(Vector::Variable(*number))
            }
            RawKind::Splat(operand) => Ok(Vector::Splat(Box::new(self.real(operand)?))),
            RawKind::Load { access, vector: true } => Ok(Vector::Load(self.load(access, Kind::Vector, raw)?)),
            RawKind::Negate { operand, vector: true } => {
                Ok(Vector::Unary(RealUnary::Neg, Box::new(self.vector(operand)?)))
            }
            RawKind::Binary { operator, operands, vector: true } => {
                let Some(operator) = real_operator(operator) else { return self.mismatch(Kind::Vector, raw) };
                let [left, right] = &**operands;
                Ok(Vector::Binary(operator, Box::new(self.vector(left)?), Box::new(self.vector(right)?)))
            }
            RawKind::Call { function, arguments, vector: true } => self.vector_call(function, arguments, raw),
            _ => self.mismatch(Kind::Vector, raw),
        }
    }

    fn vector_call(self, function: &str, arguments: &[Raw], raw: &Raw) -> Typed<Vector> {
        if let Some(operator) = unary_name(function) {
            let [operand] = arity(function, arguments, raw)?;
            return Ok(Vector::Unary(operator, Box::new(self.vector(operand)?)));
        }
        match (function, binary_name(function)) {
            ("fma", _) => {
                let [a, b, c] = arity(function, arguments, raw)?;
                Ok(Vector::Fma(Box::new([self.vector(a)?, self.vector(b)?, self.vector(c)?])))
            }
            ("select", _) => {
                let [mask, a, b] = arity(function, arguments, raw)?;
                let mask = Box::new(self.mask(mask)?);
                Ok(Vector::Select(mask, Box::new(self.vector(a)?), Box::new(self.vector(b)?)))
            }
            ("bf16" | "f32" | "f64", _) => {
                let [operand] = arity(function, arguments, raw)?;
                let floats = [Float::Bf16, Float::F32, Float::F64];
                let float = floats.into_iter().find(|each| each.name() == function).expect("one of these");
                self.lanes_of(float, operand, raw)
            }
            (_, Some(operator @ (RealBinary::Max | RealBinary::Min))) => {
                let [left, right] = arity(function, arguments, raw)?;
                Ok(Vector::Binary(operator, Box::new(self.vector(left)?), Box::new(self.vector(right)?)))
            }
            _ => type_error(format!("`{function}` has no vector form"), raw.place),
        }
    }

    fn lanes_of(self, float: Float, operand: &Raw, raw: &Raw) -> Typed<Vector> {
        if float == Float::F64 && self.kernel.arithmetic == Arithmetic::F32 {
            return type_error("reals of an f32 kernel are f32: f64(x) has no meaning here", raw.place);
        }
        match self.kind(operand) {
            None | Some(Kind::Wholes) => Ok(Vector::FromInt(float, Box::new(self.wholes(operand)?))),
            _ if float == Float::F64 => type_error("reals are f64 here: `f64` of a vector has no form", raw.place),
            _ => Ok(Vector::Round(float, Box::new(self.vector(operand)?))),
        }
    }

    /// An expression where a truth value a lane is wanted.
    pub fn mask(self, raw: &Raw) -> Typed<Mask> {
        match &raw.kind {
            RawKind::Variable(VariableKind::Mask, number) => {
                check_number(*number, raw.place)?;
                Ok(Mask::Variable(*number))
            }
            RawKind::Splat(operand) => Ok(Mask::Splat(Box::new(self.bool(operand)?))),
            RawKind::Load { access, vector: true } => Ok(Mask::Load(self.load(access, Kind::Mask, raw)?)),
            RawKind::Not { operand, vector: true } => Ok(Mask::Not(Box::new(self.mask(operand)?))),
            RawKind::Binary { operator: operator @ ("and" | "or"), operands, vector: true } => {
                let (left, right) = (Box::new(self.mask(&operands[0])?), Box::new(self.mask(&operands[1])?));
                Ok(if *operator == "and" { Mask::And(left, right) } else { Mask::Or(left, right) })
            }
            RawKind::Binary { operator, operands, vector: true } => match comparison(operator) {
                Some(comparison) => self.compare_lanes(comparison, operands),
                None => self.mismatch(Kind::Mask, raw),
            },
            _ => self.mismatch(Kind::Mask, raw),
        }
    }

    fn compare_lanes(self, comparison: Comparison, operands: &[Raw; 2]) -> Typed<Mask> {
        let [left, right] = operands;
        match self.kind(left).or_else(|| self.kind(right)) {
            None | Some(Kind::Wholes) => {
                Ok(Mask::CompareInt(comparison, Box::new(self.wholes(left)?), Box::new(self.wholes(right)?)))
            }
            Some(Kind::Vector) => {
                Ok(Mask::CompareReal(comparison, Box::new(self.vector(left)?), Box::new(self.vector(right)?)))
            }
            Some(found) => {
                type_error(format!("vectors of reals and of integers are compared, not {}", found.name()), left.place)
            }
        }
    }

    /// An expression where an integer a lane is wanted.
    fn wholes(self, raw: &Raw) -> Typed<Wholes> {
        match &raw.kind {
            RawKind::Splat(operand) => Ok(Wholes::Splat(Box::new(self.int(operand)?))),
            RawKind::Ramp(operands) => {
                let [first, step] = &**operands;
                let first = self.int(first)?;
                let Int::Constant(step) = self.int(step)? else {
                    return type_error("the step of a ramp is a literal", step.place);
                };
                Ok(Wholes::Ramp(Box::new(first), step))
            }
            RawKind::Load { access, vector: true } => Ok(Wholes::Load(self.load(access, Kind::Wholes, raw)?)),
            _ => self.mismatch(Kind::Wholes, raw),
        }
    }
}
