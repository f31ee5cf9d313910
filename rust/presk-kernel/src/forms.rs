//! Forms that keep their digits: gelu, silu, gelu_tanh, their slopes and exp(−x²), as straight-line programs.
//!
//! Each program is stated here once, over both machine types, and every executor computes its bits: the interpreter and scalar
//! machine code call it, the routines over runs (presk-rt) compile it for vectors. It has no branch, every choice being a
//! select, and no operation is contracted. docs/lowering.md, "Accuracy of the forms", says what each is worth.
//!
//! All are built on three things. An exponential takes an argument of two words, since rounding an argument of size 700 alone
//! would cost 700 units in the last place. It gives a significand and a power of two, so that what it is multiplied with comes
//! before anything underflows. And x < 0 decides the rest: f(x) = x − f-like tail at |x|, a slope at x is 1 less that at −x.

#![allow(clippy::approx_constant, reason = "constants are numbers of the type in use, written as such")]

use std::ops::{Add, Div, Mul, Neg, Sub};

mod double;
mod single;

/// c0 + x·(c1 + x·(c2 + …))
macro_rules! horner {
    ($x:ident; $last:literal) => { $last };
    ($x:ident; $first:literal, $($rest:literal),+) => { $first + $x * (horner!($x; $($rest),+)) };
}
use horner;

/// A machine type, with the constants and polynomials of the programs in it.
#[allow(missing_docs, reason = "each constant is documented where a type gives it, in a generated file")]
pub trait Number:
    Copy
    + PartialOrd
    + From<u8>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const SHIFT: Self;
    const INV_LN2: Self;
    const LN2_HI: Self;
    const LN2_LO: Self;
    const DENSITY: Self;
    const LINE_HI: Self;
    const LINE_LO: Self;
    const CUBE_HI: Self;
    const CUBE_LO: Self;
    const THRICE_CUBE: Self;
    const GAUSSIAN_END: Self;
    const GELU_END: Self;
    const SILU_END: Self;
    const GELU_TANH_END: Self;
    const GELU_ROOT_HI: Self;
    const GELU_ROOT_LO: Self;
    const GELU_NEAR: Self;
    const SILU_ROOT_HI: Self;
    const SILU_ROOT_LO: Self;
    const SILU_NEAR: Self;
    const GELU_TANH_ROOT_HI: Self;
    const GELU_TANH_ROOT_LO: Self;
    const GELU_TANH_NEAR: Self;
    const HALF: Self;
    const ONE: Self;
    const FOUR: Self;

    fn rest_of_exp(r: Self) -> Self;
    fn mills(t: Self) -> Self;
    fn gelu_root(w: Self) -> Self;
    fn silu_root(w: Self) -> Self;
    fn gelu_tanh_root(w: Self) -> Self;
    fn size(self) -> Self;
    /// The first half of the digits; what is left has no more.
    fn cut(self) -> Self;
    /// 2ᵏ of a whole k, a normal number.
    fn power_of_two(k: Self) -> Self;
}

/// A number as significand and power of two, whole.
#[derive(Clone, Copy)]
struct Scaled<T> {
    significand: T,
    exponent: T,
}

impl<T: Number> Scaled<T> {
    /// The exponential of a sum of two numbers, the second small: its significand is about 1.
    #[inline(always)]
    fn exp(high: T, low: T) -> Self {
        let exponent = (high * T::INV_LN2 + T::SHIFT) - T::SHIFT;
        let high = high - exponent * T::LN2_HI;
        let low = low - exponent * T::LN2_LO;
        let r = high + low;
        let lost = (high - r) + low;
        Self { significand: T::ONE + (r + (r * r * T::rest_of_exp(r) + lost)), exponent }
    }

    /// The product with a number, rounded where it underflows and not before.
    #[inline(always)]
    fn times(self, factor: T) -> T {
        // In two steps, the first exact: the whole power may be none of the type's.
        let first = (self.exponent * T::HALF + T::SHIFT) - T::SHIFT;
        (factor * self.significand) * T::power_of_two(first) * T::power_of_two(self.exponent - first)
    }

    /// The number itself.
    #[inline(always)]
    fn value(self) -> T {
        self.times(T::ONE)
    }
}

/// |x|, or where that is larger, or x is NaN, what bounds it.
#[inline(always)]
fn bounded<T: Number>(x: T, end: T) -> T {
    let size = x.size();
    if size < end { size } else { end }
}

/// A value at x, but NaN at NaN.
#[inline(always)]
#[allow(clippy::eq_op, reason = "only a NaN differs from itself")]
fn but_nan<T: Number>(x: T, value: T) -> T {
    if x == x { value } else { x }
}

/// f(x) of a tail f(−|x|) = −tail, where f(x) = x + f(−x).
#[inline(always)]
fn beside<T: Number>(x: T, tail: T) -> T {
    let value = if x < T::from(0) { -tail } else { x - tail };
    but_nan(x, value)
}

/// f′(x) of f′(−|x|).
#[inline(always)]
fn slope_beside<T: Number>(x: T, slope: T) -> T {
    let value = if x < T::from(0) { slope } else { T::ONE - slope };
    but_nan(x, value)
}

