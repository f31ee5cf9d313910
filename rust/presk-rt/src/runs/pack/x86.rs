//! With AVX-512, which has instructions for it, and with AVX2 and BMI2, whose permutations are given by bits.

use std::arch::x86_64::{
    __m128i, __m256, __m256i, _CMP_NGE_UQ, _CMP_NLT_UQ, _mm_cvtsi64_si128, _mm256_and_ps, _mm256_andnot_pd,
    _mm256_andnot_ps, _mm256_blendv_ps, _mm256_castpd_ps, _mm256_castps_pd, _mm256_cmp_pd, _mm256_cmp_ps,
    _mm256_cvtepu8_epi32, _mm256_loadu_ps, _mm256_movemask_ps, _mm256_permutevar8x32_ps, _mm256_set1_pd,
    _mm256_set1_ps, _mm256_storeu_ps, _mm512_abs_pd, _mm512_abs_ps, _mm512_loadu_pd, _mm512_loadu_ps,
    _mm512_mask_cmp_pd_mask, _mm512_mask_cmp_ps_mask, _mm512_mask_expand_pd, _mm512_mask_expand_ps,
    _mm512_maskz_compress_pd, _mm512_maskz_compress_ps, _mm512_set1_pd, _mm512_set1_ps, _mm512_storeu_pd,
    _mm512_storeu_ps, _pdep_u64, _pext_u64,
};

use super::{Pack, Range};
use crate::runs::block::Block;

/// In vectors of 64 bytes.
pub struct Avx512;

/// In vectors of 32 bytes.
pub struct Avx2;

/// Both ways of one instruction set and type, from what is done to one vector. Vector `at / lanes` has taken as many elements
/// as there are in those before it, so it writes, or reads, at most up to the end of its own place.
macro_rules! packed {
    ($isa:ty, $features:literal, $real:ty, $lanes:literal, $which:path, $take:path, $put:path, $weight:literal) => {
        impl Pack<$real> for $isa {
            #[inline(always)]
            fn take<const L: usize>(x: &Block<$real, L>, range: Range<$real>, taken: &mut Block<$real, L>) -> usize {
                #[target_feature(enable = $features)]
                fn take<const L: usize>(
                    x: &Block<$real, L>,
                    range: Range<$real>,
                    taken: &mut Block<$real, L>,
                ) -> usize {
                    let mut count = 0;
                    for at in (0..L).step_by($lanes) {
                        // SAFETY: `at` is below L, a multiple of the lanes, and `count` no more than `at`.
                        unsafe {
                            let x = x.0.as_ptr().add(at);
                            let which = $which(x, range);
                            $take(x, which, taken.0.as_mut_ptr().add(count));
                            count += which.count_ones() as usize / $weight;
                        }
                    }
                    count
                }
                // SAFETY: the table of an instruction set alone names it, and a routine of that table is called only where the
                // processor has it.
                unsafe { take(x, range, taken) }
            }

            #[inline(always)]
            fn put<const L: usize>(
                values: &Block<$real, L>,
                x: &Block<$real, L>,
                range: Range<$real>,
                y: &mut Block<$real, L>,
            ) {
                #[target_feature(enable = $features)]
                fn put<const L: usize>(
                    values: &Block<$real, L>,
                    x: &Block<$real, L>,
                    range: Range<$real>,
                    y: &mut Block<$real, L>,
                ) {
                    let mut count = 0;
                    for at in (0..L).step_by($lanes) {
                        // SAFETY: as above.
                        unsafe {
                            let which = $which(x.0.as_ptr().add(at), range);
                            $put(values.0.as_ptr().add(count), which, y.0.as_mut_ptr().add(at));
                            count += which.count_ones() as usize / $weight;
                        }
                    }
                }
                // SAFETY: as above.
                unsafe { put(values, x, range, y) }
            }
        }
    };
}

packed!(Avx512, "avx512f,popcnt", f32, 16, which_of_16, take_of_16, put_in_16, 1);
packed!(Avx512, "avx512f,popcnt", f64, 8, which_of_8, take_of_8, put_in_8, 1);
packed!(Avx2, "avx2,bmi2,popcnt", f32, 8, which_of_singles, take_halves, put_halves, 1);
packed!(Avx2, "avx2,bmi2,popcnt", f64, 4, which_of_doubles, take_halves, put_halves, 2);

/// Which of sixteen elements lie in the range, a bit each.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn which_of_16(x: *const f32, range: Range<f32>) -> u16 {
    // SAFETY: the caller's promise.
    let size = _mm512_abs_ps(unsafe { _mm512_loadu_ps(x) });
    let is_below_bound = _mm512_mask_cmp_ps_mask::<_CMP_NGE_UQ>(u16::MAX, size, _mm512_set1_ps(range.bound));
    _mm512_mask_cmp_ps_mask::<_CMP_NLT_UQ>(is_below_bound, size, _mm512_set1_ps(range.least))
}

