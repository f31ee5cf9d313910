//! `powf` of bases of normal size and exponents up to 2²⁷, and of every base to the powers 0, ½, 1, 2 and −1.

use super::{number, power_of_two, within};
use crate::runs::block::{Block, all, begin, finish, go_on, patch_of_two};

const DP_H: f32 = 5.84960938e-01;
const DP_L: f32 = 1.56322085e-06;
const L1: f32 = 6.0000002384e-01;
const L2: f32 = 4.2857143283e-01;
const L3: f32 = 3.3333334327e-01;
const L4: f32 = 2.7272811532e-01;
const L5: f32 = 2.3066075146e-01;
const L6: f32 = 2.0697501302e-01;
const P1: f32 = 1.6666667163e-01;
const P2: f32 = -2.7777778450e-03;
const P3: f32 = 6.6137559770e-05;
const P4: f32 = -1.6533901999e-06;
const P5: f32 = 4.1381369442e-08;
const LG2: f32 = 6.9314718246e-01;
const LG2_H: f32 = 6.93145752e-01;
const LG2_L: f32 = 1.42860654e-06;
const OVT: f32 = 4.2995665694e-08;
const CP: f32 = 9.6179670095e-01;
const CP_H: f32 = 9.6191406250e-01;
const CP_L: f32 = -1.1736857402e-04;

/// The mantissas from which on the logarithm is taken from 3/2, and from 2.
const MIDDLE: u32 = 0x001c_c472;
const UPPER: u32 = 0x005d_b3d7;

/// The bits of 1, where a normalized base has its exponent, and those of a mantissa.
const ONE: u32 = 0x3f80_0000;
const MANTISSA: u32 = 0x007f_ffff;

/// 2²⁷: beyond it the crate has another logarithm.
const MOST: f32 = 134_217_728.0;

/// Powers of two from the first on are infinite, to the second 0.
const INFINITE: f32 = 128.0;
const ZERO: f32 = -150.0;

/// Powers of two of less size are normal numbers. NaN is none, its bits being more.
const PLAIN: f32 = 125.0;

#[inline(always)]
pub fn pow<P, const L: usize>(x: &[f32; L], exponents: &[f32; L], y: &mut Block<f32, L>) {
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
        patch_of_two(x, exponents, y, covers, libm::powf);
    }
}

/// Whether nothing but the program is needed: of a positive normal base, and an exponent that isn't nearly simple.
#[inline(always)]
fn is_common(x: f32, exponent: f32) -> bool {
    let least = f32::MIN_POSITIVE.to_bits();
    let is_normal = x.to_bits().wrapping_sub(least) < f32::INFINITY.to_bits() - least;
    is_normal & (exponent.abs().to_bits() <= MOST.to_bits()) & (exponent.to_bits() & MANTISSA != 0)
}

/// The powers of the bases' sizes, of normal ones.
#[inline(always)]
fn powers<P, const L: usize>(x: &[f32; L], exponents: &[f32; L], y: &mut Block<f32, L>) {
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
fn covers(x: f32, exponent: f32) -> bool {
    let is_normal = (x.abs() >= f32::MIN_POSITIVE) & (x.abs() < f32::INFINITY);
    is_simple(exponent) | (is_normal & (exponent.abs() <= MOST))
}

/// Whether the crate has a formula of its own for the power.
#[inline(always)]
fn is_simple(exponent: f32) -> bool {
    (exponent == 2.0) | (exponent == 0.5) | (exponent.abs() == 1.0) | (exponent == 0.0)
}

#[inline(always)]
fn simple(x: f32, exponent: f32) -> f32 {
    let value = if exponent == 2.0 { x * x } else { x };
    let value = if exponent == -1.0 { 1.0 / x } else { value };
    // Of zeros and infinities of both signs, but of no other number below 0.
    let root = x.abs().sqrt();
    let root = if x < 0.0 && x > f32::NEG_INFINITY { f32::NAN } else { root };
    let value = if exponent == 0.5 { root } else { value };
    if exponent == 0.0 { 1.0 } else { value }
}

/// The power of a number below 0 from that of its size.
#[inline(always)]
fn signed(value: f32, exponent: f32) -> f32 {
    // Those that aren't covered are bounded too.
    let whole = number(within(exponent, -MOST, MOST));
    let value = if whole & 1 == 1 { -value } else { value };
    if whole as f32 == exponent { value } else { f32::NAN }
}

/// The upper half of a number.
#[inline(always)]
fn upper(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_f000)
}

