//! Tiles of one row: a vector times a matrix, where each element of the right factor is used once.
//!
//! Nothing is staged: what is narrower is widened in registers as it is read. Where the columns are more than registers
//! hold sums of, the row goes over all of them for a few terms, then for the next few, its sums waiting in the nearest
//! cache: so memory is read in long runs, and the terms that come next are asked for ahead. Fewer columns are a small part
//! of the matrix's rows, and the processor sees no stream of reads: then the columns to the right are asked for, which the
//! next tile takes.

use super::real::{Real, Vector};
use super::{Form, Kind, Operands};

/// How elements of the right factor are read.
pub(super) trait Read<V: Vector> {
    /// What is known of the scales before the first term.
    type Scales: Copy;
    /// Bits of an element.
    const BITS: usize;

    /// # Safety
    /// There is a scale for each lane, if there are any. As for [`Vector::zero`], as all that follow.
    unsafe fn scales(row: &Row<V::Real>, column: usize) -> Self::Scales;

    /// A vector of elements, widened and scaled, from a column on that is a multiple of the lanes.
    ///
    /// # Safety
    /// There are as many elements.
    unsafe fn read(from: *const u8, column: usize, scales: Self::Scales, scale: *const f32) -> V;
}

/// Elements of the arithmetic type.
pub(super) struct Own;
/// The upper halves of f32s.
pub(super) struct Bf16;
/// Integers of eight or four bits with a scale for each column.
pub(super) struct ByColumn<const BITS: usize>;
/// Integers of eight or four bits with a scale for each term.
pub(super) struct ByTerm<const BITS: usize>;

impl<V: Vector> Read<V> for Own {
    type Scales = ();
    const BITS: usize = 8 * size_of::<V::Real>();

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
    /// As many integers of four bits, two to a byte, the low one first.
    ///
    /// # Safety
    /// There are as many, from a byte's low one on.
    unsafe fn widen_int4(from: *const u8) -> Self;
    /// self · other.
    ///
    /// # Safety
    /// See [`Vector::zero`].
    unsafe fn times(self, other: Self) -> Self;
}

impl<V: Narrow> Read<V> for Bf16 {
    type Scales = ();
    const BITS: usize = 16;

    #[inline(always)]
    unsafe fn scales(_: &Row<f32>, _: usize) {}

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, (): (), _: *const f32) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::widen_bf16(from.cast::<u16>().add(column)) }
    }
}

/// Integers of so many bits from a column on.
///
/// # Safety
/// As for [`Read::read`].
#[inline(always)]
unsafe fn integers<V: Narrow, const BITS: usize>(from: *const u8, column: usize) -> V {
    // SAFETY: as the caller vouches; a column that is a multiple of the lanes begins at a byte.
    unsafe {
        if BITS == 8 { V::widen_int8(from.cast::<i8>().add(column)) } else { V::widen_int4(from.add(column / 2)) }
    }
}

impl<V: Narrow, const BITS: usize> Read<V> for ByColumn<BITS> {
    type Scales = V;
    const BITS: usize = BITS;

    #[inline(always)]
    unsafe fn scales(row: &Row<f32>, column: usize) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::load(row.scales.add(column)) }
    }

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, scales: V, _: *const f32) -> V {
        // SAFETY: as the caller vouches.
        unsafe { integers::<V, BITS>(from, column).times(scales) }
    }
}

impl<V: Narrow, const BITS: usize> Read<V> for ByTerm<BITS> {
    type Scales = ();
    const BITS: usize = BITS;

    #[inline(always)]
    unsafe fn scales(_: &Row<f32>, _: usize) {}

    #[inline(always)]
    unsafe fn read(from: *const u8, column: usize, (): (), scale: *const f32) -> V {
        // SAFETY: as the caller vouches; every term has a scale.
        unsafe { integers::<V, BITS>(from, column).times(V::broadcast(scale)) }
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
    pub(super) scales: *const f32,
    scale_step: i64,
    depth: u64,
    continues: bool,
    blocks: usize,
    /// From what is read to what is asked for.
    ahead: isize,
}

/// Asks for the cache line of an address, which need not be one, into the second cache.
#[inline(always)]
pub(super) fn ask_for(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults nowhere; SSE is there on every x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

const LINE: usize = 64;

/// Computes the row's blocks of N vectors, one after the other.
///
/// Inlined into functions compiled for the vector's instruction set.
///
/// # Safety
/// N vectors of sums for each block may be read and written and, for each of `depth` terms at the strides, a left factor, as
/// many vectors of right ones and their scales read; the sums overlap nothing else. The machine has the vector's instruction
/// set.
#[inline(always)]
pub(super) unsafe fn compute<V: Vector, R: Read<V>, const N: usize, const FUSED: bool>(row: &Row<V::Real>) {
    // SAFETY: every access is one that the caller vouches for.
    unsafe {
        let width = N * V::LANES * R::BITS / 8;
        for block in 0..row.blocks {
            let first = block * N * V::LANES;
            let mut sums = [V::zero(); N];
            if row.continues {
                for (number, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(row.sum.add(first + number * V::LANES));
                }
            }
            let scales: [R::Scales; N] = std::array::from_fn(|number| R::scales(row, first + number * V::LANES));
            let (mut left, mut right, mut scale) = (row.left, row.right.add(block * width), row.scales);
            for _ in 0..row.depth {
                for line in 0..width.div_ceil(LINE) {
                    ask_for(right.wrapping_offset(row.ahead).wrapping_add(line * LINE));
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
                sum.store(row.sum.add(first + number * V::LANES));
            }
        }
    }
}

/// [`compute`] compiled for an instruction set.
pub(super) type Compute<T> = unsafe fn(&Row<T>);

/// Of a way to read: eight vectors, four, two, one; each plain, then fused.
pub(super) type Widths<T> = [[Compute<T>; 2]; 4];

/// Integers by their scales: one for each column, one for each term.
pub(super) struct Scaled<T: 'static> {
    pub by_column: Widths<T>,
    pub by_term: Widths<T>,
}

/// What a vector widens in registers.
pub(super) struct Narrows<T: 'static> {
    pub bf16: Widths<T>,
    pub int8: Scaled<T>,
    pub int4: Scaled<T>,
    /// Integers of four bits where every scale is usual, if there is a faster way then.
    pub int4_usual: Option<Scaled<T>>,
}

/// The rows of an instruction set, by how the right factor is read; none for what is staged.
pub(super) struct Rows<T: 'static> {
    pub own: Widths<T>,
    pub narrow: Option<Narrows<T>>,
}

