//! The text of values of several lanes.

use super::{Printer, is_determined, unary_name};
use crate::ir::{Arithmetic, Mask, RealBinary, RealUnary, Vector, Wholes};

impl Printer<'_> {
    /// `pointed` keeps literals that would read as integers reals.
    pub(super) fn vector(&mut self, value: &Vector, pointed: bool) {
        match value {
            Vector::Variable(number) => return self.put(format_args!("v{number}")),
            Vector::Splat(operand) => return self.call("splat", |each| each.real(operand, pointed)),
            Vector::Load(access) => self.access(access),
            Vector::Unary(RealUnary::Neg, operand) => {
                self.text.push_str("(-");
                self.vector(operand, pointed);
                self.text.push(')');
            }
            Vector::Unary(operator, operand) => self.call(unary_name(*operator), |each| each.vector(operand, pointed)),
            Vector::Binary(operator, left, right) => {
                self.binary(*operator, |each| each.vector(left, pointed), |each| each.vector(right, pointed));
            }
            Vector::Fma(operands) => {
                self.call("fma", |each| each.listed(&operands[..], |each, x| each.vector(x, false)))
            }
            Vector::Round(float, operand) => {
                let pointed = !are_determined(operand, self.kernel.arithmetic);
                self.call(float.name(), |each| each.vector(operand, pointed));
            }
            Vector::FromInt(float, operand) => self.call(float.name(), |each| each.wholes(operand)),
            Vector::Select(mask, a, b) => self.call("select", |each| {
                each.mask(mask);
                each.text.push_str(", ");
                each.vector(a, pointed);
                each.text.push_str(", ");
                each.vector(b, pointed);
            }),
        }
        self.text.push_str("<v>");
    }

    pub(super) fn mask(&mut self, value: &Mask) {
        match value {
            Mask::Variable(number) => return self.put(format_args!("m{number}")),
            Mask::Splat(operand) => return self.call("splat", |each| each.bool(operand)),
            Mask::Load(access) => self.access(access),
            Mask::CompareReal(comparison, left, right) => {
                let arithmetic = self.kernel.arithmetic;
                let pointed = !are_determined(left, arithmetic) && !are_determined(right, arithmetic);
                self.text.push('(');
                self.vector(left, pointed);
                self.put(format_args!(" {} ", comparison.symbol()));
                self.vector(right, pointed);
                self.text.push(')');
            }
            Mask::CompareInt(comparison, left, right) => {
                self.text.push('(');
                self.wholes(left);
                self.put(format_args!(" {} ", comparison.symbol()));
                self.wholes(right);
                self.text.push(')');
            }
            Mask::Not(operand) => {
                self.text.push_str("(not ");
                self.mask(operand);
                self.text.push(')');
            }
            Mask::And(left, right) | Mask::Or(left, right) => {
                self.text.push('(');
                self.mask(left);
                self.text.push_str(if matches!(value, Mask::And(..)) { " and " } else { " or " });
                self.mask(right);
                self.text.push(')');
            }
        }
        self.text.push_str("<v>");
    }

    fn wholes(&mut self, value: &Wholes) {
        match value {
            Wholes::Splat(operand) => self.call("splat", |each| each.int(operand)),
            Wholes::Ramp(first, step) => self.call("ramp", |each| {
                each.int(first);
                each.put(format_args!(", {step}"));
            }),
            Wholes::Load(access) => {
                self.access(access);
                self.text.push_str("<v>");
            }
        }
    }
}

/// Whether the text of a vector reads as one of reals where nothing says what is wanted: the reader's rule.
fn are_determined(value: &Vector, arithmetic: Arithmetic) -> bool {
    let of = |value: &Vector| are_determined(value, arithmetic);
    match value {
        Vector::Splat(operand) => is_determined(operand, arithmetic),
        Vector::Unary(RealUnary::Neg | RealUnary::Abs, operand) => of(operand),
        Vector::Binary(
            RealBinary::Add | RealBinary::Sub | RealBinary::Mul | RealBinary::Max | RealBinary::Min,
            left,
            right,
        ) => of(left) || of(right),
        Vector::Select(_, a, b) => of(a) || of(b),
        _ => true,
    }
}
