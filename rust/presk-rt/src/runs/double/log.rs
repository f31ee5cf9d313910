//! `log` of positive normal numbers, `log1p` of finite numbers above −1.

use super::upper;
use crate::runs::block::{Block, map, patch};

const LN2_HI: f64 = 6.93147180369123816490e-01;
const LN2_LO: f64 = 1.90821492927058770002e-10;
const LG1: f64 = 6.666666666666735130e-01;
const LG2: f64 = 3.999999999940941908e-01;
const LG3: f64 = 2.857142874366239149e-01;
const LG4: f64 = 2.222219843214978396e-01;
const LG5: f64 = 1.818357216161805012e-01;
const LG6: f64 = 1.531383769920937332e-01;
const LG7: f64 = 1.479819860511658591e-01;

/// √2 / 2, where the interval of reduced arguments begins: its upper half.
const ROOT: u64 = 0x3fe6_a09e << 32;

const ONE: u64 = 0x3ff0_0000 << 32;

/// From 1 − √2/2 below 0 to √2 − 1 above, log1p reduces nothing.
const NEAR_BELOW: f64 = -upper(0x3fd2_bec5);
const NEAR_ABOVE: f64 = upper(0x3fda_827a);

/// 2⁻⁵³: below it log1p is its argument.
const TINY: f64 = upper(0x3ca0_0000);

/// The exponent, as a real, and the reduced argument of a positive normal number.
#[inline(always)]
fn reduced(u: f64) -> (f64, f64) {
    let moved = u.to_bits().wrapping_add(ONE - ROOT);
    // 2⁵² + the biased exponent, whose bits need no conversion.
    let biased = f64::from_bits(0x4330_0000_0000_0000 | (moved >> 52));
    (biased - (4_503_599_627_370_496.0 + 1023.0), f64::from_bits((moved & 0x000f_ffff_ffff_ffff) + ROOT))
}

/// log(1 + f) + k·log 2, where `c` corrects f.
#[inline(always)]
fn sum(f: f64, k: f64, c: Option<f64>) -> f64 {
    let hfsq = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * (LG2 + w * (LG4 + w * LG6));
    let t2 = z * (LG1 + w * (LG3 + w * (LG5 + w * LG7)));
    let r = t2 + t1;
    let low = c.map_or(k * LN2_LO, |c| k * LN2_LO + c);
    s * (hfsq + r) + low - hfsq + f + k * LN2_HI
}

#[inline(always)]
pub fn log<P, const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
    map(x, y, |x| {
        let (k, m) = reduced(x);
        sum(m - 1.0, k, None)
    });
    patch(x, y, |x| x >= f64::MIN_POSITIVE && x < f64::INFINITY, libm::log);
}

#[inline(always)]
pub fn log1p<P, const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
    map(x, y, |x| {
        let u = 1.0 + x;
        let (k, m) = reduced(u);
        let c = if k >= 2.0 { 1.0 - (u - x) } else { x - (u - 1.0) };
        let c = c / u;
        let c = if k < 54.0 { c } else { 0.0 };
        let is_near = x < NEAR_ABOVE && x > NEAR_BELOW;
        let f = if is_near { x } else { m - 1.0 };
        let c = if is_near { 0.0 } else { c };
        let k = if is_near { 0.0 } else { k };
        let value = sum(f, k, Some(c));
        if x.abs() < TINY { x } else { value }
    });
    patch(x, y, |x| x > -1.0 && x < f64::INFINITY, libm::log1p);
}
