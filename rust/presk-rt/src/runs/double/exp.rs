//! `exp`, for every argument.

use super::{SHIFT, multiple, power_of_two, upper, within};
use crate::runs::block::{Block, all, begin, finish, go_on, map};

const LN2_HI: f64 = 6.93147180369123816490e-01;
const LN2_LO: f64 = 1.90821492927058770002e-10;
const P1: f64 = 1.66666666666666019037e-01;
const P2: f64 = -2.77777777770155933842e-03;
const P3: f64 = 6.61375632143793436117e-05;
const P4: f64 = -1.65339022054652515390e-06;
const P5: f64 = 4.13813679705723846039e-08;

/// Below it the result is 0, and below this too: not the same, lest the compiler takes one choice for both.
const LEAST: f64 = -745.13321910194110842;
const CUT: f64 = -745.5;

/// Above it the result is infinite.
const MOST: f64 = 709.782712893383973096;

/// Up to this size the result is a normal number.
const NORMAL: f64 = 708.0;

/// 2⁻²⁸ and a little: below it the result is 1 + x.
const TINY: f64 = upper(0x3e30_0001);

#[inline(always)]
pub fn exp<P, const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
    if !all(x, |x| x.abs() <= NORMAL) {
        map(x, y, |x| {
            // Nothing is computed of what gives 0 (the −∞ of a mask, say): a result that underflows takes processors long.
            let value = bounded(if x > CUT { within(x, CUT, MOST) } else { 0.0 });
            let value = if x < LEAST { 0.0 } else { value };
            let value = if x > MOST { f64::INFINITY } else { value };
            if x.is_nan() { x } else { value }
        });
        return;
    }
    let values = begin(x, |x| {
        let k = multiple(x);
        [k, x - k * LN2_HI]
    });
    let values = go_on(x, &values, |x, [k, hi]| {
        let quotient = quotient(hi - k * LN2_LO);
        [k, hi, if x.abs() < TINY { 0.0 } else { quotient }]
    });
    finish(x, y, &values, |_, [k, hi, quotient]| {
        let y = 1.0 + (quotient - k * LN2_LO + hi);
        f64::from_bits(y.to_bits().wrapping_add((k + SHIFT).to_bits() << 52))
    });
}

/// What the exponential of a reduced argument has beyond 1 and the argument.
#[inline(always)]
fn quotient(r: f64) -> f64 {
    let rr = r * r;
    let c = r - rr * (P1 + rr * (P2 + rr * (P3 + rr * (P4 + rr * P5))));
    r * c / (2.0 - c)
}

/// The exponential of what lies between the bounds.
#[inline(always)]
pub fn bounded(x: f64) -> f64 {
    let k = multiple(x);
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let y = 1.0 + (quotient(hi - lo) - lo + hi);
    // In two steps, the first exact: the second may be subnormal or infinite.
    let first = (0.5 * k + SHIFT) - SHIFT;
    let scaled = y * power_of_two(first) * power_of_two(k - first);
    if x.abs() < TINY { 1.0 + x } else { scaled }
}

/// The exponential of a number below −2, however far.
#[inline(always)]
pub fn low(x: f64) -> f64 {
    // As in `exp`, nothing is computed of what gives 0.
    let value = bounded(if x > CUT { x } else { -2.0 });
    if x < LEAST { 0.0 } else { value }
}

/// The exponential of a number from −40 to −2.
#[inline(always)]
pub fn negative(x: f64) -> f64 {
    let k = multiple(x);
    let (hi, lo) = (x - k * LN2_HI, k * LN2_LO);
    (1.0 + (quotient(hi - lo) - lo + hi)) * power_of_two(k)
}

/// The exponential of a number of size less than half of ln 2 and more than 2⁻²⁷.
#[inline(always)]
pub fn near(x: f64) -> f64 {
    1.0 + (quotient(x) + x)
}
