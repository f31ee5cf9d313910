//! The elementary functions over arrays: the libm crate's, in f64 and f32, and the correctly rounded square root.
//!
//! These bits are part of the language, which is why the crate's version is pinned exactly.

use std::str::FromStr;

use presk_kernel::forms;

use crate::float_mode::FloatMode;

/// An elementary function of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// eˣ
    Exp,
    /// eˣ − 1
    Expm1,
    /// The natural logarithm.
    Log,
    /// log(1 + x)
    Log1p,
    /// The hyperbolic tangent.
    Tanh,
    /// The sine of x radians.
    Sin,
    /// The cosine of x radians.
    Cos,
    /// The error function.
    Erf,
    /// 1 less the error function.
    Erfc,
    /// x·Φ(x)
    Gelu,
    /// x·sigmoid(x)
    Silu,
    /// The approximation of gelu by tanh.
    GeluTanh,
    /// The square root, correctly rounded.
    Sqrt,
}

impl Function {
    /// Every function.
    pub const ALL: [Self; 13] = [
        Self::Exp,
        Self::Expm1,
        Self::Log,
        Self::Log1p,
        Self::Tanh,
        Self::Sin,
        Self::Cos,
        Self::Erf,
        Self::Erfc,
        Self::Gelu,
        Self::Silu,
        Self::GeluTanh,
        Self::Sqrt,
    ];

    /// The name that kernel texts and Python use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Expm1 => "expm1",
            Self::Log => "log",
            Self::Log1p => "log1p",
            Self::Tanh => "tanh",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Erf => "erf",
            Self::Erfc => "erfc",
            Self::Gelu => "gelu",
            Self::Silu => "silu",
            Self::GeluTanh => "gelu_tanh",
            Self::Sqrt => "sqrt",
        }
    }
}

/// No function has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFunction;

impl FromStr for Function {
    type Err = UnknownFunction;

    fn from_str(name: &str) -> Result<Self, UnknownFunction> {
        Self::ALL.into_iter().find(|function| function.name() == name).ok_or(UnknownFunction)
    }
}

/// A machine type the elementary functions are given in.
pub trait Real: Copy {
    /// The function of one argument, as a pointer.
    fn function(function: Function) -> fn(Self) -> Self;

    /// selfʸ
    fn power(self, y: Self) -> Self;
}

impl Real for f64 {
    fn function(function: Function) -> fn(f64) -> f64 {
        match function {
            Function::Exp => libm::exp,
            Function::Expm1 => libm::expm1,
            Function::Log => libm::log,
            Function::Log1p => libm::log1p,
            Function::Tanh => libm::tanh,
            Function::Sin => libm::sin,
            Function::Cos => libm::cos,
            Function::Erf => libm::erf,
            Function::Erfc => libm::erfc,
            Function::Gelu => forms::gelu,
            Function::Silu => forms::silu,
            Function::GeluTanh => forms::gelu_tanh,
            Function::Sqrt => f64::sqrt,
        }
    }

    fn power(self, y: f64) -> f64 {
        libm::pow(self, y)
    }
}

impl Real for f32 {
    fn function(function: Function) -> fn(f32) -> f32 {
        match function {
            Function::Exp => libm::expf,
            Function::Expm1 => libm::expm1f,
            Function::Log => libm::logf,
            Function::Log1p => libm::log1pf,
            Function::Tanh => libm::tanhf,
            Function::Sin => libm::sinf,
            Function::Cos => libm::cosf,
            Function::Erf => libm::erff,
            Function::Erfc => libm::erfcf,
            Function::Gelu => forms::gelu,
            Function::Silu => forms::silu,
            Function::GeluTanh => forms::gelu_tanh,
            Function::Sqrt => f32::sqrt,
        }
    }

    fn power(self, y: f32) -> f32 {
        libm::powf(self, y)
    }
}

/// Replaces each value by the function of it.
pub fn apply<T: Real>(function: Function, values: &mut [T]) {
    let _mode = FloatMode::standard();
    let function = T::function(function);
    for value in values {
        *value = function(*value);
    }
}

