//! The two arithmetic types: every operation of a real, rounded in it.

use crate::forms;
use crate::ir::{Comparison, Float, Function};

/// A machine real and its operations.
pub trait Arith: Copy + Default {
    /// The value of a constant, which is exactly one of these.
    fn constant(value: f64) -> Self;
    fn from_f32(value: f32) -> Self;
    /// Of an f64 kernel alone: an f32 kernel loads no f64.
    fn from_f64(value: f64) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    fn from_int(value: i64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;
    fn fma(self, factor: Self, addend: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn floor(self) -> Self;
    fn sqrt(self) -> Self;
    fn call(self, function: Function) -> Self;
    fn compare(self, comparison: Comparison, other: Self) -> bool;

    /// Rounded to a type no wider than this one, held in this one.
    fn round(self, float: Float) -> Self {
        match float {
            Float::Bf16 => Self::from_f32(widen_bf16(narrow_bf16(self.to_f32()))),
            Float::F32 => Self::from_f32(self.to_f32()),
            Float::F64 => self,
        }
    }

    /// An integer rounded once to a type (bf16 through f32), held in this one.
    fn convert(value: i64, float: Float) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "the one rounding the text asks for")]
        let single = value as f32;
        match float {
            Float::Bf16 => Self::from_f32(widen_bf16(narrow_bf16(single))),
            Float::F32 => Self::from_f32(single),
            Float::F64 => Self::from_int(value),
        }
    }
}

/// The f32 a bf16 is.
pub fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bf16 nearest an f32, ties to even; a NaN stays one.
pub fn narrow_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = if value.is_nan() { bits | 0x0040_0000 } else { bits + 0x7fff + (bits >> 16 & 1) };
    u16::try_from(rounded >> 16).expect("sixteen bits remain of thirty-two")
}

macro_rules! arith {
    ($real:ty, $constant:expr, $from_f32:expr, $from_f64:expr, $to_f32:expr, $to_f64:expr,
     $fma:path, $floor:path, $sqrt:path, $pow:path, [$exp:path, $expm1:path, $log:path, $log1p:path, $tanh:path, $sin:path, $cos:path, $erf:path, $erfc:path]) => {
        impl Arith for $real {
            fn constant(value: f64) -> Self {
                $constant(value)
            }
            fn from_f32(value: f32) -> Self {
                $from_f32(value)
            }
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }
            fn to_f32(self) -> f32 {
                $to_f32(self)
            }
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
            #[allow(clippy::cast_precision_loss, reason = "the one rounding the text asks for")]
            fn from_int(value: i64) -> Self {
                value as $real
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn sub(self, other: Self) -> Self {
                self - other
            }
            fn mul(self, other: Self) -> Self {
                self * other
            }
            fn div(self, other: Self) -> Self {
                self / other
            }
            fn max(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() {
                    return <$real>::NAN;
                }
                if self > other || (self == other && other.is_sign_negative()) { self } else { other }
            }
            fn min(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() {
                    return <$real>::NAN;
                }
                if self < other || (self == other && self.is_sign_negative()) { self } else { other }
            }
            fn pow(self, other: Self) -> Self {
                $pow(self, other)
            }
            fn fma(self, factor: Self, addend: Self) -> Self {
                $fma(self, factor, addend)
            }
            fn neg(self) -> Self {
                -self
            }
            fn abs(self) -> Self {
                <$real>::abs(self)
            }
            fn floor(self) -> Self {
                $floor(self)
            }
            fn sqrt(self) -> Self {
                $sqrt(self)
            }
            fn call(self, function: Function) -> Self {
                match function {
                    Function::Exp => $exp(self),
                    Function::Expm1 => $expm1(self),
                    Function::Log => $log(self),
                    Function::Log1p => $log1p(self),
                    Function::Tanh => $tanh(self),
                    Function::Sin => $sin(self),
                    Function::Cos => $cos(self),
                    Function::Erf => $erf(self),
                    Function::Erfc => $erfc(self),
                    Function::Gaussian => forms::gaussian(self),
                    Function::Gelu => forms::gelu(self),
                    Function::GeluSlope => forms::gelu_slope(self),
                    Function::Silu => forms::silu(self),
                    Function::SiluSlope => forms::silu_slope(self),
                    Function::GeluTanh => forms::gelu_tanh(self),
                    Function::GeluTanhSlope => forms::gelu_tanh_slope(self),
                }
            }
            fn compare(self, comparison: Comparison, other: Self) -> bool {
                match comparison {
                    Comparison::Lt => self < other,
                    Comparison::Le => self <= other,
                    Comparison::Eq => self == other,
                    Comparison::Ne => self != other,
                    Comparison::Ge => self >= other,
                    Comparison::Gt => self > other,
                }
            }
        }
    };
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "rounding to the narrower type is what a store or a conversion means"
)]
fn round_to_f32(value: f64) -> f32 {
    value as f32
}

arith!(
    f32,
    round_to_f32,
    std::convert::identity,
    round_to_f32,
    std::convert::identity,
    f64::from,
    libm::fmaf,
    f32::floor,
    f32::sqrt,
    libm::powf,
    [libm::expf, libm::expm1f, libm::logf, libm::log1pf, libm::tanhf, libm::sinf, libm::cosf, libm::erff, libm::erfcf]
);

arith!(
    f64,
    std::convert::identity,
    f64::from,
    std::convert::identity,
    round_to_f32,
    std::convert::identity,
    libm::fma,
    f64::floor,
    f64::sqrt,
    libm::pow,
    [libm::exp, libm::expm1, libm::log, libm::log1p, libm::tanh, libm::sin, libm::cos, libm::erf, libm::erfc]
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_and_minimum_are_of_2019() {
        assert!(Arith::max(f32::NAN, 1.0).is_nan() && Arith::min(1.0, f32::NAN).is_nan());
        assert!(Arith::max(-0.0f64, 0.0).is_sign_positive() && Arith::max(0.0f64, -0.0).is_sign_positive());
        assert!(Arith::min(-0.0f64, 0.0).is_sign_negative() && Arith::min(0.0f64, -0.0).is_sign_negative());
        assert!(Arith::max(-0.0f64, -0.0).is_sign_negative());
    }

    #[test]
    fn bf16_rounds_to_nearest_even() {
        for (value, bits) in
            [(1.0f32, 0x3f80), (f32::from_bits(0x3f80_8000), 0x3f80), (f32::from_bits(0x3f81_8000), 0x3f82)]
        {
            assert_eq!(narrow_bf16(value), bits);
        }
        assert_eq!(narrow_bf16(f32::MAX), 0x7f80);
        assert!(widen_bf16(narrow_bf16(f32::from_bits(0x7f80_0001))).is_nan());
    }
}
