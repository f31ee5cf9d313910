//! `expm1f` and `tanhf`, for every argument.

use super::{number, power_of_two, within};
use crate::runs::block::{Block, map};

const LN2_HI: f32 = 6.9313812256e-01;
const LN2_LO: f32 = 9.0580006145e-06;
const INV_LN2: f32 = 1.4426950216e+00;
const Q1: f32 = -3.3333212137e-2;
const Q2: f32 = 1.5807170421e-3;

/// −27·ln 2: at it and below the result is −1.
const LEAST: f32 = -f32::from_bits(0x4195_b844);

/// The logarithm of the greatest number: above it the result is infinite.
const MOST: f32 = f32::from_bits(0x42b1_7217);

/// 2⁻²⁵: below it the result is the argument.
const TINY: f32 = f32::from_bits(0x3300_0000);

/// The precision, from which on the 1 that is subtracted is below the last place.
const PRECISION: i32 = 23;

#[inline(always)]
pub fn expm1(x: &Block<f32>, y: &mut Block<f32>) {
    map(x, y, |x| {
        let value = bounded(within(x, LEAST, MOST));
        let value = if x <= LEAST { -1.0 } else { value };
        let value = if x > MOST { f32::INFINITY } else { value };
        if x.is_nan() { x } else { value }
    });
}

/// eˣ − 1 of what lies between the bounds.
#[inline(always)]
fn bounded(x: f32) -> f32 {
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let k = number(INV_LN2 * x + half);
    let kf = k as f32;
    let hi = x - kf * LN2_HI;
    let lo = kf * LN2_LO;
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
    let first = k >> 1;
    let scaled = |y: f32| y * power_of_two(first) * power_of_two(k - first);
    let uf = power_of_two((-k).max(-126));
    let low = r - e + (1.0 - uf);
    let high = r - (e + uf) + 1.0;
    let middle = scaled(if k < PRECISION { low } else { high });
    let far = scaled(r - e + 1.0) - 1.0;
    let y = if k < 0 || k > 56 { far } else { middle };
    let one = if r < -0.25 { -2.0 * (e - (r + 0.5)) } else { 1.0 + 2.0 * (r - e) };
    let y = if k == 1 { one } else { y };
    let y = if k == -1 { 0.5 * (r - e) - 0.5 } else { y };
    let y = if k == 0 { near } else { y };
    if x.abs() < TINY { x } else { y }
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
