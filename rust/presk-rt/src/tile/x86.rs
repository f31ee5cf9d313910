//! Tiles on x86-64: SSE2, AVX2 with FMA, AVX-512.

use std::arch::x86_64::{
    __m128, __m128d, __m256, __m256d, __m512, __m512d, _mm_add_pd, _mm_add_ps, _mm_castsi128_ps, _mm_cvtepi32_ps,
    _mm_cvtsi32_si128, _mm_loadl_epi64, _mm_loadu_pd, _mm_loadu_ps, _mm_loadu_si128, _mm_mul_pd, _mm_mul_ps,
    _mm_set_epi32, _mm_set1_pd, _mm_set1_ps, _mm_setzero_pd, _mm_setzero_ps, _mm_setzero_si128, _mm_srai_epi32,
    _mm_storeu_pd, _mm_storeu_ps, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm256_add_pd, _mm256_add_ps,
    _mm256_and_si256, _mm256_castsi256_ps, _mm256_cvtepi8_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu16_epi32,
    _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_mul_pd,
    _mm256_mul_ps, _mm256_set_epi32, _mm256_set1_epi32, _mm256_set1_pd, _mm256_set1_ps, _mm256_setzero_pd,
    _mm256_setzero_ps, _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_srai_epi32, _mm256_storeu_pd, _mm256_storeu_ps,
    _mm512_add_pd, _mm512_add_ps, _mm512_castsi512_ps, _mm512_cvtepi8_epi32, _mm512_cvtepi32_ps, _mm512_cvtepu8_epi64,
    _mm512_cvtepu16_epi32, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_pd, _mm512_loadu_ps, _mm512_mul_pd,
    _mm512_mul_ps, _mm512_or_si512, _mm512_permutexvar_ps, _mm512_set_ps, _mm512_set1_pd, _mm512_set1_ps,
    _mm512_setzero_pd, _mm512_setzero_ps, _mm512_slli_epi32, _mm512_slli_epi64, _mm512_storeu_pd, _mm512_storeu_ps,
};

use super::block::{Block, Blocks, Heights, compute};
use super::real::{Real, Vector};
use super::row::{self, Bf16, ByColumn, ByTerm, Narrow, Narrows, Own, Read, Row, Rows, Scaled};
use super::stage::{Factor, narrow, widen};
use super::tops::{TopByColumn, TopByTerm, Tops};
use super::{Form, Operands, run};

macro_rules! vector {
    ($vector:ty, $real:ty, $zero:ident, $load:ident, $store:ident, $set:ident, $add:ident, $mul:ident, $fused:expr) => {
        impl Vector for $vector {
            type Real = $real;
            const LANES: usize = size_of::<$vector>() / size_of::<$real>();

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the machine has the instruction set, as for all that follow.
                unsafe { $zero() }
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
                // SAFETY: the machine has the instruction set.
                unsafe { if FUSED { $fused(a, b, self) } else { $add(self, $mul(a, b)) } }
            }
        }
    };
}

vector!(__m128, f32, _mm_setzero_ps, _mm_loadu_ps, _mm_storeu_ps, _mm_set1_ps, _mm_add_ps, _mm_mul_ps, each_f32);
vector!(__m128d, f64, _mm_setzero_pd, _mm_loadu_pd, _mm_storeu_pd, _mm_set1_pd, _mm_add_pd, _mm_mul_pd, each_f64);
vector!(
    __m256,
    f32,
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps
);
vector!(
    __m256d,
    f64,
    _mm256_setzero_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_set1_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_fmadd_pd
);
vector!(
    __m512,
    f32,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    _mm512_add_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps
);
vector!(
    __m512d,
    f64,
    _mm512_setzero_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_set1_pd,
    _mm512_add_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd
);

impl Narrow for __m128 {
    #[inline(always)]
    unsafe fn widen_bf16(from: *const u16) -> Self {
        // SAFETY: the caller vouches for the memory, as below.
        unsafe { _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn widen_int8(from: *const i8) -> Self {
        // SAFETY: as above; each byte goes to the top of its lane, then down again with its sign.
        unsafe {
            let bytes = _mm_cvtsi32_si128(from.cast::<i32>().read_unaligned());
            let twice = _mm_unpacklo_epi8(bytes, bytes);
            _mm_cvtepi32_ps(_mm_srai_epi32::<24>(_mm_unpacklo_epi16(twice, twice)))
        }
    }

    #[inline(always)]
    unsafe fn widen_int4(from: *const u8) -> Self {
        // SAFETY: as above; two bytes.
        unsafe {
            let word = i32::from(from.cast::<u16>().read_unaligned());
            let tops = _mm_set_epi32(word << 16, word << 20, word << 24, word << 28);
            _mm_cvtepi32_ps(_mm_srai_epi32::<28>(tops))
        }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_mul_ps(self, other) }
    }
}

impl Narrow for __m256 {
    #[inline(always)]
    unsafe fn widen_bf16(from: *const u16) -> Self {
        // SAFETY: the caller vouches for the memory and the instruction set, as below.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast())))) }
    }

