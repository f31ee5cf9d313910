//! The types that tiles compute in, and vectors of them.

use crate::numbers::{narrow, narrow_bf16};

/// f32 or f64.
pub(super) trait Real: Copy {
    fn from_f32(value: f32) -> Self;
    /// The nearest bf16, by way of f32.
    fn to_bf16(self) -> u16;
}

impl Real for f32 {
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn to_bf16(self) -> u16 {
        narrow_bf16(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        f64::from(value)
    }

    #[inline(always)]
    fn to_bf16(self) -> u16 {
        narrow_bf16(narrow(self))
    }
}

/// A machine's vector of reals.
///
/// Methods are inlined into functions compiled for the instruction set the vector belongs to; called elsewhere, on a
/// machine without it, they are undefined.
pub(super) trait Vector: Copy {
    /// A lane.
    type Real: Real;
    /// Lanes.
    const LANES: usize;

    /// Zeros.
    ///
    /// # Safety
    /// The machine has the vector's instruction set. So for all methods.
    unsafe fn zero() -> Self;
    /// Lanes from memory, at any alignment.
    ///
    /// # Safety
    /// There are as many reals.
    unsafe fn load(from: *const Self::Real) -> Self;
    /// Lanes to memory, at any alignment.
    ///
    /// # Safety
    /// There is room for as many reals.
    unsafe fn store(self, to: *mut Self::Real);
    /// One real in every lane.
    ///
    /// # Safety
    /// There is a real, at any alignment.
    unsafe fn broadcast(from: *const Self::Real) -> Self;
    /// self + a · b, lane by lane: two roundings, or one where FUSED.
    ///
    /// # Safety
    /// See [`Vector::zero`].
    unsafe fn grown<const FUSED: bool>(self, a: Self, b: Self) -> Self;
}
