//! Which loops may run in lanes: the conditions of the rewrite, checked without changing anything.

use std::collections::{BTreeMap, BTreeSet};

use super::live::{First, first, read};
use super::{Name, mentions};
use crate::ir::{Access, Bool, Buffer, Int, IntBinary, Kernel, Loop, Statement, StatementKind};
use crate::verify::vector_store_fault;
use crate::walk::{self, Value};

/// The real and truth variables whose values differ between rounds.
pub type Varying = BTreeSet<Name>;

/// Whether a value differs between rounds: it has the counter in it, or a variable that differs.
pub fn differs(value: Value, counter: u32, varying: &Varying) -> bool {
    let mut found = mentions(value, counter);
    value.visit(&mut |value| found |= read(value).is_some_and(|name| varying.contains(&name)));
    found
}

/// What differs between the loop's rounds; none where the loop doesn't qualify. (That the differing values are made of
/// operations with a vector form, the rewrite itself finds.)
pub fn varying(kernel: &Kernel, each: &Loop) -> Option<Varying> {
    let set = variables_set(&each.body);
    if !set.reals.iter().all(|&number| first(&each.body, ('s', number)) != First::Reads) || set.reads_others_early {
        return None;
    }
    let varying = grow(each);
    let mut check = Check { kernel, counter: each.variable, varying: &varying, set: &set, stored: BTreeMap::new() };
    let fits = check.block(&each.body) && !check.stored.is_empty();
    (fits && check.stored_accesses_agree(&each.body)).then_some(varying)
}

/// Adds variables assigned from what differs until no more are found.
fn grow(each: &Loop) -> Varying {
    let mut varying = Varying::new();
    loop {
        let before = varying.len();
        walk::statements(&each.body, &mut |statement| {
            let (name, value) = match &statement.kind {
                StatementKind::SetReal(number, value) => (('s', *number), Value::Real(value)),
                StatementKind::SetBool(number, value) => (('b', *number), Value::Bool(value)),
                _ => return,
            };
            if differs(value, each.variable, &varying) {
                varying.insert(name);
            }
        });
        if varying.len() == before {
            return varying;
        }
    }
}

/// Variables a body assigns, and the counters of its own loops.
#[derive(Default)]
struct Set {
    reals: BTreeSet<u32>,
    others: BTreeSet<Name>,
    counters: BTreeSet<u32>,
    /// Whether an integer or truth variable may be read in a round before that round assigns it.
    reads_others_early: bool,
}

fn variables_set(body: &[Statement]) -> Set {
    let mut set = Set::default();
    walk::statements(body, &mut |statement| match &statement.kind {
        StatementKind::SetReal(number, _) => drop(set.reals.insert(*number)),
        StatementKind::SetInt(number, _) => drop(set.others.insert(('n', *number))),
        StatementKind::SetBool(number, _) => drop(set.others.insert(('b', *number))),
        StatementKind::For(each) => drop(set.counters.insert(each.variable)),
        _ => {}
    });
    // In text order: a read of a variable assigned only further down (or under a condition) may be of an earlier round.
    let mut assigned = BTreeSet::new();
    for statement in body {
        set.reads_others_early |= reads_early(statement, &set.others, &mut assigned);
    }
    set
}

fn reads_early(statement: &Statement, set: &BTreeSet<Name>, assigned: &mut BTreeSet<Name>) -> bool {
    let mut early = false;
    statement.kind.values(&mut |value| {
        value.visit(&mut |value| {
            let read = match value {
                Value::Int(Int::Variable(number)) => ('n', *number),
                Value::Bool(Bool::Variable(number)) => ('b', *number),
                _ => return,
            };
            early |= set.contains(&read) && !assigned.contains(&read);
        });
    });
    match &statement.kind {
        StatementKind::SetInt(number, _) => drop(assigned.insert(('n', *number))),
        StatementKind::SetBool(number, _) => drop(assigned.insert(('b', *number))),
        StatementKind::For(each) if each.extent > 0 => {
            early |= each.body.iter().any(|inner| reads_early(inner, set, assigned));
        }
        StatementKind::For(_) => {}
        StatementKind::If(_, body) => {
            let mut inside = assigned.clone();
            early |= body.iter().any(|inner| reads_early(inner, set, &mut inside));
        }
        _ => {}
    }
    early
}

struct Check<'c> {
    kernel: &'c Kernel,
    counter: u32,
    varying: &'c Varying,
    set: &'c Set,
    /// The last index of the stores to each buffer.
    stored: BTreeMap<Buffer, &'c Int>,
}

impl<'c> Check<'c> {
    fn block(&mut self, body: &'c [Statement]) -> bool {
        body.iter().all(|statement| self.statement(&statement.kind))
    }

