//! `sin` and `cos` up to 2²⁰·π/2, but for what lies so close to a multiple of π/2 that one step leaves too few digits, or so
//! close to the middle of two that it is the crate's affair which is the nearer.

use super::upper;
use crate::runs::block::{Block, map, patch};

const S1: f64 = -1.66666666666666324348e-01;
const S2: f64 = 8.33333333332248946124e-03;
const S3: f64 = -1.98412698298579493134e-04;
const S4: f64 = 2.75573137070700676789e-06;
const S5: f64 = -2.50507602534068634195e-08;
const S6: f64 = 1.58969099521155010221e-10;
const C1: f64 = 4.16666666666666019037e-02;
const C2: f64 = -1.38888888888741095749e-03;
const C3: f64 = 2.48015872894767294178e-05;
const C4: f64 = -2.75573143513906633035e-07;
const C5: f64 = 2.08757232129817482790e-09;
const C6: f64 = -1.13596475577881948265e-11;
const TO_INT: f64 = 1.5 / f64::EPSILON;
const INV_PIO2: f64 = 6.36619772367581382433e-01;
const PIO2_1: f64 = 1.57079632673412561417e+00;
const PIO2_1T: f64 = 6.07710050650619224932e-11;

/// π/4, as the crate compares with it: below it nothing is reduced.
const EIGHTH: f64 = upper(0x3fe9_21fc);

/// 2²⁰·π/2, from which on the crate reduces otherwise.
const LARGE: f64 = upper(0x4139_21fb);

/// 2⁻²⁶: below it the sine is its argument.
const TINY: f64 = upper(0x3e50_0000);

/// A little less than π/4: closer to the middle between two multiples of π/2 the crate may take the farther one.
const MIDDLE: f64 = 0.78538;

/// 2⁻¹⁵ of the argument: what is left of it is greater where one step suffices.
const LEFT: f64 = 1.0 / 32768.0;

#[inline(always)]
pub fn sin<P, const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
    map(x, y, |x| {
        let value = quarter(x, 0);
        if x.abs() < TINY { x } else { value }
    });
    patch(x, y, is_reduced, libm::sin);
}

#[inline(always)]
pub fn cos<P, const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
    map(x, y, |x| quarter(x, 1));
    patch(x, y, is_reduced, libm::cos);
}

/// The nearest multiple of π/2, as its number with 2⁵² and more added, and what is left of the argument: as two numbers.
#[inline(always)]
fn reduce(x: f64) -> (f64, f64, f64) {
    let turned = x * INV_PIO2 + TO_INT;
    let n = turned - TO_INT;
    let r = x - n * PIO2_1;
    let w = n * PIO2_1T;
    let y0 = r - w;
    (turned, y0, (r - y0) - w)
}

/// Whether one step of the reduction is what the crate does.
#[inline(always)]
fn is_reduced(x: f64) -> bool {
    let (_, left, _) = reduce(x);
    let is_clear = left.abs() > x.abs() * LEFT && left.abs() < MIDDLE;
    x.abs() < EIGHTH || (x.abs() < LARGE && is_clear)
}

/// The sine of x + `more` quarters of a turn.
#[inline(always)]
fn quarter(x: f64, more: u64) -> f64 {
    let is_plain = x.abs() < EIGHTH;
    let (turned, y0, y1) = reduce(x);
    let r = if is_plain { x } else { y0 };
    let rest = if is_plain { 0.0 } else { y1 };
    let quarter = if is_plain { 0 } else { turned.to_bits() };
    let quarter = quarter.wrapping_add(more);
    let z = r * r;
    let w = z * z;
    let v = z * r;
    let p = S2 + z * (S3 + z * S4) + z * w * (S5 + z * S6);
    let plain = r + v * (S1 + z * p);
    let corrected = r - ((z * (0.5 * rest - v * p) - rest) - v * S1);
    let sine = if is_plain { plain } else { corrected };
    let q = z * (C1 + z * (C2 + z * C3)) + w * w * (C4 + z * (C5 + z * C6));
    let hz = 0.5 * z;
    let u = 1.0 - hz;
    let cosine = u + (((1.0 - u) - hz) + (z * q - r * rest));
    let value = if quarter & 1 == 0 { sine } else { cosine };
    if quarter & 2 == 0 { value } else { -value }
}
