//! `erff` and `erfcf`, for every argument: one program up to 0.84375, one up to 1.25, one beyond.

use super::exp;
use std::marker::PhantomData;

use crate::runs::block::{Block, Program, begin, finish, go_on, map};
use crate::runs::parts::BySize;

const ERX: f32 = 8.4506291151e-01;
const PP0: f32 = 1.2837916613e-01;
const PP1: f32 = -3.2504209876e-01;
const PP2: f32 = -2.8481749818e-02;
const PP3: f32 = -5.7702702470e-03;
const PP4: f32 = -2.3763017452e-05;
const QQ1: f32 = 3.9791721106e-01;
const QQ2: f32 = 6.5022252500e-02;
const QQ3: f32 = 5.0813062117e-03;
const QQ4: f32 = 1.3249473704e-04;
const QQ5: f32 = -3.9602282413e-06;
const PA0: f32 = -2.3621185683e-03;
const PA1: f32 = 4.1485610604e-01;
const PA2: f32 = -3.7220788002e-01;
const PA3: f32 = 3.1834661961e-01;
const PA4: f32 = -1.1089469492e-01;
const PA5: f32 = 3.5478305072e-02;
const PA6: f32 = -2.1663755178e-03;
const QA1: f32 = 1.0642088205e-01;
const QA2: f32 = 5.4039794207e-01;
const QA3: f32 = 7.1828655899e-02;
const QA4: f32 = 1.2617121637e-01;
const QA5: f32 = 1.3637083583e-02;
const QA6: f32 = 1.1984500103e-02;
const RA0: f32 = -9.8649440333e-03;
const RA1: f32 = -6.9385856390e-01;
const RA2: f32 = -1.0558626175e+01;
const RA3: f32 = -6.2375331879e+01;
const RA4: f32 = -1.6239666748e+02;
const RA5: f32 = -1.8460508728e+02;
const RA6: f32 = -8.1287437439e+01;
const RA7: f32 = -9.8143291473e+00;
const SA1: f32 = 1.9651271820e+01;
const SA2: f32 = 1.3765776062e+02;
const SA3: f32 = 4.3456588745e+02;
const SA4: f32 = 6.4538726807e+02;
const SA5: f32 = 4.2900814819e+02;
const SA6: f32 = 1.0863500214e+02;
const SA7: f32 = 6.5702495575e+00;
const SA8: f32 = -6.0424413532e-02;
const RB0: f32 = -9.8649431020e-03;
const RB1: f32 = -7.9928326607e-01;
const RB2: f32 = -1.7757955551e+01;
const RB3: f32 = -1.6063638306e+02;
const RB4: f32 = -6.3756646729e+02;
const RB5: f32 = -1.0250950928e+03;
const RB6: f32 = -4.8351919556e+02;
const SB1: f32 = 3.0338060379e+01;
const SB2: f32 = 3.2579251099e+02;
const SB3: f32 = 1.5367296143e+03;
const SB4: f32 = 3.1998581543e+03;
const SB5: f32 = 2.5530502930e+03;
const SB6: f32 = 4.7452853394e+02;
const SB7: f32 = -2.2440952301e+01;

/// Where the first program ends, and the second.
const FIRST: f32 = 0.84375;
const SECOND: f32 = 1.25;

/// 1 / 0.35, where the coefficients change.
const CHANGE: f32 = f32::from_bits(0x4036_db6d);

/// From here on the result is 1.
const ONE: f32 = 6.0;

/// The function.
pub struct Erf<P>(PhantomData<P>);

impl<P> BySize<f32> for Erf<P> {
    const BOUNDS: [f32; 2] = [FIRST, SECOND];
    type First = First<P>;
    type Second = Second<P>;
    type Third = Last<P>;
}

/// Of size up to 0.84375.
pub struct First<P>(PhantomData<P>);

impl<P> Program<f32> for First<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
        let parts = begin(x, quotient_near);
        finish(x, y, &parts, |x, [r, s]| {
            // Eightfold, so that nothing underflows. The crate does so below 2⁻²⁸, where r / s is PP0; else it is the same.
            let eightfold = 8.0 * x;
            0.125 * (eightfold + eightfold * (r / s))
        });
    }
}

