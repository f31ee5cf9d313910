//! The elementary functions of f64 over blocks.

use crate::runs::block::{Block, map};

/// The crate's functions, element by element.
macro_rules! crates {
    ($($name:ident = $function:path),*) => {
        $(#[inline(always)]
        pub fn $name(x: &Block<f64>, y: &mut Block<f64>) {
            map(x, y, $function);
        })*
    };
}

crates!(
    exp = libm::exp,
    expm1 = libm::expm1,
    log = libm::log,
    log1p = libm::log1p,
    tanh = libm::tanh,
    sin = libm::sin,
    cos = libm::cos,
    erf = libm::erf
);

#[inline(always)]
pub fn pow(x: &Block<f64>, exponents: &Block<f64>, y: &mut Block<f64>) {
    for ((y, &x), &exponent) in y.0.iter_mut().zip(&x.0).zip(&exponents.0) {
        *y = libm::pow(x, exponent);
    }
}
