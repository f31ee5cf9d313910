//! Taking the elements of a run together that aren't smaller than some size, and putting back what a program made of them.
//!
//! No arithmetic is done here: whichever way an instruction set does it, the elements are the same in the same order.

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86;

/// Elements that one word says of which of them are taken.
pub const STEP: usize = 16;

/// How an instruction set does it.
pub trait Pack<T> {
    /// Copies the elements that aren't smaller in size, NaN among them, to the front of `taken`, in order, and says which they
    /// are and how many. What follows them is overwritten.
    ///
    /// # Safety
    /// `x` points to `count` elements that may be read, a multiple of [`STEP`], `taken` to as many that may be written, and
    /// `which` to a word for each step.
    unsafe fn take(x: *const T, count: usize, least: T, taken: *mut T, which: *mut u32) -> usize;

    /// Copies values of those elements to their places.
    ///
    /// # Safety
    /// `which` is what [`Self::take`] said of `count` elements; `values` points to as many that may be read, but where fewer
    /// were taken, only those need be numbers; `y` points to as many that may be read and written.
    unsafe fn put(values: *const T, which: *const u32, y: *mut T, count: usize);
}

/// Plain Rust, without branches.
pub struct Plain;

macro_rules! plain {
    ($real:ty) => {
        impl Pack<$real> for Plain {
            #[inline(always)]
            unsafe fn take(x: *const $real, count: usize, least: $real, taken: *mut $real, which: *mut u32) -> usize {
                let mut found = 0;
                for at in (0..count).step_by(STEP) {
                    let mut bits = 0;
                    for lane in 0..STEP {
                        // SAFETY: the caller's promise; as many as are found were looked at before.
                        unsafe {
                            let x = *x.add(at + lane);
                            // What isn't taken is overwritten by the next.
                            *taken.add(found) = x;
                            let is_less = x.abs() < least;
                            found += usize::from(!is_less);
                            bits |= u32::from(!is_less) << lane;
                        }
                    }
                    // SAFETY: the caller's promise.
                    unsafe { *which.add(at / STEP) = bits };
                }
                found
            }

            #[inline(always)]
            unsafe fn put(values: *const $real, which: *const u32, y: *mut $real, count: usize) {
                let mut found = 0;
                for at in (0..count).step_by(STEP) {
                    // SAFETY: the caller's promise.
                    let bits = unsafe { *which.add(at / STEP) };
                    for lane in 0..STEP {
                        if bits >> lane & 1 != 0 {
                            // SAFETY: the caller's promise; so many were taken.
                            unsafe { *y.add(at + lane) = *values.add(found) };
                            found += 1;
                        }
                    }
                }
            }
        }
    };
}

plain!(f32);
plain!(f64);
