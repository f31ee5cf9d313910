//! `expm1` up to 709, `tanh` for every argument.

use super::{multiple, power_of_two, upper, within};
use crate::runs::block::{Block, map, patch};

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
pub fn expm1(x: &Block<f64>, y: &mut Block<f64>) {
    map(x, y, |x| {
        let value = bounded(within(x, LEAST, MOST));
        if x <= LEAST { -1.0 } else { value }
    });
    patch(x, y, |x| x <= MOST, libm::expm1);
}

/// eˣ − 1 of what lies between the bounds.
///
/// The crate has a formula for each range of k. All are (a sum) · 2ᵏ + a constant, the products being exact.
#[inline(always)]
fn bounded(x: f64) -> f64 {
    let k = multiple(x);
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let r = hi - lo;
    let c = (hi - r) - lo;
    let hfx = 0.5 * r;
    let hxs = r * hfx;
    let r1 = 1.0 + hxs * (Q1 + hxs * (Q2 + hxs * (Q3 + hxs * (Q4 + hxs * Q5))));
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
    let sum = if k >= FAR && !is_far { late } else { sum };
    let is_low = k == 1.0 && r < -0.25;
    let sum = if is_low { (r + 0.5) - e } else { sum };
    let constant = if is_far { -1.0 } else { 0.0 };
    let constant = if k == 1.0 && !is_low { 1.0 } else { constant };
    let constant = if is_less { -0.5 } else { constant };
    let y = sum * two_k + constant;
    let y = if k == 0.0 { near } else { y };
    if x.abs() < TINY { x } else { y }
}

/// log(3) / 2 and log(5/3) / 2, as the crate compares with them.
const UPPER: f64 = upper(0x3fe1_93eb);
const LOWER: f64 = upper(0x3fd0_58af);

/// From here on the result is 1.
const ONE: f64 = 20.5;

#[inline(always)]
pub fn tanh(x: &Block<f64>, y: &mut Block<f64>) {
    map(x, y, |x| {
        let size = within(x.abs(), 0.0, ONE);
        let t = bounded(if size >= LOWER { 2.0 * size } else { -2.0 * size });
        let over = if size >= LOWER { t } else { -t };
        let over = if size >= UPPER { 2.0 } else { over };
        let part = over / (t + 2.0);
        let value = if size >= UPPER { 1.0 - part } else { part };
        let value = if x.is_sign_negative() { -value } else { value };
        if x.is_nan() { x } else { value }
    });
}
