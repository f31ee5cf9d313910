//! Functions that have programs of their own for some sizes: the elements of a size are taken together, so that its program
//! runs over full vectors, and not at all where there are none.

use std::mem::MaybeUninit;

use super::block::{Block, Program, copy};
use super::pack::{Pack, STEP};

/// Elements of a run that are looked at together: enough that the few of a rare size fill some vectors.
pub const MOST: usize = 512;

/// Elements of the longest block.
const LONGEST: usize = 64;

/// A function that has a program for each of three ranges of sizes. One is a type of its own for each instruction set.
pub trait BySize<T> {
    /// Where the first range ends, and the second.
    const BOUNDS: [T; 2];
    /// The programs.
    type First: Program<T>;
    type Second: Program<T>;
    type Third: Program<T>;
}

/// Computes such a function of `count` elements. L, the elements of a block, is a multiple of [`STEP`].
///
/// # Safety
/// As [`super::block::run`].
#[inline(always)]
pub unsafe fn by_size<T: Copy + Default, P: Pack<T>, F: BySize<T>, const L: usize>(
    source: *const T,
    target: *mut T,
    count: usize,
) {
    let mut rest = MaybeUninit::<Block<T, { MOST + LONGEST }>>::uninit();
    let rest = rest.as_mut_ptr().cast::<T>();
    for at in (0..count).step_by(MOST) {
        let here = MOST.min(count - at);
        let filled = here.next_multiple_of(L);
        // SAFETY: `at` + `here` is at most `count`; the rest has room for MOST and a block.
        unsafe {
            let (mut from, mut to) = (source.add(at), target.add(at));
            if here < filled {
                copy(from, rest, here);
                fill::<_, L>(rest.add(here), *from.add(here - 1));
                (from, to) = (rest, rest);
            }
            part::<T, P, F, L>(from, to, filled);
            if here < filled {
                copy(rest, target.add(at), here);
            }
        }
    }
}

/// The same of at most [`MOST`] elements, a multiple of L.
///
/// # Safety
/// As [`by_size`].
#[inline(always)]
unsafe fn part<T: Copy + Default, P: Pack<T>, F: BySize<T>, const L: usize>(
    source: *const T,
    target: *mut T,
    count: usize,
) {
    let (mut beyond, mut far) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: the caller's promise. The elements beyond are taken before the target is written, which may be the source, and are
    // put into as many elements as they were taken of.
    unsafe {
        let beyond = Room::take::<P, L>(&mut beyond, source, count, F::BOUNDS[0]);
        if beyond.count < count {
            blocks::<T, F::First, L>(source, target, count);
        }
        if beyond.count > 0 {
            let filled = beyond.count.next_multiple_of(L);
            let far = Room::take::<P, L>(&mut far, beyond.values, filled, F::BOUNDS[1]);
            blocks::<T, F::Second, L>(beyond.values, beyond.values, filled);
            blocks::<T, F::Third, L>(far.values, far.values, far.count);
            far.put::<P>(beyond.values, filled);
            beyond.put::<P>(target, count);
        }
    }
}

/// Writes a block of one number.
///
/// # Safety
/// `place` points to L elements that may be written.
#[inline(always)]
unsafe fn fill<T: Copy, const L: usize>(place: *mut T, number: T) {
    // SAFETY: the caller's promise.
    unsafe { place.cast::<[T; L]>().write([number; L]) };
}

/// Runs a program of blocks over `count` elements, and those that fill the last block up.
///
/// # Safety
/// As [`super::block::run`], for these too.
#[inline(always)]
unsafe fn blocks<T: Copy + Default, Q: Program<T>, const L: usize>(source: *const T, target: *mut T, count: usize) {
    for at in (0..count).step_by(L) {
        let mut y = Block([T::default(); L]);
        // SAFETY: the caller's promise. Nothing is written while the block's elements are borrowed.
        unsafe {
            Q::run(&*source.add(at).cast::<[T; L]>(), &mut y);
            target.add(at).cast::<[T; L]>().write(y.0);
        }
    }
}

/// Room for the elements of a part that are taken together, and for what says which they are.
struct Room<T> {
    values: Block<T, { MOST + LONGEST }>,
    which: [u32; MOST / STEP],
}

impl<T> Room<T> {
    /// Takes those of `count` elements that aren't smaller than `least`, NaN among them, in order, and fills a block of L up
    /// with the least.
    ///
    /// # Safety
    /// `source` points to `count` elements that may be read, a multiple of L and of [`STEP`], at most [`MOST`]. The result
    /// lives no longer than the room.
    #[inline(always)]
    unsafe fn take<P: Pack<T>, const L: usize>(
        room: &mut MaybeUninit<Self>,
        source: *const T,
        count: usize,
        least: T,
    ) -> Taken<T>
    where
        T: Copy,
    {
        let room = room.as_mut_ptr();
        // SAFETY: the caller's promise; there is room for as many and a block.
        unsafe {
            let (values, which) = ((&raw mut (*room).values).cast::<T>(), (&raw mut (*room).which).cast::<u32>());
            let taken = P::take(source, count, least, values, which);
            fill::<_, L>(values.add(taken), least);
            Taken { values, which, count: taken }
        }
    }
}

/// Elements that were taken, and what becomes of them.
struct Taken<T> {
    /// The first of them.
    values: *mut T,
    which: *const u32,
    /// How many there are.
    count: usize,
}

impl<T> Taken<T> {
    /// Puts them in a target's places.
    ///
    /// # Safety
    /// `target` points to as many elements as they were taken of, `count`, that may be read and written.
    #[inline(always)]
    unsafe fn put<P: Pack<T>>(&self, target: *mut T, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { P::put(self.values, self.which, target, count) };
    }
}
