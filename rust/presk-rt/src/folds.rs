//! Sums, maxima and minima of several rows at once: one routine for each instruction set.
//!
//! A row's sum takes its elements in order, so lanes run across rows: vectors of eight rows' elements are turned, in
//! registers, into vectors of one element of each. An extreme is the same in any order, so there lanes run along the row; which
//! of two zeros it is and whether there was a NaN is decided at the end. Machine code calls these for loops that do nothing else.

#![allow(
    clippy::extra_unused_type_parameters,
    reason = "what is generic over its instruction set is compiled once for each, every closure within it too"
)]
#![allow(unsafe_code, reason = "routines take pointers, as machine code has them")]

use crate::isa::Isa;

mod extremes;
mod sums;
mod tables;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Rows whose sums are taken at once.
pub const ROWS: usize = 8;

/// What is made of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Each element added in order.
    Sum,
    /// The square of each element's difference from a number, added in order.
    Spread,
    /// IEEE 754-2019's maximum.
    Max,
    /// IEEE 754-2019's minimum.
    Min,
}

impl Fold {
    /// Every fold.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Spread, Self::Max, Self::Min];

    /// The name in a symbol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Spread => "spread",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// A routine: where the rows begin, their values so far, a spread's numbers, how many rows and how many elements of each.
///
/// Its contract: the first points to as many pointers as there are rows, each to as many elements that may be read; the second
/// to as many values, which may be written and aren't elements of a row; the third, for a spread, to as many numbers. The
/// processor has the routine's instruction set.
pub type Routine<T> = unsafe extern "C" fn(*const *const T, *mut T, *const T, usize, usize);

/// The routines of one type and instruction set, in the order of [`Fold::ALL`].
pub struct Table<T>([Routine<T>; Fold::ALL.len()]);

impl<T> Table<T> {
    /// The routine of a fold.
    #[must_use]
    pub fn routine(&self, fold: Fold) -> Routine<T> {
        self.0[fold as usize]
    }
}

/// A type that there are routines of.
pub trait Real: Copy + 'static {
    /// The routines of an instruction set. Calling one wants a processor that has it.
    fn folds(isa: Isa) -> &'static Table<Self>;
}

impl Real for f32 {
    fn folds(isa: Isa) -> &'static Table<Self> {
        tables::single(isa)
    }
}

impl Real for f64 {
    fn folds(isa: Isa) -> &'static Table<Self> {
        tables::double(isa)
    }
}

/// Takes rows of one length into their values so far; the centres are a spread's numbers.
///
/// # Panics
/// Where lengths differ, there isn't a value and a centre for each row, or the processor doesn't have the instruction set.
pub fn fold<T: Real>(isa: Isa, fold: Fold, rows: &[&[T]], values: &mut [T], centres: &[T]) {
    let count = rows.first().map_or(0, |row| row.len());
    assert!(rows.len() == values.len() && rows.len() == centres.len(), "a value and a centre for each row");
    assert!(rows.iter().all(|row| row.len() == count), "rows of one length");
    assert!(isa.is_available(), "a processor that runs it");
    let pointers: Vec<*const T> = rows.iter().map(|row| row.as_ptr()).collect();
    // SAFETY: these are slices of that length, and a slice that is written overlaps no other.
    unsafe {
        T::folds(isa).routine(fold)(pointers.as_ptr(), values.as_mut_ptr(), centres.as_ptr(), values.len(), count)
    };
}
