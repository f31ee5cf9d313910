//! `pow`, element by element.

use crate::runs::block::Block;

#[inline(always)]
pub fn pow(x: &Block<f64>, exponents: &Block<f64>, y: &mut Block<f64>) {
    for ((y, &x), &exponent) in y.0.iter_mut().zip(&x.0).zip(&exponents.0) {
        *y = libm::pow(x, exponent);
    }
}
