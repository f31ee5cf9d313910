//! How much work a kernel is: the host's measure for whether dividing a launch over workers pays.

use presk_kernel::Kernel;
use presk_kernel::ir::{Applied, Int, Loop, Real, RealBinary, RealUnary, Statement, StatementKind, Vector};
use presk_kernel::walk::Value;

/// Weighted operations from which a launch without a word about it is divided: a piece of it then takes far longer than
/// waking a worker.
pub const DIVIDED_FROM: u64 = 4_000_000;

/// A division or a square root beside an addition.
const DIVISION: u64 = 8;
/// An elementary function.
const FUNCTION: u64 = 32;
/// A power.
const POWER: u64 = 64;
/// How many times cheaper a function is over a run than one by one.
const IN_RUN: u64 = 4;

/// The weighted operations of one run: each load, store and arithmetic operation counts 1, slower ones more; index
/// arithmetic that is affine in the counters is free, as it is to compiled code. Tiles, whose launches say how they are
/// divided, are left out.
#[must_use]
pub fn weighted_operations(kernel: &Kernel) -> u64 {
    block(&kernel.body, false)
}

/// The same with tiles, and a loop's round being an operation at least: how long a run takes, whatever it does.
#[must_use]
pub fn all_operations(kernel: &Kernel) -> u64 {
    block(&kernel.body, true)
}

/// The operations of one round of a loop, as [`all_operations`] counts them.
#[must_use]
pub fn of_round(each: &Loop) -> u64 {
    let within = |sum: u64, within| {
        let (left, all) = (rounds(within, each.variable, each.extent), each.extent.max(1));
        // A statement that a condition leaves some rounds alone counts for as many of them.
        sum.saturating_add(weight_of(within, true).saturating_mul(left).div_ceil(all))
    };
    each.body.iter().fold(0, within).max(1)
}

fn block(body: &[Statement], is_all: bool) -> u64 {
    body.iter().fold(0, |sum, each| sum.saturating_add(weight_of(each, is_all)))
}

fn weight_of(statement: &Statement, is_all: bool) -> u64 {
    let mut own = u64::from(statement.kind.stored().is_some());
    statement.kind.values(&mut |value| value.visit(&mut |value| own = own.saturating_add(weight(value))));
    match &statement.kind {
        StatementKind::For(each) => {
            let within = each.body.iter().fold(0, |sum: u64, within| {
                let weight = weight_of(within, is_all);
                sum.saturating_add(rounds(within, each.variable, each.extent).saturating_mul(weight))
            });
            if is_all { within.max(each.extent) } else { within }
        }
        StatementKind::If(_, body) => own.saturating_add(block(body, is_all)),
        StatementKind::Apply(apply) => {
            let each = if matches!(apply.applied, Applied::Power(..)) { POWER } else { FUNCTION } / IN_RUN;
            own.saturating_add(apply.count.saturating_mul(each))
        }
        StatementKind::Tile(tile) if is_all => {
            tile.runs.iter().fold(1, |product: u64, run| product.saturating_mul(run.extent))
        }
        _ => own,
    }
}

/// In how many rounds of its loop a statement runs: in all, or in those that a condition on the counter leaves.
fn rounds(statement: &Statement, counter: u32, extent: u64) -> u64 {
    let StatementKind::If(condition, _) = &statement.kind else { return extent };
    let left = condition.rounds().filter(|(number, _)| *number == counter);
    left.map_or(extent, |(_, rounds)| rounds.end.min(extent).saturating_sub(rounds.start))
}

fn weight(value: Value<'_>) -> u64 {
    match value {
        Value::Real(Real::Constant(_) | Real::Variable(_)) | Value::Vector(Vector::Variable(_)) => 0,
        Value::Real(Real::Call(..)) => FUNCTION,
        Value::Real(Real::Binary(RealBinary::Pow, ..)) => POWER,
        Value::Real(Real::Binary(RealBinary::Div, ..) | Real::Unary(RealUnary::Sqrt, _))
        | Value::Vector(Vector::Binary(RealBinary::Div, ..) | Vector::Unary(RealUnary::Sqrt, _)) => DIVISION,
        Value::Real(_) | Value::Vector(_) | Value::Int(Int::Load(_)) => 1,
        Value::Int(_) | Value::Bool(_) | Value::Mask(_) | Value::Wholes(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_multiply_and_functions_weigh() {
        let text = "kernel work (%0 : f32[10, 20]) -> %1 : f32[10] {\n  for i0 in 0..10 {\n    s0 = 0\n    for i1 in 0..20 {\n      s0 = (s0 + exp(%0[i0, i1]))\n    }\n    %1[i0] = s0\n  }\n}\n";
        let kernel = presk_kernel::parse(text).expect("it reads");
        // An addition, a function and a load; a store a row.
        assert_eq!(weighted_operations(&kernel), 10 * (20 * (1 + FUNCTION + 1) + 1));
    }

    #[test]
    fn a_last_round_counts_once() {
        let text = "kernel work (%0 : f32[11]) -> %1 : f32[11] {\n  for i0 in 0..3 {\n    if (i0 < 2) {\n      for i1 in 0..4 {\n        %1[((i0 * 4) + i1)] = exp(%0[((i0 * 4) + i1)])\n      }\n    }\n    if (i0 == 2) {\n      for i1 in 0..3 {\n        %1[((i0 * 4) + i1)] = exp(%0[((i0 * 4) + i1)])\n      }\n    }\n  }\n}\n";
        let kernel = presk_kernel::parse(text).expect("it reads");
        assert_eq!(weighted_operations(&kernel), 11 * (1 + FUNCTION + 1));
    }
}
