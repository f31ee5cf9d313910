//! `expm1f` up to 88, `tanhf` for every argument.

use super::{number, within};
use crate::runs::block::{Block, begin, finish, go_on, patch};

const LN2_HI: f32 = 6.9313812256e-01;
const LN2_LO: f32 = 9.0580006145e-06;
const INV_LN2: f32 = 1.4426950216e+00;
const Q1: f32 = -3.3333212137e-2;
const Q2: f32 = 1.5807170421e-3;

/// −27·ln 2: at it and below the result is −1.
const LEAST: f32 = -f32::from_bits(0x4195_b844);

/// Below 127.5·ln 2: to it 2ᵏ is a number.
const MOST: f32 = 88.0;

/// 2⁻²⁵: below it the result is the argument.
const TINY: f32 = f32::from_bits(0x3300_0000);

/// The precision, from which on the 1 that is subtracted is below the last place.
const PRECISION: f32 = 23.0;

#[inline(always)]
pub fn expm1<P, const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
    let values = begin(x, |x| reduced(within(x, LEAST, MOST)));
    let values = go_on(x, &values, |_, [k, r, c]| [k, r, c, correction(r)]);
    finish(x, y, &values, |x, values| {
        let value = put_together(values);
        let value = if x.abs() < TINY { x } else { value };
        if x <= LEAST { -1.0 } else { value }
    });
    patch(x, y, |x| x <= MOST, libm::expm1f);
}

/// The multiple of ln 2 nearest to an argument, and what is left of the argument: as two numbers.
#[inline(always)]
fn reduced(x: f32) -> [f32; 3] {
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let k = number(INV_LN2 * x + half) as f32;
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let r = hi - lo;
    [k, r, (hi - r) - lo]
}

/// What the exponential of a reduced argument has beyond its first terms.
#[inline(always)]
fn correction(r: f32) -> f32 {
    let hfx = 0.5 * r;
    let hxs = r * hfx;
    let r1 = 1.0 + hxs * (Q1 + hxs * Q2);
    let t = 3.0 - r1 * hfx;
    hxs * ((r1 - t) / (6.0 - r * t))
}

/// eˣ − 1 of all of these.
///
/// The crate has a formula for each range of k. All are (a sum) · 2ᵏ + a constant, the products being exact; of k = 0 too,
/// where there is no rest c.
#[inline(always)]
fn put_together([k, r, c, e]: [f32; 4]) -> f32 {
    let hxs = r * (0.5 * r);
    let e = r * (e - c) - c;
    let e = e - hxs;
    let is_far = k < -1.0 || k > 56.0;
    let (power, inverse) = powers_of_two(k);
    let added = if is_far { 1.0 } else { 1.0 - inverse };
    let added = if k.abs() <= 1.0 { 0.0 } else { added };
    let sum = r - e + added;
    let late = r - (e + inverse) + 1.0;
    let sum = if k >= PRECISION && !is_far { late } else { sum };
    let is_low = k == 1.0 && r < -0.25;
    let sum = if is_low { (r + 0.5) - e } else { sum };
    let constant = if is_far { -1.0 } else { 0.0 };
    let constant = if k == 1.0 && !is_low { 1.0 } else { constant };
    let constant = if k == -1.0 { -0.5 } else { constant };
    sum * power + constant
}

/// 2ᵏ and 2⁻ᵏ for −127 < k < 127, a whole number.
#[inline(always)]
fn powers_of_two(k: f32) -> (f32, f32) {
    let (one, exponent) = (1f32.to_bits(), (number(k) << 23).cast_unsigned());
    (f32::from_bits(one.wrapping_add(exponent)), f32::from_bits(one.wrapping_sub(exponent)))
}

/// log(3) / 2 and log(5/3) / 2, as the crate compares with them.
const UPPER: f32 = f32::from_bits(0x3f0c_9f54);
const LOWER: f32 = f32::from_bits(0x3e82_c578);

/// From here on the result is 1.
const ONE: f32 = 10.5;

#[inline(always)]
pub fn tanh<P, const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
    let values = begin(x, |x| {
        let size = size(x);
        reduced_double(if size <= LOWER { -size } else { size })
    });
    let values = go_on(x, &values, |_, [k, r, c]| [k, r, c, correction(r)]);
    finish(x, y, &values, |x, values| {
        let size = size(x);
        let t = put_together_double(values);
        let over = if size <= LOWER { -t } else { t };
        let over = if size > UPPER { 2.0 } else { over };
        let part = over / (t + 2.0);
        let value = if size > UPPER { 1.0 - part } else { part };
        if x.is_nan() { x } else { value.copysign(x) }
    });
}

#[inline(always)]
fn size(x: f32) -> f32 {
    let size = x.abs();
    if size < ONE { size } else { ONE }
}

/// As [`reduced`] of 2x, for x from −[`LOWER`] to [`ONE`].
#[inline(always)]
fn reduced_double(x: f32) -> [f32; 3] {
    let x = x + x;
    let half = 0.5f32.copysign(x);
    let k = number(INV_LN2 * x + half) as f32;
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let r = hi - lo;
    [k, r, (hi - r) - lo]
}

/// As [`put_together`] after [`reduced_double`], for the hyperbolic tangent: without the choices that never fall
/// otherwise there, and without those whose outcome it doesn't see (below 2⁻²⁵; from 2²³ on).
#[inline(always)]
fn put_together_double([k, r, c, e]: [f32; 4]) -> f32 {
    let hxs = r * (0.5 * r);
    let e = r * (e - c) - c;
    let e = e - hxs;
    let (power, inverse) = powers_of_two(k);
    let added = if k > 1.0 { 1.0 - inverse } else { 0.0 };
    let sum = r - e + added;
    let constant = if k == 1.0 { 1.0 } else { 0.0 };
    let constant = if k < 0.0 { -0.5 } else { constant };
    sum * power + constant
}