/// # Safety
/// There are sixteen elements from `x` on, and from `taken` on, which may be written.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn take_of_16(x: *const f32, which: u16, taken: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_ps(taken, _mm512_maskz_compress_ps(which, _mm512_loadu_ps(x))) };
}

/// # Safety
/// As [`take_of_16`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put_in_16(values: *const f32, which: u16, y: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_ps(y, _mm512_mask_expand_ps(_mm512_loadu_ps(y), which, _mm512_loadu_ps(values))) };
}

/// Which of eight elements lie in the range, a bit each.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn which_of_8(x: *const f64, range: Range<f64>) -> u8 {
    // SAFETY: the caller's promise.
    let size = _mm512_abs_pd(unsafe { _mm512_loadu_pd(x) });
    let is_below_bound = _mm512_mask_cmp_pd_mask::<_CMP_NGE_UQ>(u8::MAX, size, _mm512_set1_pd(range.bound));
    _mm512_mask_cmp_pd_mask::<_CMP_NLT_UQ>(is_below_bound, size, _mm512_set1_pd(range.least))
}

/// # Safety
/// There are eight elements from `x` on, and from `taken` on, which may be written.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn take_of_8(x: *const f64, which: u8, taken: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_pd(taken, _mm512_maskz_compress_pd(which, _mm512_loadu_pd(x))) };
}

/// # Safety
/// As [`take_of_8`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put_in_8(values: *const f64, which: u8, y: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_pd(y, _mm512_mask_expand_pd(_mm512_loadu_pd(y), which, _mm512_loadu_pd(values))) };
}

/// Which of eight elements lie in the range, a bit each.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn which_of_singles(x: *const f32, range: Range<f32>) -> u8 {
    // SAFETY: the caller's promise.
    let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), unsafe { _mm256_loadu_ps(x) });
    let is_below_bound = _mm256_cmp_ps::<_CMP_NGE_UQ>(size, _mm256_set1_ps(range.bound));
    bits(_mm256_and_ps(is_below_bound, _mm256_cmp_ps::<_CMP_NLT_UQ>(size, _mm256_set1_ps(range.least))))
}

/// Which of four elements lie in the range, a bit for each half.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn which_of_doubles(x: *const f64, range: Range<f64>) -> u8 {
    // SAFETY: the caller's promise.
    let x = _mm256_castps_pd(unsafe { _mm256_loadu_ps(x.cast()) });
    let size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
    let is_below_bound = _mm256_castpd_ps(_mm256_cmp_pd::<_CMP_NGE_UQ>(size, _mm256_set1_pd(range.bound)));
    let is_enough = _mm256_castpd_ps(_mm256_cmp_pd::<_CMP_NLT_UQ>(size, _mm256_set1_pd(range.least)));
    bits(_mm256_and_ps(is_below_bound, is_enough))
}

/// The signs of eight halves, a bit each.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(vector: __m256) -> u8 {
    _mm256_movemask_ps(vector).to_le_bytes()[0]
}

/// The numbers 0 to 7, a byte each.
const PLACES: u64 = 0x0706_0504_0302_0100;

/// Bytes of ones for bits that are set.
#[inline]
#[target_feature(enable = "bmi2")]
fn bytes(bits: u8) -> u64 {
    _pdep_u64(u64::from(bits), 0x0101_0101_0101_0101) * 0xff
}

/// Eight numbers as a permutation wants them.
#[inline]
#[target_feature(enable = "avx2")]
fn permutation(places: u64) -> __m256i {
    let places: __m128i = _mm_cvtsi64_si128(places.cast_signed());
    _mm256_cvtepu8_epi32(places)
}

/// # Safety
/// There are 32 bytes from `x` on, and from `taken` on, which may be written.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
unsafe fn take_halves<T>(x: *const T, which: u8, taken: *mut T) {
    let places = permutation(_pext_u64(PLACES, bytes(which)));
    // SAFETY: the caller's promise.
    unsafe { _mm256_storeu_ps(taken.cast(), _mm256_permutevar8x32_ps(_mm256_loadu_ps(x.cast()), places)) };
}

/// # Safety
/// As [`take_halves`].
#[inline]
#[target_feature(enable = "avx2,bmi2")]
unsafe fn put_halves<T>(values: *const T, which: u8, y: *mut T) {
    let bytes = bytes(which);
    let places = permutation(_pdep_u64(PLACES, bytes));
    // The sign of each half of the mask is what is looked at.
    let mask = permutation(bytes);
    // SAFETY: the caller's promise.
    unsafe {
        let values = _mm256_permutevar8x32_ps(_mm256_loadu_ps(values.cast()), places);
        _mm256_storeu_ps(y.cast(), _mm256_blendv_ps(_mm256_loadu_ps(y.cast()), values, spread(mask)));
    }
}

/// Numbers that are 255 with their signs set.
#[inline]
#[target_feature(enable = "avx2")]
fn spread(mask: __m256i) -> __m256 {
    use std::arch::x86_64::{_mm256_castsi256_ps, _mm256_slli_epi32};
    _mm256_castsi256_ps(_mm256_slli_epi32::<24>(mask))
}