    #[inline(always)]
    unsafe fn widen_int8(from: *const i8) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn widen_int4(from: *const u8) -> Self {
        // SAFETY: as above; four bytes. Each lane brings its own four bits to its top, then down again with their sign.
        unsafe {
            let words = _mm256_set1_epi32(from.cast::<i32>().read_unaligned());
            let tops = _mm256_sllv_epi32(words, _mm256_set_epi32(0, 4, 8, 12, 16, 20, 24, 28));
            _mm256_cvtepi32_ps(_mm256_srai_epi32::<28>(tops))
        }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_mul_ps(self, other) }
    }
}

impl Tops for __m256 {
    #[inline(always)]
    unsafe fn top_int4(from: *const u8) -> Self {
        // SAFETY: the caller vouches for the memory and the instruction set; four bytes. Each lane brings its own four bits
        // to its top and keeps them alone.
        unsafe {
            let words = _mm256_set1_epi32(from.cast::<i32>().read_unaligned());
            let tops = _mm256_sllv_epi32(words, _mm256_set_epi32(0, 4, 8, 12, 16, 20, 24, 28));
            _mm256_cvtepi32_ps(_mm256_and_si256(tops, _mm256_set1_epi32(0xf << 28)))
        }
    }
}

impl Narrow for __m512 {
    #[inline(always)]
    unsafe fn widen_bf16(from: *const u16) -> Self {
        // SAFETY: the caller vouches for the memory and the instruction set, as below.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast())))) }
    }

    #[inline(always)]
    unsafe fn widen_int8(from: *const i8) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn widen_int4(from: *const u8) -> Self {
        // SAFETY: as above; eight bytes, each in the lower half of eight. Its high bits go to the upper half, and a lane's
        // last four bits choose one of sixteen numbers.
        unsafe {
            let bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(from.cast()));
            let lanes = _mm512_or_si512(bytes, _mm512_slli_epi64::<28>(bytes));
            let numbers =
                _mm512_set_ps(-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0);
            _mm512_permutexvar_ps(lanes, numbers)
        }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_mul_ps(self, other) }
    }
}

/// SSE2 has no fused operation: the libm crate's, lane by lane.
#[inline(always)]
unsafe fn each_f32(a: __m128, b: __m128, c: __m128) -> __m128 {
    // SAFETY: both types are sixteen bytes that may hold anything.
    let [a, b, mut c] = [a, b, c].map(|each| unsafe { std::mem::transmute::<__m128, [f32; 4]>(each) });
    for (c, (a, b)) in c.iter_mut().zip(a.into_iter().zip(b)) {
        *c = libm::fmaf(a, b, *c);
    }
    // SAFETY: as above.
    unsafe { std::mem::transmute::<[f32; 4], __m128>(c) }
}

/// The same for f64.
#[inline(always)]
unsafe fn each_f64(a: __m128d, b: __m128d, c: __m128d) -> __m128d {
    // SAFETY: both types are sixteen bytes that may hold anything.
    let [a, b, mut c] = [a, b, c].map(|each| unsafe { std::mem::transmute::<__m128d, [f64; 2]>(each) });
    for (c, (a, b)) in c.iter_mut().zip(a.into_iter().zip(b)) {
        *c = libm::fma(a, b, *c);
    }
    // SAFETY: as above.
    unsafe { std::mem::transmute::<[f64; 2], __m128d>(c) }
}

macro_rules! column {
    ($vector:ty, $read:ty, $n:literal, $fused:literal, [$($m:literal)*]) => {
        &[$(block::<$vector, $read, $m, $n, $fused>),*]
    };
}

/// The blocks of a vector that read the right factor in one way.
macro_rules! heights {
    ($vector:ty, $read:ty, $rows:tt, $few:tt) => {
        Heights {
            single: [column!($vector, $read, 1, false, $rows), column!($vector, $read, 1, true, $rows)],
            double: [column!($vector, $read, 2, false, $rows), column!($vector, $read, 2, true, $rows)],
            quadruple: [column!($vector, $read, 4, false, $few), column!($vector, $read, 4, true, $few)],
        }
    };
}

/// The functions of one row, by how the right factor is read.
macro_rules! widths {
    ($vector:ty, $read:ty) => {
        [
            [row::<$vector, $read, 8, false>, row::<$vector, $read, 8, true>],
            [row::<$vector, $read, 4, false>, row::<$vector, $read, 4, true>],
            [row::<$vector, $read, 2, false>, row::<$vector, $read, 2, true>],
            [row::<$vector, $read, 1, false>, row::<$vector, $read, 1, true>],
        ]
    };
}

/// The narrow elements that a vector of f32 widens in registers; what it doesn't is staged.
macro_rules! narrow {
    ($vector:ty) => {
        narrow!($vector, None)
    };
    ($vector:ty, $usual:expr) => {
        Rows {
            own: widths!($vector, Own),
            narrow: Some(Narrows {
                bf16: widths!($vector, Bf16),
                int8: Scaled { by_column: widths!($vector, ByColumn<8>), by_term: widths!($vector, ByTerm<8>) },
                int4: Scaled { by_column: widths!($vector, ByColumn<4>), by_term: widths!($vector, ByTerm<4>) },
                int4_usual: $usual,
            }),
        }
    };
}

