//! The lane rewrite: loops whose rounds are independent and contiguous run sixteen bytes at a time.
//!
//! A kernel-to-kernel pass. A lane is one round of the loop, doing that round's operations in that round's order, so no
//! bit changes; the result prints, verifies and runs as any kernel. A loop over `iN` is rewritten where
//! - it has as many rounds as there are lanes, and it isn't the loop a split divides; what is left of the rounds is a loop
//!   of its own behind it, which a loop around the divided one can't have, so that its extent is a multiple of the lanes;
//! - `iN` occurs only in the last index of an access, as itself plus terms without it;
//! - every store moves with `iN`, into a buffer of reals or truth values, and all accesses of a stored buffer (or of the
//!   input whose buffer it shares) have the same last index, fixed while the loop runs, so that lanes never meet;
//! - every variable is assigned before it is read in each round, and none that differs between rounds is read later;
//! - what differs between rounds is made of + − × ÷, sign, abs, floor, sqrt, max, min, fma, rounding, select,
//!   comparisons of reals, comparisons and reals of integers that are loads or linear in `iN`, and, or, not.
//!
//! Whatever doesn't differ between rounds stays scalar and is broadcast where it is met.

use std::collections::BTreeMap;

use crate::ir::{
    Access, Bool, Float, Int, IntBinary, Kernel, Loop, Mask, Real, RealBinary, Statement, StatementKind, Vector, Wholes,
};
use crate::limits;
use crate::parallel;
use crate::walk::{self, Value};
use live::{Step, is_live_after};
use qualify::Varying;

mod live;
mod qualify;
mod rest;

/// A variable by its letter and number.
pub type Name = (char, u32);

/// The kernel with its lane-wise loops rewritten; unchanged where it has vectors already. `split` is the depth in the
/// perfect nest of the loop a launch divides.
#[must_use]
pub fn rewrite(kernel: &Kernel, split: Option<usize>) -> Kernel {
    rewritten(kernel, split, false).0
}

/// The same with the loop a launch divides in lanes too: its rounds are the vectors there are, and those left over are the
/// other form's. None where that loop can't run in lanes.
#[must_use]
pub fn rewrite_divided(kernel: &Kernel, depth: usize) -> Option<Kernel> {
    let (kernel, is_divided) = rewritten(kernel, Some(depth), true);
    is_divided.then_some(kernel)
}

fn rewritten(kernel: &Kernel, split: Option<usize>, divides: bool) -> (Kernel, bool) {
    let (mut statements, mut has_vectors) = (0, false);
    walk::statements(&kernel.body, &mut |statement| {
        statements += 1;
        has_vectors |= matches!(statement.kind, StatementKind::SetVector(..) | StatementKind::SetMask(..));
        has_vectors |= matches!(statement.kind.stored(), Some((_, true)));
    });
    if has_vectors || statements > limits::LANE_STATEMENTS {
        return (kernel.clone(), false);
    }
    let mut rewriter = Rewriter { kernel, split, divides, is_divided: false, vectors: 0 };
    let body = rewriter.block(&kernel.body, Some(0), false, &mut Vec::new());
    (Kernel { body, ..kernel.clone() }, rewriter.is_divided)
}

struct Rewriter<'k> {
    kernel: &'k Kernel,
    split: Option<usize>,
    /// Whether the divided loop is rewritten too.
    divides: bool,
    /// Whether it was.
    is_divided: bool,
    /// Number of the next vector or mask variable.
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
        let depth = depth.filter(|_| parallel::nested(body).is_some());
        let mut rewritten = Vec::new();
        for (at, statement) in body.iter().enumerate() {
            path.push(Step { block: body, at, is_loop });
            match &statement.kind {
                StatementKind::For(each) => {
                    let loops = self.for_loop(each, depth, path).into_iter();
                    rewritten
                        .extend(loops.map(|each| Statement { kind: StatementKind::For(each), place: statement.place }));
                }
                StatementKind::If(condition, inner) => {
                    let kind = StatementKind::If(condition.clone(), self.block(inner, None, false, path));
                    rewritten.push(Statement { kind, place: statement.place });
                }
                _ => rewritten.push(statement.clone()),
            }
            path.pop();
        }
        rewritten
    }

    /// A loop as it is, or in lanes and what is left of it.
    fn for_loop(&mut self, each: &'k Loop, depth: Option<usize>, path: &mut Vec<Step<'k>>) -> Vec<Loop> {
        let is_split = depth.is_some() && depth == self.split;
        // A perfect nest down to the divided loop stays one.
        let is_around = depth.zip(self.split).is_some_and(|(depth, split)| depth < split);
        let left = if is_split { 0 } else { each.extent % self.kernel.arithmetic.lanes() };
        if (self.divides || !is_split)
            && (left == 0 || !is_around)
            && let Some(rest) = rest::last_rounds(each, left)
            && let Some(in_lanes) = self.in_lanes(each, path)
        {
            self.is_divided |= is_split;
            return [in_lanes].into_iter().chain((left > 0).then_some(rest)).collect();
        }
        let body = self.block(&each.body, depth.map(|depth| depth + 1), true, path);
        vec![Loop { body, ..each.clone() }]
    }

    fn in_lanes(&mut self, each: &Loop, path: &[Step]) -> Option<Loop> {
        let lanes = self.kernel.arithmetic.lanes();
        if each.extent < lanes {
            return None;
        }
        let varying = qualify::varying(self.kernel, each)?;
        if varying.iter().any(|&name| is_live_after(path, name)) {
            return None;
        }
        let variables: BTreeMap<Name, u32> = varying.iter().copied().zip(self.vectors..).collect();
        let last = self.vectors + u32::try_from(variables.len()).ok()?;
        if last > limits::VARIABLE {
            return None;
        }
        let rewrite = Lanes { counter: each.variable, lanes: i64::try_from(lanes).ok()?, variables, varying: &varying };
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
    /// The number of the vector or mask variable of each varying real or truth one.
    variables: BTreeMap<Name, u32>,
    varying: &'v Varying,
}

