//! `expm1f` up to 88, `tanhf` for every argument.

use super::{number, within};
use crate::runs::block::{Block, map, patch};

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
pub fn expm1(x: &Block<f32>, y: &mut Block<f32>) {
    map(x, y, |x| {
        let value = bounded(within(x, LEAST, MOST));
        if x <= LEAST { -1.0 } else { value }
    });
    patch(x, y, |x| x <= MOST, libm::expm1f);
}

/// eˣ − 1 of what lies between the bounds.
///
/// The crate has a formula for each range of k. All are (a sum) · 2ᵏ + a constant, the products being exact.
#[inline(always)]
fn bounded(x: f32) -> f32 {
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let k = number(INV_LN2 * x + half) as f32;
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let r = hi - lo;
    let c = (hi - r) - lo;
    let hfx = 0.5 * r;
    let hxs = r * hfx;
    let r1 = 1.0 + hxs * (Q1 + hxs * Q2);
    let t = 3.0 - r1 * hfx;
    let e = hxs * ((r1 - t) / (6.0 - r * t));
    let near = r - (r * e - hxs);
    let e = r * (e - c) - c;
    let e = e - hxs;
    let (is_one, is_less, is_far) = (k.abs() == 1.0, k == -1.0, k < 0.0 || k > 56.0);
    let two_k = power_of_two(k);
    let inverse = power_of_two(-k);
    let added = if is_far { 1.0 } else { 1.0 - inverse };
    let added = if is_one { 0.0 } else { added };
    let sum = r - e + added;
    let late = r - (e + inverse) + 1.0;
    let sum = if k >= PRECISION && !is_far { late } else { sum };
    let is_low = k == 1.0 && r < -0.25;
    let sum = if is_low { (r + 0.5) - e } else { sum };
    let constant = if is_far { -1.0 } else { 0.0 };
    let constant = if k == 1.0 && !is_low { 1.0 } else { constant };
    let constant = if is_less { -0.5 } else { constant };
    let y = sum * two_k + constant;
    let y = if k == 0.0 { near } else { y };
    if x.abs() < TINY { x } else { y }
}

/// 2ᵏ for −127 < k < 128, a whole number.
#[inline(always)]
fn power_of_two(k: f32) -> f32 {
    super::power_of_two(number(k))
}

/// log(3) / 2 and log(5/3) / 2, as the crate compares with them.
const UPPER: f32 = f32::from_bits(0x3f0c_9f54);
const LOWER: f32 = f32::from_bits(0x3e82_c578);

/// From here on the result is 1.
const ONE: f32 = 10.5;

#[inline(always)]
pub fn tanh(x: &Block<f32>, y: &mut Block<f32>) {
    map(x, y, |x| {
        let size = within(x.abs(), 0.0, ONE);
        let t = bounded(if size > LOWER { 2.0 * size } else { -2.0 * size });
        let over = if size > LOWER { t } else { -t };
        let over = if size > UPPER { 2.0 } else { over };
        let part = over / (t + 2.0);
        let value = if size > UPPER { 1.0 - part } else { part };
        let value = if x.is_sign_negative() { -value } else { value };
        if x.is_nan() { x } else { value }
    });
}
