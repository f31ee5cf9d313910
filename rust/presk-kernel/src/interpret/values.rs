//! The compiler of values: one method a kind, each returning the register that holds the value.

use super::code::{Compiler, IntOp, Op, RealOp, Register};
use crate::error::Error;
use crate::ir::{Bool, Division, Element, Int, IntBinary, Real, RealBinary, RealUnary};

type Compiled<T> = Result<T, Error>;

impl Compiler<'_> {
    /// A real, in the register it already has or in a new one.
    pub fn real(&mut self, value: &Real, ops: &mut Vec<Op>) -> Compiled<Register> {
        match value {
            Real::Constant(constant) => Ok(self.real_constant(*constant)),
            Real::Variable(number) => Ok(self.variable('s', *number)),
            _ => {
                let to = self.new_real();
                self.real_into(value, to, ops)?;
                Ok(to)
            }
        }
    }

    /// A real, in that register. It is set by the last operation alone, so the value may read it.
    pub fn real_into(&mut self, value: &Real, to: Register, ops: &mut Vec<Op>) -> Compiled<()> {
        let op = match value {
            Real::Constant(_) | Real::Variable(_) => Op::Copy { to, from: self.real(value, ops)? },
            Real::Load(access) => return self.load(access, &[to], ops),
            Real::Unary(operator, operand) => unary(*operator, to, self.real(operand, ops)?),
            Real::Call(function, operand) => Op::Call { to, from: self.real(operand, ops)?, function: *function },
            Real::Binary(RealBinary::Add, addend, product)
                if matches!(**product, Real::Binary(RealBinary::Mul, ..)) =>
            {
                let Real::Binary(_, left, right) = &**product else { unreachable!("it is a product") };
                let (addend, left) = (self.real(addend, ops)?, self.real(left, ops)?);
                Op::MulAdd { to, addend, left, right: self.real(right, ops)? }
            }
            Real::Binary(operator, left, right) => {
                let (left, right) = (self.real(left, ops)?, self.real(right, ops)?);
                binary(*operator, to, left, right)
            }
            Real::Fma(operands) => {
                let [a, b, c] = &**operands;
                Op::Fma { to, a: self.real(a, ops)?, b: self.real(b, ops)?, c: self.real(c, ops)? }
            }
            Real::Select(condition, a, b) => {
                let condition = self.bool(condition, ops)?;
                Op::Select { to, condition, a: self.real(a, ops)?, b: self.real(b, ops)? }
            }
            Real::Round(float, operand) => Op::Round { to, from: self.real(operand, ops)?, float: *float },
            Real::FromInt(float, operand) => Op::Convert { to, from: self.int(operand, ops)?, float: *float },
        };
        ops.push(op);
        Ok(())
    }

    /// An integer.
    pub fn int(&mut self, value: &Int, ops: &mut Vec<Op>) -> Compiled<Register> {
        let op = match value {
            Int::Constant(value) => return Ok(self.int_constant(*value)),
            Int::Counter(number) => return Ok(self.variable('i', *number)),
            Int::Variable(number) => return Ok(self.variable('n', *number)),
            Int::Load(access) => {
                let bound = match self.kernel.buffer(access.buffer).element {
                    Element::Index(bound) => bound,
                    _ => 0,
                };
                let from = self.spot(access, 1, ops)?;
                Op::LoadInt { to: self.new_int(), from, bound }
            }
            Int::Neg(operand) => {
                let from = self.int(operand, ops)?;
                Op::NegInt { to: self.new_int(), from }
            }
            Int::Abs(operand) => {
                let from = self.int(operand, ops)?;
                Op::AbsInt { to: self.new_int(), from }
            }
            Int::Binary(operator, left, right) => {
                let (left, right) = (self.int(left, ops)?, self.int(right, ops)?);
                let operator = match operator {
                    IntBinary::Add => IntOp::Add,
                    IntBinary::Sub => IntOp::Sub,
                    IntBinary::Mul => IntOp::Mul,
                    IntBinary::Max => IntOp::Max,
                    IntBinary::Min => IntOp::Min,
                };
                Op::Int { to: self.new_int(), left, right, operator }
            }
            Int::Divide(division, operand, divisor) => {
                let from = self.int(operand, ops)?;
                let (to, divisor) = (self.new_int(), *divisor);
                match division {
                    Division::Quotient => Op::Quotient { to, from, divisor },
                    Division::Remainder => Op::Remainder { to, from, divisor },
                }
            }
            Int::Select(condition, a, b) => {
                let condition = self.bool(condition, ops)?;
                let (a, b) = (self.int(a, ops)?, self.int(b, ops)?);
                Op::SelectInt { to: self.new_int(), condition, a, b }
            }
        };
        Ok(push(op, ops))
    }

    /// A truth value, 0 or 1.
    pub fn bool(&mut self, value: &Bool, ops: &mut Vec<Op>) -> Compiled<Register> {
        let op = match value {
            Bool::Constant(value) => return Ok(self.int_constant(i64::from(*value))),
            Bool::Variable(number) => return Ok(self.variable('b', *number)),
            Bool::Load(access) => {
                let from = self.spot(access, 1, ops)?;
                Op::LoadBool { to: self.new_int(), from }
            }
            Bool::CompareReal(comparison, left, right) => {
                let (left, right) = (self.real(left, ops)?, self.real(right, ops)?);
                Op::CompareReal { to: self.new_int(), left, right, comparison: *comparison }
            }
            Bool::CompareInt(comparison, left, right) => {
                let (left, right) = (self.int(left, ops)?, self.int(right, ops)?);
                Op::CompareInt { to: self.new_int(), left, right, comparison: *comparison }
            }
            Bool::Not(operand) => {
                let from = self.bool(operand, ops)?;
                Op::Not { to: self.new_int(), from }
            }
            Bool::And(left, right) | Bool::Or(left, right) => {
                let (left, right) = (self.bool(left, ops)?, self.bool(right, ops)?);
                let operator = if matches!(value, Bool::And(..)) { IntOp::And } else { IntOp::Or };
                Op::Int { to: self.new_int(), left, right, operator }
            }
        };
        Ok(push(op, ops))
    }
}

