//! Sums, in order: of elements, or of the squares of their differences from a number.

use std::ops::{Add, Mul, Sub};

use super::ROWS;

/// How an instruction set adds G times eight rows, of a number of elements that it likes, to their sums.
///
/// Several groups are taken beside each other, since an addition waits for the one before of its own row alone.
pub trait Sums<T> {
    /// How many of `count` elements [`Self::groups`] takes.
    fn taken(count: usize) -> usize;

    /// # Safety
    /// The rows are of `count` elements that may be read, a number that [`Self::taken`] gives.
    unsafe fn groups<const SPREAD: bool, const G: usize>(
        rows: &[[*const T; ROWS]; G],
        sums: &mut [[T; ROWS]; G],
        centres: &[[T; ROWS]; G],
        count: usize,
    );
}

/// One element after the other.
pub struct Plain;

impl<T> Sums<T> for Plain {
    #[inline(always)]
    fn taken(_: usize) -> usize {
        0
    }

    #[inline(always)]
    unsafe fn groups<const SPREAD: bool, const G: usize>(
        _: &[[*const T; ROWS]; G],
        _: &mut [[T; ROWS]; G],
        _: &[[T; ROWS]; G],
        _: usize,
    ) {
    }
}

/// One element taken into a sum.
#[inline(always)]
fn step<T, const SPREAD: bool>(sum: T, x: T, centre: T) -> T
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    if SPREAD { sum + (x - centre) * (x - centre) } else { sum + x }
}

/// # Safety
/// As [`super::Routine`].
#[inline(always)]
pub unsafe fn sums<T, S: Sums<T>, const SPREAD: bool>(
    rows: *const *const T,
    sums: *mut T,
    centres: *const T,
    number: usize,
    count: usize,
) where
    T: Copy + Default + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    let (pairs, whole) = (number - number % (2 * ROWS), number - number % ROWS);
    // SAFETY: the caller's promise; `first` and the rows taken from there on are at most `number`.
    unsafe {
        for first in (0..pairs).step_by(2 * ROWS) {
            groups::<T, S, SPREAD, 2>(rows.add(first), sums.add(first), centres.wrapping_add(first), count);
        }
        for first in (pairs..whole).step_by(ROWS) {
            groups::<T, S, SPREAD, 1>(rows.add(first), sums.add(first), centres.wrapping_add(first), count);
        }
        for number in whole..number {
            let (row, place) = (*rows.add(number), sums.add(number));
            let centre = if SPREAD { centres.add(number).read_unaligned() } else { T::default() };
            let mut sum = place.read_unaligned();
            for at in 0..count {
                sum = step::<T, SPREAD>(sum, row.add(at).read_unaligned(), centre);
            }
            place.write_unaligned(sum);
        }
    }
}

/// The same of G times [`ROWS`] rows.
///
/// # Safety
/// As [`super::Routine`].
#[inline(always)]
unsafe fn groups<T, S: Sums<T>, const SPREAD: bool, const G: usize>(
    rows: *const *const T,
    sums: *mut T,
    centres: *const T,
    count: usize,
) where
    T: Copy + Default + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    // SAFETY: the caller's promise.
    unsafe {
        let rows = &*rows.cast::<[[*const T; ROWS]; G]>();
        let place = sums.cast::<[[T; ROWS]; G]>();
        let mut found = place.read_unaligned();
        let mut middle = [[T::default(); ROWS]; G];
        if SPREAD {
            middle = centres.cast::<[[T; ROWS]; G]>().read_unaligned();
        }
        let taken = S::taken(count);
        S::groups::<SPREAD, G>(rows, &mut found, &middle, taken);
        for at in taken..count {
            let all = found.as_flattened_mut().iter_mut().zip(rows.as_flattened()).zip(middle.as_flattened());
            for ((sum, row), &centre) in all {
                *sum = step::<T, SPREAD>(*sum, row.add(at).read_unaligned(), centre);
            }
        }
        place.write_unaligned(found);
    }
}