/// A base's size by its exponent, a whole number, and the rest m, from √3/2 to √3. Then of m (m − b) / (m + b), where b is 1
/// or 3/2, rounded and as two numbers; and the upper part of the logarithm of b.
#[inline(always)]
fn quotient(x: f32) -> [f32; 5] {
    let bits = x.to_bits() & 0x7fff_ffff;
    let mantissa = bits & MANTISSA;
    let (is_upper, is_middle) = (mantissa >= UPPER, (mantissa >= MIDDLE) & (mantissa < UPPER));
    let n = (bits >> 23).cast_signed() - if is_upper { 0x7e } else { 0x7f };
    let bits = mantissa | if is_upper { ONE - 0x0080_0000 } else { ONE };
    let m = f32::from_bits(bits);
    let b = if is_middle { 1.5 } else { 1.0 };
    let u = m - b;
    let v = 1.0 / (m + b);
    let s = u * v;
    let s_h = upper(s);
    let step = if is_middle { 0x0060_0000 } else { 0x0040_0000 };
    let t_h = f32::from_bits((((bits >> 1) & 0xffff_f000) | 0x2000_0000) + step);
    let t_l = m - (t_h - b);
    let s_l = v * ((u - s_h * t_h) - s_h * t_l);
    [s, s_h, s_l, n as f32, if is_middle { DP_H } else { 0.0 }]
}

/// The logarithm to base 2, as two numbers.
#[inline(always)]
fn logarithm(_: f32, [s, s_h, s_l, t, dp_h]: [f32; 5]) -> [f32; 2] {
    let s2 = s * s;
    let r = s2 * s2 * (L1 + s2 * (L2 + s2 * (L3 + s2 * (L4 + s2 * (L5 + s2 * L6)))));
    let r = r + s_l * (s_h + s);
    let s2 = s_h * s_h;
    let t_h = upper(3.0 + s2 + r);
    let t_l = r - ((t_h - 3.0) - s2);
    let u = s_h * t_h;
    let v = s_l * t_h + t_l * s;
    let p_h = upper(u + v);
    let p_l = v - (p_h - u);
    let z_h = CP_H * p_h;
    let dp_l = if dp_h == 0.0 { 0.0 } else { DP_L };
    let z_l = CP_L * p_h + p_l * CP + dp_l;
    let t1 = upper(((z_h + z_l) + dp_h) + t);
    let t2 = z_l - (((t1 - t) - dp_h) - z_h);
    [t1, t2]
}

/// The logarithm of the power: its lower and its upper part, and their sum.
#[inline(always)]
fn product(y: f32, [t1, t2]: [f32; 2]) -> [f32; 3] {
    let y1 = upper(y);
    let (p_l, p_h) = ((y - y1) * t1 + y * t2, y1 * t1);
    [p_l, p_h, p_l + p_h]
}

/// 2 to the power of a sum less the whole number nearest to it, and that number, of a sum within reach.
#[inline(always)]
fn exponential([p_l, p_h, sum]: [f32; 3]) -> (f32, i32) {
    let n = number(sum + 0.5f32.copysign(sum));
    let n = if sum.abs() > 0.5 { n } else { 0 };
    let p_h = p_h - n as f32;
    let t = f32::from_bits((p_l + p_h).to_bits() & 0xffff_8000);
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
fn plain(values: [f32; 3]) -> f32 {
    let (z, n) = exponential(values);
    f32::from_bits(z.to_bits().wrapping_add((n << 23).cast_unsigned()))
}

/// 2 to the power of any sum.
#[inline(always)]
fn bounded([p_l, p_h, sum]: [f32; 3]) -> f32 {
    let rest = sum - p_h;
    let is_infinite = sum > INFINITE || (sum == INFINITE && p_l + OVT > rest);
    let is_zero = sum < ZERO || (sum == ZERO && p_l <= rest);
    let (z, n) = exponential([p_l, p_h, within(sum, ZERO - 10.0, INFINITE + 10.0)]);
    // In two steps, the first exact: the second may be subnormal.
    let first = n >> 1;
    let scaled = z * power_of_two(first) * power_of_two(n - first);
    let scaled = if is_infinite { f32::INFINITY } else { scaled };
    if is_zero { 0.0 } else { scaled }
}
