//! With AVX-512, which has instructions for it, and with AVX2, by permutations out of a table.

use std::arch::x86_64::{
    __m256, __m256i, _CMP_NLT_UQ, _mm_loadl_epi64, _mm256_and_si256, _mm256_andnot_pd, _mm256_andnot_ps,
    _mm256_blendv_ps, _mm256_castpd_ps, _mm256_castps_pd, _mm256_castsi256_ps, _mm256_cmp_pd, _mm256_cmp_ps,
    _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_loadu_ps, _mm256_movemask_ps, _mm256_permutevar8x32_ps,
    _mm256_set1_epi32, _mm256_set1_pd, _mm256_set1_ps, _mm256_setr_epi32, _mm256_storeu_ps, _mm512_abs_pd,
    _mm512_abs_ps, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask, _mm512_loadu_pd, _mm512_loadu_ps, _mm512_mask_expand_pd,
    _mm512_mask_expand_ps, _mm512_maskz_compress_pd, _mm512_maskz_compress_ps, _mm512_set1_pd, _mm512_set1_ps,
    _mm512_storeu_pd, _mm512_storeu_ps,
};

use super::{Pack, STEP};

/// In vectors of 64 bytes.
pub struct Avx512;

/// In vectors of 32 bytes.
pub struct Avx2;

/// Both ways of one instruction set and type, from what is done to one vector, `$bits` bits of a word saying which of its
/// elements are taken. A vector comes after as many elements as were taken at most, so it writes, or reads, at most up to the
/// end of its own place.
macro_rules! packed {
    ($isa:ty, $features:literal, $real:ty, $lanes:literal, $which:path, $take:path, $put:path, $bits:literal) => {
        impl Pack<$real> for $isa {
            #[inline(always)]
            unsafe fn take(x: *const $real, count: usize, least: $real, taken: *mut $real, which: *mut u32) -> usize {
                #[target_feature(enable = $features)]
                unsafe fn take(
                    x: *const $real,
                    count: usize,
                    least: $real,
                    taken: *mut $real,
                    which: *mut u32,
                ) -> usize {
                    let mut found = 0;
                    for at in (0..count).step_by(STEP) {
                        let mut word = 0;
                        for part in 0..STEP / $lanes {
                            // SAFETY: the caller's promise; `found` is no more than the elements looked at before.
                            unsafe {
                                let x = x.add(at + part * $lanes);
                                let these = $which(x, least);
                                $take(x, these, taken.add(found));
                                found += these.count_ones() as usize * $lanes / $bits;
                                word |= u32::from(these) << (part * $bits);
                            }
                        }
                        // SAFETY: the caller's promise.
                        unsafe { *which.add(at / STEP) = word };
                    }
                    found
                }
                // SAFETY: the table of an instruction set alone names it, and a routine of that table is called only where the
                // processor has it. The rest is the caller's promise.
                unsafe { take(x, count, least, taken, which) }
            }

            #[inline(always)]
            unsafe fn put(values: *const $real, which: *const u32, y: *mut $real, count: usize) {
                #[target_feature(enable = $features)]
                unsafe fn put(values: *const $real, which: *const u32, y: *mut $real, count: usize) {
                    let mut found = 0;
                    for at in (0..count).step_by(STEP) {
                        // SAFETY: the caller's promise.
                        let word = unsafe { *which.add(at / STEP) };
                        for part in 0..STEP / $lanes {
                            let these = (word >> (part * $bits)) as _;
                            // SAFETY: as above.
                            unsafe { $put(values.add(found), these, y.add(at + part * $lanes)) };
                            found += these.count_ones() as usize * $lanes / $bits;
                        }
                    }
                }
                // SAFETY: as above.
                unsafe { put(values, which, y, count) }
            }
        }
    };
}

packed!(Avx512, "avx512f,popcnt", f32, 16, which_of_16, take_of_16, put_in_16, 16);
packed!(Avx512, "avx512f,popcnt", f64, 8, which_of_8, take_of_8, put_in_8, 8);
packed!(Avx2, "avx2,popcnt", f32, 8, which_of_singles, take_halves, put_halves, 8);
packed!(Avx2, "avx2,popcnt", f64, 4, which_of_doubles, take_halves, put_halves, 8);

/// Which of sixteen elements aren't smaller, a bit each.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn which_of_16(x: *const f32, least: f32) -> u16 {
    // SAFETY: the caller's promise.
    let size = _mm512_abs_ps(unsafe { _mm512_loadu_ps(x) });
    _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(size, _mm512_set1_ps(least))
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

/// Which of eight elements aren't smaller, a bit each.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn which_of_8(x: *const f64, least: f64) -> u8 {
    // SAFETY: the caller's promise.
    let size = _mm512_abs_pd(unsafe { _mm512_loadu_pd(x) });
    _mm512_cmp_pd_mask::<_CMP_NLT_UQ>(size, _mm512_set1_pd(least))
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

/// Which of eight elements aren't smaller, a bit each.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn which_of_singles(x: *const f32, least: f32) -> u8 {
    // SAFETY: the caller's promise.
    let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), unsafe { _mm256_loadu_ps(x) });
    bits(_mm256_cmp_ps::<_CMP_NLT_UQ>(size, _mm256_set1_ps(least)))
}

/// Which of four elements aren't smaller, a bit for each half.
///
/// # Safety
/// There are as many from `x` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn which_of_doubles(x: *const f64, least: f64) -> u8 {
    // SAFETY: the caller's promise.
    let x = _mm256_castps_pd(unsafe { _mm256_loadu_ps(x.cast()) });
    let size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
    bits(_mm256_castpd_ps(_mm256_cmp_pd::<_CMP_NLT_UQ>(size, _mm256_set1_pd(least))))
}

/// The signs of eight halves, a bit each.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(vector: __m256) -> u8 {
    _mm256_movemask_ps(vector).to_le_bytes()[0]
}

/// Of each byte, the places of the bits that are set, in order.
static FRONT: [[u8; 8]; 256] = places(true);

/// Of each byte, for each place of a bit that is set how many are set before it.
static APART: [[u8; 8]; 256] = places(false);

const fn places(to_front: bool) -> [[u8; 8]; 256] {
    let mut places = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut before) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                let (at, place) = if to_front { (before, bit) } else { (bit, before) };
                places[byte][at as usize] = place;
                before += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
}

/// A permutation of halves.
#[inline]
#[target_feature(enable = "avx2")]
fn permutation(places: &[u8; 8]) -> __m256i {
    // SAFETY: these are eight bytes.
    _mm256_cvtepu8_epi32(unsafe { _mm_loadl_epi64(places.as_ptr().cast()) })
}

/// # Safety
/// There are 32 bytes from `x` on, and from `taken` on, which may be written.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn take_halves<T>(x: *const T, which: u8, taken: *mut T) {
    let places = permutation(&FRONT[usize::from(which)]);
    // SAFETY: the caller's promise.
    unsafe { _mm256_storeu_ps(taken.cast(), _mm256_permutevar8x32_ps(_mm256_loadu_ps(x.cast()), places)) };
}

/// # Safety
/// As [`take_halves`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn put_halves<T>(values: *const T, which: u8, y: *mut T) {
    let places = permutation(&APART[usize::from(which)]);
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let mask = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(i32::from(which)), bits), bits);
    // SAFETY: the caller's promise.
    unsafe {
        let values = _mm256_permutevar8x32_ps(_mm256_loadu_ps(values.cast()), places);
        _mm256_storeu_ps(y.cast(), _mm256_blendv_ps(_mm256_loadu_ps(y.cast()), values, _mm256_castsi256_ps(mask)));
    }
}
