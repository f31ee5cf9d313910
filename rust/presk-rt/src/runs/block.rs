//! Blocks of a run: as many elements as some vectors hold, in local arrays, where the compiler sees that nothing overlaps.
//!
//! What is done to a block is loops over plain Rust without branches, whose rounds are known. Each instruction set compiles
//! the same source to its own vectors; no operation is contracted or reordered, so the bits are those of the scalar program.

/// Elements of a block, for the bulk of a run, and of one that is taken of what is left: of short programs, which need nothing
/// but few rounds around them.
pub const LONG: usize = 128;
pub const SHORT: usize = 32;

/// As many elements as some vectors hold: blocks of programs that are cut in parts. Few enough that their values stay near.
pub const fn vectors(number: usize, bytes: usize, size: usize) -> usize {
    number * bytes / size
}

/// A block's elements, aligned to the widest vectors.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Block<T, const L: usize>(pub [T; L]);

/// Whether all elements have a property.
#[inline(always)]
pub fn all<T: Copy, const L: usize>(x: &[T; L], has: impl Fn(T) -> bool) -> bool {
    let mut lacking = 0u32;
    for &x in x {
        lacking |= u32::from(!has(x));
    }
    lacking == 0
}

/// The straight-line program of each element.
#[inline(always)]
pub fn map<T: Copy, const L: usize>(x: &[T; L], y: &mut Block<T, L>, program: impl Fn(T) -> T) {
    for (y, &x) in y.0.iter_mut().zip(x) {
        *y = program(x);
    }
}

/// The first part of a program that is cut in parts: some values of each element.
///
/// A processor looks only so far ahead: of a long program it holds too few elements at once to fill the time that each
/// operation waits for the one before. Part by part it has all of a block's.
#[inline(always)]
pub fn begin<T: Copy + Default, const L: usize, const N: usize>(
    x: &[T; L],
    part: impl Fn(T) -> [T; N],
) -> [Block<T, L>; N] {
    go_on(x, &[], |x, []| part(x))
}

/// A further part, which takes the values of the one before.
#[inline(always)]
pub fn go_on<T: Copy + Default, const L: usize, const N: usize, const M: usize>(
    x: &[T; L],
    before: &[Block<T, L>; N],
    part: impl Fn(T, [T; N]) -> [T; M],
) -> [Block<T, L>; M] {
    let mut found = [Block([T::default(); L]); M];
    for (at, &x) in x.iter().enumerate() {
        let values = part(x, std::array::from_fn(|number| before[number].0[at]));
        for (found, value) in found.iter_mut().zip(values) {
            found.0[at] = value;
        }
    }
    found
}

/// The last part.
#[inline(always)]
pub fn finish<T: Copy, const L: usize, const N: usize>(
    x: &[T; L],
    y: &mut Block<T, L>,
    before: &[Block<T, L>; N],
    part: impl Fn(T, [T; N]) -> T,
) {
    for (at, (y, &x)) in y.0.iter_mut().zip(x).enumerate() {
        *y = part(x, std::array::from_fn(|number| before[number].0[at]));
    }
}

/// A program of blocks. One is a type of its own for each instruction set, so that each of its closures is called at one
/// place (see [`run_of_two`]).
pub trait Program<T> {
    /// The values of a block's elements.
    fn run<const L: usize>(x: &[T; L], y: &mut Block<T, L>);
}

/// The function itself, of the elements outside of all programs' range.
#[inline(always)]
pub fn patch<T: Copy, const L: usize>(
    x: &[T; L],
    y: &mut Block<T, L>,
    covers: impl Fn(T) -> bool,
    function: fn(T) -> T,
) {
    if all(x, &covers) {
        return;
    }
    for (y, &x) in y.0.iter_mut().zip(x) {
        if !covers(x) {
            *y = function(x);
        }
    }
}

