//! Integers of four bits read to the top of a vector's lanes, where fewer instructions bring them than to their bottom: there an
//! integer counts 2²⁸ times itself, and its scale is taken so many times smaller. Where that is exact, which
//! [`Rows::of`](super::row::Rows::of) sees to, the product is the same real number, rounded once.

use super::row::{DOWN, Narrow, Read, Row};

/// A vector that has integers at the top of its lanes sooner.
pub(super) trait Tops: Narrow {
    /// As many integers of four bits, each times 2²⁸.
    ///
    /// # Safety
    /// As for [`Narrow::widen_int4`].
    unsafe fn top_int4(from: *const u8) -> Self;
}

/// Integers of four bits with a usual scale for each column.
pub(super) struct TopByColumn;
/// Integers of four bits with a usual scale for each term.
pub(super) struct TopByTerm;

impl<V: Tops> Read<V> for TopByColumn {
    type Scales = V;
    const BITS: usize = 4;

    #[inline(always)]
    unsafe fn scales(row: &Row<f32>, column: usize) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::load(row.scales.add(column)).times(V::broadcast(&DOWN)) }
    }

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, scales: V, _: *const f32) -> V {
        // SAFETY: as the caller vouches; a column that is a multiple of the lanes begins at a byte.
        unsafe { V::top_int4(from.add(column / 2)).times(scales) }
    }
}

impl<V: Tops> Read<V> for TopByTerm {
    type Scales = V;
    const BITS: usize = 4;

    #[inline(always)]
    unsafe fn scales(_: &Row<f32>, _: usize) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::broadcast(&DOWN) }
    }

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, down: V, scale: *const f32) -> V {
        // SAFETY: as above; every term has a scale.
        unsafe { V::top_int4(from.add(column / 2)).times(V::broadcast(scale).times(down)) }
    }
}
