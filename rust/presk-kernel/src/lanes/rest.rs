//! The rounds of a loop that fill no vector: its body with the counter counted on from where the vectors end.

use crate::ir::{Access, Bool, Condition, Int, IntBinary, Loop, Real, Statement, StatementKind};

/// The last rounds of a loop; none where its body holds what a loop in lanes doesn't.
pub fn last_rounds(each: &Loop, rounds: u64) -> Option<Loop> {
    let first = i64::try_from(each.extent.checked_sub(rounds)?).ok()?;
    let body = Moved { counter: each.variable, first }.block(&each.body)?;
    Some(Loop { variable: each.variable, extent: rounds, body })
}

/// A counter that begins at another number.
struct Moved {
    counter: u32,
    first: i64,
}

impl Moved {
    fn block(&self, body: &[Statement]) -> Option<Vec<Statement>> {
        let moved = body.iter().map(|statement| {
            let kind = match &statement.kind {
                StatementKind::SetReal(number, value) => StatementKind::SetReal(*number, self.real(value)),
                StatementKind::SetInt(number, value) => StatementKind::SetInt(*number, self.int(value)),
                StatementKind::SetBool(number, value) => StatementKind::SetBool(*number, self.bool(value)),
                StatementKind::StoreReal(access, value) => {
                    StatementKind::StoreReal(self.access(access), self.real(value))
                }
                StatementKind::StoreBool(access, value) => {
                    StatementKind::StoreBool(self.access(access), self.bool(value))
                }
                StatementKind::For(inner) => {
                    StatementKind::For(Loop { body: self.block(&inner.body)?, ..inner.clone() })
                }
                StatementKind::If(condition, inner) => {
                    let condition = match condition {
                        Condition::Holds(condition) => Condition::Holds(self.bool(condition)),
                        Condition::NonZero(int) => Condition::NonZero(self.int(int)),
                    };
                    StatementKind::If(condition, self.block(inner)?)
                }
                _ => return None,
            };
            Some(Statement { kind, place: statement.place })
        });
        moved.collect()
    }

    fn access(&self, access: &Access) -> Access {
        let index = access.index.iter().map(|index| self.int(index)).collect();
        Access { buffer: access.buffer, index, place: access.place }
    }

    fn boxed(&self, value: &Real) -> Box<Real> {
        Box::new(self.real(value))
    }

    fn real(&self, value: &Real) -> Real {
        match value {
            Real::Constant(_) | Real::Variable(_) => value.clone(),
            Real::Load(access) => Real::Load(self.access(access)),
            Real::Unary(operator, a) => Real::Unary(*operator, self.boxed(a)),
            Real::Call(function, a) => Real::Call(*function, self.boxed(a)),
            Real::Binary(operator, a, b) => Real::Binary(*operator, self.boxed(a), self.boxed(b)),
            Real::Fma(operands) => Real::Fma(Box::new(operands.each_ref().map(|operand| self.real(operand)))),
            Real::Select(condition, a, b) => Real::Select(Box::new(self.bool(condition)), self.boxed(a), self.boxed(b)),
            Real::Round(float, a) => Real::Round(*float, self.boxed(a)),
            Real::FromInt(float, a) => Real::FromInt(*float, Box::new(self.int(a))),
        }
    }

    fn int(&self, value: &Int) -> Int {
        let boxed = |value: &Int| Box::new(self.int(value));
        match value {
            Int::Counter(number) if *number == self.counter => {
                Int::Binary(IntBinary::Add, Box::new(Int::Constant(self.first)), Box::new(value.clone()))
            }
            Int::Constant(_) | Int::Counter(_) | Int::Variable(_) => value.clone(),
            Int::Load(access) => Int::Load(self.access(access)),
            Int::Neg(a) => Int::Neg(boxed(a)),
            Int::Abs(a) => Int::Abs(boxed(a)),
            Int::Binary(operator, a, b) => Int::Binary(*operator, boxed(a), boxed(b)),
            Int::Divide(division, a, by) => Int::Divide(*division, boxed(a), *by),
            Int::Select(condition, a, b) => Int::Select(Box::new(self.bool(condition)), boxed(a), boxed(b)),
        }
    }

    fn bool(&self, value: &Bool) -> Bool {
        let boxed = |value: &Bool| Box::new(self.bool(value));
        match value {
            Bool::Constant(_) | Bool::Variable(_) => value.clone(),
            Bool::Load(access) => Bool::Load(self.access(access)),
            Bool::CompareReal(operator, a, b) => Bool::CompareReal(*operator, self.boxed(a), self.boxed(b)),
            Bool::CompareInt(operator, a, b) => {
                Bool::CompareInt(*operator, Box::new(self.int(a)), Box::new(self.int(b)))
            }
            Bool::Not(a) => Bool::Not(boxed(a)),
            Bool::And(a, b) => Bool::And(boxed(a), boxed(b)),
            Bool::Or(a, b) => Bool::Or(boxed(a), boxed(b)),
        }
    }
}
