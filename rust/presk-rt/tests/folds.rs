//! The routines of folds give the bits of the loops they stand for, on every instruction set there is here.

use std::ops::{Add, Mul, Sub};

use presk_rt::folds::{self, Fold, Real};
use presk_rt::isa::Isa;
use presk_rt::runs::{self, Map, Scale, With};

/// A type whose numbers are compared by their bits, NaNs as NaNs.
trait Bits: Real + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Default {
    fn bits(self) -> u64;
    fn of(bits: u64) -> Self;
    fn is_negative(self) -> bool;
}

macro_rules! bits {
    ($real:ty, $word:ty) => {
        impl Bits for $real {
            fn bits(self) -> u64 {
                if self.is_nan() { u64::MAX } else { u64::from(self.to_bits()) }
            }

            #[allow(clippy::cast_possible_truncation, reason = "the lower half is what an f32 has")]
            fn of(bits: u64) -> Self {
                Self::from_bits(bits as $word)
            }

            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    };
}

bits!(f32, u32);
bits!(f64, u64);

/// One step of a fold, as kernels mean it.
fn step<T: Bits>(fold: Fold, before: T, x: T, centre: T) -> T {
    #[allow(clippy::eq_op, reason = "NaN alone differs from itself")]
    let is_nan = |x: T| x != x;
    let first_is_greater = before > x || (before == x && !before.is_negative());
    match fold {
        Fold::Sum => before + x,
        Fold::Spread => before + (x - centre) * (x - centre),
        Fold::Max | Fold::Min if is_nan(before) => before,
        Fold::Max | Fold::Min if is_nan(x) => x,
        Fold::Max if first_is_greater => before,
        Fold::Min if !first_is_greater || before.bits() == x.bits() => before,
        Fold::Max | Fold::Min => x,
    }
}

/// Numbers of one kind in a row, so that every kind of result comes up.
fn rows<T: Bits>(kind: u64, number: usize, count: usize) -> Vec<Vec<T>> {
    let mut state = kind.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 29)
    };
    let (negative_zero, is_wide) = (if size_of::<T>() == 4 { 1 << 31 } else { 1 << 63 }, size_of::<T>() == 8);
    let exponent = |bits: u64| {
        if is_wide { (bits & 0xbfff_ffff_ffff_ffff) | (0x3f0 << 52) } else { (bits & 0xbfff_ffff) | (0x3c << 24) }
    };
    let mut value = || match kind {
        // Every bit pattern, NaNs and infinities among them.
        0 => T::of(next()),
        // Zeros of both signs alone, and those with numbers below or above.
        1 => T::of(if next() % 7 == 0 { 0 } else { negative_zero }),
        2 => T::of(if next() % 7 == 0 { negative_zero } else { 0 }),
        3 => T::of(if next() % 3 == 0 { exponent(next()) | negative_zero } else { negative_zero }),
        _ => T::of(exponent(next())),
    };
    (0..number).map(|_| (0..count).map(|_| value()).collect()).collect()
}

fn check<T: Bits>() {
    for (kind, number, count) in (0..5).flat_map(|kind| {
        [1, 3, 8, 11, 16, 27, 32].into_iter().flat_map(move |number| {
            [0, 1, 3, 32, 63, 64, 65, 127, 128, 200].into_iter().map(move |count| (kind, number, count))
        })
    }) {
        let rows = rows::<T>(kind, number, count);
        let slices: Vec<&[T]> = rows.iter().map(Vec::as_slice).collect();
        for fold in Fold::ALL {
            let before: Vec<T> = self::rows::<T>(kind + 5, 1, number).remove(0);
            let centres: Vec<T> = self::rows::<T>(kind + 6, 1, number).remove(0);
            let wanted: Vec<u64> = rows
                .iter()
                .zip(&before)
                .zip(&centres)
                .map(|((row, &before), &centre)| row.iter().fold(before, |sum, &x| step(fold, sum, x, centre)).bits())
                .collect();
            for isa in Isa::available() {
                let mut found = before.clone();
                folds::fold(isa, fold, &slices, &mut found, &centres);
                let found: Vec<u64> = found.into_iter().map(T::bits).collect();
                assert_eq!(found, wanted, "{} of {number} rows of {count}, kind {kind}, {}", fold.name(), isa.name());
            }
        }
    }
}

#[test]
fn single_rows() {
    check::<f32>();
}

#[test]
fn double_rows() {
    check::<f64>();
}

/// Every map, of runs of every length up to two blocks and a rest.
#[test]
fn maps_of_runs() {
    let numbers: Vec<f32> = (0..300u16).map(|at| f32::from(at) / 7.0 - 20.0).collect();
    let gains: Vec<f32> = numbers.iter().map(|x| x * 0.3 + 1.0).collect();
    let shifts: Vec<f32> = numbers.iter().map(|x| 5.0 - x * x).collect();
    for isa in Isa::available() {
        for (number, length) in
            (0..Map::COUNT).flat_map(|number| (0..numbers.len()).map(move |length| (number, length)))
        {
            let map = Map::numbered(number);
            assert_eq!(map.number(), number);
            let (run, gains, shifts) = (&numbers[..length], &gains[..length], &shifts[..length]);
            for (centre, scale) in [(0.3, -4.0), (-7.0, 0.1), (1.0, 0.0), (f32::INFINITY, 3.0)] {
                let mut found = vec![f32::MAX; numbers.len()];
                runs::map(isa, map, run, &mut found[..length], &With { centre, scale, gains, shifts });
                let all = run.iter().zip(gains).zip(shifts).zip(&found);
                for (at, (((&x, &gain), &shift), &found)) in all.enumerate() {
                    let x = if map.centre { x - centre } else { x };
                    let x = match map.scale {
                        None => x,
                        Some(Scale::Product) => x * scale,
                        Some(Scale::Quotient) => x / scale,
                    };
                    let x = if map.gain { x * gain } else { x };
                    let wanted = if map.shift { x + shift } else { x };
                    assert_eq!(found.bits(), wanted.bits(), "{map:?} at {at} of {length}, {}", isa.name());
                }
                assert!(found[length..].iter().all(|&x| x == f32::MAX));
            }
        }
    }
}
