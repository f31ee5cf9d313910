//! `logf` of positive normal numbers, `log1pf` of finite numbers above −1.

use crate::runs::block::{Block, map, patch};

const LN2_HI: f32 = 6.9313812256e-01;
const LN2_LO: f32 = 9.0580006145e-06;
const LG1: f32 = 0.66666662693;
const LG2: f32 = 0.40000972152;
const LG3: f32 = 0.28498786688;
const LG4: f32 = 0.24279078841;

/// √2 / 2, where the interval of reduced arguments begins.
const ROOT: u32 = 0x3f35_04f3;

/// From 1 − √2/2 below 0 to √2 − 1 above, log1p reduces nothing.
const NEAR_BELOW: f32 = f32::from_bits(0xbe95_f619);
const NEAR_ABOVE: f32 = f32::from_bits(0x3ed4_13d0);

/// 2⁻²⁴: below it log1p is its argument.
const TINY: f32 = f32::from_bits(0x3380_0000);

/// The exponent and the reduced argument of a positive normal number.
#[inline(always)]
fn reduced(u: f32) -> (i32, f32) {
    let moved = u.to_bits().wrapping_add(0x3f80_0000 - ROOT);
    let k = (moved >> 23).cast_signed() - 0x7f;
    (k, f32::from_bits((moved & 0x007f_ffff) + ROOT))
}

/// log(1 + f) + k·log 2, where `c` corrects f.
#[inline(always)]
fn sum(f: f32, k: f32, c: Option<f32>) -> f32 {
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * (LG2 + w * LG4);
    let t2 = z * (LG1 + w * LG3);
    let r = t2 + t1;
    let hfsq = 0.5 * f * f;
    let low = c.map_or(k * LN2_LO, |c| k * LN2_LO + c);
    s * (hfsq + r) + low - hfsq + f + k * LN2_HI
}

#[inline(always)]
pub fn log<P, const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
    map(x, y, |x| {
        let (k, m) = reduced(x);
        sum(m - 1.0, k as f32, None)
    });
    patch(x, y, |x| x >= f32::MIN_POSITIVE && x < f32::INFINITY, libm::logf);
}

#[inline(always)]
pub fn log1p<P, const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
    map(x, y, |x| {
        let u = 1.0 + x;
        let (k, m) = reduced(u);
        let c = if k >= 2 { 1.0 - (u - x) } else { x - (u - 1.0) };
        let c = c / u;
        let c = if k < 25 { c } else { 0.0 };
        let is_near = x < NEAR_ABOVE && x >= NEAR_BELOW;
        let f = if is_near { x } else { m - 1.0 };
        let c = if is_near { 0.0 } else { c };
        let k = if is_near { 0.0 } else { k as f32 };
        let value = sum(f, k, Some(c));
        if x.abs() < TINY { x } else { value }
    });
    patch(x, y, |x| x > -1.0 && x < f32::INFINITY, libm::log1pf);
}
