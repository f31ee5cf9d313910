//! Blocks of a run: as many elements as a few vectors hold, in local arrays, where the compiler sees that nothing overlaps.
//!
//! What is done to a block is a loop over plain Rust without branches. Each instruction set compiles the same source to
//! its own vectors; no operation is contracted or reordered, so the bits are those of the scalar program.

/// Elements of a block.
pub const BLOCK: usize = 64;

/// A block's elements, aligned to the widest vectors.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Block<T>(pub [T; BLOCK]);

/// Whether every element has a property.
#[inline(always)]
pub fn all<T: Copy>(x: &Block<T>, has: impl Fn(T) -> bool) -> bool {
    let mut lacking = 0u32;
    for &x in &x.0 {
        lacking |= u32::from(!has(x));
    }
    lacking == 0
}

/// The straight-line program of each element.
#[inline(always)]
pub fn map<T: Copy>(x: &Block<T>, y: &mut Block<T>, program: impl Fn(T) -> T) {
    for (y, &x) in y.0.iter_mut().zip(&x.0) {
        *y = program(x);
    }
}

/// A program of those elements alone that lie in its range; the others' places stay. They are gathered, so that the
/// program runs over full vectors, and not at all where there are none.
#[inline(always)]
pub fn part<T: Copy + Default>(
    x: &Block<T>,
    y: &mut Block<T>,
    covers: impl Fn(T) -> bool,
    program: impl Fn(&Block<T>, &mut Block<T>, usize),
) {
    if all(x, |x| !covers(x)) {
        return;
    }
    let (mut places, mut count) = ([0u8; BLOCK], 0);
    for (place, &x) in (0u8..).zip(&x.0) {
        // Whatever isn't covered is overwritten by the next, without a branch.
        places[count % BLOCK] = place;
        count += usize::from(covers(x));
    }
    let places = &places[..count];
    // What fills the block up is in the range too.
    let mut gathered = Block([x.0[usize::from(places[0]) % BLOCK]; BLOCK]);
    let mut found = Block([T::default(); BLOCK]);
    for (gathered, &place) in gathered.0.iter_mut().zip(places) {
        *gathered = x.0[usize::from(place) % BLOCK];
    }
    program(&gathered, &mut found, count);
    for (&found, &place) in found.0.iter().zip(places) {
        y.0[usize::from(place) % BLOCK] = found;
    }
}

/// Elements a program takes at a time of a block that isn't full.
const STEP: usize = 16;

/// The straight-line program of each of a block's first elements, and of whatever fills the last vector up.
#[inline(always)]
pub fn map_first<T: Copy>(x: &Block<T>, y: &mut Block<T>, count: usize, program: impl Fn(T) -> T) {
    let steps = y.0.chunks_exact_mut(STEP).zip(x.0.chunks_exact(STEP));
    for (y, x) in steps.take(count.div_ceil(STEP)) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = program(x);
        }
    }
}

/// The function itself, of the elements outside of all programs' range.
#[inline(always)]
pub fn patch<T: Copy>(x: &Block<T>, y: &mut Block<T>, covers: impl Fn(T) -> bool, function: fn(T) -> T) {
    if all(x, &covers) {
        return;
    }
    for (y, &x) in y.0.iter_mut().zip(&x.0) {
        if !covers(x) {
            *y = function(x);
        }
    }
}

/// Runs a program of blocks over `count` elements. The last block is filled up with the run's last element.
///
/// # Safety
/// `source` points to `count` elements that may be read, `target` to as many that may be written; the two are the same
/// elements or have none in common.
#[inline(always)]
pub unsafe fn run<T: Copy + Default>(
    source: *const T,
    target: *mut T,
    count: usize,
    program: impl Fn(&Block<T>, &mut Block<T>),
) {
    // SAFETY: the caller's promise; of the second source nothing is read but what the first one has.
    unsafe { run_of_two(source, source, target, count, |x, _, y| program(x, y)) };
}

/// The same for a program of two arguments.
///
/// # Safety
/// As [`run`], for both sources.
#[inline(always)]
pub unsafe fn run_of_two<T: Copy + Default>(
    left: *const T,
    right: *const T,
    target: *mut T,
    count: usize,
    program: impl Fn(&Block<T>, &Block<T>, &mut Block<T>),
) {
    let mut y = Block([T::default(); BLOCK]);
    // The program is called at one place: only so is it sure to be compiled for the instruction set of the caller.
    for at in (0..count).step_by(BLOCK) {
        let filled = BLOCK.min(count - at);
        // SAFETY: `at` + `filled` is at most `count`, and `filled` at least 1. A block is read as a whole before any of it
        // is written.
        unsafe {
            program(&block(left.add(at), filled), &block(right.add(at), filled), &mut y);
            if filled == BLOCK {
                target.add(at).cast::<[T; BLOCK]>().write_unaligned(y.0);
            } else {
                copy(y.0.as_ptr(), target.add(at), filled);
            }
        }
    }
}

/// The block that begins at an element; where it isn't full, its last element fills it up.
///
/// # Safety
/// `source` points to `filled` elements, 1 to [`BLOCK`].
#[inline(always)]
unsafe fn block<T: Copy>(source: *const T, filled: usize) -> Block<T> {
    // SAFETY: the caller's promise; `x` is this function's own.
    unsafe {
        if filled == BLOCK {
            return Block(source.cast::<[T; BLOCK]>().read_unaligned());
        }
        let mut x = Block([source.add(filled - 1).read_unaligned(); BLOCK]);
        copy(source, x.0.as_mut_ptr(), filled);
        x
    }
}

/// Copies elements one by one: a block's rest is too short for a call.
///
/// # Safety
/// Both point to `count` elements, and they have none in common.
#[inline(always)]
unsafe fn copy<T: Copy>(source: *const T, target: *mut T, count: usize) {
    for at in 0..count {
        // SAFETY: `at` is below `count`.
        unsafe { target.add(at).write_unaligned(source.add(at).read_unaligned()) };
    }
}
