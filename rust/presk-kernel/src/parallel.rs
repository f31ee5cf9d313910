//! Which loops may be split over workers: the launch says at which depth, the kernel says whether it may.

use std::collections::BTreeSet;

use crate::affine::Affine;
use crate::expand::expand;
use crate::ir::{Access, Bool, Buffer, Int, Kernel, Loop, Mask, Real, Statement, StatementKind, Vector};
use crate::walk::{self, Value};

/// The loops of the perfect nest a kernel is, outermost first: each but the last holds the next one alone, but for
/// assignments in front of it.
#[must_use]
pub fn perfect_nest(kernel: &Kernel) -> Vec<&Loop> {
    let mut loops = Vec::new();
    let mut body = &kernel.body[..];
    while let Some((_, each)) = nested(body) {
        loops.push(each);
        body = &each.body;
    }
    loops
}

/// The loop that a body is, and the assignments in front of it.
#[must_use]
pub fn nested(body: &[Statement]) -> Option<(&[Statement], &Loop)> {
    let (last, before) = body.split_last()?;
    let StatementKind::For(each) = &last.kind else { return None };
    before.iter().all(|statement| is_assignment(&statement.kind)).then_some((before, each))
}

fn is_assignment(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::SetReal(..)
            | StatementKind::SetInt(..)
            | StatementKind::SetBool(..)
            | StatementKind::SetVector(..)
            | StatementKind::SetMask(..)
    )
}

/// Whether the loop at a depth (0: the outermost) may be divided over workers, each running a range of its rounds and
/// the loops around it in full.
///
/// It may when the loops down to it form a perfect nest; when, for each output, one axis is indexed by c·v + t with
/// 0 ≤ t < c in every store to it and every load of it, so that rounds of v touch different elements; when an input
/// whose buffer an output shares is read at such an index too; and when no variable and no scratch element carries a
/// value from one round to another: each round assigns a variable before it reads it, or none does, and begins with storing
/// to each scratch buffer it uses (that the elements read are those stored is for the shadow map to see). What is assigned in
/// front of a loop, which each worker does for itself, is made of nothing that a round writes.
#[must_use]
pub fn is_parallel(kernel: &Kernel, depth: usize) -> bool {
    if depth >= perfect_nest(kernel).len() {
        return false;
    }
    let expanded = expand(kernel);
    let kernel = &*expanded;
    let split = perfect_nest(kernel)[depth];
    let mut extents = std::collections::BTreeMap::new();
    walk::statements(&kernel.body, &mut |statement| {
        if let StatementKind::For(each) = &statement.kind {
            let extent = extents.entry(each.variable).or_insert(0);
            *extent = each.extent.max(*extent);
        }
    });
    let extent = |counter: u32| extents.get(&counter).copied();
    let outputs = 0..u32::try_from(kernel.outputs.len()).unwrap_or(u32::MAX);
    outputs.into_iter().all(|output| moves_apart(kernel, split, output, &extent))
        && carries_nothing(split)
        && heads_stand(kernel, depth)
}

/// Whether nothing that is assigned in front of the loops down to a depth reads what rounds of that loop write.
fn heads_stand(kernel: &Kernel, depth: usize) -> bool {
    let shared = |buffer| match buffer {
        Buffer::Input(number) => kernel.outputs.iter().any(|output| output.shares == Some(number)),
        Buffer::Output(_) | Buffer::Scratch(_) => true,
    };
    let written = assigned(&perfect_nest(kernel)[depth].body);
    let (mut body, mut stands) = (&kernel.body[..], true);
    for _ in 0..=depth {
        let Some((heads, each)) = nested(body) else { return false };
        walk::accesses(heads, &mut |access, _, _| stands &= !shared(access.buffer));
        for head in heads {
            head.kind.values(&mut |value| {
                value.visit(&mut |value| stands &= variable(value).is_none_or(|name| !written.contains(&name)));
            });
        }
        body = &each.body;
    }
    stands
}

/// The variables that statements assign, by letter and number.
fn assigned(body: &[Statement]) -> BTreeSet<(char, u32)> {
    let mut names = BTreeSet::new();
    walk::statements(body, &mut |statement| {
        let name = match statement.kind {
            StatementKind::SetReal(number, _) => ('s', number),
            StatementKind::SetInt(number, _) => ('n', number),
            StatementKind::SetBool(number, _) => ('b', number),
            StatementKind::SetVector(number, _) => ('v', number),
            StatementKind::SetMask(number, _) => ('m', number),
            _ => return,
        };
        names.insert(name);
    });
    names
}

