//! Tiles on AArch64: NEON.

use std::arch::aarch64::{
    float32x4_t, float64x2_t, vaddq_f32, vaddq_f64, vcreate_s8, vcvtq_f32_s32, vdupq_n_f32, vdupq_n_f64, vfmaq_f32,
    vfmaq_f64, vget_low_s16, vld1_u16, vld1q_f32, vld1q_f64, vmovl_s8, vmovl_s16, vmulq_f32, vmulq_f64,
    vreinterpretq_f32_u32, vshll_n_u16, vst1q_f32, vst1q_f64,
};

use super::block::{Blocks, compute};
use super::real::Vector;
use super::row::{self, Bf16, ByColumn, ByTerm, Narrow, Own, Rows};
use super::stage::widen;
use super::{Form, Operands, run};

macro_rules! vector {
    ($vector:ty, $real:ty, $load:ident, $store:ident, $set:ident, $add:ident, $mul:ident, $fused:ident) => {
        impl Vector for $vector {
            type Real = $real;
            const LANES: usize = size_of::<$vector>() / size_of::<$real>();

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: every AArch64 that Rust compiles for has NEON, as for all that follow.
                unsafe { $set(0.0) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $real) -> Self {
                // SAFETY: the caller vouches for the memory.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $real) {
                // SAFETY: the caller vouches for the memory.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn broadcast(from: *const $real) -> Self {
                // SAFETY: the caller vouches for the memory.
                unsafe { $set(from.read_unaligned()) }
            }

            #[inline(always)]
            unsafe fn grown<const FUSED: bool>(self, a: Self, b: Self) -> Self {
                // SAFETY: see above.
                unsafe { if FUSED { $fused(self, a, b) } else { $add(self, $mul(a, b)) } }
            }
        }
    };
}

vector!(float32x4_t, f32, vld1q_f32, vst1q_f32, vdupq_n_f32, vaddq_f32, vmulq_f32, vfmaq_f32);
vector!(float64x2_t, f64, vld1q_f64, vst1q_f64, vdupq_n_f64, vaddq_f64, vmulq_f64, vfmaq_f64);

impl Narrow for float32x4_t {
    #[inline(always)]
    unsafe fn widen_bf16(from: *const u16) -> Self {
        // SAFETY: the caller vouches for the memory, as below.
        unsafe { vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(from))) }
    }

    #[inline(always)]
    unsafe fn widen_int8(from: *const i8) -> Self {
        // SAFETY: four bytes, at any alignment.
        unsafe {
            let bytes = vcreate_s8(u64::from(from.cast::<u32>().read_unaligned()));
            vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))))
        }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { vmulq_f32(self, other) }
    }
}

/// The functions of one row, by how the right factor is read.
macro_rules! widths {
    ($vector:ty, $read:ident) => {
        [
            [row::compute::<$vector, $read, 8, false>, row::compute::<$vector, $read, 8, true>],
            [row::compute::<$vector, $read, 2, false>, row::compute::<$vector, $read, 2, true>],
            [row::compute::<$vector, $read, 1, false>, row::compute::<$vector, $read, 1, true>],
        ]
    };
}

macro_rules! narrow {
    ($vector:ty) => {
        Rows {
            own: widths!($vector, Own),
            bf16: Some(widths!($vector, Bf16)),
            by_column: Some(widths!($vector, ByColumn)),
            by_term: Some(widths!($vector, ByTerm)),
        }
    };
}

/// Those of a vector that widens nothing.
macro_rules! plain {
    ($vector:ty) => {
        Rows { own: widths!($vector, Own), bf16: None, by_column: None, by_term: None }
    };
}

macro_rules! column {
    ($vector:ty, $n:literal, $fused:literal, [$($m:literal)*]) => {
        &[$(compute::<$vector, $m, $n, $fused>),*]
    };
}

/// The blocks of a vector. Thirty-two registers hold the sums of twelve rows of two vectors, or of six rows of four.
macro_rules! blocks {
    ($vector:ty, $real:ty, $reads:ident) => {
        Blocks {
            lanes: <$vector as Vector>::LANES,
            single: [column!($vector, 1, false, [1 2 3 4 5 6 7 8 9 10 11 12]), column!($vector, 1, true, [1 2 3 4 5 6 7 8 9 10 11 12])],
            double: [column!($vector, 2, false, [1 2 3 4 5 6 7 8 9 10 11 12]), column!($vector, 2, true, [1 2 3 4 5 6 7 8 9 10 11 12])],
            quadruple: [column!($vector, 4, false, [1 2 3 4 5 6]), column!($vector, 4, true, [1 2 3 4 5 6])],
            widen: widen::<$real>,
            rows: $reads!($vector),
        }
    };
}

static F32: Blocks<f32> = blocks!(float32x4_t, f32, narrow);
static F64: Blocks<f64> = blocks!(float64x2_t, f64, plain);

macro_rules! routine {
    ($name:ident, $real:ty, $table:ident) => {
        /// See [`super::Routine`].
        ///
        /// # Safety
        /// As for [`super::Routine`].
        pub(super) unsafe extern "C" fn $name(
            form: *const Form,
            sum: *mut u8,
            left: *const u8,
            right: *const u8,
            scales: *const f32,
        ) {
            // SAFETY: the caller vouches for form and operands.
            unsafe { run(&*form, Operands { sum: sum.cast::<$real>(), left, right, scales }, &$table) }
        }
    };
}

routine!(baseline_f32, f32, F32);
routine!(baseline_f64, f64, F64);