impl Lanes<'_> {
    fn block(&self, body: &[Statement]) -> Option<Vec<Statement>> {
        let rewritten = body.iter().map(|statement| {
            let kind = match &statement.kind {
                StatementKind::SetReal(number, value) => match self.variables.get(&('s', *number)) {
                    Some(&vector) => StatementKind::SetVector(vector, self.vector(value)?),
                    None => statement.kind.clone(),
                },
                StatementKind::SetBool(number, value) => match self.variables.get(&('b', *number)) {
                    Some(&mask) => StatementKind::SetMask(mask, self.mask(value)?),
                    None => statement.kind.clone(),
                },
                StatementKind::StoreReal(access, value) => {
                    StatementKind::StoreVector(self.access(access), self.vector(value)?)
                }
                StatementKind::StoreBool(access, value) => {
                    StatementKind::StoreMask(self.access(access), self.mask(value)?)
                }
                StatementKind::For(each) => StatementKind::For(Loop { body: self.block(&each.body)?, ..each.clone() }),
                StatementKind::If(condition, inner) => StatementKind::If(condition.clone(), self.block(inner)?),
                other => other.clone(),
            };
            Some(Statement { kind, place: statement.place })
        });
        rewritten.collect()
    }

    fn differs(&self, value: Value) -> bool {
        qualify::differs(value, self.counter, self.varying)
    }

    fn vector(&self, value: &Real) -> Option<Vector> {
        if !self.differs(Value::Real(value)) {
            return Some(Vector::Splat(Box::new(value.clone())));
        }
        let of = |value: &Real| self.vector(value).map(Box::new);
        match value {
            Real::Variable(number) => Some(Vector::Variable(*self.variables.get(&('s', *number))?)),
            Real::Load(access) => Some(Vector::Load(self.access(access))),
            Real::Unary(operator, operand) => Some(Vector::Unary(*operator, of(operand)?)),
            Real::Binary(operator, left, right) if *operator != RealBinary::Pow => {
                Some(Vector::Binary(*operator, of(left)?, of(right)?))
            }
            Real::Fma(operands) => {
                let [a, b, c] = &**operands;
                Some(Vector::Fma(Box::new([self.vector(a)?, self.vector(b)?, self.vector(c)?])))
            }
            Real::Select(condition, a, b) => Some(Vector::Select(Box::new(self.mask(condition)?), of(a)?, of(b)?)),
            // Where f64 has a meaning, reals are f64.
            Real::Round(Float::F64, operand) => self.vector(operand),
            Real::Round(float, operand) => Some(Vector::Round(*float, of(operand)?)),
            Real::FromInt(float, operand) => Some(Vector::FromInt(*float, Box::new(self.wholes(operand)?))),
            _ => None,
        }
    }

    fn mask(&self, value: &Bool) -> Option<Mask> {
        if !self.differs(Value::Bool(value)) {
            return Some(Mask::Splat(Box::new(value.clone())));
        }
        let of = |value: &Bool| self.mask(value).map(Box::new);
        Some(match value {
            Bool::Variable(number) => Mask::Variable(*self.variables.get(&('b', *number))?),
            Bool::Load(access) => Mask::Load(self.access(access)),
            Bool::CompareReal(comparison, left, right) => {
                Mask::CompareReal(*comparison, Box::new(self.vector(left)?), Box::new(self.vector(right)?))
            }
            Bool::CompareInt(comparison, left, right) => {
                Mask::CompareInt(*comparison, Box::new(self.wholes(left)?), Box::new(self.wholes(right)?))
            }
            Bool::Not(operand) => Mask::Not(of(operand)?),
            Bool::And(left, right) => Mask::And(of(left)?, of(right)?),
            Bool::Or(left, right) => Mask::Or(of(left)?, of(right)?),
            Bool::Constant(_) => return None,
        })
    }

    fn wholes(&self, value: &Int) -> Option<Wholes> {
        if !self.differs(Value::Int(value)) {
            return Some(Wholes::Splat(Box::new(value.clone())));
        }
        if let Int::Load(access) = value {
            return Some(Wholes::Load(self.access(access)));
        }
        if qualify::differs_otherwise(value, self.varying) {
            return None;
        }
        Some(Wholes::Ramp(Box::new(self.scaled(value)), qualify::coefficient(value, self.counter)?))
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