/// The same of a function of two arguments.
#[inline(always)]
pub fn patch_of_two<T: Copy, const L: usize>(
    left: &[T; L],
    right: &[T; L],
    y: &mut Block<T, L>,
    covers: impl Fn(T, T) -> bool,
    function: fn(T, T) -> T,
) {
    let mut uncovered = 0u32;
    for (&left, &right) in left.iter().zip(right) {
        uncovered |= u32::from(!covers(left, right));
    }
    if uncovered == 0 {
        return;
    }
    for ((y, &left), &right) in y.0.iter_mut().zip(left).zip(right) {
        if !covers(left, right) {
            *y = function(left, right);
        }
    }
}

/// Runs a program of blocks over `count` elements. The last block is filled up with the run's last element.
///
/// # Safety
/// `source` points to `count` elements that may be read, `target` to as many that may be written; the two are the same
/// elements or have none in common.
#[inline(always)]
pub unsafe fn run<T: Copy + Default, const L: usize, const S: usize>(
    source: *const T,
    target: *mut T,
    count: usize,
    long: impl Fn(&[T; L], &mut Block<T, L>),
    short: impl Fn(&[T; S], &mut Block<T, S>),
) {
    // SAFETY: the caller's promise; of the second source nothing is read but what the first one has.
    unsafe { run_of_two(source, source, target, count, |x, _, y| long(x, y), |x, _, y| short(x, y)) };
}

/// The same for a program of two arguments.
///
/// # Safety
/// As [`run`], for both sources.
#[inline(always)]
pub unsafe fn run_of_two<T: Copy + Default, const L: usize, const S: usize>(
    left: *const T,
    right: *const T,
    target: *mut T,
    count: usize,
    long: impl Fn(&[T; L], &[T; L], &mut Block<T, L>),
    short: impl Fn(&[T; S], &[T; S], &mut Block<T, S>),
) {
    // Each program is called at one place: only so is it sure to be compiled for the instruction set of the caller.
    let bulk = count - count % L;
    // SAFETY: both cover `count` elements together. A block is read as a whole before any of it is written.
    unsafe {
        blocks(left, right, target, bulk, long);
        blocks(left.add(bulk), right.add(bulk), target.add(bulk), count - bulk, short);
    }
}

/// # Safety
/// As [`run_of_two`].
#[inline(always)]
unsafe fn blocks<T: Copy + Default, const L: usize>(
    left: *const T,
    right: *const T,
    target: *mut T,
    count: usize,
    program: impl Fn(&[T; L], &[T; L], &mut Block<T, L>),
) {
    let mut y = Block([T::default(); L]);
    let (mut first, mut second) = (y, y);
    for at in (0..count).step_by(L) {
        let filled = L.min(count - at);
        // SAFETY: `at` + `filled` is at most `count`, and `filled` at least 1. Nothing is written while the block's elements
        // are borrowed.
        unsafe {
            program(block(left.add(at), filled, &mut first), block(right.add(at), filled, &mut second), &mut y);
            if filled == L {
                target.add(at).cast::<[T; L]>().write_unaligned(y.0);
            } else {
                copy(y.0.as_ptr(), target.add(at), filled);
            }
        }
    }
}

/// The block that begins at an element: the elements themselves, or where there are too few a copy, which the last of them
/// fills up.
///
/// # Safety
/// `source` points to `filled` elements, 1 to L, which nobody writes as long as the result lives.
#[inline(always)]
unsafe fn block<T: Copy, const L: usize>(source: *const T, filled: usize, own: &mut Block<T, L>) -> &[T; L] {
    // SAFETY: the caller's promise.
    unsafe {
        if filled == L {
            return &*source.cast::<[T; L]>();
        }
        own.0 = [*source.add(filled - 1); L];
        copy(source, own.0.as_mut_ptr(), filled);
        &own.0
    }
}

/// Copies elements one by one: a block's rest is too short for a call.
///
/// # Safety
/// Both point to `count` elements, and they have none in common.
#[inline(always)]
pub unsafe fn copy<T: Copy>(source: *const T, target: *mut T, count: usize) {
    for at in 0..count {
        // SAFETY: `at` is below `count`.
        unsafe { *target.add(at) = *source.add(at) };
    }
}
