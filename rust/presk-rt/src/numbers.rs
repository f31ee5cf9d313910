//! Conversions between the float types at rest: each one rounding to nearest even, bf16 through f32.

/// A float type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// The upper half of a binary32.
    Bf16,
}

impl Float {
    /// Bytes of one.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }

    /// The name in texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }

    /// Element `at` of bytes, widened exactly. Panics past the end.
    #[must_use]
    pub fn get(self, bytes: &[u8], at: usize) -> f64 {
        match self {
            Self::F64 => f64::from_ne_bytes(bytes.as_chunks().0[at]),
            Self::F32 => f64::from(f32::from_ne_bytes(bytes.as_chunks().0[at])),
            Self::Bf16 => f64::from(widen_bf16(u16::from_ne_bytes(bytes.as_chunks().0[at]))),
        }
    }
}

/// The f32 nearest an f64.
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "the one rounding asked for")]
pub fn narrow(value: f64) -> f32 {
    value as f32
}

/// The bf16 nearest an f32, ties to even; a NaN stays one.
#[must_use]
pub fn narrow_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = if value.is_nan() { bits | 0x0040_0000 } else { bits + 0x7fff + (bits >> 16 & 1) };
    (rounded >> 16) as u16
}

/// The f32 a bf16 is.
#[must_use]
pub fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Converts every element. The caller holds the standard floating-point mode; lengths are those of as many elements.
pub fn convert(from: Float, source: &[u8], to: Float, target: &mut [u8]) {
    fn each<const N: usize, const M: usize>(source: &[u8], target: &mut [u8], change: impl Fn([u8; N]) -> [u8; M]) {
        for (value, out) in source.as_chunks().0.iter().zip(target.as_chunks_mut().0) {
            *out = change(*value);
        }
    }
    let f32_of = |bytes| f32::from_ne_bytes(bytes);
    let bf16_of = |bytes| widen_bf16(u16::from_ne_bytes(bytes));
    match (from, to) {
        (Float::F64, Float::F32) => each(source, target, |x| narrow(f64::from_ne_bytes(x)).to_ne_bytes()),
        (Float::F64, Float::Bf16) => {
            each(source, target, |x| narrow_bf16(narrow(f64::from_ne_bytes(x))).to_ne_bytes());
        }
        (Float::F32, Float::F64) => each(source, target, |x| f64::from(f32_of(x)).to_ne_bytes()),
        (Float::F32, Float::Bf16) => each(source, target, |x| narrow_bf16(f32_of(x)).to_ne_bytes()),
        (Float::Bf16, Float::F64) => each(source, target, |x| f64::from(bf16_of(x)).to_ne_bytes()),
        (Float::Bf16, Float::F32) => each(source, target, |x| bf16_of(x).to_ne_bytes()),
        _ => target.copy_from_slice(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_rounds_once_and_bf16_through_f32() {
        // Nearest to the upper bf16 by one rounding, a tie after the first of two: the lower, even one.
        let twice = 1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -40);
        let cases = [1.0, -0.0, f64::INFINITY, 1e39, 1e-46, 3.3e-39, 1.0 / 3.0, twice];
        for from in [Float::F64, Float::F32, Float::Bf16] {
            for to in [Float::F64, Float::F32, Float::Bf16] {
                for value in cases {
                    let single = if from == Float::F64 { value } else { f64::from(narrow(value)) };
                    let start =
                        if from == Float::Bf16 { f64::from(widen_bf16(narrow_bf16(narrow(value)))) } else { single };
                    let mut source = vec![0; from.bytes()];
                    convert(Float::F64, &start.to_ne_bytes(), from, &mut source);
                    let mut target = vec![0; to.bytes()];
                    convert(from, &source, to, &mut target);
                    let expected = match to {
                        Float::F64 => start,
                        Float::F32 => f64::from(narrow(start)),
                        Float::Bf16 => f64::from(widen_bf16(narrow_bf16(narrow(start)))),
                    };
                    assert_eq!(to.get(&target, 0).to_bits(), expected.to_bits(), "{value} {from:?} {to:?}");
                }
            }
        }
        assert_eq!(widen_bf16(narrow_bf16(narrow(twice))), 1.0);
        assert!(widen_bf16(narrow_bf16(f32::from_bits(0x7f80_0001))).is_nan());
    }
}
