//! Blocks of a run: as many elements as some vectors hold, in local arrays, where the compiler sees that nothing overlaps.
//!
//! What is done to a block is loops over plain Rust without branches, whose rounds are known. Each instruction set compiles
//! the same source to its own vectors; no operation is contracted or reordered, so the bits are those of the scalar program.

use super::pack::{Pack, Range};

/// Elements of a block, for the bulk of a run.
pub const LONG: usize = 128;

/// Elements of a block that is taken of what is left.
pub const SHORT: usize = 32;

/// The same for the elements of a block that lie in one range.
pub const PART: usize = 64;

/// A block's elements, aligned to the widest vectors.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Block<T, const L: usize>(pub [T; L]);

impl<T: Copy, const L: usize> Block<T, L> {
    /// Whether some element has a property.
    #[inline(always)]
    pub fn any(&self, has: impl Fn(T) -> bool) -> bool {
        let mut having = 0u32;
        for &x in &self.0 {
            having |= u32::from(has(x));
        }
        having != 0
    }
}

/// The straight-line program of each element.
#[inline(always)]
pub fn map<T: Copy, const L: usize>(x: &Block<T, L>, y: &mut Block<T, L>, program: impl Fn(T) -> T) {
    for (y, &x) in y.0.iter_mut().zip(&x.0) {
        *y = program(x);
    }
}

/// The first part of a program that is cut in parts: some values of each element.
///
/// A processor looks only so far ahead: of a long program it holds too few elements at once to fill the time that each
/// operation waits for the one before. Part by part it has all of a block's.
#[inline(always)]
pub fn begin<T: Copy + Default, const L: usize, const N: usize>(
    x: &Block<T, L>,
    part: impl Fn(T) -> [T; N],
) -> [Block<T, L>; N] {
    go_on(x, &[], |x, []| part(x))
}

/// A further part, which takes the values of the one before.
#[inline(always)]
pub fn go_on<T: Copy + Default, const L: usize, const N: usize, const M: usize>(
    x: &Block<T, L>,
    before: &[Block<T, L>; N],
    part: impl Fn(T, [T; N]) -> [T; M],
) -> [Block<T, L>; M] {
    let mut found = [Block([T::default(); L]); M];
    for (at, &x) in x.0.iter().enumerate() {
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
    x: &Block<T, L>,
    y: &mut Block<T, L>,
    before: &[Block<T, L>; N],
    part: impl Fn(T, [T; N]) -> T,
) {
    for (at, (y, &x)) in y.0.iter_mut().zip(&x.0).enumerate() {
        *y = part(x, std::array::from_fn(|number| before[number].0[at]));
    }
}

/// A program of blocks that [`part`] runs. One is a type of its own for each instruction set and each length of the block
/// around it, so that each of its closures is called at one place (see [`run_of_two`]).
pub trait Program<T> {
    /// The values of a block's elements.
    fn run<const L: usize>(x: &Block<T, L>, y: &mut Block<T, L>);
}

/// A program of those elements alone that lie in its range; the others' places stay. They are taken together, so that the
/// program runs over full vectors, and not at all where there are none.
#[inline(always)]
pub fn part<T: Copy + Default, P: Pack<T>, Q: Program<T>, const L: usize>(
    x: &Block<T, L>,
    y: &mut Block<T, L>,
    range: Range<T>,
) {
    // What fills a block up is in the range too.
    let mut taken = Block([range.least; L]);
    let count = P::take(x, range, &mut taken);
    if count == 0 {
        return;
    }
    for place in &mut taken.0[count..] {
        *place = range.least;
    }
    let mut found = Block([T::default(); L]);
    let mut at = 0;
    while at < count {
        if L >= at + PART && count > at + SHORT {
            at += copied::<T, Q, L, PART>(&taken, &mut found, at);
        } else {
            at += copied::<T, Q, L, SHORT>(&taken, &mut found, at);
        }
    }
    P::put(&found, x, range, y);
}

/// Runs a program over a shorter block's elements of a block; how many these are.
#[inline(always)]
fn copied<T: Copy + Default, Q: Program<T>, const L: usize, const N: usize>(
    taken: &Block<T, L>,
    found: &mut Block<T, L>,
    at: usize,
) -> usize {
    let (mut x, mut y) = (Block([T::default(); N]), Block([T::default(); N]));
    x.0.copy_from_slice(&taken.0[at..at + N]);
    Q::run(&x, &mut y);
    found.0[at..at + N].copy_from_slice(&y.0);
    N
}

/// The function itself, of the elements outside of all programs' range.
#[inline(always)]
pub fn patch<T: Copy, const L: usize>(
    x: &Block<T, L>,
    y: &mut Block<T, L>,
    covers: impl Fn(T) -> bool,
    function: fn(T) -> T,
) {
    if !x.any(|x| !covers(x)) {
        return;
    }
    for (y, &x) in y.0.iter_mut().zip(&x.0) {
        if !covers(x) {
            *y = function(x);
        }
    }
}

/// The same of a function of two arguments.
#[inline(always)]
pub fn patch_of_two<T: Copy, const L: usize>(
    left: &Block<T, L>,
    right: &Block<T, L>,
    y: &mut Block<T, L>,
    covers: impl Fn(T, T) -> bool,
    function: fn(T, T) -> T,
) {
    let mut uncovered = 0u32;
    for (&left, &right) in left.0.iter().zip(&right.0) {
        uncovered |= u32::from(!covers(left, right));
    }
    if uncovered == 0 {
        return;
    }
    for ((y, &left), &right) in y.0.iter_mut().zip(&left.0).zip(&right.0) {
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
pub unsafe fn run<T: Copy + Default>(
    source: *const T,
    target: *mut T,
    count: usize,
    long: impl Fn(&Block<T, LONG>, &mut Block<T, LONG>),
    short: impl Fn(&Block<T, SHORT>, &mut Block<T, SHORT>),
) {
    // SAFETY: the caller's promise; of the second source nothing is read but what the first one has.
    unsafe { run_of_two(source, source, target, count, |x, _, y| long(x, y), |x, _, y| short(x, y)) };
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
    long: impl Fn(&Block<T, LONG>, &Block<T, LONG>, &mut Block<T, LONG>),
    short: impl Fn(&Block<T, SHORT>, &Block<T, SHORT>, &mut Block<T, SHORT>),
) {
    // Each program is called at one place: only so is it sure to be compiled for the instruction set of the caller.
    let bulk = count - count % LONG;
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
    program: impl Fn(&Block<T, L>, &Block<T, L>, &mut Block<T, L>),
) {
    let mut y = Block([T::default(); L]);
    for at in (0..count).step_by(L) {
        let filled = L.min(count - at);
        // SAFETY: `at` + `filled` is at most `count`, and `filled` at least 1.
        unsafe {
            program(&block(left.add(at), filled), &block(right.add(at), filled), &mut y);
            if filled == L {
                target.add(at).cast::<[T; L]>().write_unaligned(y.0);
            } else {
                copy(y.0.as_ptr(), target.add(at), filled);
            }
        }
    }
}

/// The block that begins at an element; where it isn't full, its last element fills it up.
///
/// # Safety
/// `source` points to `filled` elements, 1 to L.
#[inline(always)]
unsafe fn block<T: Copy, const L: usize>(source: *const T, filled: usize) -> Block<T, L> {
    // SAFETY: the caller's promise; `x` is this function's own.
    unsafe {
        if filled == L {
            return Block(source.cast::<[T; L]>().read_unaligned());
        }
        let mut x = Block([source.add(filled - 1).read_unaligned(); L]);
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
