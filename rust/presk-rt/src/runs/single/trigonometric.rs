//! `sinf` and `cosf` up to 2²⁸·π/2, computed in f64 as the crate does.

use std::f64::consts::FRAC_PI_2;

use crate::runs::block::{Block, map, patch};

const S1: f64 = -0.166666666416265235595;
const S2: f64 = 0.0083333293858894631756;
const S3: f64 = -0.000198393348360966317347;
const S4: f64 = 0.0000027183114939898219064;
const C0: f64 = -0.499999997251031003120;
const C1: f64 = 0.0416666233237390631894;
const C2: f64 = -0.00138867637746099294692;
const C3: f64 = 0.0000243904487962774090654;
const TOINT: f64 = 1.5 / f64::EPSILON;
const INV_PIO2: f64 = 6.36619772367581382433e-01;
const PIO2_1: f64 = 1.57079631090164184570e+00;
const PIO2_1T: f64 = 1.58932547735281966916e-08;

/// 9π/4: up to it the crate subtracts a multiple of π/2 in one step.
const SMALL: f32 = f32::from_bits(0x40e2_31d5);

/// 2²⁸·π/2: where two steps don't suffice.
const LARGE: f32 = f32::from_bits(0x4dc9_0fdb);

/// 2⁻¹²: below it the sine is its argument.
const TINY: f32 = f32::from_bits(0x3980_0000);

#[inline(always)]
pub fn sin<P, const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
    map(x, y, |x| {
        let value = quarter(x, 0);
        if x.abs() < TINY { x } else { value }
    });
    patch(x, y, |x| x.abs() < LARGE, libm::sinf);
}

#[inline(always)]
pub fn cos<P, const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
    map(x, y, |x| quarter(x, 1));
    patch(x, y, |x| x.abs() < LARGE, libm::cosf);
}

/// The sine of x + `more` quarters of a turn.
#[inline(always)]
fn quarter(x: f32, more: u64) -> f32 {
    let is_small = x.abs() <= SMALL;
    let x = f64::from(x);
    let turned = x * INV_PIO2 + TOINT;
    let n = turned - TOINT;
    let in_two = x - n * PIO2_1 - n * PIO2_1T;
    let r = if is_small { x - n * FRAC_PI_2 } else { in_two };
    let quarter = turned.to_bits().wrapping_add(more);
    let z = r * r;
    let w = z * z;
    let s = z * r;
    let sine = (r + s * (S1 + z * S2)) + s * w * (S3 + z * S4);
    let cosine = ((1.0 + z * C0) + w * C1) + (w * z) * (C2 + z * C3);
    let value = if quarter & 1 == 0 { sine } else { cosine };
    let value = value as f32;
    if quarter & 2 == 0 { value } else { -value }
}
