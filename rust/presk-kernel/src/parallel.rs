//! Which loops may be split over workers: the launch says at which depth, the kernel says whether it may.

use crate::affine::Affine;
use crate::expand::expand;
use crate::ir::{Access, Buffer, Kernel, Loop, StatementKind};
use crate::walk;

/// The loops of the perfect nest a kernel begins with, outermost first: each but the last holds the next one alone.
#[must_use]
pub fn perfect_nest(kernel: &Kernel) -> Vec<&Loop> {
    let mut loops = Vec::new();
    let mut body = &kernel.body[..];
    while let [statement] = body {
        let StatementKind::For(each) = &statement.kind else { break };
        loops.push(each);
        body = &each.body;
    }
    loops
}

/// Whether the loop at a depth (0: the outermost) may be divided over workers, each running a range of its rounds and
/// the loops around it in full.
///
/// It may when the loops down to it form a perfect nest; when, for each output, one axis is indexed by c·v + t with
/// 0 ≤ t < c in every store to it and every load of it, so that rounds of v touch different elements; when an input
/// whose buffer an output shares is read at such an index too; and when no variable and no scratch element carries a
/// value from one round to another: each round assigns a variable before it reads it, and begins with storing to each
/// scratch buffer it uses (that the elements read are those stored is for the shadow map to see).
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
    outputs.into_iter().all(|output| moves_apart(kernel, split, output, &extent)) && carries_nothing(split)
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
    let mut carried = Carried::default();
    carried.block(&split.body);
    !carried.found
}

/// Finds variables and scratch a round reads before it has set them.
#[derive(Default)]
struct Carried {
    /// Variables and scratch buffers set so far in this round, by letter and number.
    set: std::collections::BTreeSet<(char, u32)>,
    /// The same in the order they were set.
    order: Vec<(char, u32)>,
    found: bool,
}

impl Carried {
    fn block(&mut self, body: &[crate::ir::Statement]) {
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
    fn conditional(&mut self, body: &[crate::ir::Statement]) {
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

    fn read(&mut self, value: walk::Value) {
        use crate::ir::{Bool, Int, Mask, Real, Vector};
        use walk::Value;
        let variable = match value {
            Value::Real(Real::Variable(number)) => ('s', *number),
            Value::Int(Int::Variable(number)) => ('n', *number),
            Value::Bool(Bool::Variable(number)) => ('b', *number),
            Value::Vector(Vector::Variable(number)) => ('v', *number),
            Value::Mask(Mask::Variable(number)) => ('m', *number),
            _ => {
                if let Some(Access { buffer: Buffer::Scratch(number), .. }) = value.load() {
                    self.found |= !self.set.contains(&('t', *number));
                }
                return;
            }
        };
        self.found |= !self.set.contains(&variable);
    }
}
