//! Factors of a tile widened to the arithmetic type, into rows of a buffer: those that aren't of that type, and those that
//! end within a vector, which zeros fill up.

use super::real::Real;
use super::{Form, Kind};

/// A factor from some term on, as rows of elements. Strides are in bytes.
pub(super) struct Factor {
    first: *const u8,
    kind: Kind,
    row: isize,
    step: isize,
    scales: *const f32,
    scale_row: isize,
    scale_step: isize,
}

impl Factor {
    /// The left factor from a term on: its rows are the tile's, the elements terms.
    pub fn left(form: &Form, first: *const u8) -> Self {
        Self {
            first,
            kind: form.left,
            row: form.left_row as isize,
            step: form.left_step as isize,
            scales: std::ptr::null(),
            scale_row: 0,
            scale_step: 0,
        }
    }

    /// The right factor from a term on: its rows are terms, the elements columns, side by side.
    pub fn right<T: Real>(form: &Form, first: *const u8, scales: *const f32) -> Self {
        // Of int4 this is nothing: they are taken two to a byte.
        let step = form.right.bits::<T>() / 8;
        Self {
            first,
            kind: form.right,
            row: form.right_step as isize,
            step: step.cast_signed(),
            scales,
            scale_row: form.scale_step as isize,
            scale_step: form.scale_column as isize,
        }
    }
}

/// Widens `rows` rows of `count` elements to rows of `width` at `to`, what they lack being zeros.
///
/// Inlined into functions compiled for each instruction set, whose vectors its loops then run in.
///
/// # Safety
/// The factor has these elements (and scales, where it has any), `width` is no less than `count`, and `to` has room.
#[inline(always)]
pub(super) unsafe fn widen<T: Real>(factor: &Factor, rows: usize, count: usize, to: *mut T, width: usize) {
    for number in 0..rows {
        let from = factor.first.wrapping_offset(factor.row * number.cast_signed());
        let scales = factor.scales.wrapping_byte_offset(factor.scale_row * number.cast_signed());
        // SAFETY: `to` has room for `rows` rows of `width`; the row at hand is one of the factor's.
        unsafe {
            let row = std::slice::from_raw_parts_mut(to.add(number * width), count);
            match factor.kind {
                Kind::Own => fill(row, from.cast::<T>(), factor.step, |element| element),
                Kind::F32 => fill(row, from.cast::<f32>(), factor.step, T::from_f32),
                Kind::Bf16 => {
                    fill(row, from.cast::<u16>(), factor.step, |half| {
                        T::from_f32(f32::from_bits(u32::from(half) << 16))
                    });
                }
                Kind::Int8 if factor.scale_step == 0 => {
                    let scale = scales.read_unaligned();
                    fill(row, from.cast::<i8>(), factor.step, |q| T::from_f32(f32::from(q) * scale));
                }
                Kind::Int8 => {
                    for (column, place) in row.iter_mut().enumerate() {
                        let scale = scales.add(column).read_unaligned();
                        *place = T::from_f32(f32::from(from.cast::<i8>().add(column).read()) * scale);
                    }
                }
                Kind::Int4 => {
                    for (column, place) in row.iter_mut().enumerate() {
                        let byte = from.add(column / 2).read();
                        let q = (byte << (4 * (1 - column % 2))).cast_signed() >> 4;
                        let scale = scales.wrapping_byte_offset(factor.scale_step * column.cast_signed());
                        *place = T::from_f32(f32::from(q) * scale.read_unaligned());
                    }
                }
            }
            to.add(number * width + count).write_bytes(0, width - count);
        }
    }
}

/// Fills a row from elements `step` bytes apart.
///
/// # Safety
/// There are as many elements as the row has places.
#[inline(always)]
unsafe fn fill<T, E: Copy>(row: &mut [T], from: *const E, step: isize, widened: impl Fn(E) -> T) {
    if step == size_of::<E>().cast_signed() {
        for (number, place) in row.iter_mut().enumerate() {
            // SAFETY: as the caller vouches; elements lie side by side.
            *place = widened(unsafe { from.add(number).read_unaligned() });
        }
        return;
    }
    for (number, place) in row.iter_mut().enumerate() {
        // SAFETY: as the caller vouches.
        *place = widened(unsafe { from.byte_offset(step * number.cast_signed()).read_unaligned() });
    }
}

/// Rounds `rows` rows of `count` sums, side by side, to bf16 at rows `step` bytes apart.
///
/// Inlined into functions compiled for each instruction set, whose vectors its loops then run in.
///
/// # Safety
/// There are as many sums, and as many places, which overlap nothing.
#[inline(always)]
pub(super) unsafe fn narrow<T: Real>(sums: *const T, rows: usize, count: usize, to: *mut u16, step: isize) {
    for number in 0..rows {
        let row = to.wrapping_byte_offset(step * number.cast_signed());
        for column in 0..count {
            // SAFETY: as the caller vouches.
            unsafe { row.add(column).write_unaligned(sums.add(number * count + column).read().to_bf16()) };
        }
    }
}
