//! Maxima and minima with a constant, which need one instruction where the general ones need eight.
//!
//! x86-64's maximum is `a > b ? a : b`: it answers b where one is a NaN or both are zeros. With a constant c that is no NaN
//! as a and the other operand x as b, a NaN x comes out as itself; zeros of both signs can only meet where c is a zero:
//! - max(x, −0) and min(x, +0) answer x for a zero x, which is right: it is at least −0, at most +0;
//! - max(x, +0) answers −0 for −0, which adding +0 turns to +0 and changes nothing else;
//! - min(x, −0) has no such form.

use presk_kernel::ir::RealBinary;

/// How to compute a maximum or minimum with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extreme {
    pub is_maximum: bool,
    /// Whether the constant is the left operand.
    pub is_left: bool,
    /// Whether +0, which the constant is, must be added.
    pub clears_sign: bool,
}

/// The form of a maximum or minimum whose operands are constants, where known; none where it has none.
pub(crate) fn of(operator: RealBinary, left: Option<f64>, right: Option<f64>) -> Option<Extreme> {
    let is_maximum = match operator {
        RealBinary::Max => true,
        RealBinary::Min => false,
        _ => return None,
    };
    let (constant, is_left) = match (left, right) {
        (None, Some(constant)) => (constant, false),
        (Some(constant), None) => (constant, true),
        _ => return None,
    };
    let is_zero = constant == 0.0;
    if constant.is_nan() || (is_zero && constant.is_sign_negative() && !is_maximum) {
        return None;
    }
    Some(Extreme { is_maximum, is_left, clears_sign: is_maximum && is_zero && constant.is_sign_positive() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_a_form_unless_zeros_forbid_it() {
        let max = |constant| of(RealBinary::Max, None, Some(constant));
        let min = |constant| of(RealBinary::Min, Some(constant), None);
        assert_eq!(max(0.0), Some(Extreme { is_maximum: true, is_left: false, clears_sign: true }));
        assert_eq!(max(-0.0), Some(Extreme { is_maximum: true, is_left: false, clears_sign: false }));
        assert_eq!(min(0.0), Some(Extreme { is_maximum: false, is_left: true, clears_sign: false }));
        assert_eq!(min(-0.0), None);
        assert_eq!(max(f64::NAN), None);
        assert_eq!(of(RealBinary::Max, None, None), None);
        assert_eq!(of(RealBinary::Add, None, Some(1.0)), None);
    }
}
