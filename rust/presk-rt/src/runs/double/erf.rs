//! `erf` and `erfc`, for every argument: one program up to 0.84375, one up to 1.25, one beyond.

use super::{exp, upper};
use std::marker::PhantomData;

use crate::runs::block::{Block, Program, begin, finish, go_on, map};
use crate::runs::parts::BySize;

const ERX: f64 = 8.45062911510467529297e-01;
const EFX8: f64 = 1.02703333676410069053e+00;
const PP0: f64 = 1.28379167095512558561e-01;
const PP1: f64 = -3.25042107247001499370e-01;
const PP2: f64 = -2.84817495755985104766e-02;
const PP3: f64 = -5.77027029648944159157e-03;
const PP4: f64 = -2.37630166566501626084e-05;
const QQ1: f64 = 3.97917223959155352819e-01;
const QQ2: f64 = 6.50222499887672944485e-02;
const QQ3: f64 = 5.08130628187576562776e-03;
const QQ4: f64 = 1.32494738004321644526e-04;
const QQ5: f64 = -3.96022827877536812320e-06;
const PA0: f64 = -2.36211856075265944077e-03;
const PA1: f64 = 4.14856118683748331666e-01;
const PA2: f64 = -3.72207876035701323847e-01;
const PA3: f64 = 3.18346619901161753674e-01;
const PA4: f64 = -1.10894694282396677476e-01;
const PA5: f64 = 3.54783043256182359371e-02;
const PA6: f64 = -2.16637559486879084300e-03;
const QA1: f64 = 1.06420880400844228286e-01;
const QA2: f64 = 5.40397917702171048937e-01;
const QA3: f64 = 7.18286544141962662868e-02;
const QA4: f64 = 1.26171219808761642112e-01;
const QA5: f64 = 1.36370839120290507362e-02;
const QA6: f64 = 1.19844998467991074170e-02;
const RA0: f64 = -9.86494403484714822705e-03;
const RA1: f64 = -6.93858572707181764372e-01;
const RA2: f64 = -1.05586262253232909814e+01;
const RA3: f64 = -6.23753324503260060396e+01;
const RA4: f64 = -1.62396669462573470355e+02;
const RA5: f64 = -1.84605092906711035994e+02;
const RA6: f64 = -8.12874355063065934246e+01;
const RA7: f64 = -9.81432934416914548592e+00;
const SA1: f64 = 1.96512716674392571292e+01;
const SA2: f64 = 1.37657754143519042600e+02;
const SA3: f64 = 4.34565877475229228821e+02;
const SA4: f64 = 6.45387271733267880336e+02;
const SA5: f64 = 4.29008140027567833386e+02;
const SA6: f64 = 1.08635005541779435134e+02;
const SA7: f64 = 6.57024977031928170135e+00;
const SA8: f64 = -6.04244152148580987438e-02;
const RB0: f64 = -9.86494292470009928597e-03;
const RB1: f64 = -7.99283237680523006574e-01;
const RB2: f64 = -1.77579549177547519889e+01;
const RB3: f64 = -1.60636384855821916062e+02;
const RB4: f64 = -6.37566443368389627722e+02;
const RB5: f64 = -1.02509513161107724954e+03;
const RB6: f64 = -4.83519191608651397019e+02;
const SB1: f64 = 3.03380607434824582924e+01;
const SB2: f64 = 3.25792512996573918826e+02;
const SB3: f64 = 1.53672958608443695994e+03;
const SB4: f64 = 3.19985821950859553908e+03;
const SB5: f64 = 2.55305040643316442583e+03;
const SB6: f64 = 4.74528541206955367215e+02;
const SB7: f64 = -2.24409524465858183362e+01;

/// Where the first program ends, and the second.
const FIRST: f64 = 0.84375;
const SECOND: f64 = 1.25;

/// 1 / 0.35, where the coefficients change, as the crate compares with it: by the upper half.
const CHANGE: f64 = upper(0x4006_db6d);

/// 2⁻²⁸: below it the result is computed without underflow.
const TINY: f64 = upper(0x3e30_0000);

/// From here on the result is 1.
const ONE: f64 = 6.0;

/// The function.
pub struct Erf<P>(PhantomData<P>);

impl<P> BySize<f64> for Erf<P> {
    const BOUNDS: [f64; 2] = [FIRST, SECOND];
    type First = First<P>;
    type Second = Second<P>;
    type Third = Last<P>;
}

/// Of size up to 0.84375.
pub struct First<P>(PhantomData<P>);

impl<P> Program<f64> for First<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
        map(x, y, first);
    }
}

#[inline(always)]
fn first(x: f64) -> f64 {
    let value = x + x * share_near(x);
    if x.abs() < TINY { 0.125 * (8.0 * x + EFX8 * x) } else { value }
}

