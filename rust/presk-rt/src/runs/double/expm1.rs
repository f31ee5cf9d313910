//! `expm1` up to 709, `tanh` for every argument.

use super::{multiple, power_of_two, upper, within};
use crate::runs::block::{Block, begin, finish, go_on, patch};

const LN2_HI: f64 = 6.93147180369123816490e-01;
const LN2_LO: f64 = 1.90821492927058770002e-10;
const Q1: f64 = -3.33333333333331316428e-02;
const Q2: f64 = 1.58730158725481460165e-03;
const Q3: f64 = -7.93650757867487942473e-05;
const Q4: f64 = 4.00821782732936239552e-06;
const Q5: f64 = -2.01099218183624371326e-07;

/// −56·ln 2: at it and below the result is −1.
const LEAST: f64 = -upper(0x4043_687a);

/// Below 1023.5·ln 2: to it 2ᵏ is a number.
const MOST: f64 = 709.0;

/// 2⁻⁵⁴: below it the result is the argument.
const TINY: f64 = upper(0x3c90_0000);

/// From this multiple of ln 2 on the 1 is subtracted last.
const FAR: f64 = 20.0;

#[inline(always)]
pub fn expm1<P, const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
    let values = begin(x, |x| reduced(within(x, LEAST, MOST)));
    let values = go_on(x, &values, |_, [k, r, c]| [k, r, c, correction(r)]);
    finish(x, y, &values, |x, values| {
        let value = put_together(values);
        let value = if x.abs() < TINY { x } else { value };
        if x <= LEAST { -1.0 } else { value }
    });
    patch(x, y, |x| x <= MOST, libm::expm1);
}

/// The multiple of ln 2 nearest to an argument, and what is left of the argument: as two numbers.
#[inline(always)]
fn reduced(x: f64) -> [f64; 3] {
    let k = multiple(x);
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let r = hi - lo;
    [k, r, (hi - r) - lo]
}

/// What the exponential of a reduced argument has beyond its first terms.
#[inline(always)]
fn correction(r: f64) -> f64 {
    let hfx = 0.5 * r;
    let hxs = r * hfx;
    let r1 = 1.0 + hxs * (Q1 + hxs * (Q2 + hxs * (Q3 + hxs * (Q4 + hxs * Q5))));
    let t = 3.0 - r1 * hfx;
    hxs * ((r1 - t) / (6.0 - r * t))
}

/// eˣ − 1 of all of these.
///
/// The crate has a formula for each range of k. All are (a sum) · 2ᵏ + a constant, the products being exact; of k = 0 too,
/// where there is no rest c.
#[inline(always)]
fn put_together([k, r, c, e]: [f64; 4]) -> f64 {
    let hxs = r * (0.5 * r);
    let e = r * (e - c) - c;
    let e = e - hxs;
    let is_far = k < -1.0 || k > 56.0;
    let inverse = power_of_two(-k);
    let added = if is_far { 1.0 } else { 1.0 - inverse };
    let added = if k.abs() <= 1.0 { 0.0 } else { added };
    let sum = r - e + added;
    let late = r - (e + inverse) + 1.0;
    let sum = if k >= FAR && !is_far { late } else { sum };
    let is_low = k == 1.0 && r < -0.25;
    let sum = if is_low { (r + 0.5) - e } else { sum };
    let constant = if is_far { -1.0 } else { 0.0 };
    let constant = if k == 1.0 && !is_low { 1.0 } else { constant };
    let constant = if k == -1.0 { -0.5 } else { constant };
    sum * power_of_two(k) + constant
}

/// log(3) / 2 and log(5/3) / 2, as the crate compares with them.
const UPPER: f64 = upper(0x3fe1_93eb);
const LOWER: f64 = upper(0x3fd0_58af);

/// From here on the result is 1, and up to it the multiple of ln 2 at most 56.
const ONE: f64 = 19.5;

#[inline(always)]
pub fn tanh<P, const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
    let values = begin(x, |x| {
        let size = size(x);
        reduced_double(if size < LOWER { -size } else { size })
    });
    let values = go_on(x, &values, |_, [k, r, c]| [k, r, c, correction(r)]);
    finish(x, y, &values, |x, values| {
        let size = size(x);
        let t = put_together_double(values);
        let over = if size < LOWER { -t } else { t };
        let over = if size >= UPPER { 2.0 } else { over };
        let part = over / (t + 2.0);
        let value = if size >= UPPER { 1.0 - part } else { part };
        if x.is_nan() { x } else { value.copysign(x) }
    });
}

#[inline(always)]
fn size(x: f64) -> f64 {
    let size = x.abs();
    if size < ONE { size } else { ONE }
}

/// As [`reduced`] of 2x, for x from −[`LOWER`] to [`ONE`].
#[inline(always)]
fn reduced_double(x: f64) -> [f64; 3] {
    let x = x + x;
    let k = multiple(x);
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let r = hi - lo;
    [k, r, (hi - r) - lo]
}

/// As [`put_together`] after [`reduced_double`], for the hyperbolic tangent: without the choices that never fall
/// otherwise there, and without the one whose outcome it doesn't see (below 2⁻⁵⁴).
#[inline(always)]
fn put_together_double([k, r, c, e]: [f64; 4]) -> f64 {
    let hxs = r * (0.5 * r);
    let e = r * (e - c) - c;
    let e = e - hxs;
    let inverse = power_of_two(-k);
    let added = if k > 1.0 { 1.0 - inverse } else { 0.0 };
    let sum = r - e + added;
    let late = r - (e + inverse) + 1.0;
    let sum = if k >= FAR { late } else { sum };
    let constant = if k == 1.0 { 1.0 } else { 0.0 };
    let constant = if k < 0.0 { -0.5 } else { constant };
    sum * power_of_two(k) + constant
}
