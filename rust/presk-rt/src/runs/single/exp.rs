//! `expf`, for every argument.

use super::{number, power_of_two, within};
use crate::runs::block::{Block, map};

const LN2_HI: f32 = 6.9314575195e-01;
const LN2_LO: f32 = 1.4286067653e-06;
const INV_LN2: f32 = 1.4426950216e+00;
const P1: f32 = 1.6666625440e-1;
const P2: f32 = -2.7667332906e-3;

/// At it and below the result is 0.
const LEAST: f32 = -104.5;

/// At it and above the result is infinite.
const MOST: f32 = 89.0;

/// 2⁻¹³: up to it the result is 1 + x.
const TINY: f32 = f32::from_bits(0x3900_0000);

#[inline(always)]
pub fn exp<P, const L: usize>(x: &Block<f32, L>, y: &mut Block<f32, L>) {
    map(x, y, |x| {
        let value = bounded(within(x, LEAST, MOST));
        if x.is_nan() { x } else { value }
    });
}

/// The exponential of what lies between the bounds.
#[inline(always)]
pub fn bounded(x: f32) -> f32 {
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let k = number(INV_LN2 * x + half);
    let kf = k as f32;
    let hi = x - kf * LN2_HI;
    let lo = kf * LN2_LO;
    let r = hi - lo;
    let rr = r * r;
    let c = r - rr * (P1 + rr * P2);
    let y = 1.0 + (r * c / (2.0 - c) - lo + hi);
    // In two steps, the first exact: the second may be subnormal or infinite.
    let first = k >> 1;
    let scaled = y * power_of_two(first) * power_of_two(k - first);
    if x.abs() <= TINY { 1.0 + x } else { scaled }
}

/// The exponential of a number from −40 to −2.
#[inline(always)]
pub fn negative(x: f32) -> f32 {
    let k = number(INV_LN2 * x - 0.5);
    let (hi, lo) = (x - k as f32 * LN2_HI, k as f32 * LN2_LO);
    let r = hi - lo;
    let rr = r * r;
    let c = r - rr * (P1 + rr * P2);
    (1.0 + (r * c / (2.0 - c) - lo + hi)) * power_of_two(k)
}

/// The exponential of a number of size less than half of ln 2 and more than 2⁻¹³.
#[inline(always)]
pub fn near(x: f32) -> f32 {
    let xx = x * x;
    let c = x - xx * (P1 + xx * P2);
    1.0 + (x * c / (2.0 - c) + x)
}
