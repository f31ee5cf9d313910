//! Tiles of one row: a vector times a matrix, where each element of the right factor is used once.
//!
//! Nothing is staged: what is narrower is widened in registers as it is read. And since the tile's columns are a small
//! part of the matrix's rows, so that the processor sees no stream of reads, the columns to the right, which the next tile
//! takes, are asked for ahead.

use super::real::{Real, Vector};
use super::{Form, Kind, Operands};

/// How elements of the right factor are read.
pub(super) trait Read<V: Vector> {
    /// What is known of the scales before the first term.
    type Scales: Copy;
    /// Bytes of an element.
    const BYTES: usize;

    /// # Safety
    /// There is a scale for each lane, if there are any. As for [`Vector::zero`], as all that follow.
    unsafe fn scales(row: &Row<V::Real>, column: usize) -> Self::Scales;

    /// A vector of elements, widened and scaled.
    ///
    /// # Safety
    /// There are as many elements.
    unsafe fn read(from: *const u8, column: usize, scales: Self::Scales, scale: *const f32) -> V;
}

/// Elements of the arithmetic type.
pub(super) struct Own;
/// The upper halves of f32s.
pub(super) struct Bf16;
/// Bytes with a scale for each column.
pub(super) struct ByColumn;
/// Bytes with a scale for each term.
pub(super) struct ByTerm;

impl<V: Vector> Read<V> for Own {
    type Scales = ();
    const BYTES: usize = size_of::<V::Real>();

    #[inline(always)]
    unsafe fn scales(_: &Row<V::Real>, _: usize) {}

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, (): (), _: *const f32) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::load(from.cast::<V::Real>().add(column)) }
    }
}

/// A vector of f32 that widens what it loads.
pub(super) trait Narrow: Vector<Real = f32> {
    /// As many bf16.
    ///
    /// # Safety
    /// There are as many.
    unsafe fn widen_bf16(from: *const u16) -> Self;
    /// As many integers of a byte.
    ///
    /// # Safety
    /// There are as many.
    unsafe fn widen_int8(from: *const i8) -> Self;
    /// self · other.
    ///
    /// # Safety
    /// See [`Vector::zero`].
    unsafe fn times(self, other: Self) -> Self;
}

impl<V: Narrow> Read<V> for Bf16 {
    type Scales = ();
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn scales(_: &Row<f32>, _: usize) {}

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, (): (), _: *const f32) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::widen_bf16(from.cast::<u16>().add(column)) }
    }
}

impl<V: Narrow> Read<V> for ByColumn {
    type Scales = V;
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn scales(row: &Row<f32>, column: usize) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::load(row.scales.add(column)) }
    }

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, scales: V, _: *const f32) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::widen_int8(from.cast::<i8>().add(column)).times(scales) }
    }
}

impl<V: Narrow> Read<V> for ByTerm {
    type Scales = ();
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn scales(_: &Row<f32>, _: usize) {}

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, (): (), scale: *const f32) -> V {
        // SAFETY: as the caller vouches; every term has a scale.
        unsafe { V::widen_int8(from.cast::<i8>().add(column)).times(V::broadcast(scale)) }
    }
}

/// A row's operands. Strides are in bytes.
#[derive(Clone, Copy)]
pub(super) struct Row<T> {
    sum: *mut T,
    left: *const T,
    left_step: i64,
    right: *const u8,
    right_step: i64,
    scales: *const f32,
    scale_step: i64,
    depth: u64,
    continues: bool,
}

