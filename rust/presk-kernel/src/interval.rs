//! Ranges of integers: for the proof of bounds, and for how wide code computes them.

use crate::ir::{Division, Int, IntBinary};

/// All integers `low` … `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least.
    pub low: i64,
    /// The greatest.
    pub high: i64,
}

impl Interval {
    /// Every integer of 64 bits: what is known of one that may have wrapped.
    pub const FULL: Self = Self { low: i64::MIN, high: i64::MAX };

    /// The integers between two, both included.
    #[must_use]
    pub fn new(low: i64, high: i64) -> Self {
        Self { low, high }
    }

    /// 0 … size − 1; 0 alone where there is none.
    #[must_use]
    pub fn below(size: u64) -> Self {
        Self { low: 0, high: i64::try_from(size.saturating_sub(1)).unwrap_or(i64::MAX) }
    }

    /// The least interval holding both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The interval of exact bounds, or every integer where one of them leaves 64 bits and the operation may wrap.
    fn exact(bounds: impl IntoIterator<Item = i128>) -> Self {
        let (mut low, mut high) = (i128::MAX, i128::MIN);
        for bound in bounds {
            low = low.min(bound);
            high = high.max(bound);
        }
        match (i64::try_from(low), i64::try_from(high)) {
            (Ok(low), Ok(high)) => Self { low, high },
            _ => Self::FULL,
        }
    }

    fn corners(self) -> [i128; 2] {
        [i128::from(self.low), i128::from(self.high)]
    }

    fn negated(self) -> Self {
        Self::exact(self.corners().map(|bound| -bound))
    }

    fn magnitude(self) -> Self {
        if self.low >= 0 {
            return self;
        }
        let negated = self.negated();
        if self.high <= 0 || negated == Self::FULL { negated } else { Self::new(0, self.high.max(negated.high)) }
    }

    /// The range of an operation.
    #[must_use]
    pub fn binary(self, operator: IntBinary, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.corners(), other.corners());
        match operator {
            IntBinary::Add => Self::exact([a + c, b + d]),
            IntBinary::Sub => Self::exact([a - d, b - c]),
            IntBinary::Mul => Self::exact([a * c, a * d, b * c, b * d]),
            IntBinary::Max => Self::new(self.low.max(other.low), self.high.max(other.high)),
            IntBinary::Min => Self::new(self.low.min(other.low), self.high.min(other.high)),
        }
    }

    fn divided(self, division: Division, divisor: i64) -> Self {
        let (first, last) = (self.low.div_euclid(divisor), self.high.div_euclid(divisor));
        match division {
            Division::Quotient => Self::new(first, last),
            Division::Remainder if first == last => {
                Self::new(self.low.rem_euclid(divisor), self.high.rem_euclid(divisor))
            }
            Division::Remainder => Self::new(0, divisor - 1),
        }
    }
}

/// What is known where an integer is evaluated: ranges of counters, variables and loads. None: it has no value yet.
pub trait Ranges {
    /// Of a loop's counter.
    fn counter(&self, number: u32) -> Option<Interval>;
    /// Of a variable.
    fn variable(&self, number: u32) -> Option<Interval>;
    /// Of an element.
    fn load(&self, access: &crate::ir::Access) -> Interval;
}

/// The range of an integer; none where one of its variables has no value yet.
pub fn range(int: &Int, known: &impl Ranges) -> Option<Interval> {
    match int {
        Int::Constant(value) => Some(Interval::new(*value, *value)),
        Int::Counter(number) => known.counter(*number),
        Int::Variable(number) => known.variable(*number),
        Int::Load(access) => Some(known.load(access)),
        Int::Neg(operand) => Some(range(operand, known)?.negated()),
        Int::Abs(operand) => Some(range(operand, known)?.magnitude()),
        Int::Binary(operator, left, right) => Some(range(left, known)?.binary(*operator, range(right, known)?)),
        Int::Divide(division, operand, divisor) => Some(range(operand, known)?.divided(*division, *divisor)),
        Int::Select(_, a, b) => Some(range(a, known)?.join(range(b, known)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_loses_all_knowledge() {
        let big = Interval::new(0, i64::MAX);
        assert_eq!(big.binary(IntBinary::Add, Interval::new(0, 1)), Interval::FULL);
        assert_eq!(Interval::new(i64::MIN, 0).negated(), Interval::FULL);
        assert_eq!(Interval::new(i64::MIN, 5).magnitude(), Interval::FULL);
    }

    #[test]
    fn quotients_and_remainders_round_down() {
        let range = Interval::new(-3, 7);
        assert_eq!(range.divided(Division::Quotient, 4), Interval::new(-1, 1));
        assert_eq!(range.divided(Division::Remainder, 4), Interval::new(0, 3));
        assert_eq!(Interval::new(5, 6).divided(Division::Remainder, 4), Interval::new(1, 2));
    }
}