impl<T: Real> Rows<T> {
    /// The widths for a tile of one row; none where it is staged.
    ///
    /// # Safety
    /// As for [`super::run`].
    pub unsafe fn of(&self, form: &Form, operands: &Operands<T>) -> Option<&Widths<T>> {
        let scaled = match form.right {
            Kind::Own => return Some(&self.own),
            Kind::F32 => return None,
            Kind::Bf16 => return Some(&self.narrow.as_ref()?.bf16),
            Kind::Int8 => &self.narrow.as_ref()?.int8,
            Kind::Int4 => {
                let narrow = self.narrow.as_ref()?;
                // SAFETY: as the caller vouches.
                let usual = narrow.int4_usual.as_ref().filter(|_| unsafe { are_usual(form, operands.scales) });
                usual.unwrap_or(&narrow.int4)
            }
        };
        match (form.scale_step, form.scale_column) {
            (_, 0) => Some(&scaled.by_term),
            (0, _) => Some(&scaled.by_column),
            _ => None,
        }
    }
}

/// What an integer of four bits counts at the top of a lane, turned over.
pub(super) const DOWN: f32 = 1.0 / (1 << 28) as f32;

/// Whether a scale times [`DOWN`] is exact: the product of integer and scale is then the same real number, rounded once.
fn is_usual(scale: f32) -> bool {
    scale == 0.0 || scale.abs() >= f32::MIN_POSITIVE / DOWN || scale.is_nan()
}

/// Whether every scale of a tile is [`is_usual`].
///
/// # Safety
/// Each column and term has a scale at its stride.
unsafe fn are_usual(form: &Form, scales: *const f32) -> bool {
    let (count, step) = match (form.scale_step, form.scale_column) {
        (step, 0) => (form.depth, step),
        (_, step) => (u64::from(form.columns), step),
    };
    (0..count).all(|number| {
        let at = scales.wrapping_byte_offset(step as isize * number.cast_signed() as isize);
        // SAFETY: as the caller vouches.
        is_usual(unsafe { at.read_unaligned() })
    })
}

/// Terms at a time, where there are more columns than these.
const TERMS: u64 = 8;
const SHORT: usize = 64;

/// Computes a tile of one row, `width` columns in vectors of `lanes`.
///
/// # Safety
/// As for [`super::run`], of whole vectors; the left factor is of the arithmetic type, the right one what the functions
/// read, and these are of the machine's instruction set.
pub(super) unsafe fn all<T: Real>(form: &Form, operands: Operands<T>, widths: &Widths<T>, width: usize, lanes: usize) {
    let bits = form.right.bits::<T>();
    let is_long = width > SHORT;
    let terms = if is_long { TERMS } else { form.depth };
    let most = if is_long { SHORT / lanes } else { 8 };
    let mut done = 0;
    loop {
        let depth = terms.min(form.depth - done);
        let skipped = done.cast_signed() as isize;
        let first = operands.right.wrapping_offset(form.right_step as isize * skipped);
        let scales = operands.scales.wrapping_byte_offset(form.scale_step as isize * skipped);
        let mut column = 0;
        while column < width {
            let (taken, functions) = match ((width - column) / lanes).min(most) {
                8.. => (8, &widths[0]),
                4.. => (4, &widths[1]),
                2.. => (2, &widths[2]),
                _ => (1, &widths[3]),
            };
            let blocks = (width - column) / (taken * lanes);
            let right = taken * lanes * bits / 8;
            let row = Row {
                sum: operands.sum.wrapping_add(column),
                left: operands.left.wrapping_offset(form.left_step as isize * skipped).cast(),
                left_step: form.left_step,
                right: first.wrapping_add(column * bits / 8),
                right_step: form.right_step,
                scales: scales.wrapping_byte_add(column * form.scale_column as usize),
                scale_step: form.scale_step,
                depth,
                continues: form.continues || done > 0,
                blocks,
                ahead: if is_long { (TERMS.cast_signed() * form.right_step) as isize } else { right.cast_signed() },
            };
            // SAFETY: a part of what the caller vouches for.
            unsafe { functions[usize::from(form.fused)](&row) };
            column += blocks * taken * lanes;
        }
        done += depth;
        if done >= form.depth {
            return;
        }
    }
}
