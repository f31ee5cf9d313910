//! `pow` of bases of normal size and exponents up to 2³¹, and of every base to the powers 0, ½, 1, 2 and −1.

use super::{power_of_two, upper, within};
use crate::runs::block::{Block, all, begin, finish, go_on, patch_of_two};

const DP_H: f64 = 5.84962487220764160156e-01;
const DP_L: f64 = 1.35003920212974897128e-08;
const L1: f64 = 5.99999999999994648725e-01;
const L2: f64 = 4.28571428578550184252e-01;
const L3: f64 = 3.33333329818377432918e-01;
const L4: f64 = 2.72728123808534006489e-01;
const L5: f64 = 2.30660745775561754067e-01;
const L6: f64 = 2.06975017800338417784e-01;
const P1: f64 = 1.66666666666666019037e-01;
const P2: f64 = -2.77777777770155933842e-03;
const P3: f64 = 6.61375632143793436117e-05;
const P4: f64 = -1.65339022054652515390e-06;
const P5: f64 = 4.13813679705723846039e-08;
const LG2: f64 = 6.93147180559945286227e-01;
const LG2_H: f64 = 6.93147182464599609375e-01;
const LG2_L: f64 = -1.90465429995776804525e-09;
const OVT: f64 = 8.0085662595372944372e-017;
const CP: f64 = 9.61796693925975554329e-01;
const CP_H: f64 = 9.61796700954437255859e-01;
const CP_L: f64 = -7.02846165095275826516e-09;

/// The mantissas, by their upper half, from which on the logarithm is taken from 3/2, and from 2.
const MIDDLE: u64 = 0x3_988f << 32;
const UPPER: u64 = 0xb_b67a << 32;

/// The bits of 1, where a normalized base has its exponent, and those of a mantissa.
const ONE: u64 = 0x3ff0_0000 << 32;
const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;

/// 2³¹ and a little: from it on the crate has another logarithm.
const BOUND: f64 = upper(0x41e0_0001);

/// 2⁵²: a number that it is added to is rounded to a whole one.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// Powers of two from the first on are infinite, to the second 0.
const INFINITE: f64 = 1024.0;
const ZERO: f64 = -1075.0;

/// Powers of two of less size are normal numbers. NaN is none, its bits being more.
const PLAIN: f64 = 1021.0;

/// ½ and a little: below it nothing is split off a logarithm.
const HALF: f64 = upper(0x3fe0_0001);

#[inline(always)]
pub fn pow<P, const L: usize>(x: &[f64; L], exponents: &[f64; L], y: &mut Block<f64, L>) {
    let mut is_rare = false;
    for (&x, &exponent) in x.iter().zip(exponents) {
        is_rare |= !is_common(x, exponent);
    }
    if !is_rare || !all(exponents, is_simple) {
        powers::<P, L>(x, exponents, y);
    }
    if is_rare {
        for ((y, &x), &exponent) in y.0.iter_mut().zip(x).zip(exponents) {
            let value = if x < 0.0 { signed(*y, exponent) } else { *y };
            *y = if is_simple(exponent) { simple(x, exponent) } else { value };
        }
        patch_of_two(x, exponents, y, covers, libm::pow);
    }
}

/// Whether nothing but the program is needed: of a positive normal base, and an exponent that isn't nearly simple.
#[inline(always)]
fn is_common(x: f64, exponent: f64) -> bool {
    let least = f64::MIN_POSITIVE.to_bits();
    let is_normal = x.to_bits().wrapping_sub(least) < f64::INFINITY.to_bits() - least;
    is_normal & (exponent.abs().to_bits() < BOUND.to_bits()) & (exponent.to_bits() & MANTISSA != 0)
}

/// The powers of the bases' sizes, of normal ones.
#[inline(always)]
fn powers<P, const L: usize>(x: &[f64; L], exponents: &[f64; L], y: &mut Block<f64, L>) {
    let values = begin(x, quotient);
    let values = go_on(x, &values, logarithm);
    let values = go_on(exponents, &values, product);
    if !all(&values[2].0, |sum| sum.abs().to_bits() < PLAIN.to_bits()) {
        finish(exponents, y, &values, |_, values| bounded(values));
    } else {
        finish(exponents, y, &values, |_, values| plain(values));
    }
}

#[inline(always)]
fn covers(x: f64, exponent: f64) -> bool {
    let is_normal = (x.abs() >= f64::MIN_POSITIVE) & (x.abs() < f64::INFINITY);
    is_simple(exponent) | (is_normal & (exponent.abs() < BOUND))
}

/// Whether the crate has a formula of its own for the power.
#[inline(always)]
fn is_simple(exponent: f64) -> bool {
    (exponent == 2.0) | (exponent == 0.5) | (exponent.abs() == 1.0) | (exponent == 0.0)
}

#[inline(always)]
fn simple(x: f64, exponent: f64) -> f64 {
    let value = if exponent == 2.0 { x * x } else { x };
    let value = if exponent == -1.0 { 1.0 / x } else { value };
    // Of zeros and infinities of both signs, but of no other number below 0.
    let root = x.abs().sqrt();
    let root = if x < 0.0 && x > f64::NEG_INFINITY { f64::NAN } else { root };
    let value = if exponent == 0.5 { root } else { value };
    if exponent == 0.0 { 1.0 } else { value }
}