/// The same of a vector that has integers at the top of its lanes sooner.
macro_rules! narrow_with_tops {
    ($vector:ty) => {
        narrow!(
            $vector,
            Some(Scaled { by_column: widths!($vector, TopByColumn), by_term: widths!($vector, TopByTerm) })
        )
    };
}

/// Those of a vector that widens nothing.
macro_rules! plain {
    ($vector:ty) => {
        Rows { own: widths!($vector, Own), narrow: None }
    };
}

/// The tables of a vector: `rows` are the heights of blocks one and two vectors wide, `few` of those four wide.
macro_rules! blocks {
    ($vector:ty, $rows:tt, $few:tt, $bf16:expr, $reads:ident) => {
        Blocks {
            lanes: <$vector as Vector>::LANES,
            own: heights!($vector, Own, $rows, $few),
            bf16: $bf16,
            widen: stage::<<$vector as Vector>::Real>,
            narrow: rounded::<<$vector as Vector>::Real>,
            rows: $reads!($vector),
        }
    };
}

/// An instruction set: its functions, their tables, and the routine for each type.
macro_rules! level {
    ($level:ident: $features:literal, $single:ty, $double:ty, $rows:tt, $few:tt, $narrow:ident) => {
        pub(super) mod $level {
            use super::*;

            /// [`compute`] for this instruction set.
            ///
            /// # Safety
            /// As for [`compute`].
            #[target_feature(enable = $features)]
            unsafe fn block<V: Vector, R: Read<V, Scales = ()>, const M: usize, const N: usize, const FUSED: bool>(
                block: &Block<V::Real>,
            ) {
                // SAFETY: the same contract.
                unsafe { compute::<V, R, M, N, FUSED>(block) }
            }

            /// [`row::compute`] for this instruction set.
            ///
            /// # Safety
            /// As for [`row::compute`].
            #[target_feature(enable = $features)]
            unsafe fn row<V: Vector, R: Read<V>, const N: usize, const FUSED: bool>(row: &Row<V::Real>) {
                // SAFETY: the same contract.
                unsafe { row::compute::<V, R, N, FUSED>(row) }
            }

            /// [`widen`] for this instruction set.
            ///
            /// # Safety
            /// As for [`widen`].
            #[target_feature(enable = $features)]
            unsafe fn stage<T: Real>(factor: &Factor, rows: usize, count: usize, to: *mut T, width: usize) {
                // SAFETY: the same contract.
                unsafe { widen(factor, rows, count, to, width) }
            }

            /// [`narrow`] for this instruction set.
            ///
            /// # Safety
            /// As for [`narrow`].
            #[target_feature(enable = $features)]
            unsafe fn rounded<T: Real>(sums: *const T, rows: usize, count: usize, to: *mut u16, step: isize) {
                // SAFETY: the same contract.
                unsafe { narrow(sums, rows, count, to, step) }
            }

            pub static F32: Blocks<f32> =
                blocks!($single, $rows, $few, Some(heights!($single, Bf16, $rows, $few)), $narrow);
            pub static F64: Blocks<f64> = blocks!($double, $rows, $few, None, plain);
        }
    };
}

// Sixteen registers hold the sums of six rows of two vectors, beside these vectors, a factor and a product; of four
// vectors those of two rows. AVX-512 has twice as many.
level!(baseline: "sse2", __m128, __m128d, [1 2 3 4 5 6], [1 2], narrow);
level!(avx2: "avx2,fma", __m256, __m256d, [1 2 3 4 5 6], [1 2], narrow_with_tops);
level!(
    avx512: "avx512f,avx512bw,avx512dq,avx512vl", __m512, __m512d, [1 2 3 4 5 6 7 8 9 10 11 12], [1 2 3 4 5 6], narrow
);

/// A routine: the blocks of tiles of vectors of 64 bytes, and of narrower ones.
macro_rules! routine {
    ($name:ident, $real:ty, $table:ident, $wide:ident, $narrow:ident) => {
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
            // SAFETY: the caller's form is one, and alive.
            let form = unsafe { &*form };
            let is_wide = usize::from(form.lanes) * size_of::<$real>() > 32;
            let blocks = if is_wide { &$wide::$table } else { &$narrow::$table };
            // SAFETY: the caller vouches for the operands, and for a machine with this instruction set.
            unsafe { run(form, Operands { sum: sum.cast::<$real>(), left, right, scales }, blocks) }
        }
    };
}

routine!(baseline_f32, f32, F32, baseline, baseline);
routine!(baseline_f64, f64, F64, baseline, baseline);
routine!(avx2_f32, f32, F32, avx2, avx2);
routine!(avx2_f64, f64, F64, avx2, avx2);
routine!(avx512_f32, f32, F32, avx512, avx2);
routine!(avx512_f64, f64, F64, avx512, avx2);
