//! Sums, in order: of elements, or of the squares of their differences from a number.

use std::ops::{Add, Mul, Sub};

use super::ROWS;

/// How an instruction set adds eight rows, of a number of elements that it likes, to their sums.
pub trait Sums<T> {
    /// How many of `count` elements [`Self::eight`] takes.
    fn taken(count: usize) -> usize;

    /// # Safety
    /// The rows are of `count` elements that may be read, a number that [`Self::taken`] gives.
    unsafe fn eight<const SPREAD: bool>(
        rows: &[*const T; ROWS],
        sums: &mut [T; ROWS],
        centres: &[T; ROWS],
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
    unsafe fn eight<const SPREAD: bool>(_: &[*const T; ROWS], _: &mut [T; ROWS], _: &[T; ROWS], _: usize) {}
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
    let whole = number - number % ROWS;
    let step = |sum: T, x: T, centre: T| if SPREAD { sum + (x - centre) * (x - centre) } else { sum + x };
    // SAFETY: the caller's promise; `first` + ROWS is at most `number`.
    unsafe {
        for first in (0..whole).step_by(ROWS) {
            let these = &*rows.add(first).cast::<[*const T; ROWS]>();
            let place = sums.add(first).cast::<[T; ROWS]>();
            let mut found = place.read_unaligned();
            let mut middle = [T::default(); ROWS];
            if SPREAD {
                middle = centres.add(first).cast::<[T; ROWS]>().read_unaligned();
            }
            let taken = S::taken(count);
            S::eight::<SPREAD>(these, &mut found, &middle, taken);
            for at in taken..count {
                for ((sum, row), &centre) in found.iter_mut().zip(these).zip(&middle) {
                    *sum = step(*sum, row.add(at).read_unaligned(), centre);
                }
            }
            place.write_unaligned(found);
        }
        for number in whole..number {
            let (row, place) = (*rows.add(number), sums.add(number));
            let centre = if SPREAD { centres.add(number).read_unaligned() } else { T::default() };
            let mut sum = place.read_unaligned();
            for at in 0..count {
                sum = step(sum, row.add(at).read_unaligned(), centre);
            }
            place.write_unaligned(sum);
        }
    }
}