    fn statement(&mut self, statement: &'c StatementKind) -> bool {
        let mut fits = true;
        statement.values(&mut |value| value.visit(&mut |value| fits &= self.value(value)));
        if !fits {
            return false;
        }
        match statement {
            StatementKind::SetReal(..) | StatementKind::SetBool(..) => true,
            StatementKind::StoreReal(access, _) | StatementKind::StoreBool(access, _) => self.store(access),
            StatementKind::SetInt(_, value) => !self.differs(Value::Int(value)),
            StatementKind::For(each) => self.block(&each.body),
            StatementKind::If(condition, body) => {
                let condition = match condition {
                    crate::ir::Condition::Holds(condition) => Value::Bool(condition),
                    crate::ir::Condition::NonZero(condition) => Value::Int(condition),
                };
                !self.differs(condition) && self.block(body)
            }
            _ => false,
        }
    }

    fn differs(&self, value: Value) -> bool {
        differs(value, self.counter, self.varying)
    }

    /// Every load that differs between rounds moves along the last axis by one for the counter alone.
    fn value(&self, value: Value) -> bool {
        match value.load() {
            Some(access) if access.index.iter().any(|index| self.differs(Value::Int(index))) => {
                self.moves_by_one(access) && !access.index.iter().any(|index| differs_otherwise(index, self.varying))
            }
            _ => true,
        }
    }

    fn moves_by_one(&self, access: &Access) -> bool {
        let Some((last, others)) = access.index.split_last() else { return false };
        !others.iter().any(|index| mentions(Value::Int(index), self.counter))
            && coefficient(last, self.counter) == Some(1)
    }

    fn store(&mut self, access: &'c Access) -> bool {
        let Some(last) = access.index.last() else { return false };
        let fits = self.moves_by_one(access)
            && vector_store_fault(self.kernel, access).is_none()
            && !access.index.iter().any(|index| differs_otherwise(index, self.varying));
        fits && **self.stored.entry(access.buffer).or_insert(last) == *last && self.is_fixed(last)
    }

    /// Whether a last index stays the same, the counter aside, while the loop runs.
    fn is_fixed(&self, last: &Int) -> bool {
        let mut fixed = true;
        Value::Int(last).visit(&mut |value| {
            fixed &= match value {
                Value::Int(Int::Counter(number)) => !self.set.counters.contains(number),
                Value::Int(Int::Constant(_) | Int::Neg(_) | Int::Binary(..)) => true,
                Value::Int(Int::Variable(number)) => !self.set.others.contains(&('n', *number)),
                _ => false,
            };
        });
        fixed
    }

    /// Whether every access of a stored buffer, and of the input whose buffer it shares, has the stores' last index.
    fn stored_accesses_agree(&self, body: &[Statement]) -> bool {
        let mut agree = true;
        walk::accesses(body, &mut |access, _, _| {
            let last = self.stored.get(&access.buffer).or_else(|| self.stored.get(&self.sharing(access.buffer)?));
            agree &= last.is_none_or(|last| access.index.last() == Some(last));
        });
        agree
    }

    fn sharing(&self, buffer: Buffer) -> Option<Buffer> {
        let Buffer::Input(input) = buffer else { return None };
        let output = self.kernel.outputs.iter().position(|output| output.shares == Some(input))?;
        u32::try_from(output).ok().map(Buffer::Output)
    }
}

/// Whether an integer differs between rounds by more than the counter: a variable that differs can't occur in one but
/// inside a condition.
pub fn differs_otherwise(int: &Int, varying: &Varying) -> bool {
    differs(Value::Int(int), u32::MAX, varying)
}

/// The factor of a counter in an integer that is linear in it; none where it stands in any other form.
pub fn coefficient(int: &Int, counter: u32) -> Option<i64> {
    match int {
        Int::Counter(number) if *number == counter => Some(1),
        Int::Neg(operand) => coefficient(operand, counter)?.checked_neg(),
        Int::Binary(IntBinary::Add, left, right) => {
            coefficient(left, counter)?.checked_add(coefficient(right, counter)?)
        }
        Int::Binary(IntBinary::Sub, left, right) => {
            coefficient(left, counter)?.checked_sub(coefficient(right, counter)?)
        }
        Int::Binary(IntBinary::Mul, operand, factor) | Int::Binary(IntBinary::Mul, factor, operand)
            if matches!(**factor, Int::Constant(_)) =>
        {
            let Int::Constant(factor) = **factor else { unreachable!("it is a constant") };
            coefficient(operand, counter)?.checked_mul(factor)
        }
        other => (!mentions(Value::Int(other), counter)).then_some(0),
    }
}
