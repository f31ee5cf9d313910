//! Eight rows in vectors of 32 bytes: loaded along the rows, turned in registers, added one element of each row at a time.

use std::arch::x86_64::{
    __m256, __m256d, _mm_loadu_pd, _mm_loadu_ps, _mm256_add_pd, _mm256_add_ps, _mm256_castpd128_pd256,
    _mm256_castps128_ps256, _mm256_insertf128_pd, _mm256_insertf128_ps, _mm256_loadu_pd, _mm256_loadu_ps,
    _mm256_mul_pd, _mm256_mul_ps, _mm256_shuffle_ps, _mm256_storeu_pd, _mm256_storeu_ps, _mm256_sub_pd, _mm256_sub_ps,
    _mm256_unpackhi_pd, _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpacklo_ps,
};

use super::ROWS;
use super::sums::Sums;

/// With AVX.
pub struct Avx;

impl Sums<f32> for Avx {
    #[inline(always)]
    fn taken(count: usize) -> usize {
        count - count % 4
    }

    #[inline(always)]
    unsafe fn groups<const SPREAD: bool, const G: usize>(
        rows: &[[*const f32; ROWS]; G],
        sums: &mut [[f32; ROWS]; G],
        centres: &[[f32; ROWS]; G],
        count: usize,
    ) {
        // SAFETY: the caller's promise, and that a table of an instruction set with AVX alone names this.
        unsafe { singles::<SPREAD, G>(rows, sums, centres, count) }
    }
}

impl Sums<f64> for Avx {
    #[inline(always)]
    fn taken(count: usize) -> usize {
        count - count % 2
    }

    #[inline(always)]
    unsafe fn groups<const SPREAD: bool, const G: usize>(
        rows: &[[*const f64; ROWS]; G],
        sums: &mut [[f64; ROWS]; G],
        centres: &[[f64; ROWS]; G],
        count: usize,
    ) {
        // SAFETY: as above.
        unsafe { doubles::<SPREAD, G>(rows, sums, centres, count) }
    }
}

/// # Safety
/// The rows are of `count` elements, a multiple of four.
#[target_feature(enable = "avx")]
unsafe fn singles<const SPREAD: bool, const G: usize>(
    rows: &[[*const f32; ROWS]; G],
    sums: &mut [[f32; ROWS]; G],
    centres: &[[f32; ROWS]; G],
    count: usize,
) {
    // SAFETY: each has eight elements.
    let mut found = sums.each_ref().map(|sums| unsafe { _mm256_loadu_ps(sums.as_ptr()) });
    // SAFETY: as above.
    let centres = centres.each_ref().map(|centres| unsafe { _mm256_loadu_ps(centres.as_ptr()) });
    for at in (0..count).step_by(4) {
        for ((rows, found), &centre) in rows.iter().zip(&mut found).zip(&centres) {
            // SAFETY: the caller's promise.
            let [a, b, c, d] = unsafe {
                [
                    two_singles(rows[0].add(at), rows[4].add(at)),
                    two_singles(rows[1].add(at), rows[5].add(at)),
                    two_singles(rows[2].add(at), rows[6].add(at)),
                    two_singles(rows[3].add(at), rows[7].add(at)),
                ]
            };
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            *found = single::<SPREAD>(*found, _mm256_shuffle_ps::<0x44>(ab, cd), centre);
            *found = single::<SPREAD>(*found, _mm256_shuffle_ps::<0xee>(ab, cd), centre);
            let (ab, cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            *found = single::<SPREAD>(*found, _mm256_shuffle_ps::<0x44>(ab, cd), centre);
            *found = single::<SPREAD>(*found, _mm256_shuffle_ps::<0xee>(ab, cd), centre);
        }
    }
    for (sums, found) in sums.iter_mut().zip(found) {
        // SAFETY: as above.
        unsafe { _mm256_storeu_ps(sums.as_mut_ptr(), found) };
    }
}

/// One element of each row taken into the sums.
#[inline]
#[target_feature(enable = "avx")]
fn single<const SPREAD: bool>(sums: __m256, x: __m256, centres: __m256) -> __m256 {
    if !SPREAD {
        return _mm256_add_ps(sums, x);
    }
    let difference = _mm256_sub_ps(x, centres);
    _mm256_add_ps(sums, _mm256_mul_ps(difference, difference))
}

/// One element of each of four rows taken into the sums.
#[inline]
#[target_feature(enable = "avx")]
fn double<const SPREAD: bool>(sums: __m256d, x: __m256d, centres: __m256d) -> __m256d {
    if !SPREAD {
        return _mm256_add_pd(sums, x);
    }
    let difference = _mm256_sub_pd(x, centres);
    _mm256_add_pd(sums, _mm256_mul_pd(difference, difference))
}

/// Four elements of one row, then four of another.
///
/// # Safety
/// There are as many.
#[inline]
#[target_feature(enable = "avx")]
unsafe fn two_singles(low: *const f32, high: *const f32) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe { _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high)) }
}

/// # Safety
/// The rows are of `count` elements, a multiple of two.
#[target_feature(enable = "avx")]
unsafe fn doubles<const SPREAD: bool, const G: usize>(
    rows: &[[*const f64; ROWS]; G],
    sums: &mut [[f64; ROWS]; G],
    centres: &[[f64; ROWS]; G],
    count: usize,
) {
    // SAFETY: each has eight elements.
    let halves = |of: &[f64; ROWS]| unsafe { [_mm256_loadu_pd(of.as_ptr()), _mm256_loadu_pd(of.as_ptr().add(4))] };
    let (mut found, centres) = (sums.each_ref().map(&halves), centres.each_ref().map(halves));
    for at in (0..count).step_by(2) {
        for ((rows, [low, high]), &[low_centre, high_centre]) in rows.iter().zip(&mut found).zip(&centres) {
            // SAFETY: the caller's promise.
            let [a, b, c, d] = unsafe {
                [
                    two_doubles(rows[0].add(at), rows[2].add(at)),
                    two_doubles(rows[1].add(at), rows[3].add(at)),
                    two_doubles(rows[4].add(at), rows[6].add(at)),
                    two_doubles(rows[5].add(at), rows[7].add(at)),
                ]
            };
            *low = double::<SPREAD>(*low, _mm256_unpacklo_pd(a, b), low_centre);
            *high = double::<SPREAD>(*high, _mm256_unpacklo_pd(c, d), high_centre);
            *low = double::<SPREAD>(*low, _mm256_unpackhi_pd(a, b), low_centre);
            *high = double::<SPREAD>(*high, _mm256_unpackhi_pd(c, d), high_centre);
        }
    }
    for (sums, [low, high]) in sums.iter_mut().zip(found) {
        // SAFETY: as above.
        unsafe {
            _mm256_storeu_pd(sums.as_mut_ptr(), low);
            _mm256_storeu_pd(sums.as_mut_ptr().add(4), high);
        }
    }
}

/// Two elements of one row, then two of another.
///
/// # Safety
/// There are as many.
#[inline]
#[target_feature(enable = "avx")]
unsafe fn two_doubles(low: *const f64, high: *const f64) -> __m256d {
    // SAFETY: the caller's promise.
    unsafe { _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high)) }
}
