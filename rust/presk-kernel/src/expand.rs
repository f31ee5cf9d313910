//! Statements that reach beyond sixteen bytes, written out in those that don't: this is what they mean.
//!
//! The verifier proves the expansion, the interpreter runs it, and what may be divided is decided on it; machine code
//! calls a routine of its own with the same bits. What runs of elements become is in [`crate::runs`]. A tile becomes
//!
//! ```text
//! for i4 in 0..8 {
//!   for i5 in 0..32 {
//!     s0 = 0
//!     for i6 in 0..256 {
//!       s0 = (s0 + (%0[i4, i6] * %1[i6, i5]))
//!     }
//!     %2[i4, i5] = s0
//!   }
//! }
//! ```
//! where one that continues begins with `s0 = %2[i4, i5]`, and a fused one has `fma(a, b, s0)`.

use std::borrow::Cow;

use crate::ir::{Constant, Kernel, Loop, Real, RealBinary, Run, Statement, StatementKind, Tile};
use crate::runs;
use crate::walk::{self, Value};

/// The kernel with each such statement written out; the kernel itself where it has none.
#[must_use]
pub fn expand(kernel: &Kernel) -> Cow<'_, Kernel> {
    let mut has_tiles = false;
    walk::statements(&kernel.body, &mut |statement| has_tiles |= matches!(statement.kind, StatementKind::Tile(_)));
    if !has_tiles {
        return runs::expand(kernel);
    }
    let expansion = Expansion { total: unused_real(kernel) };
    let without_tiles = Kernel { body: expansion.block(&kernel.body), ..kernel.clone() };
    Cow::Owned(runs::expand(&without_tiles).into_owned())
}

struct Expansion {
    /// The variable of a tile's sum, read by nothing else.
    total: u32,
}

impl Expansion {
    fn block(&self, body: &[Statement]) -> Vec<Statement> {
        body.iter().map(|statement| self.statement(statement)).collect()
    }

    fn statement(&self, statement: &Statement) -> Statement {
        let kind = match &statement.kind {
            StatementKind::For(each) => StatementKind::For(Loop { body: self.block(&each.body), ..each.clone() }),
            StatementKind::If(condition, body) => StatementKind::If(condition.clone(), self.block(body)),
            StatementKind::Tile(tile) => {
                return self.tile(tile, statement);
            }
            other => other.clone(),
        };
        Statement { kind, place: statement.place }
    }

    fn tile(&self, tile: &Tile, from: &Statement) -> Statement {
        let at = |kind| Statement { kind, place: from.place };
        let total = || Real::Variable(self.total);
        let (left, right) = (Real::Load(tile.left.clone()), Real::Load(tile.right.clone()));
        let grown = if tile.fused {
            Real::Fma(Box::new([left, right, total()]))
        } else {
            let product = Real::Binary(RealBinary::Mul, Box::new(left), Box::new(right));
            Real::Binary(RealBinary::Add, Box::new(total()), Box::new(product))
        };
        let first = if tile.continues { Real::Load(tile.sum.clone()) } else { Real::Constant(Constant::new(0.0)) };
        let [rows, columns, depth] = tile.runs;
        let round = |run: Run, body| at(StatementKind::For(Loop { variable: run.variable, extent: run.extent, body }));
        let element = vec![
            at(StatementKind::SetReal(self.total, first)),
            round(depth, vec![at(StatementKind::SetReal(self.total, grown))]),
            at(StatementKind::StoreReal(tile.sum.clone(), total())),
        ];
        round(rows, vec![round(columns, element)])
    }
}

/// The number of a real variable the kernel doesn't have.
fn unused_real(kernel: &Kernel) -> u32 {
    let mut used = std::collections::BTreeSet::new();
    walk::statements(&kernel.body, &mut |statement| {
        if let StatementKind::SetReal(number, _) = &statement.kind {
            used.insert(*number);
        }
        statement.kind.values(&mut |value| {
            value.visit(&mut |value| {
                if let Value::Real(Real::Variable(number)) = value {
                    used.insert(*number);
                }
            });
        });
    });
    (0..).find(|number| !used.contains(number)).expect("fewer variables are used than there are numbers")
}
