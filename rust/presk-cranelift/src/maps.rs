//! Loops that subtract one number from each element of a run, or divide each by it: calls of the runtime's routines, whose
//! vectors are the processor's widest. A division takes as long in a vector of any width.
//!
//! Such a loop is `t0[i1] <v= (%0[i0, i1]<v> / splat(s0))<v>`, as the lane rewrite leaves it, from a run of the arithmetic type
//! to one in other memory or the same run.

use presk_kernel::ir::{Access, Loop, Real, RealBinary, StatementKind, Vector};
use presk_rt::runs::Map;

use crate::addresses::Linear;
use crate::generator::{Counter, Generator, Position};
use crate::scalars::constant_of;
use crate::types;

/// Rounds of a loop, in vectors of sixteen bytes, worth a routine's call.
const LEAST: u64 = 16;

/// What is read, by what, and what is written.
struct Mapped<'k> {
    map: Map,
    source: &'k Access,
    number: &'k Real,
    target: &'k Access,
    /// The variable that each round puts the elements in first.
    through: Option<u32>,
}

impl<'k> Generator<'_, 'k> {
    /// Calls a routine for a loop that is such a map; else says that it isn't.
    pub(crate) fn mapped(&mut self, each: &'k Loop) -> bool {
        let Some(Mapped { map, source, number, target, through }) = self.map_of(each) else { return false };
        let number = self.real(number);
        if let Some(variable) = through {
            // What the last round leaves in it, if anybody reads that.
            self.nest.push(Counter {
                number: each.variable,
                extent: each.extent,
                position: Position::Fixed(each.extent.cast_signed() - 1),
                strides: Vec::new(),
            });
            let last = self.load_vector(source);
            self.nest.pop();
            self.set('v', variable, last);
        }
        self.nest.push(Counter {
            number: each.variable,
            extent: each.extent,
            position: Position::Fixed(0),
            strides: Vec::new(),
        });
        let (source, target) = (self.place(source), self.place(target));
        self.nest.pop();
        let count = self.whole((each.extent * self.kernel.arithmetic.lanes()).cast_signed());
        self.call_map(map, [source, target, number, count]);
        true
    }

    fn map_of(&self, each: &'k Loop) -> Option<Mapped<'k>> {
        let (before, last) = match each.body.as_slice() {
            [last] => (None, last),
            [before, last] => (Some(before), last),
            _ => return None,
        };
        let StatementKind::StoreVector(target, Vector::Binary(operation, left, right)) = &last.kind else {
            return None;
        };
        let map = match operation {
            RealBinary::Sub => Map::Difference,
            RealBinary::Div => Map::Quotient,
            _ => return None,
        };
        let (source, through) = match (before.map(|before| &before.kind), &**left) {
            (None, Vector::Load(source)) => (source, None),
            (Some(StatementKind::SetVector(set, Vector::Load(source))), Vector::Variable(read)) if set == read => {
                (source, Some(*set))
            }
            _ => return None,
        };
        let Vector::Splat(number) = &**right else { return None };
        // What is a multiplication may as well stand in the loop.
        if self.factor_for(*operation, constant_of(number)).is_some() {
            return None;
        }
        let is_fixed = matches!(&**number, Real::Constant(_) | Real::Variable(_));
        let is_apart = self.resolved(source.buffer) != self.resolved(target.buffer) || source.index == target.index;
        let is_enough = each.extent >= LEAST && is_fixed && is_apart;
        (is_enough && self.is_run(source, each) && self.is_run(target, each)).then_some(Mapped {
            map,
            source,
            number,
            target,
            through,
        })
    }

    /// Whether a loop goes along an access's last axis, vector by vector, over elements of the arithmetic type.
    fn is_run(&self, access: &'k Access, each: &Loop) -> bool {
        let buffer = self.kernel.buffer(access.buffer);
        let linear = Linear::element(access, buffer);
        types::is_exact(buffer.element, self.kernel.arithmetic)
            && linear.is_affine()
            && linear.coefficient(each.variable) == self.kernel.arithmetic.lanes().cast_signed()
    }
}