/// Asks for the cache line of an address, which need not be one.
#[inline(always)]
fn ask_for(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults nowhere; SSE is there on every x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

const LINE: usize = 64;

/// Computes N vectors of the row.
///
/// Inlined into functions compiled for the vector's instruction set.
///
/// # Safety
/// N vectors of sums may be read and written and, for each of `depth` terms at the strides, a left factor, N vectors of
/// right ones and their scales read; the sums overlap nothing else. The machine has the vector's instruction set.
#[inline(always)]
pub(super) unsafe fn compute<V: Vector, R: Read<V>, const N: usize, const FUSED: bool>(row: &Row<V::Real>) {
    // SAFETY: every access is one that the caller vouches for.
    unsafe {
        let mut sums = [V::zero(); N];
        if row.continues {
            for (number, sum) in sums.iter_mut().enumerate() {
                *sum = V::load(row.sum.add(number * V::LANES));
            }
        }
        let scales: [R::Scales; N] = std::array::from_fn(|number| R::scales(row, number * V::LANES));
        let width = N * V::LANES * R::BYTES;
        let (mut left, mut right, mut scale) = (row.left, row.right, row.scales);
        for _ in 0..row.depth {
            for line in 0..width.div_ceil(LINE) {
                ask_for(right.wrapping_add(width + line * LINE));
            }
            let factor = V::broadcast(left);
            for (number, (sum, &scales)) in sums.iter_mut().zip(&scales).enumerate() {
                *sum = sum.grown::<FUSED>(factor, R::read(right, number * V::LANES, scales, scale));
            }
            left = left.wrapping_byte_offset(row.left_step as isize);
            right = right.wrapping_offset(row.right_step as isize);
            scale = scale.wrapping_byte_offset(row.scale_step as isize);
        }
        for (number, sum) in sums.into_iter().enumerate() {
            sum.store(row.sum.add(number * V::LANES));
        }
    }
}

/// [`compute`] compiled for an instruction set.
pub(super) type Compute<T> = unsafe fn(&Row<T>);

/// Of a way to read: eight vectors, two, one; each plain, then fused.
pub(super) type Widths<T> = [[Compute<T>; 2]; 3];

/// The rows of an instruction set, by how the right factor is read; none for what is staged.
pub(super) struct Rows<T: 'static> {
    pub own: Widths<T>,
    pub bf16: Option<Widths<T>>,
    pub by_column: Option<Widths<T>>,
    pub by_term: Option<Widths<T>>,
}

impl<T: Real> Rows<T> {
    /// The widths for a tile of one row whose right factor may be read in whole vectors; none where it is staged.
    pub fn of(&self, form: &Form) -> Option<&Widths<T>> {
        match form.right {
            Kind::Own => Some(&self.own),
            Kind::Bf16 => self.bf16.as_ref(),
            Kind::Int8 if form.scale_step == 0 && form.scale_column != 0 => self.by_column.as_ref(),
            Kind::Int8 if form.scale_column == 0 => self.by_term.as_ref(),
            Kind::F32 | Kind::Int8 => None,
        }
    }
}

/// Computes a tile of one row, `width` columns in vectors of `lanes`.
///
/// # Safety
/// As for [`super::run`], of whole vectors; the left factor is of the arithmetic type, the right one what the functions
/// read, and these are of the machine's instruction set.
pub(super) unsafe fn all<T: Real>(form: &Form, operands: Operands<T>, widths: &Widths<T>, width: usize, lanes: usize) {
    let size = match form.right {
        Kind::Own => size_of::<T>(),
        Kind::F32 => 4,
        Kind::Bf16 => 2,
        Kind::Int8 => 1,
    };
    let mut column = 0;
    while column < width {
        let (taken, functions) = match (width - column) / lanes {
            8.. => (8, &widths[0]),
            2.. => (2, &widths[1]),
            _ => (1, &widths[2]),
        };
        let row = Row {
            sum: operands.sum.wrapping_add(column),
            left: operands.left.cast(),
            left_step: form.left_step,
            right: operands.right.wrapping_add(column * size),
            right_step: form.right_step,
            scales: operands.scales.wrapping_byte_add(column * form.scale_column as usize),
            scale_step: form.scale_step,
            depth: form.depth,
            continues: form.continues,
        };
        // SAFETY: a part of what the caller vouches for.
        unsafe { functions[usize::from(form.fused)](&row) };
        column += taken * lanes;
    }
}