/// The variable that a value is, by letter and number.
fn variable(value: Value) -> Option<(char, u32)> {
    match value {
        Value::Real(Real::Variable(number)) => Some(('s', *number)),
        Value::Int(Int::Variable(number)) => Some(('n', *number)),
        Value::Bool(Bool::Variable(number)) => Some(('b', *number)),
        Value::Vector(Vector::Variable(number)) => Some(('v', *number)),
        Value::Mask(Mask::Variable(number)) => Some(('m', *number)),
        _ => None,
    }
}

/// The depth of the outermost loop that may be split.
#[must_use]
pub fn outermost_parallel(kernel: &Kernel) -> Option<usize> {
    (0..perfect_nest(kernel).len()).find(|&depth| is_parallel(kernel, depth))
}

fn moves_apart(kernel: &Kernel, split: &Loop, output: u32, extent: &impl Fn(u32) -> Option<u64>) -> bool {
    let shared = kernel.outputs[output as usize].shares.map(Buffer::Input);
    let axes = kernel.outputs[output as usize].buffer.axes.len();
    (0..axes).any(|axis| {
        // The step c must be the same in all accesses, or ranges of different ones would meet.
        let mut step = None;
        let mut all = true;
        walk::accesses(&split.body, &mut |access, _, is_vector| {
            if access.buffer != Buffer::Output(output) && Some(access.buffer) != shared {
                return;
            }
            let lanes = if is_vector && axis + 1 == axes { kernel.arithmetic.lanes() } else { 1 };
            let found = block_step(access, axis, split.variable, lanes, extent);
            all &= found.is_some() && *step.get_or_insert(found) == found;
        });
        all
    })
}

/// c where the index along an axis is c·v + t with 0 ≤ t and t + lanes ≤ c.
fn block_step(
    access: &Access,
    axis: usize,
    counter: u32,
    lanes: u64,
    extent: &impl Fn(u32) -> Option<u64>,
) -> Option<i64> {
    let mut rest = Affine::of(&access.index[axis])?;
    let step = rest.terms.remove(&counter)?;
    let (low, high) = rest.range(extent)?;
    (low >= 0 && high + i128::from(lanes) <= i128::from(step)).then_some(step)
}

fn carries_nothing(split: &Loop) -> bool {
    let mut carried = Carried { inside: assigned(&split.body), ..Carried::default() };
    carried.block(&split.body);
    !carried.found
}

/// Finds variables and scratch a round reads before it has set them.
#[derive(Default)]
struct Carried {
    /// Variables that a round sets; the others stand.
    inside: BTreeSet<(char, u32)>,
    /// Variables and scratch buffers set so far in this round, by letter and number.
    set: BTreeSet<(char, u32)>,
    /// The same in the order they were set.
    order: Vec<(char, u32)>,
    found: bool,
}

impl Carried {
    fn block(&mut self, body: &[Statement]) {
        for statement in body {
            statement.kind.values(&mut |value| value.visit(&mut |value| self.read(value)));
            match &statement.kind {
                StatementKind::SetReal(number, _) => self.sets('s', *number),
                StatementKind::SetInt(number, _) => self.sets('n', *number),
                StatementKind::SetBool(number, _) => self.sets('b', *number),
                StatementKind::SetVector(number, _) => self.sets('v', *number),
                StatementKind::SetMask(number, _) => self.sets('m', *number),
                StatementKind::For(each) if each.extent > 0 => self.block(&each.body),
                StatementKind::For(each) => self.conditional(&each.body),
                StatementKind::If(_, body) => self.conditional(body),
                stored => {
                    if let Some((Access { buffer: Buffer::Scratch(number), .. }, _)) = stored.stored() {
                        self.sets('t', *number);
                    }
                }
            }
        }
    }

    /// A body that may not run sets nothing for what follows.
    fn conditional(&mut self, body: &[Statement]) {
        let before = self.order.len();
        self.block(body);
        for name in self.order.drain(before..) {
            self.set.remove(&name);
        }
    }

    fn sets(&mut self, letter: char, number: u32) {
        if self.set.insert((letter, number)) {
            self.order.push((letter, number));
        }
    }

    fn read(&mut self, value: Value) {
        if let Some(name) = variable(value) {
            self.found |= self.inside.contains(&name) && !self.set.contains(&name);
        } else if let Some(Access { buffer: Buffer::Scratch(number), .. }) = value.load() {
            self.found |= !self.set.contains(&('t', *number));
        }
    }
}
