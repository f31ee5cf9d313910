//! Whether a real variable's value is read after a loop has set it.

use crate::ir::{Real, Statement, StatementKind};
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

/// Whether the value a real variable has at the end of the loop the path leads to may be read: in what follows it in a
/// block around it, or, where that block is a loop's, in the next round up to it.
pub fn is_live_after(path: &[Step], number: u32) -> bool {
    for step in path.iter().rev() {
        match first(&step.block[step.at + 1..], number) {
            First::Reads => return true,
            First::Sets => return false,
            First::Passes => {}
        }
        if step.is_loop && first(&step.block[..step.at], number) == First::Reads {
            return true;
        }
    }
    false
}

/// What a run of statements does first with a real variable.
pub fn first(statements: &[Statement], number: u32) -> First {
    for statement in statements {
        let mut reads = false;
        statement.kind.values(&mut |value| {
            value.visit(&mut |value| reads |= matches!(value, Value::Real(Real::Variable(read)) if *read == number));
        });
        if reads {
            return First::Reads;
        }
        let found = match &statement.kind {
            StatementKind::SetReal(set, _) if *set == number => First::Sets,
            StatementKind::For(each) if each.extent > 0 => first(&each.body, number),
            StatementKind::For(_) => First::Passes,
            StatementKind::If(_, body) => match first(body, number) {
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
