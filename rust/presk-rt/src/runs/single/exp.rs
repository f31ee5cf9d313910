//! `expf`, for every argument.

use super::{number, power_of_two, within};
use crate::runs::block::{Block, all, begin, finish, go_on, map};

const LN2_HI: f32 = 6.9314575195e-01;
const LN2_LO: f32 = 1.4286067653e-06;
const INV_LN2: f32 = 1.4426950216e+00;
const P1: f32 = 1.6666625440e-1;
const P2: f32 = -2.7667332906e-3;

/// At it and below the result is 0, and below this too: not the same, lest the compiler takes one choice for both.
const LEAST: f32 = -104.0;
const CUT: f32 = -104.5;

/// At it and above the result is infinite.
const MOST: f32 = 89.0;

/// Up to this size the result is a normal number.
const NORMAL: f32 = 87.0;

/// 2⁻¹³: up to it the result is 1 + x.
const TINY: f32 = f32::from_bits(0x3900_0000);

#[inline(always)]
pub fn exp<P, const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
    if !all(x, |x| x.abs() <= NORMAL) {
        map(x, y, |x| {
            // Nothing is computed of what gives 0 (the −∞ of a mask, say): a result that underflows takes processors long.
            let value = bounded(if x > CUT { within(x, CUT, MOST) } else { 0.0 });
            let value = if x <= LEAST { 0.0 } else { value };
            if x.is_nan() { x } else { value }
        });
        return;
    }
    let values = begin(x, |x| {
        let k = number(INV_LN2 * x + 0.5f32.copysign(x)) as f32;
        [k, x - k * LN2_HI]
    });
    let values = go_on(x, &values, |x, [k, hi]| {
        let quotient = quotient(hi - k * LN2_LO);
        [k, hi, if x.abs() <= TINY { 0.0 } else { quotient }]
    });
    finish(x, y, &values, |_, [k, hi, quotient]| {
        let y = 1.0 + (quotient - k * LN2_LO + hi);
        f32::from_bits(y.to_bits().wrapping_add((number(k) << 23).cast_unsigned()))
    });
}

/// What the exponential of a reduced argument has beyond 1 and the argument.
#[inline(always)]
fn quotient(r: f32) -> f32 {
    let rr = r * r;
    let c = r - rr * (P1 + rr * P2);
    r * c / (2.0 - c)
}

/// The exponential of what lies between the bounds.
#[inline(always)]
pub fn bounded(x: f32) -> f32 {
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let k = number(INV_LN2 * x + half);
    let kf = k as f32;
    let hi = x - kf * LN2_HI;
    let lo = kf * LN2_LO;
    let y = 1.0 + (quotient(hi - lo) - lo + hi);
    // In two steps, the first exact: the second may be subnormal or infinite.
    let first = k >> 1;
    let scaled = y * power_of_two(first) * power_of_two(k - first);
    if x.abs() <= TINY { 1.0 + x } else { scaled }
}

/// The exponential of a number below −2, however far.
#[inline(always)]
pub fn low(x: f32) -> f32 {
    // As in `exp`, nothing is computed of what gives 0.
    let value = bounded(if x > CUT { x } else { -2.0 });
    if x <= LEAST { 0.0 } else { value }
}

/// The exponential of a number from −40 to −2.
#[inline(always)]
pub fn negative(x: f32) -> f32 {
    let k = number(INV_LN2 * x - 0.5);
    let (hi, lo) = (x - k as f32 * LN2_HI, k as f32 * LN2_LO);
    (1.0 + (quotient(hi - lo) - lo + hi)) * power_of_two(k)
}

/// The exponential of a number of size less than half of ln 2 and more than 2⁻¹³.
#[inline(always)]
pub fn near(x: f32) -> f32 {
    1.0 + (quotient(x) + x)
}
