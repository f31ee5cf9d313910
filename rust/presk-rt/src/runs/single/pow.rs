//! `powf`, element by element.

use crate::runs::block::Block;

#[inline(always)]
pub fn pow(x: &Block<f32>, exponents: &Block<f32>, y: &mut Block<f32>) {
    for ((y, &x), &exponent) in y.0.iter_mut().zip(&x.0).zip(&exponents.0) {
        *y = libm::powf(x, exponent);
    }
}