/// exp(−a²)
#[inline(always)]
fn gaussian_at<T: Number>(a: T) -> Scaled<T> {
    let first = a.cut();
    Scaled::exp(-(first * first), -((a - first) * (a + first)))
}

/// exp(−a²/2)
#[inline(always)]
fn density_at<T: Number>(a: T) -> Scaled<T> {
    let first = a.cut();
    Scaled::exp(-(first * first) * T::HALF, -((a - first) * (a + first)) * T::HALF)
}

/// Φ(−a)·exp(a²/2), which falls from a half to 0 as 1/a.
#[inline(always)]
fn mills<T: Number>(a: T) -> T {
    let inverse = T::ONE / (a + T::FOUR);
    T::mills((a - T::FOUR) * inverse) * inverse
}

/// −w·P(w) for a root's P, w being the distance from the root, which is two words.
#[inline(always)]
fn from_root<T: Number>(a: T, high: T, low: T, about: impl Fn(T) -> T) -> T {
    let w = (a - high) - low;
    -(w * about(w))
}

/// exp(−x²)
#[inline(always)]
pub fn gaussian<T: Number>(x: T) -> T {
    but_nan(x, gaussian_at(bounded(x, T::GAUSSIAN_END)).value())
}

/// x·Φ(x)
#[inline(always)]
pub fn gelu<T: Number>(x: T) -> T {
    let a = bounded(x, T::GELU_END);
    beside(x, density_at(a).times(a * mills(a)))
}

/// Φ(x) + x·φ(x): at −a this is exp(−a²/2)·(Mills' ratio − a·φ(0)), whose second factor has a root.
#[inline(always)]
pub fn gelu_slope<T: Number>(x: T) -> T {
    let a = bounded(x, T::GELU_END);
    let near = from_root(a, T::GELU_ROOT_HI, T::GELU_ROOT_LO, T::gelu_root);
    let far = mills(a) - a * T::DENSITY;
    let factor = if (a - T::GELU_ROOT_HI).size() < T::GELU_NEAR { near } else { far };
    slope_beside(x, density_at(a).times(factor))
}

/// x / (1 + exp(−x))
#[inline(always)]
pub fn silu<T: Number>(x: T) -> T {
    let a = bounded(x, T::SILU_END);
    let e = Scaled::exp(-a, T::from(0));
    beside(x, e.times(a) / (T::ONE + e.value()))
}

/// The derivative of silu: at −a, e = exp(−a), this is e·(1 + e − a) / (1 + e)².
#[inline(always)]
pub fn silu_slope<T: Number>(x: T) -> T {
    let a = bounded(x, T::SILU_END);
    let e = Scaled::exp(-a, T::from(0));
    let sum = T::ONE + e.value();
    let near = from_root(a, T::SILU_ROOT_HI, T::SILU_ROOT_LO, T::silu_root);
    let factor = if (a - T::SILU_ROOT_HI).size() < T::SILU_NEAR { near } else { sum - a };
    slope_beside(x, e.times(factor / (sum * sum)))
}

/// exp(−u), u = 2·√(2/π)·(a + 0.044715·a³) in two words.
#[inline(always)]
fn bent_at<T: Number>(a: T) -> Scaled<T> {
    let first = a.cut();
    let rest = a - first;
    let square = first * first;
    let square_lost = rest * (a + first);
    let square_first = square.cut();
    let cube = T::CUBE_HI * square_first;
    let cube_lost = T::CUBE_HI * ((square - square_first) + square_lost) + T::CUBE_LO * (square + square_lost);
    // line + cube, and what its rounding lost (Knuth's TwoSum).
    let factor = T::LINE_HI + cube;
    let part = factor - T::LINE_HI;
    let lost = (T::LINE_HI - (factor - part)) + (cube - part);
    let lost = lost + (T::LINE_LO + cube_lost);
    let factor_first = factor.cut();
    let lost = (factor - factor_first) + lost;
    Scaled::exp(-(first * factor_first), -(a * lost + rest * factor_first))
}

/// x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) / 2
#[inline(always)]
pub fn gelu_tanh<T: Number>(x: T) -> T {
    let a = bounded(x, T::GELU_TANH_END);
    let e = bent_at(a);
    beside(x, e.times(a) / (T::ONE + e.value()))
}

/// Its derivative: at −a, e = exp(−u), this is e·(1 + e − a·u′) / (1 + e)².
#[inline(always)]
pub fn gelu_tanh_slope<T: Number>(x: T) -> T {
    let a = bounded(x, T::GELU_TANH_END);
    let e = bent_at(a);
    let sum = T::ONE + e.value();
    let near = from_root(a, T::GELU_TANH_ROOT_HI, T::GELU_TANH_ROOT_LO, T::gelu_tanh_root);
    let far = sum - a * (T::LINE_HI + T::THRICE_CUBE * (a * a));
    let factor = if (a - T::GELU_TANH_ROOT_HI).size() < T::GELU_TANH_NEAR { near } else { far };
    slope_beside(x, e.times(factor / (sum * sum)))
}