/// The power of a number below 0 from that of its size.
#[inline(always)]
fn signed(value: f64, exponent: f64) -> f64 {
    let size = exponent.abs();
    let half = size * 0.5;
    let value = if (half + WHOLE) - WHOLE == half { value } else { -value };
    if (size + WHOLE) - WHOLE == size { value } else { f64::NAN }
}

/// The upper half of a number.
#[inline(always)]
fn half(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000)
}

/// A base's size by its exponent, a whole number, and the rest m, from √3/2 to √3. Then of m (m − b) / (m + b), where b is 1
/// or 3/2, rounded and as two numbers; and the upper part of the logarithm of b.
#[inline(always)]
fn quotient(x: f64) -> [f64; 5] {
    let bits = x.to_bits() & 0x7fff_ffff_ffff_ffff;
    let mantissa = bits & MANTISSA;
    let (is_upper, is_middle) = (mantissa >= UPPER, (mantissa >= MIDDLE) & (mantissa < UPPER));
    // 2⁵² + the biased exponent, whose bits need no conversion.
    let biased = f64::from_bits(0x4330_0000_0000_0000 | (bits >> 52));
    let n = biased - if is_upper { WHOLE + 1022.0 } else { WHOLE + 1023.0 };
    let bits = mantissa | if is_upper { ONE - (0x0010_0000 << 32) } else { ONE };
    let m = f64::from_bits(bits);
    let b = if is_middle { 1.5 } else { 1.0 };
    let u = m - b;
    let v = 1.0 / (m + b);
    let s = u * v;
    let s_h = half(s);
    let step = if is_middle { 0x000c_0000 << 32 } else { 0x0008_0000 << 32 };
    let t_h = f64::from_bits((((bits >> 1) & 0xffff_ffff_0000_0000) | 0x2000_0000 << 32) + step);
    let t_l = m - (t_h - b);
    let s_l = v * ((u - s_h * t_h) - s_h * t_l);
    [s, s_h, s_l, n, if is_middle { DP_H } else { 0.0 }]
}

/// The logarithm to base 2, as two numbers.
#[inline(always)]
fn logarithm(_: f64, [s, s_h, s_l, t, dp_h]: [f64; 5]) -> [f64; 2] {
    let s2 = s * s;
    let r = s2 * s2 * (L1 + s2 * (L2 + s2 * (L3 + s2 * (L4 + s2 * (L5 + s2 * L6)))));
    let r = r + s_l * (s_h + s);
    let s2 = s_h * s_h;
    let t_h = half(3.0 + s2 + r);
    let t_l = r - ((t_h - 3.0) - s2);
    let u = s_h * t_h;
    let v = s_l * t_h + t_l * s;
    let p_h = half(u + v);
    let p_l = v - (p_h - u);
    let z_h = CP_H * p_h;
    let dp_l = if dp_h == 0.0 { 0.0 } else { DP_L };
    let z_l = CP_L * p_h + p_l * CP + dp_l;
    let t1 = half(((z_h + z_l) + dp_h) + t);
    let t2 = z_l - (((t1 - t) - dp_h) - z_h);
    [t1, t2]
}

/// The logarithm of the power: its lower and its upper part, and their sum.
#[inline(always)]
fn product(y: f64, [t1, t2]: [f64; 2]) -> [f64; 3] {
    let y1 = half(y);
    let (p_l, p_h) = ((y - y1) * t1 + y * t2, y1 * t1);
    [p_l, p_h, p_l + p_h]
}

/// 2 to the power of a sum less the whole number nearest to it, and that number, of a sum within reach.
#[inline(always)]
fn exponential([p_l, p_h, sum]: [f64; 3]) -> (f64, f64) {
    // SAFETY: both programs bound what they give, NaN included.
    let n = f64::from(unsafe { (sum + 0.5f64.copysign(sum)).to_int_unchecked::<i32>() });
    let n = if sum.abs() >= HALF { n } else { 0.0 };
    let p_h = p_h - n;
    let t = half(p_l + p_h);
    let u = t * LG2_H;
    let v = (p_l - (t - p_h)) * LG2 + t * LG2_L;
    let z = u + v;
    let w = v - (z - u);
    let t = z * z;
    let t1 = z - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))));
    let r = (z * t1) / (t1 - 2.0) - (w + z * w);
    (1.0 - (r - z), n)
}

/// 2 to the power of a sum of size less than [`PLAIN`], which is a normal number.
#[inline(always)]
fn plain(values: [f64; 3]) -> f64 {
    let (z, n) = exponential(values);
    f64::from_bits(z.to_bits().wrapping_add((n + super::SHIFT).to_bits() << 52))
}

/// 2 to the power of any sum.
#[inline(always)]
fn bounded([p_l, p_h, sum]: [f64; 3]) -> f64 {
    let rest = sum - p_h;
    let is_infinite = sum > INFINITE || (sum == INFINITE && p_l + OVT > rest);
    let is_zero = sum < ZERO || (sum == ZERO && p_l <= rest);
    let (z, n) = exponential([p_l, p_h, within(sum, ZERO - 10.0, INFINITE + 10.0)]);
    // In two steps, the first exact: the second may be subnormal.
    let first = (0.5 * n + super::SHIFT) - super::SHIFT;
    let scaled = z * power_of_two(first) * power_of_two(n - first);
    let scaled = if is_infinite { f64::INFINITY } else { scaled };
    if is_zero { 0.0 } else { scaled }
}
