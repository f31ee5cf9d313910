//! The lane rewrite: loops whose rounds are independent and contiguous run sixteen bytes at a time.
//!
//! A kernel-to-kernel pass. A lane is one round of the loop, doing that round's operations in that round's order, so no
//! bit changes; the result prints, verifies and runs as any kernel. A loop over `iN` is rewritten where
//! - its extent is a multiple of the lanes, and it isn't the loop a split divides;
//! - `iN` occurs only in the last index of an access, as itself plus terms without it;
//! - every store moves with `iN`, into a buffer of the arithmetic type, and all accesses of a stored buffer (or of the
//!   input whose buffer it shares) have the same last index, fixed while the loop runs, so that lanes never meet;
//! - every variable is assigned before it is read in each round, and none that differs between rounds is read later;
//! - what differs between rounds is made of + − × ÷, sign, abs, floor, sqrt, max, min and fma.
//!
//! Whatever doesn't differ between rounds stays scalar and is broadcast where it is met.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Access, Int, IntBinary, Kernel, Loop, Real, RealBinary, Statement, StatementKind, Vector};
use crate::limits;
use crate::walk::{self, Value};
use live::{Step, is_live_after};

mod live;
mod qualify;

/// The kernel with its lane-wise loops rewritten; unchanged where it has vectors already. `split` is the depth in the
/// perfect nest of the loop a launch divides.
#[must_use]
pub fn rewrite(kernel: &Kernel, split: Option<usize>) -> Kernel {
    let (mut statements, mut has_vectors) = (0, false);
    walk::statements(&kernel.body, &mut |statement| {
        statements += 1;
        has_vectors |= matches!(statement.kind, StatementKind::SetVector(..) | StatementKind::StoreVector(..));
    });
    if has_vectors || statements > limits::LANE_STATEMENTS {
        return kernel.clone();
    }
    let mut rewriter = Rewriter { kernel, split, vectors: 0 };
    let body = rewriter.block(&kernel.body, Some(0), false, &mut Vec::new());
    Kernel { body, ..kernel.clone() }
}

struct Rewriter<'k> {
    kernel: &'k Kernel,
    split: Option<usize>,
    /// Number of the next vector variable.
    vectors: u32,
}

impl<'k> Rewriter<'k> {
    fn block(
        &mut self,
        body: &'k [Statement],
        depth: Option<usize>,
        is_loop: bool,
        path: &mut Vec<Step<'k>>,
    ) -> Vec<Statement> {
        let depth = depth.filter(|_| body.len() == 1);
        let mut rewritten = Vec::new();
        for (at, statement) in body.iter().enumerate() {
            path.push(Step { block: body, at, is_loop });
            let kind = match &statement.kind {
                StatementKind::For(each) => self.for_loop(each, depth, path),
                StatementKind::If(condition, inner) => {
                    StatementKind::If(condition.clone(), self.block(inner, None, false, path))
                }
                other => other.clone(),
            };
            path.pop();
            rewritten.push(Statement { kind, place: statement.place });
        }
        rewritten
    }

    fn for_loop(&mut self, each: &'k Loop, depth: Option<usize>, path: &mut Vec<Step<'k>>) -> StatementKind {
        let is_split = depth.is_some() && depth == self.split;
        if let Some(rewritten) = self.in_lanes(each, path).filter(|_| !is_split) {
            return StatementKind::For(rewritten);
        }
        let body = self.block(&each.body, depth.map(|depth| depth + 1), true, path);
        StatementKind::For(Loop { body, ..each.clone() })
    }

    fn in_lanes(&mut self, each: &Loop, path: &[Step]) -> Option<Loop> {
        let lanes = self.kernel.arithmetic.lanes();
        if each.extent == 0 || !each.extent.is_multiple_of(lanes) {
            return None;
        }
        let varying = qualify::varying(self.kernel, each)?;
        if varying.reals.iter().any(|&number| is_live_after(path, number)) {
            return None;
        }
        let vectors: BTreeMap<u32, u32> = varying.reals.iter().copied().zip(self.vectors..).collect();
        let last = self.vectors + u32::try_from(vectors.len()).ok()?;
        if last > limits::VARIABLE {
            return None;
        }
        let rewrite =
            Lanes { counter: each.variable, lanes: i64::try_from(lanes).ok()?, vectors, varying: &varying.reals };
        let body = rewrite.block(&each.body)?;
        self.vectors = last;
        Some(Loop { variable: each.variable, extent: each.extent / lanes, body })
    }
}

/// Whether a value has the counter in it.
fn mentions(value: Value, counter: u32) -> bool {
    let mut found = false;
    value.visit(&mut |value| found |= matches!(value, Value::Int(Int::Counter(number)) if *number == counter));
    found
}

/// The rewrite of one loop's body.
struct Lanes<'v> {
    counter: u32,
    lanes: i64,
    /// The vector variable of each varying real one.
    vectors: BTreeMap<u32, u32>,
    varying: &'v BTreeSet<u32>,
}

impl Lanes<'_> {
    fn block(&self, body: &[Statement]) -> Option<Vec<Statement>> {
        let rewritten = body.iter().map(|statement| {
            let kind = match &statement.kind {
                StatementKind::SetReal(number, value) => match self.vectors.get(number) {
                    Some(&vector) => StatementKind::SetVector(vector, self.vector(value)?),
                    None => statement.kind.clone(),
                },
                StatementKind::StoreReal(access, value) => {
                    StatementKind::StoreVector(self.access(access), self.vector(value)?)
                }
                StatementKind::For(each) => StatementKind::For(Loop { body: self.block(&each.body)?, ..each.clone() }),
                StatementKind::If(condition, inner) => StatementKind::If(condition.clone(), self.block(inner)?),
                other => other.clone(),
            };
            Some(Statement { kind, place: statement.place })
        });
        rewritten.collect()
    }

    fn vector(&self, value: &Real) -> Option<Vector> {
        if !qualify::differs(Value::Real(value), self.counter, self.varying) {
            return Some(Vector::Splat(Box::new(value.clone())));
        }
        match value {
            Real::Variable(number) => Some(Vector::Variable(*self.vectors.get(number)?)),
            Real::Load(access) => Some(Vector::Load(self.access(access))),
            Real::Unary(operator, operand) => Some(Vector::Unary(*operator, Box::new(self.vector(operand)?))),
            Real::Binary(operator, left, right) if *operator != RealBinary::Pow => {
                Some(Vector::Binary(*operator, Box::new(self.vector(left)?), Box::new(self.vector(right)?)))
            }
            Real::Fma(operands) => {
                let [a, b, c] = &**operands;
                Some(Vector::Fma(Box::new([self.vector(a)?, self.vector(b)?, self.vector(c)?])))
            }
            _ => None,
        }
    }

    /// The access with the counter counting vectors: `i2` becomes `(i2 * 4)`.
    fn access(&self, access: &Access) -> Access {
        let index = access.index.iter().map(|index| self.scaled(index)).collect();
        Access { buffer: access.buffer, index, place: access.place }
    }

    fn scaled(&self, int: &Int) -> Int {
        match int {
            Int::Counter(number) if *number == self.counter => {
                Int::Binary(IntBinary::Mul, Box::new(int.clone()), Box::new(Int::Constant(self.lanes)))
            }
            Int::Binary(operator, left, right) => {
                Int::Binary(*operator, Box::new(self.scaled(left)), Box::new(self.scaled(right)))
            }
            Int::Neg(operand) => Int::Neg(Box::new(self.scaled(operand))),
            // The counter stands in no other form: `qualify` has seen to it.
            other => other.clone(),
        }
    }
}