/// Appends an operation that sets an integer register, and names that register.
pub(super) fn push(op: Op, ops: &mut Vec<Op>) -> Register {
    let to = match op {
        Op::LoadInt { to, .. }
        | Op::LoadBool { to, .. }
        | Op::NegInt { to, .. }
        | Op::AbsInt { to, .. }
        | Op::Int { to, .. }
        | Op::Quotient { to, .. }
        | Op::Remainder { to, .. }
        | Op::SelectInt { to, .. }
        | Op::Not { to, .. }
        | Op::CompareReal { to, .. }
        | Op::CompareInt { to, .. } => to,
        _ => unreachable!("integers and truth values are made by these operations"),
    };
    ops.push(op);
    to
}

pub(super) fn unary(operator: RealUnary, to: Register, from: Register) -> Op {
    match operator {
        RealUnary::Neg => Op::Neg { to, from },
        RealUnary::Abs => Op::Abs { to, from },
        RealUnary::Floor => Op::Floor { to, from },
        RealUnary::Sqrt => Op::Sqrt { to, from },
    }
}

pub(super) fn binary(operator: RealBinary, to: Register, left: Register, right: Register) -> Op {
    let operator = match operator {
        RealBinary::Add => return Op::Add { to, left, right },
        RealBinary::Mul => return Op::Mul { to, left, right },
        RealBinary::Sub => RealOp::Sub,
        RealBinary::Div => RealOp::Div,
        RealBinary::Max => RealOp::Max,
        RealBinary::Min => RealOp::Min,
        RealBinary::Pow => RealOp::Pow,
    };
    Op::Real { to, left, right, operator }
}