/// What the function has beyond its argument, by the argument.
#[inline(always)]
fn share_near(x: f64) -> f64 {
    let z = x * x;
    let r = PP0 + z * (PP1 + z * (PP2 + z * (PP3 + z * PP4)));
    let s = 1.0 + z * (QQ1 + z * (QQ2 + z * (QQ3 + z * (QQ4 + z * QQ5))));
    r / s
}

/// Of size 0.84375 to 1.25.
pub struct Second<P>(PhantomData<P>);

impl<P> Program<f64> for Second<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
        map(x, y, |x| (1.0 - complement_middle(x)).copysign(x));
    }
}

/// Of size 1.25 and more.
pub struct Last<P>(PhantomData<P>);

impl<P> Program<f64> for Last<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
        let quotients = begin(x, |x| [quotient_far(bounded(x))]);
        let factors = go_on(x, &quotients, |x, [quotient]| {
            let size = bounded(x);
            let z = cut(size);
            [exp::negative(-z * z - 0.5625), exp::near(((z - size) * (z + size)) + quotient)]
        });
        finish(x, y, &factors, |x, [left, right]| {
            let size = bounded(x);
            let value = 1.0 - left * right / size;
            let value = if x.abs() < ONE { value } else { 1.0 };
            if x.is_nan() { x } else { value.copysign(x) }
        });
    }
}

/// f64he complement of the function at a size from 0.84375 to 1.25.
#[inline(always)]
fn complement_middle(x: f64) -> f64 {
    let s = x.abs() - 1.0;
    let p = PA0 + s * (PA1 + s * (PA2 + s * (PA3 + s * (PA4 + s * (PA5 + s * PA6)))));
    let q = 1.0 + s * (QA1 + s * (QA2 + s * (QA3 + s * (QA4 + s * (QA5 + s * QA6)))));
    1.0 - ERX - p / q
}

/// What stands in the exponent beside the square of a size from 1.25 on.
#[inline(always)]
fn quotient_far(size: f64) -> f64 {
    let s = 1.0 / (size * size);
    let is_low = size < CHANGE;
    // Of two polynomials one, by its coefficients; a 0 in front changes nothing.
    let of = |low: f64, high: f64| if is_low { low } else { high };
    let r = of(RA5, RB5) + s * (of(RA6, RB6) + s * of(RA7, 0.0));
    let r = of(RA2, RB2) + s * (of(RA3, RB3) + s * (of(RA4, RB4) + s * r));
    let r = of(RA0, RB0) + s * (of(RA1, RB1) + s * r);
    let q = of(SA6, SB6) + s * (of(SA7, SB7) + s * of(SA8, 0.0));
    let q = of(SA3, SB3) + s * (of(SA4, SB4) + s * (of(SA5, SB5) + s * q));
    let q = 1.0 + s * (of(SA1, SB1) + s * (of(SA2, SB2) + s * q));
    r / q
}

#[inline(always)]
fn bounded(x: f64) -> f64 {
    let size = x.abs();
    if size < ONE { size } else { ONE }
}

/// A number without the lower part of its digits.
#[inline(always)]
fn cut(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000)
}

/// From here on the complement is 0.
const NOTHING: f64 = 28.0;

/// The complement.
pub struct Erfc<P>(PhantomData<P>);

impl<P> BySize<f64> for Erfc<P> {
    const BOUNDS: [f64; 2] = [FIRST, SECOND];
    type First = FirstComplement<P>;
    type Second = SecondComplement<P>;
    type Third = LastComplement<P>;
}

/// Of size up to 0.84375.
pub struct FirstComplement<P>(PhantomData<P>);

impl<P> Program<f64> for FirstComplement<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
        map(x, y, |x| {
            let y = share_near(x);
            let value = x + x * y;
            let late = 0.5 - (x - 0.5 + x * y);
            if x < 0.25 { 1.0 - value } else { late }
        });
    }
}

/// Of size 0.84375 to 1.25.
pub struct SecondComplement<P>(PhantomData<P>);

impl<P> Program<f64> for SecondComplement<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
        map(x, y, |x| {
            let value = complement_middle(x);
            if x < 0.0 { 2.0 - value } else { value }
        });
    }
}

/// Of size 1.25 and more.
pub struct LastComplement<P>(PhantomData<P>);

impl<P> Program<f64> for LastComplement<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f64; L], y: &mut Block<f64, L>) {
        let size = |x: f64| if x.abs() < NOTHING { x.abs() } else { NOTHING };
        let quotients = begin(x, |x| [quotient_far(size(x))]);
        let factors = go_on(x, &quotients, |x, [quotient]| {
            let size = size(x);
            let z = cut(size);
            [exp::low(-z * z - 0.5625), exp::near(((z - size) * (z + size)) + quotient)]
        });
        finish(x, y, &factors, |x, [left, right]| {
            let value = left * right / size(x);
            let value = if x < 0.0 { 2.0 - value } else { value };
            if x.is_nan() { x } else { value }
        });
    }
}
