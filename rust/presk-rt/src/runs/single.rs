//! The elementary functions of f32 over blocks: the crate's operations in the crate's order, with the branches that choose
//! between values turned into choices.

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

/// The integer part of a real, which must be within reach.
#[inline(always)]
fn number(x: f32) -> i32 {
    // SAFETY: every program bounds what it gives, NaN included.
    unsafe { x.to_int_unchecked() }
}

/// 2ᵏ for −127 < k < 128.
#[inline(always)]
fn power_of_two(k: i32) -> f32 {
    f32::from_bits(((k + 127) << 23).cast_unsigned())
}

/// A real between two bounds; NaN is at the lower one.
#[inline(always)]
fn within(x: f32, least: f32, most: f32) -> f32 {
    let x = if x > least { x } else { least };
    if x < most { x } else { most }
}