/// Numerator and denominator of what the function has beyond its argument, by the argument.
#[inline(always)]
fn quotient_near(x: f32) -> [f32; 2] {
    let z = x * x;
    let r = PP0 + z * (PP1 + z * (PP2 + z * (PP3 + z * PP4)));
    let s = 1.0 + z * (QQ1 + z * (QQ2 + z * (QQ3 + z * (QQ4 + z * QQ5))));
    [r, s]
}

/// Of size 0.84375 to 1.25.
pub struct Second<P>(PhantomData<P>);

impl<P> Program<f32> for Second<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
        map(x, y, |x| (1.0 - complement_middle(x)).copysign(x));
    }
}

/// Of size 1.25 and more.
pub struct Last<P>(PhantomData<P>);

impl<P> Program<f32> for Last<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
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

/// f32he complement of the function at a size from 0.84375 to 1.25.
#[inline(always)]
fn complement_middle(x: f32) -> f32 {
    let s = x.abs() - 1.0;
    let p = PA0 + s * (PA1 + s * (PA2 + s * (PA3 + s * (PA4 + s * (PA5 + s * PA6)))));
    let q = 1.0 + s * (QA1 + s * (QA2 + s * (QA3 + s * (QA4 + s * (QA5 + s * QA6)))));
    1.0 - ERX - p / q
}

/// What stands in the exponent beside the square of a size from 1.25 on.
#[inline(always)]
fn quotient_far(size: f32) -> f32 {
    let s = 1.0 / (size * size);
    let is_low = size < CHANGE;
    // Of two polynomials one, by its coefficients; a 0 in front changes nothing.
    let of = |low: f32, high: f32| if is_low { low } else { high };
    let r = of(RA5, RB5) + s * (of(RA6, RB6) + s * of(RA7, 0.0));
    let r = of(RA2, RB2) + s * (of(RA3, RB3) + s * (of(RA4, RB4) + s * r));
    let r = of(RA0, RB0) + s * (of(RA1, RB1) + s * r);
    let q = of(SA6, SB6) + s * (of(SA7, SB7) + s * of(SA8, 0.0));
    let q = of(SA3, SB3) + s * (of(SA4, SB4) + s * (of(SA5, SB5) + s * q));
    let q = 1.0 + s * (of(SA1, SB1) + s * (of(SA2, SB2) + s * q));
    r / q
}

#[inline(always)]
fn bounded(x: f32) -> f32 {
    let size = x.abs();
    if size < ONE { size } else { ONE }
}

/// A number without the lower part of its digits.
#[inline(always)]
fn cut(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_e000)
}

/// From here on the complement is 0.
const NOTHING: f32 = 11.0;

/// The complement.
pub struct Erfc<P>(PhantomData<P>);

impl<P> BySize<f32> for Erfc<P> {
    const BOUNDS: [f32; 2] = [FIRST, SECOND];
    type First = FirstComplement<P>;
    type Second = SecondComplement<P>;
    type Third = LastComplement<P>;
}

/// Of size up to 0.84375.
pub struct FirstComplement<P>(PhantomData<P>);

impl<P> Program<f32> for FirstComplement<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
        map(x, y, |x| {
            let [r, s] = quotient_near(x);
            let y = r / s;
            let value = x + x * y;
            let late = 0.5 - (x - 0.5 + x * y);
            if x < 0.25 { 1.0 - value } else { late }
        });
    }
}

/// Of size 0.84375 to 1.25.
pub struct SecondComplement<P>(PhantomData<P>);

impl<P> Program<f32> for SecondComplement<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
        map(x, y, |x| {
            let value = complement_middle(x);
            if x < 0.0 { 2.0 - value } else { value }
        });
    }
}

/// Of size 1.25 and more.
pub struct LastComplement<P>(PhantomData<P>);

impl<P> Program<f32> for LastComplement<P> {
    #[inline(always)]
    fn run<const L: usize>(x: &[f32; L], y: &mut Block<f32, L>) {
        let size = |x: f32| if x.abs() < NOTHING { x.abs() } else { NOTHING };
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
