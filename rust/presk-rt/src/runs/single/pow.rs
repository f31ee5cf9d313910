//! `powf`, element by element.

use crate::runs::block::Block;

#[inline(always)]
pub fn pow<P, const L: usize>(x: &Block<f32, L>, exponents: &Block<f32, L>, y: &mut Block<f32, L>) {
    for ((y, &x), &exponent) in y.0.iter_mut().zip(&x.0).zip(&exponents.0) {
        *y = libm::powf(x, exponent);
    }
}
