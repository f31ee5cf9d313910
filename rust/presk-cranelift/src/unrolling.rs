//! How often an innermost loop's body is repeated in a round: by counting registers.
//!
//! Cranelift keeps loads in order and computes where the result is used, so the loads of all copies live together. The
//! factor is the greatest of four, two and one whose carried values + factor · distinct loads + 4 fit the registers.

use std::collections::BTreeSet;

use presk_kernel::ir::{Buffer, Loop, Mask, Real, RealBinary, Statement, StatementKind, Vector};
use presk_kernel::walk::{self, Value as Node};

use crate::addresses::Linear;
use crate::generator::Generator;

/// Values a body works on besides those counted.
const WORKING: usize = 4;

/// Nodes of an unrolled body: Cranelift's time grows faster than the body.
const NODES: usize = 160;

/// What a straight body keeps in float and vector registers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Count {
    /// Reals and vectors carried from round to round.
    pub carried: usize,
    /// Distinct loads of reals and vectors.
    pub loads: usize,
    /// Those of vectors alone.
    pub vector_loads: usize,
    nodes: usize,
    has_calls: bool,
}

/// Whether a body has neither loops nor conditions nor runs.
pub(crate) fn is_straight(body: &[Statement]) -> bool {
    body.iter().all(|statement| statement.kind.body().is_none() && statement.kind.runs().next().is_none())
}

/// Whether a body calls the routine of tiles, beside which nothing else counts.
fn has_tile(body: &[Statement]) -> bool {
    body.iter().any(|statement| matches!(statement.kind, StatementKind::Tile(_)))
}

/// Reals and vectors a straight body reads before it sets them and sets, in the order of their first reading.
pub(crate) fn carried(body: &[Statement]) -> Vec<(char, u32)> {
    let (mut early, mut set) = (Vec::new(), BTreeSet::new());
    for statement in body {
        statement.kind.values(&mut |value| {
            value.visit(&mut |value| {
                let name = match value {
                    Node::Real(Real::Variable(number)) => ('s', *number),
                    Node::Vector(Vector::Variable(number)) => ('v', *number),
                    Node::Mask(Mask::Variable(number)) => ('m', *number),
                    _ => return,
                };
                if !set.contains(&name) && !early.contains(&name) {
                    early.push(name);
                }
            });
        });
        match &statement.kind {
            StatementKind::SetReal(number, _) => drop(set.insert(('s', *number))),
            StatementKind::SetVector(number, _) => drop(set.insert(('v', *number))),
            StatementKind::SetMask(number, _) => drop(set.insert(('m', *number))),
            _ => {}
        }
    }
    early.retain(|name| set.contains(name));
    early
}

impl<'k> Generator<'_, 'k> {
    /// How often to repeat the body of a loop.
    pub(crate) fn factor(&self, each: &'k Loop) -> u64 {
        if !is_straight(&each.body) || has_tile(&each.body) {
            return 1;
        }
        let count = self.count(each);
        if count.has_calls {
            return 1;
        }
        let fits = |factor: usize| {
            count.carried + factor * count.loads + WORKING <= self.facts.vector_registers
                && factor * count.nodes <= NODES
        };
        [4, 2].into_iter().find(|&factor| fits(factor)).map_or(1, |factor| factor as u64)
    }

    pub(crate) fn count(&self, each: &'k Loop) -> Count {
        let (mut nodes, mut has_calls) = (0, false);
        let (mut reals, mut vectors, mut others) = (BTreeSet::new(), BTreeSet::new(), 0);
        let mut kept: BTreeSet<Buffer> = BTreeSet::new();
        walk::statements(&each.body, &mut |statement| {
            nodes += 1;
            statement.kind.values(&mut |value| {
                value.visit(&mut |value| {
                    nodes += 1;
                    has_calls |= self.is_call(value);
                    let Some(access) = value.load().filter(|_| matches!(value, Node::Real(_)) || value.is_lanes())
                    else {
                        return;
                    };
                    let buffer = self.resolved(access.buffer);
                    if self.held.iter().any(|held| held.buffer == buffer) {
                        kept.insert(buffer);
                        return;
                    }
                    let linear = Linear::element(access, self.kernel.buffer(access.buffer));
                    if !linear.is_affine() {
                        others += 1;
                        return;
                    }
                    let place = (buffer, linear.constant, linear.counters);
                    let set = if value.is_lanes() { &mut vectors } else { &mut reals };
                    set.insert(place);
                });
            });
        });
        Count {
            carried: carried(&each.body).len() + kept.len(),
            loads: reals.len() + vectors.len() + others,
            vector_loads: vectors.len(),
            nodes,
            has_calls,
        }
    }

    fn is_call(&self, value: Node) -> bool {
        match value {
            Node::Real(Real::Call(..) | Real::Binary(RealBinary::Pow, ..)) => true,
            Node::Real(Real::Fma(_)) | Node::Vector(Vector::Fma(_)) => !self.facts.has_fma,
            _ => false,
        }
    }
}
