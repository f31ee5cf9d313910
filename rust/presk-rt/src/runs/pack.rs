//! Taking the elements of a block that lie in a range together, and putting back what a program made of them.
//!
//! No arithmetic is done here: whichever way an instruction set does it, the elements are the same in the same order.

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

use super::block::Block;

#[cfg(target_arch = "x86_64")]
mod x86;

/// Elements by size: neither below the least nor, if that is a number, at the bound or above. NaN is in every range.
#[derive(Clone, Copy)]
pub struct Range<T> {
    pub least: T,
    pub bound: T,
}

/// How an instruction set does it. Both look at the same elements: the block's, and perhaps what fills its last step up.
pub trait Pack<T> {
    /// Copies the elements that lie in the range to the front of `taken`, in order, and says how many there are. What follows
    /// them is overwritten.
    fn take<const L: usize>(x: &Block<T, L>, range: Range<T>, taken: &mut Block<T, L>) -> usize;

    /// Copies values of the elements of `x` that lie in the range to their places.
    fn put<const L: usize>(values: &Block<T, L>, x: &Block<T, L>, range: Range<T>, y: &mut Block<T, L>);
}

/// Plain Rust, without branches.
pub struct Plain;

macro_rules! plain {
    ($real:ty) => {
        impl Pack<$real> for Plain {
            #[inline(always)]
            fn take<const L: usize>(x: &Block<$real, L>, range: Range<$real>, taken: &mut Block<$real, L>) -> usize {
                let mut count = 0;
                for &x in &x.0 {
                    // What isn't taken is overwritten by the next.
                    taken.0[count % L] = x;
                    count += usize::from(holds(x.abs(), range));
                }
                count
            }

            #[inline(always)]
            fn put<const L: usize>(
                values: &Block<$real, L>,
                x: &Block<$real, L>,
                range: Range<$real>,
                y: &mut Block<$real, L>,
            ) {
                let mut count = 0;
                for (y, &x) in y.0.iter_mut().zip(&x.0) {
                    let holds = holds(x.abs(), range);
                    *y = if holds { values.0[count % L] } else { *y };
                    count += usize::from(holds);
                }
            }
        }
    };
}

plain!(f32);
plain!(f64);

/// Whether a size is within the range.
#[inline(always)]
fn holds<T: PartialOrd>(size: T, range: Range<T>) -> bool {
    let (is_less, is_beyond) = (size < range.least, size >= range.bound);
    !is_less & !is_beyond
}
