//! Indices as affine functions of loop counters: constant + Σ coefficient · counter.

use std::collections::BTreeMap;

use crate::ir::{Int, IntBinary};

/// An affine function of loop counters. No coefficient is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Affine {
    /// The constant term.
    pub constant: i64,
    /// Coefficients by counter.
    pub terms: BTreeMap<u32, i64>,
}

impl Affine {
    /// A constant.
    #[must_use]
    pub fn constant(value: i64) -> Self {
        Self { constant: value, terms: BTreeMap::new() }
    }

    /// The affine function an integer is; none where it isn't one of counters alone, or leaves 64 bits.
    #[must_use]
    pub fn of(int: &Int) -> Option<Self> {
        match int {
            Int::Constant(value) => Some(Self::constant(*value)),
            Int::Counter(counter) => Some(Self { constant: 0, terms: BTreeMap::from([(*counter, 1)]) }),
            Int::Neg(operand) => Self::of(operand)?.scaled(-1),
            Int::Binary(operator, left, right) => {
                let (left, right) = (Self::of(left)?, Self::of(right)?);
                match operator {
                    IntBinary::Add => left.plus(&right),
                    IntBinary::Sub => left.plus(&right.scaled(-1)?),
                    IntBinary::Mul if right.terms.is_empty() => left.scaled(right.constant),
                    IntBinary::Mul if left.terms.is_empty() => right.scaled(left.constant),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The sum; none past 64 bits.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant)?;
        for (&counter, &coefficient) in &other.terms {
            let sum = self.coefficient(counter).checked_add(coefficient)?;
            if sum == 0 {
                self.terms.remove(&counter);
            } else {
                self.terms.insert(counter, sum);
            }
        }
        Some(self)
    }

    /// The product with a number; none past 64 bits.
    #[must_use]
    pub fn scaled(mut self, factor: i64) -> Option<Self> {
        if factor == 0 {
            return Some(Self::default());
        }
        self.constant = self.constant.checked_mul(factor)?;
        for coefficient in self.terms.values_mut() {
            *coefficient = coefficient.checked_mul(factor)?;
        }
        Some(self)
    }

    /// The coefficient of a counter, 0 where it doesn't occur.
    #[must_use]
    pub fn coefficient(&self, counter: u32) -> i64 {
        self.terms.get(&counter).copied().unwrap_or(0)
    }

    /// Least and greatest value with each counter in 0 … extent − 1; none where a counter has no extent or no round.
    pub fn range(&self, extent: impl Fn(u32) -> Option<u64>) -> Option<(i128, i128)> {
        let (mut low, mut high) = (i128::from(self.constant), i128::from(self.constant));
        for (&counter, &coefficient) in &self.terms {
            let last = i128::from(extent(counter)?.checked_sub(1)?) * i128::from(coefficient);
            low += last.min(0);
            high += last.max(0);
        }
        Some((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(number: u32) -> Box<Int> {
        Box::new(Int::Counter(number))
    }

    #[test]
    fn sums_and_products_are_collected() {
        let scaled = Int::Binary(IntBinary::Mul, counter(1), Box::new(Int::Constant(4)));
        let sum = Int::Binary(IntBinary::Sub, Box::new(scaled), counter(0));
        let affine = Affine::of(&sum).unwrap();
        assert_eq!((affine.coefficient(1), affine.coefficient(0), affine.constant), (4, -1, 0));
        assert_eq!(affine.range(|_| Some(3)), Some((-2, 8)));
        let gone = Int::Binary(IntBinary::Sub, counter(0), counter(0));
        assert_eq!(Affine::of(&gone), Some(Affine::default()));
        assert_eq!(Affine::of(&Int::Binary(IntBinary::Mul, counter(0), counter(1))), None);
    }
}
