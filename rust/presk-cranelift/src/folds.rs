//! Loops that are nothing but sums, maxima or minima of rows: each is a call of the runtime's routine for the target's
//! instruction set, whose vectors go across rows (sums) or along them (extremes).
//!
//! Such a loop's statements are `s0 = (s0 + %0[i0, i2])`, all with one operation and a variable each, every load along a last
//! axis, of the arithmetic type; or pairs `s1 = (%0[i0, i2] - s2)`, `s0 = (s0 + (s1 * s1))`. Rows, values and the numbers that
//! are subtracted lie in stack slots for the call.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, types as clif};
use presk_kernel::ir::{Access, Loop, Real, RealBinary, StatementKind};
use presk_rt::folds::{Fold, ROWS};

use crate::addresses::Linear;
use crate::generator::{Counter, Generator, Position};
use crate::types;

/// Rounds of a loop worth a routine's call.
const LEAST: u64 = 32;

/// Rows of one call.
const MOST_ROWS: usize = 64;

/// A row and the variable it is folded into.
#[derive(Clone, Copy)]
struct Row<'k> {
    variable: u32,
    access: &'k Access,
    spread: Option<Spread>,
}

/// The variables of a spread's number and of the difference from it.
#[derive(Clone, Copy)]
struct Spread {
    centre: u32,
    difference: u32,
}

impl<'k> Generator<'_, 'k> {
    /// Calls a routine for a loop that is such a fold; else says that it isn't.
    pub(crate) fn folded(&mut self, each: &'k Loop) -> bool {
        let Some((fold, rows)) = self.fold_of(each) else { return false };
        let real = types::real(self.kernel.arithmetic);
        let bytes = real.bytes();
        let number = u32::try_from(rows.len()).expect("few rows");
        let [pointers, values, centres] = [8, bytes, bytes].map(|bytes| self.slot(bytes * number));
        self.nest.push(Counter {
            number: each.variable,
            extent: each.extent,
            position: Position::Fixed(0),
            strides: Vec::new(),
        });
        let offsets = |bytes: u32| (0i32..).step_by(bytes as usize);
        for (row, (pointer, value)) in rows.iter().zip(offsets(8).zip(offsets(bytes))) {
            let first = self.place(row.access);
            self.builder.ins().stack_store(clif::I64, first, pointers, pointer);
            let before = self.get('s', row.variable);
            self.builder.ins().stack_store(clif::I64, before, values, value);
            if let Some(spread) = row.spread {
                let centre = self.get('s', spread.centre);
                self.builder.ins().stack_store(clif::I64, centre, centres, value);
            }
        }
        self.nest.pop();
        let arguments = [
            self.builder.ins().stack_addr(clif::I64, pointers, 0),
            self.builder.ins().stack_addr(clif::I64, values, 0),
            self.builder.ins().stack_addr(clif::I64, centres, 0),
            self.whole(i64::from(number)),
            self.whole(each.extent.cast_signed()),
        ];
        self.call_fold(fold, arguments);
        for (row, value) in rows.iter().zip(offsets(bytes)) {
            let found = self.builder.ins().stack_load(clif::I64, real, values, value);
            self.set('s', row.variable, found);
        }
        self.last_differences(each, &rows);
        true
    }

    /// Sets the variables of differences to what the last round leaves in them, if anybody reads that.
    fn last_differences(&mut self, each: &'k Loop, rows: &[Row<'k>]) {
        self.nest.push(Counter {
            number: each.variable,
            extent: each.extent,
            position: Position::Fixed(each.extent.cast_signed() - 1),
            strides: Vec::new(),
        });
        for row in rows {
            if let Some(spread) = row.spread {
                let (last, centre) = (self.load_real(row.access), self.get('s', spread.centre));
                let difference = self.builder.ins().fsub(last, centre);
                self.set('s', spread.difference, difference);
            }
        }
        self.nest.pop();
    }

    fn slot(&mut self, bytes: u32) -> StackSlot {
        self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3))
    }

    /// What the loop makes of which rows, where it is a fold that a routine computes.
    fn fold_of(&self, each: &'k Loop) -> Option<(Fold, Vec<Row<'k>>)> {
        if each.extent < LEAST || each.body.len() > 2 * MOST_ROWS {
            return None;
        }
        let mut differences = BTreeMap::new();
        let mut folds: Vec<(Fold, Row<'k>)> = Vec::new();
        for statement in &each.body {
            let StatementKind::SetReal(variable, Real::Binary(operation, left, right)) = &statement.kind else {
                return None;
            };
            match (operation, &**left, &**right) {
                (RealBinary::Sub, Real::Load(access), Real::Variable(centre)) if self.is_row(access, each) => {
                    let spread = Spread { centre: *centre, difference: *variable };
                    differences.insert(*variable, (access, spread)).is_none().then_some(())?;
                }
                (_, Real::Variable(before), right) if before == variable => {
                    folds.push(self.row(*variable, *operation, right, &mut differences, each)?);
                }
                _ => return None,
            }
        }
        let (fold, _) = *folds.first()?;
        let assigned = folds.iter().map(|(_, row)| row.variable);
        let assigned: Vec<u32> =
            assigned.chain(folds.iter().filter_map(|(_, row)| Some(row.spread?.difference))).collect();
        let distinct: BTreeSet<u32> = assigned.iter().copied().collect();
        let is_one = folds
            .iter()
            .all(|(other, row)| *other == fold && row.spread.is_none_or(|spread| !distinct.contains(&spread.centre)));
        // Sums of fewer rows wait for one another: the loop itself is as fast.
        let is_enough = matches!(fold, Fold::Max | Fold::Min) || folds.len().is_multiple_of(ROWS);
        let is_such = is_one && is_enough && differences.is_empty() && distinct.len() == assigned.len();
        (is_such && folds.len() <= MOST_ROWS).then(|| (fold, folds.into_iter().map(|(_, row)| row).collect()))
    }

    /// `s0 = (s0 + %0[i0, i2])`, or `s0 = (s0 + (s1 * s1))` where s1 is a difference that nothing else reads.
    fn row(
        &self,
        variable: u32,
        operation: RealBinary,
        right: &'k Real,
        differences: &mut BTreeMap<u32, (&'k Access, Spread)>,
        each: &Loop,
    ) -> Option<(Fold, Row<'k>)> {
        match (operation, right) {
            (RealBinary::Add, Real::Binary(RealBinary::Mul, left, right)) => {
                let (Real::Variable(left), Real::Variable(right)) = (&**left, &**right) else { return None };
                let (access, spread) = differences.remove(left).filter(|_| left == right)?;
                Some((Fold::Spread, Row { variable, access, spread: Some(spread) }))
            }
            (RealBinary::Add | RealBinary::Max | RealBinary::Min, Real::Load(access)) if self.is_row(access, each) => {
                let fold = match operation {
                    RealBinary::Add => Fold::Sum,
                    RealBinary::Max => Fold::Max,
                    _ => Fold::Min,
                };
                Some((fold, Row { variable, access, spread: None }))
            }
            _ => None,
        }
    }

    /// Whether a loop goes along an access's last axis, over elements of the arithmetic type.
    fn is_row(&self, access: &'k Access, each: &Loop) -> bool {
        let buffer = self.kernel.buffer(access.buffer);
        let linear = Linear::element(access, buffer);
        types::is_exact(buffer.element, self.kernel.arithmetic)
            && linear.is_affine()
            && linear.coefficient(each.variable) == 1
    }
}
