//! `expm1` and `tanh`, for every argument.

use super::{multiple, power_of_two, upper, within};
use crate::runs::block::{Block, map};

const LN2_HI: f64 = 6.93147180369123816490e-01;
const LN2_LO: f64 = 1.90821492927058770002e-10;
const Q1: f64 = -3.33333333333331316428e-02;
const Q2: f64 = 1.58730158725481460165e-03;
const Q3: f64 = -7.93650757867487942473e-05;
const Q4: f64 = 4.00821782732936239552e-06;
const Q5: f64 = -2.01099218183624371326e-07;

/// −56·ln 2: at it and below the result is −1.
const LEAST: f64 = -upper(0x4043_687a);

/// The logarithm of the greatest number: above it the result is infinite.
const MOST: f64 = 7.09782712893383973096e+02;

/// 2⁻⁵⁴: below it the result is the argument.
const TINY: f64 = upper(0x3c90_0000);

/// From this multiple of ln 2 on the 1 is subtracted last.
const FAR: i32 = 20;

#[inline(always)]
pub fn expm1(x: &Block<f64>, y: &mut Block<f64>) {
    map(x, y, |x| {
        let value = bounded(within(x, LEAST, MOST));
        let value = if x <= LEAST { -1.0 } else { value };
        let value = if x > MOST { f64::INFINITY } else { value };
        if x.is_nan() { x } else { value }
    });
}

/// eˣ − 1 of what lies between the bounds.
#[inline(always)]
fn bounded(x: f64) -> f64 {
    let k = multiple(x);
    let kf = f64::from(k);
    let hi = x - kf * LN2_HI;
    let lo = kf * LN2_LO;
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
    let first = k >> 1;
    let scaled = |y: f64| y * power_of_two(first) * power_of_two(k - first);
    let uf = power_of_two(-(if k < 1000 { k } else { 1000 }));
    let low = r - e + (1.0 - uf);
    let high = r - (e + uf) + 1.0;
    let middle = scaled(if k < FAR { low } else { high });
    let far = scaled(r - e + 1.0) - 1.0;
    let y = if k < 0 || k > 56 { far } else { middle };
    let one = if r < -0.25 { -2.0 * (e - (r + 0.5)) } else { 1.0 + 2.0 * (r - e) };
    let y = if k == 1 { one } else { y };
    let y = if k == -1 { 0.5 * (r - e) - 0.5 } else { y };
    let y = if k == 0 { near } else { y };
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
