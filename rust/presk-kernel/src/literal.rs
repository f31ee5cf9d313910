//! Real literals: the shortest decimal that reads back, and reading it.
//!
//! The layout of the digits is fixed so that both sides print alike: positional for magnitudes 1e-4 up to 1e16,
//! `d.ddde±x` beyond; integral values without a point unless asked for one.

use crate::ir::{Arithmetic, Constant};

/// The literal of a constant in a kernel of that arithmetic. `pointed` keeps integral values apart from integers.
#[must_use]
pub fn print(constant: Constant, arithmetic: Arithmetic, pointed: bool) -> String {
    let value = constant.value();
    if value.is_nan() {
        return "nan".into();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    #[allow(clippy::cast_possible_truncation, reason = "constants of an f32 kernel are f32 values")]
    let scientific = match arithmetic {
        Arithmetic::F32 => format!("{:e}", (value as f32).abs()),
        Arithmetic::F64 => format!("{:e}", value.abs()),
    };
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} prints an exponent");
    let digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    let exponent: i32 = exponent.parse().expect("{:e} prints a decimal exponent");
    format!("{sign}{}", lay_out(&digits, exponent, pointed))
}

fn lay_out(digits: &str, exponent: i32, pointed: bool) -> String {
    let count = i32::try_from(digits.len()).expect("at most 17 digits");
    if !(-4..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{first}{point}{rest}e{exponent}");
    }
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    if count <= exponent + 1 {
        let zeros = "0".repeat((exponent + 1 - count).unsigned_abs() as usize);
        return format!("{digits}{zeros}{}", if pointed { ".0" } else { "" });
    }
    let (whole, fraction) = digits.split_at(exponent.unsigned_abs() as usize + 1);
    format!("{whole}.{fraction}")
}

/// Whether a literal is digits alone, so that it may be an integer or a real.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The value of an unsigned literal in that arithmetic, rounded once; none where it overflows.
#[must_use]
pub fn read(text: &str, arithmetic: Arithmetic) -> Option<f64> {
    let value = match arithmetic {
        Arithmetic::F32 => f64::from(text.parse::<f32>().ok()?),
        Arithmetic::F64 => text.parse::<f64>().ok()?,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_short_and_read_back() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-5"),
            (1.5e-7, "1.5e-7"),
            (1e15, "1000000000000000"),
            (1e16, "1e16"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (f64::MAX, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (123.456, "123.456"),
        ];
        for (value, text) in cases {
            assert_eq!(print(Constant::new(value), Arithmetic::F64, false), text);
        }
        assert_eq!(print(Constant::new(f64::from(0.1f32)), Arithmetic::F32, false), "0.1");
        assert_eq!(print(Constant::new(3.0), Arithmetic::F32, true), "3.0");
        assert_eq!(read("1e39", Arithmetic::F32), None);
        assert_eq!(read("0.1", Arithmetic::F32), Some(f64::from(0.1f32)));
    }
}
