//! The elementary functions of f32 over blocks.

use crate::runs::block::{Block, map};

mod exp;

pub use exp::exp;

/// The crate's functions, element by element.
macro_rules! crates {
    ($($name:ident = $function:path),*) => {
        $(#[inline(always)]
        pub fn $name(x: &Block<f32>, y: &mut Block<f32>) {
            map(x, y, $function);
        })*
    };
}

crates!(
    expm1 = libm::expm1f,
    log = libm::logf,
    log1p = libm::log1pf,
    tanh = libm::tanhf,
    sin = libm::sinf,
    cos = libm::cosf,
    erf = libm::erff
);

#[inline(always)]
pub fn pow(x: &Block<f32>, exponents: &Block<f32>, y: &mut Block<f32>) {
    for ((y, &x), &exponent) in y.0.iter_mut().zip(&x.0).zip(&exponents.0) {
        *y = libm::powf(x, exponent);
    }
}

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
