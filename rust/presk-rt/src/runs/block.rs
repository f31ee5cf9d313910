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

/// The function itself, of the elements outside of a program's range.
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
    let whole = count - count % BLOCK;
    for at in (0..whole).step_by(BLOCK) {
        // SAFETY: `at` + BLOCK is at most `count`. A block is read as a whole before any of it is written.
        let block = |source: *const T| Block(unsafe { source.add(at).cast::<[T; BLOCK]>().read_unaligned() });
        program(&block(left), &block(right), &mut y);
        // SAFETY: as above.
        unsafe { target.add(at).cast::<[T; BLOCK]>().write_unaligned(y.0) };
    }
    let rest = count - whole;
    if rest > 0 {
        // SAFETY: the run has `rest` elements from `whole` on, at least one.
        let block = |source: *const T| unsafe {
            let mut x = Block([source.add(count - 1).read_unaligned(); BLOCK]);
            copy(source.add(whole), x.0.as_mut_ptr(), rest);
            x
        };
        program(&block(left), &block(right), &mut y);
        // SAFETY: as above; `y` is this function's own.
        unsafe { copy(y.0.as_ptr(), target.add(whole), rest) };
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
