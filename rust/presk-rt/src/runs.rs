//! The elementary functions over runs of elements, one routine for each function, type and instruction set.
//!
//! A routine gives the bits of the libm crate's function. It restates that function as straight-line programs over a
//! stated range ([`single`], [`double`]), written once; every instruction set compiles the same source ([`tables`]). An
//! element outside of the range is given to the crate's function, and where all of a block lie in one range, the programs of
//! the others are skipped. Machine code calls these for the statement `apply` (docs/kernels.md).

#![allow(
    clippy::approx_constant,
    clippy::excessive_precision,
    clippy::manual_range_contains,
    reason = "constants and comparisons are written as the crate writes them"
)]
#![allow(
    clippy::extra_unused_type_parameters,
    reason = "what is generic over its instruction set is compiled once for each, every closure within it too"
)]
#![allow(unsafe_code, reason = "routines take pointers, as machine code has them")]

use presk_kernel::ir::Function;

use crate::isa::Isa;

pub use maps::{Map, Scale, With};

mod block;
mod double;
mod maps;
mod pack;
mod parts;
mod single;
mod tables;

/// A routine of a function of one argument: source, target, number of elements.
///
/// Its contract: the source is that many elements that may be read, the target as many that may be written, and the two are
/// the same elements or have none in common. The processor has the routine's instruction set.
pub type Unary<T> = unsafe extern "C" fn(*const T, *mut T, usize);

/// A routine of a function of two arguments: both sources, then target and number of elements, as for [`Unary`].
pub type Binary<T> = unsafe extern "C" fn(*const T, *const T, *mut T, usize);

/// A routine of a [`Map`]: source, target, gains, shifts, centre, scale, number of elements, as for [`Unary`] of each of the
/// three sources. What the map doesn't have isn't looked at.
pub type Mapped<T> = unsafe extern "C" fn(*const T, *mut T, *const T, *const T, T, T, usize);

/// The routines of one type and instruction set.
pub struct Table<T> {
    /// In the order of [`Function::ALL`].
    functions: [Unary<T>; Function::ALL.len()],
    power: Binary<T>,
    /// By [`Map::number`].
    maps: [Mapped<T>; Map::COUNT],
}

impl<T> Table<T> {
    /// The routine of a function.
    #[must_use]
    pub fn function(&self, function: Function) -> Unary<T> {
        let number = Function::ALL.iter().position(|each| *each == function).expect("every function is listed");
        self.functions[number]
    }

    /// The routine of a map.
    #[must_use]
    pub fn map(&self, map: Map) -> Mapped<T> {
        self.maps[map.number()]
    }

    /// The routine of powers.
    #[must_use]
    pub fn power(&self) -> Binary<T> {
        self.power
    }
}

/// A type that there are routines of.
pub trait Real: Copy + Sized + 'static {
    /// The routines of an instruction set. Calling one wants a processor that has it.
    fn routines(isa: Isa) -> &'static Table<Self>;
}

impl Real for f32 {
    fn routines(isa: Isa) -> &'static Table<Self> {
        tables::single(isa)
    }
}

impl Real for f64 {
    fn routines(isa: Isa) -> &'static Table<Self> {
        tables::double(isa)
    }
}

/// The function of each element of a run.
///
/// # Panics
/// Where the lengths differ, or the processor doesn't have the instruction set.
pub fn apply<T: Real>(isa: Isa, function: Function, source: &[T], target: &mut [T]) {
    assert!(source.len() == target.len() && isa.is_available(), "a run of one length, on a processor that runs it");
    let routine = T::routines(isa).function(function);
    // SAFETY: both are slices of that length, and a slice that is written overlaps no other.
    unsafe { routine(source.as_ptr(), target.as_mut_ptr(), target.len()) };
}

/// The function of each element of a run, in its place.
///
/// # Panics
/// Where the processor doesn't have the instruction set.
pub fn apply_in_place<T: Real>(isa: Isa, function: Function, run: &mut [T]) {
    assert!(isa.is_available(), "a processor that runs it");
    let routine = T::routines(isa).function(function);
    // SAFETY: both runs are the slice, of that length.
    unsafe { routine(run.as_ptr(), run.as_mut_ptr(), run.len()) };
}

/// The map of each element of a run.
///
/// # Panics
/// As [`apply`].
pub fn map<T: Real>(isa: Isa, map: Map, source: &[T], target: &mut [T], with: &With<'_, T>) {
    let count = target.len();
    assert!(source.len() == count && isa.is_available(), "a run of one length, on a processor that runs it");
    assert!(with.gains.len() == count && with.shifts.len() == count, "runs of one length");
    let routine = T::routines(isa).map(map);
    let (gains, shifts) = (with.gains.as_ptr(), with.shifts.as_ptr());
    // SAFETY: all are slices of that length, and a slice that is written overlaps no other.
    unsafe { routine(source.as_ptr(), target.as_mut_ptr(), gains, shifts, with.centre, with.scale, count) };
}

/// Each base to the power of the exponent in its place.
///
/// # Panics
/// As [`apply`].
pub fn power<T: Real>(isa: Isa, bases: &[T], exponents: &[T], target: &mut [T]) {
    assert!(bases.len() == target.len() && exponents.len() == target.len(), "runs of one length");
    assert!(isa.is_available(), "a processor that runs it");
    let routine = T::routines(isa).power();
    // SAFETY: all are slices of that length, and a slice that is written overlaps no other.
    unsafe { routine(bases.as_ptr(), exponents.as_ptr(), target.as_mut_ptr(), target.len()) };
}
