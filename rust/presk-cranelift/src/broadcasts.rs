//! Numbers a loop in vectors loads only to broadcast them, and how its rounds are arranged around them.
//!
//! A register tile reads one element of its left operand for each row and broadcasts it. Written as it stands, the broadcast
//! costs a floating-point port in each round, because Cranelift folds `splat(load)` to one instruction only where all that
//! hangs on it is used once. Two arrangements avoid that:
//! - *ahead*: the broadcasts of a round are loaded at the end of the one before and carried to it, the last round standing
//!   after the loop so that nothing is read past the end;
//! - *top-tested*: they are loaded where they are used.
//!
//! In both the loop's header tests, its exit named first, and what is read after the loop are the header's values, so that
//! each sum and each broadcast a round computes is used once.
//!
//! The first needs registers for the sums, the broadcasts, the vectors loaded and a product; the second fits where that is
//! too many.

use cranelift_codegen::ir::{InstBuilder, Value};
use presk_kernel::ir::{Access, Loop, Real, Statement, StatementKind, Vector};
use presk_kernel::walk::{self, Value as Node};

use crate::addresses::Linear;
use crate::generator::{Ahead, Generator};
use crate::types;
use crate::unrolling;

/// A load whose value is broadcast and used in no other way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broadcast<'k> {
    pub access: &'k Access,
    /// The variable it is assigned to, if any.
    pub scalar: Option<u32>,
}

/// How the rounds of a loop with broadcasts are arranged.
#[derive(Debug)]
pub(crate) enum Arrangement<'k> {
    Ahead(Vec<Broadcast<'k>>),
    TopTested,
}

impl<'k> Generator<'_, 'k> {
    /// The arrangement of an innermost loop; none where it broadcasts nothing that its rounds load.
    pub(crate) fn arrangement(&self, each: &'k Loop) -> Option<Arrangement<'k>> {
        if each.extent < 2 || !unrolling::is_straight(&each.body) || self.guards > 0 {
            return None;
        }
        let broadcasts = self.broadcasts(each);
        if broadcasts.is_empty() {
            return None;
        }
        let count = self.count(each);
        let needed = count.carried + broadcasts.len() + count.vector_loads + 1;
        let fits = needed <= self.facts.vector_registers;
        Some(if fits { Arrangement::Ahead(broadcasts) } else { Arrangement::TopTested })
    }

    fn broadcasts(&self, each: &'k Loop) -> Vec<Broadcast<'k>> {
        let mut found: Vec<Broadcast> = Vec::new();
        for statement in &each.body {
            if let StatementKind::SetReal(number, Real::Load(access)) = &statement.kind
                && self.moves_with(access, each)
                && self.is_only_broadcast(*number, each)
            {
                found.push(Broadcast { access, scalar: Some(*number) });
            }
            statement.kind.values(&mut |value| {
                value.visit(&mut |value| {
                    if let Node::Vector(Vector::Splat(real)) = value
                        && let Real::Load(access) = &**real
                        && self.moves_with(access, each)
                        && !found.iter().any(|known| known.scalar.is_none() && known.access == access)
                    {
                        found.push(Broadcast { access, scalar: None });
                    }
                });
            });
        }
        found
    }

    /// Whether a load can stand anywhere, and is another in each round.
    fn moves_with(&self, access: &'k Access, each: &Loop) -> bool {
        let linear = Linear::element(access, self.kernel.buffer(access.buffer));
        self.is_movable(access, &linear) && linear.coefficient(each.variable) != 0
    }

    /// Whether a real variable is assigned once in the kernel, and read in splats of this loop alone.
    fn is_only_broadcast(&self, number: u32, each: &'k Loop) -> bool {
        let (mut sets, mut reads, mut splats) = (0, 0, 0);
        let mut count = |body: &'k [Statement], reads: &mut usize, splats: &mut usize| {
            walk::statements(body, &mut |statement| {
                sets += usize::from(matches!(&statement.kind, StatementKind::SetReal(each, _) if *each == number));
                statement.kind.values(&mut |value| {
                    value.visit(&mut |value| match value {
                        Node::Real(Real::Variable(each)) if *each == number => *reads += 1,
                        Node::Vector(Vector::Splat(real)) if **real == Real::Variable(number) => *splats += 1,
                        _ => {}
                    });
                });
            });
        };
        count(&self.kernel.body, &mut reads, &mut 0);
        count(&each.body, &mut 0, &mut splats);
        // Both walks count the one assignment.
        sets == 2 && reads == splats
    }

    /// Loads and broadcasts for the round the innermost counter stands at.
    pub(crate) fn load_ahead(&mut self, ahead: &[Ahead<'k>]) {
        for each in ahead {
            let value = self.load_real(each.broadcast.access);
            let vector = self.builder.ins().splat(types::vector(self.kernel.arithmetic), value);
            self.builder.def_var(each.variable, vector);
        }
    }

    /// The broadcast of a real, where it was loaded ahead.
    pub(crate) fn loaded_ahead(&mut self, real: &Real) -> Option<Value> {
        let found = self.ahead.iter().find(|ahead| match (real, ahead.broadcast.scalar) {
            (Real::Variable(number), Some(scalar)) => *number == scalar,
            (Real::Load(access), None) => access == ahead.broadcast.access,
            _ => false,
        })?;
        let variable = found.variable;
        Some(self.builder.use_var(variable))
    }

    pub(crate) fn is_ahead(&self, number: u32) -> bool {
        self.ahead.iter().any(|ahead| ahead.broadcast.scalar == Some(number))
    }
}
