//! Division of integers by positive constants, rounded down, without a dividing instruction.
//!
//! Cranelift's divisions may trap and so never leave a loop; a high product and a shift do.

use cranelift_codegen::ir::{InstBuilder, Value};
use presk_kernel::affine::Affine;
use presk_kernel::ir::{Division, Int};

use crate::generator::Generator;

/// The multiplier and shift with which ⌊x / d⌋ = (x · multiplier ≫ 64) ≫ shift for all 0 ≤ x < 2⁶³; d > 1, no power of 2.
///
/// With s = ⌈log₂ d⌉ the multiplier is ⌈2^(63 + s) / d⌉ < 2⁶⁴; it exceeds the quotient by less than 1 = d / d ≤ 2^s / d, which
/// is what Granlund and Montgomery's theorem asks for numerators of 63 bits.
pub(crate) fn magic(divisor: u64) -> (u64, u32) {
    let bits = 64 - (divisor - 1).leading_zeros();
    let multiplier = (1u128 << (63 + bits)).div_ceil(u128::from(divisor));
    (u64::try_from(multiplier).expect("below 2⁶⁴, as 2^s < 2 d"), bits - 1)
}

impl<'k> Generator<'_, 'k> {
    pub(crate) fn divide(&mut self, division: Division, operand: &'k Int, divisor: i64) -> Value {
        let value = self.int(operand);
        if divisor.count_ones() == 1 {
            let bits = i64::from(divisor.trailing_zeros());
            return match division {
                Division::Quotient => self.builder.ins().sshr_imm_u(value, bits),
                Division::Remainder => self.builder.ins().band_imm_s(value, divisor - 1),
            };
        }
        let quotient = self.quotient(value, divisor, self.is_natural(operand));
        match division {
            Division::Quotient => quotient,
            Division::Remainder => {
                let whole = self.builder.ins().imul_imm_s(quotient, divisor);
                self.builder.ins().isub(value, whole)
            }
        }
    }

    fn quotient(&mut self, value: Value, divisor: i64, is_natural: bool) -> Value {
        let (multiplier, shift) = magic(divisor.cast_unsigned());
        let multiplier = self.whole(multiplier.cast_signed());
        if is_natural {
            let high = self.builder.ins().umulhi(value, multiplier);
            return self.builder.ins().ushr_imm_u(high, i64::from(shift));
        }
        // Below 0, ⌊x / d⌋ = −1 − ⌊(−1 − x) / d⌋, and −1 − x is x with all bits flipped.
        let sign = self.builder.ins().sshr_imm_u(value, 63);
        let flipped = self.builder.ins().bxor(value, sign);
        let high = self.builder.ins().umulhi(flipped, multiplier);
        let quotient = self.builder.ins().ushr_imm_u(high, i64::from(shift));
        self.builder.ins().bxor(quotient, sign)
    }

    /// Whether an integer is proven to be at least 0: made of the counters around it, in a range that is.
    fn is_natural(&self, operand: &Int) -> bool {
        let extent = |number: u32| {
            let counter = self.nest.iter().find(|counter| counter.number == number)?;
            Some(counter.extent)
        };
        Affine::of(operand)
            .and_then(|affine| affine.range(extent))
            .is_some_and(|(low, high)| low >= 0 && high <= i128::from(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        let divisors = (2..2000u64)
            .chain([u64::from(u32::MAX), (1 << 62) - 1, (1 << 62) + 1, i64::MAX.cast_unsigned(), 1_000_000_007])
            .filter(|divisor| !divisor.is_power_of_two());
        for divisor in divisors {
            let (multiplier, shift) = magic(divisor);
            let most = i64::MAX.cast_unsigned();
            let near = [0, 1, divisor - 1, divisor, divisor + 1, most, most - 1, most / divisor * divisor];
            let spread = (0..64u32).map(|bits| (most >> bits) ^ 0x55);
            for value in near.into_iter().chain(spread).chain((most / divisor * divisor).checked_sub(1)) {
                let value = value.min(most);
                let high = u64::try_from((u128::from(value) * u128::from(multiplier)) >> 64).unwrap();
                assert_eq!(high >> shift, value / divisor, "{value} / {divisor}");
            }
        }
    }
}