/// Replaces each base by base to the power of the exponent in its place.
///
/// # Panics
/// Where the lengths differ.
pub fn power<T: Real>(bases: &mut [T], exponents: &[T]) {
    assert_eq!(bases.len(), exponents.len(), "one exponent a base");
    let _mode = FloatMode::standard();
    for (base, &exponent) in bases.iter_mut().zip(exponents) {
        *base = base.power(exponent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for function in Function::ALL {
            assert_eq!(function.name().parse(), Ok(function));
        }
        assert_eq!("tan".parse::<Function>(), Err(UnknownFunction));
    }

    /// Values at 0.7 and 3.25, correctly rounded from 60 digits; the crate stays within one unit in the last place of each.
    #[test]
    fn every_function_is_the_one_its_name_says() {
        let expected: [(Function, [f64; 2]); 13] = [
            (Function::Exp, [2.0137527074704766, 25.790339917193062]),
            (Function::Expm1, [1.0137527074704764, 24.790339917193062]),
            (Function::Log, [-0.35667494393873245, 1.1786549963416462]),
            (Function::Log1p, [0.5306282510621704, 1.4469189829363254]),
            (Function::Tanh, [0.6043677771171635, 0.996997635486526]),
            (Function::Sin, [0.644217687237691, -0.10819513453010837]),
            (Function::Cos, [0.7648421872844885, -0.9941296760805463]),
            (Function::Erf, [0.6778011938374184, 0.9999956972205363]),
            (Function::Erfc, [0.32219880616258156, 4.302779463675122e-06]),
            (Function::Gelu, [0.5306254434438489, 3.24812466861223]),
            (Function::Silu, [0.46773144051771626, 3.1286876161315793]),
            (Function::GeluTanh, [0.5305701347051167, 3.2484313728552525]),
            (Function::Sqrt, [0.8366600265340756, 1.8027756377319946]),
        ];
        for (function, values) in expected {
            let mut double = [0.7, 3.25];
            let mut single = [0.7f32, 3.25];
            apply(function, &mut double);
            apply(function, &mut single);
            for i in 0..2 {
                let one_ulp = (values[i].next_up() - values[i]).max(values[i] - values[i].next_down());
                assert!((double[i] - values[i]).abs() <= one_ulp, "{function:?}: {} for {}", double[i], values[i]);
                assert!((f64::from(single[i]) - values[i]).abs() <= 1.2e-7 * values[i].abs(), "{function:?} in f32");
            }
        }
    }

    #[test]
    fn the_pinned_version_is_the_one_linked() {
        // Results that are not the correctly rounded ones: they tell this version from a later, rewritten one.
        for (function, argument, bits) in [
            (Function::Exp, 0x400a57aa71dc3079, 0x403aeb14525192fe),
            (Function::Expm1, 0x40121167046d7deb, 0x4056a3d71c5eed6a),
            (Function::Log, 0x3fd409a1167e8df1, 0xbff29491ce2d0e88),
            (Function::Log1p, 0x40003aa6cd7897bb, 0x3ff1bad4df241bd8),
            (Function::Tanh, 0x3fede9272db456b5, 0x3fe772f4e8e30efc),
            (Function::Sin, 0x400f84efde995b64, 0xbfe6eaf90b2f1ab8),
            (Function::Cos, 0x4004bf73272ef1a3, 0xbfeb4ff4a03dcc18),
            (Function::Erf, 0x3ff24d31773648bd, 0x3fec9dc7dd651c22),
        ] {
            let mut value = [f64::from_bits(argument)];
            apply(function, &mut value);
            assert_eq!(value[0].to_bits(), bits, "{function:?} of {:e}", f64::from_bits(argument));
        }
    }

    #[test]
    fn edges_are_those_of_the_standard() {
        let mut values = [f64::NEG_INFINITY, -0.0, 0.0, f64::INFINITY, f64::NAN];
        apply(Function::Exp, &mut values);
        assert_eq!(values[..4], [0.0, 1.0, 1.0, f64::INFINITY]);
        assert!(values[4].is_nan());
        let mut values = [-1.0f32, -0.0, f32::INFINITY];
        apply(Function::Sqrt, &mut values);
        assert!(values[0].is_nan() && values[1].is_sign_negative() && values[2] == f32::INFINITY);
    }

    #[test]
    fn powers_take_base_and_exponent_in_place() {
        let mut bases = [2.0, 9.0, -2.0, 0.0];
        power(&mut bases, &[10.0, 0.5, 3.0, 0.0]);
        assert_eq!(bases, [1024.0, 3.0, -8.0, 1.0]);
        let mut bases = [2.0f32, 9.0];
        power(&mut bases, &[10.0, 0.5]);
        assert_eq!(bases, [1024.0, 3.0]);
    }
}
