//! Whether a variable's value is read after a loop has set it.

use super::Name;
use crate::ir::{Bool, Real, Statement, StatementKind};
use crate::walk::Value;

/// A statement on the way from the kernel's body to a loop: its block, its position there, and whether that block is a
/// loop's body.
#[derive(Clone, Copy)]
pub struct Step<'k> {
    pub block: &'k [Statement],
    pub at: usize,
    pub is_loop: bool,
}

/// What statements do first with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// They may read it before setting it.
    Reads,
    /// They set it on every path, before any read.
    Sets,
    /// Neither is certain: it passes through.
    Passes,
}

/// Whether the value a variable has at the end of the loop the path leads to may be read: in what follows it in a
/// block around it, or, where that block is a loop's, in the next round up to it.
pub fn is_live_after(path: &[Step], name: Name) -> bool {
    for step in path.iter().rev() {
        match first(&step.block[step.at + 1..], name) {
            First::Reads => return true,
            First::Sets => return false,
            First::Passes => {}
        }
        if step.is_loop && first(&step.block[..step.at], name) == First::Reads {
            return true;
        }
    }
    false
}

/// What a run of statements does first with a real or truth variable.
pub fn first(statements: &[Statement], name: Name) -> First {
    for statement in statements {
        let mut reads = false;
        statement.kind.values(&mut |value| {
            value.visit(&mut |value| reads |= read(value) == Some(name));
        });
        if reads {
            return First::Reads;
        }
        let found = match &statement.kind {
            StatementKind::SetReal(set, _) if ('s', *set) == name => First::Sets,
            StatementKind::SetBool(set, _) if ('b', *set) == name => First::Sets,
            StatementKind::For(each) if each.extent > 0 => first(&each.body, name),
            StatementKind::For(_) => First::Passes,
            StatementKind::If(_, body) => match first(body, name) {
                First::Sets => First::Passes,
                other => other,
            },
            _ => First::Passes,
        };
        if found != First::Passes {
            return found;
        }
    }
    First::Passes
}

/// The real or truth variable a value is.
pub fn read(value: Value) -> Option<Name> {
    match value {
        Value::Real(Real::Variable(number)) => Some(('s', *number)),
        Value::Bool(Bool::Variable(number)) => Some(('b', *number)),
        _ => None,
    }
}
