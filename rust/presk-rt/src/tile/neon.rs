//! Tiles on AArch64: NEON.

use std::arch::aarch64::{
    float32x4_t, float64x2_t, vaddq_f32, vaddq_f64, vcreate_s8, vcvtq_f32_s32, vdupq_n_f32, vdupq_n_f64, vdupq_n_s32,
    vfmaq_f32, vfmaq_f64, vget_low_s16, vld1_u16, vld1q_f32, vld1q_f64, vld1q_s32, vmovl_s8, vmovl_s16, vmulq_f32,
    vmulq_f64, vreinterpretq_f32_u32, vshll_n_u16, vshlq_s32, vshrq_n_s32, vst1q_f32, vst1q_f64,
};

use super::block::{Blocks, Heights, compute};
use super::real::Vector;
use super::row::{self, Bf16, ByColumn, ByTerm, Narrow, Narrows, Own, Rows, Scaled};
use super::stage::{self, widen};
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
    unsafe fn widen_int4(from: *const u8) -> Self {
        // SAFETY: two bytes, at any alignment. Each lane brings its own four bits to its top, then down with their sign.
        unsafe {
            let words = vdupq_n_s32(i32::from(from.cast::<u16>().read_unaligned()));
            let tops = vshlq_s32(words, vld1q_s32([28, 24, 20, 16].as_ptr()));
            vcvtq_f32_s32(vshrq_n_s32::<28>(tops))
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
    ($vector:ty, $read:ty) => {
        [
            [row::compute::<$vector, $read, 8, false>, row::compute::<$vector, $read, 8, true>],
            [row::compute::<$vector, $read, 4, false>, row::compute::<$vector, $read, 4, true>],
            [row::compute::<$vector, $read, 2, false>, row::compute::<$vector, $read, 2, true>],
            [row::compute::<$vector, $read, 1, false>, row::compute::<$vector, $read, 1, true>],
        ]
    };
}

macro_rules! narrow {
    ($vector:ty) => {
        Rows {
            own: widths!($vector, Own),
            narrow: Some(Narrows {
                bf16: widths!($vector, Bf16),
                int8: Scaled { by_column: widths!($vector, ByColumn<8>), by_term: widths!($vector, ByTerm<8>) },
                int4: Scaled { by_column: widths!($vector, ByColumn<4>), by_term: widths!($vector, ByTerm<4>) },
                int4_usual: None,
            }),
        }
    };
}

/// Those of a vector that widens nothing.
macro_rules! plain {
    ($vector:ty) => {
        Rows { own: widths!($vector, Own), narrow: None }
    };
}

macro_rules! column {
    ($vector:ty, $read:ty, $n:literal, $fused:literal, [$($m:literal)*]) => {
        &[$(compute::<$vector, $read, $m, $n, $fused>),*]
    };
}

/// The blocks of a vector that read the right factor in one way. Thirty-two registers hold the sums of twelve rows of two
/// vectors, or of six rows of four.
macro_rules! heights {
    ($vector:ty, $read:ty) => {
        heights!($vector, $read, [1 2 3 4 5 6 7 8 9 10 11 12], [1 2 3 4 5 6])
    };
    ($vector:ty, $read:ty, $rows:tt, $few:tt) => {
        Heights {
            single: [column!($vector, $read, 1, false, $rows), column!($vector, $read, 1, true, $rows)],
            double: [column!($vector, $read, 2, false, $rows), column!($vector, $read, 2, true, $rows)],
            quadruple: [column!($vector, $read, 4, false, $few), column!($vector, $read, 4, true, $few)],
        }
    };
}

macro_rules! blocks {
    ($vector:ty, $real:ty, $bf16:expr, $reads:ident) => {
        Blocks {
            lanes: <$vector as Vector>::LANES,
            own: heights!($vector, Own),
            bf16: $bf16,
            widen: widen::<$real>,
            narrow: stage::narrow::<$real>,
            rows: $reads!($vector),
        }
    };
}

static F32: Blocks<f32> = blocks!(float32x4_t, f32, Some(heights!(float32x4_t, Bf16)), narrow);
static F64: Blocks<f64> = blocks!(float64x2_t, f64, None, plain);

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
