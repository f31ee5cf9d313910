//! Elements kept in variables: what a loop reads and writes at one place is loaded before it and stored after it.
//!
//! Cranelift moves no store out of a loop. An element qualifies where all accesses to its buffer within the loop have one
//! index that the loop doesn't change, all of one real or all of one vector, and the buffer holds reals of the arithmetic
//! type: bf16 is rounded at each store, so its stores stay. A buffer that a routine reads or writes a run of isn't held,
//! nor one that is accessed where a condition alone keeps an index within its axis.

use std::collections::{BTreeMap, BTreeSet};

use presk_kernel::ir::{Access, Buffer, Kernel, Loop, StatementKind};
use presk_kernel::walk;

use crate::addresses::Linear;
use crate::generator::{Generator, Held};
use crate::types;

/// What a loop does with one buffer.
struct Use<'k> {
    access: &'k Access,
    is_vector: bool,
    has_load: bool,
    has_store: bool,
    /// Whether all accesses are this one.
    is_one: bool,
}

/// An element held while a loop runs: where it is loaded from and stored to.
pub(crate) struct Hold<'k> {
    access: &'k Access,
    is_vector: bool,
}

impl<'k> Generator<'_, 'k> {
    /// Loads what the loop leaves in its place into variables.
    pub(crate) fn hold(&mut self, each: &'k Loop) -> Vec<Hold<'k>> {
        let mut holds = Vec::new();
        for (buffer, found) in self.uses(each) {
            if !(found.is_one && found.has_load && found.has_store) {
                continue;
            }
            let value = if found.is_vector { self.load_vector(found.access) } else { self.load_real(found.access) };
            let of = self.kept_type(found.is_vector);
            let variable = self.builder.declare_var(of);
            self.builder.def_var(variable, value);
            self.held.push(Held { buffer, variable });
            holds.push(Hold { access: found.access, is_vector: found.is_vector });
        }
        holds
    }

    /// Stores them again.
    pub(crate) fn release(&mut self, holds: Vec<Hold<'k>>) {
        for hold in holds.into_iter().rev() {
            let held = self.held.pop().expect("as many are held as were");
            let value = self.builder.use_var(held.variable);
            debug_assert_eq!(hold.is_vector, self.builder.func.dfg.value_type(value).is_vector());
            self.store_element(hold.access, value);
        }
    }

    fn uses(&self, each: &'k Loop) -> BTreeMap<Buffer, Use<'k>> {
        let kernel = self.kernel;
        let counters = counters(each);
        let mut uses: BTreeMap<Buffer, Use> = BTreeMap::new();
        let mut in_routines = BTreeSet::new();
        let mut within_bounds = BTreeSet::new();
        walk::statements(&each.body, &mut |statement| {
            if let StatementKind::If(condition, body) = &statement.kind
                && condition.bound().is_some()
            {
                walk::accesses(body, &mut |access, _, _| {
                    within_bounds.insert(self.resolved(access.buffer));
                });
            }
            in_routines.extend(statement.kind.runs().map(|(access, _)| self.resolved(access.buffer)));
            if let StatementKind::Tile(tile) = &statement.kind {
                in_routines.extend(tile.accesses().map(|access| self.resolved(access.buffer)));
            }
        });
        walk::accesses(&each.body, &mut |access, is_load, is_vector| {
            let buffer = self.resolved(access.buffer);
            let stays = in_routines.contains(&buffer) || within_bounds.contains(&buffer);
            if stays || !self.may_hold(kernel, buffer) {
                return;
            }
            let found = uses.entry(buffer).or_insert_with(|| {
                let linear = Linear::element(access, kernel.buffer(access.buffer));
                let is_one = linear.is_affine() && linear.counters.keys().all(|counter| !counters.contains(counter));
                Use { access, is_vector, has_load: false, has_store: false, is_one }
            });
            found.is_one &= is_vector == found.is_vector && is_same(kernel, found.access, access);
            found.has_load |= is_load;
            found.has_store |= !is_load;
        });
        uses
    }

    fn may_hold(&self, kernel: &Kernel, buffer: Buffer) -> bool {
        let is_written = !matches!(buffer, Buffer::Input(_));
        is_written
            && types::is_exact(kernel.buffer(buffer).element, kernel.arithmetic)
            && self.held.iter().all(|held| held.buffer != buffer)
    }
}

/// The counters of a loop and of those within.
fn counters(each: &Loop) -> BTreeSet<u32> {
    let mut counters = BTreeSet::from([each.variable]);
    walk::statements(&each.body, &mut |statement| {
        if let StatementKind::For(inner) = &statement.kind {
            counters.insert(inner.variable);
        }
    });
    counters
}

fn is_same(kernel: &Kernel, first: &Access, second: &Access) -> bool {
    let first = Linear::element(first, kernel.buffer(first.buffer));
    let second = Linear::element(second, kernel.buffer(second.buffer));
    second.is_affine() && first.constant == second.constant && first.counters == second.counters
}
