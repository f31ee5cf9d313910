//! Elements in byte slices, in the machine's byte order, with no alignment asked for.

/// Element `at` of a slice of elements of N bytes; none past its end. A negative number is past every end.
#[inline]
pub fn get<const N: usize>(bytes: &[u8], at: i64) -> Option<[u8; N]> {
    bytes.as_chunks().0.get(usize::try_from(at.cast_unsigned()).ok()?).copied()
}

/// Overwrites element `at`; none past the slice's end.
#[inline]
pub fn set<const N: usize>(bytes: &mut [u8], at: i64, value: [u8; N]) -> Option<()> {
    *bytes.as_chunks_mut().0.get_mut(usize::try_from(at.cast_unsigned()).ok()?)? = value;
    Some(())
}

/// Element `at` of int4 rows: two to a byte, the low nibble first, each row beginning at a byte.
pub fn nibble(bytes: &[u8], at: u64, row: u64) -> Option<i8> {
    let (line, column) = (at / row, at % row);
    let byte = *bytes.get(usize::try_from(line * row.div_ceil(2) + column / 2).ok()?)?;
    let nibble = if column % 2 == 0 { byte << 4 } else { byte };
    Some(nibble.cast_signed() >> 4)
}
