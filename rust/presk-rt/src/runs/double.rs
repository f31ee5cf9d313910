//! The elementary functions of f64 over blocks: the crate's operations in the crate's order, with the branches that choose
//! between values turned into choices. Where the crate compares the upper halves of numbers, so do the bounds here.

mod erf;
mod exp;
mod expm1;
mod log;
mod pow;
mod trigonometric;

pub use erf::{Erf, Erfc};
pub use exp::exp;
pub use expm1::{expm1, tanh};
pub use log::{log, log1p};
pub use pow::pow;
pub use trigonometric::{cos, sin};

/// 1.5·2⁵²: a whole number added to it stands in its last bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// 2ᵏ for −1023 < k < 1024, a whole number.
#[inline(always)]
fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + (SHIFT + 1023.0)).to_bits() << 52)
}

/// The least number whose upper half is this.
const fn upper(bits: u64) -> f64 {
    f64::from_bits(bits << 32)
}

/// A real between two bounds; NaN is at the lower one.
#[inline(always)]
fn within(x: f64, least: f64, most: f64) -> f64 {
    let x = if x > least { x } else { least };
    if x < most { x } else { most }
}

/// Half of ln 2, as the crate compares with it: below it an argument isn't reduced.
const HALF_LN2: f64 = upper(0x3fd6_2e43);

/// The multiple of ln 2 that is taken from an argument within a thousand of them.
#[inline(always)]
fn multiple(x: f64) -> f64 {
    const INV_LN2: f64 = 1.44269504088896338700e+00;
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let k = if x.abs() < HALF_LN2 { 0.0 } else { INV_LN2 * x + half };
    // SAFETY: every program bounds what it gives, NaN included.
    f64::from(unsafe { k.to_int_unchecked::<i32>() })
}
