//! Register tiles of contractions, wider than the code generator's sixteen bytes: one routine for each instruction set.
//!
//! A tile is m × n sums, each of which takes its k products in increasing order, one multiplication and one addition (or
//! one fused operation) a term: `presk_kernel::expand` is what it means, and every routine here has its bits. Lanes run
//! across columns and never across k, so which vectors a machine has changes nothing. A routine cuts the tile into blocks
//! that its registers hold ([`block`]); factors that aren't of the arithmetic type, and columns that no full vector may be
//! read of, are first widened into a buffer of its own, a run of k at a time ([`stage`]).
//!
//! Which routine runs is chosen when code is generated ([`Isa`]). Called by that code alone.

#![allow(unsafe_code, reason = "tiles are read and written through the pointers that generated code has")]

use std::mem::MaybeUninit;

use crate::isa::Isa;
use block::{Block, Blocks};
use real::Real;
use stage::Factor;

mod block;
#[cfg(target_arch = "aarch64")]
mod neon;
mod real;
mod row;
mod stage;
#[cfg(target_arch = "x86_64")]
mod x86;

/// What an element of a factor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The arithmetic type: read in place.
    Own = 0,
    /// An f32 in an f64 tile.
    F32 = 1,
    /// The upper half of an f32.
    Bf16 = 2,
    /// A byte and an f32 scale: f32(q)·s, rounded once in f32.
    Int8 = 3,
}

/// What is known of a tile when code is generated. Strides are in bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Form {
    /// From a row of the sums to the next; columns follow one another.
    pub sum_row: i64,
    /// From a row of the left factor to the next.
    pub left_row: i64,
    /// From a term of the left factor to the next.
    pub left_step: i64,
    /// From a term of the right factor to the next; columns follow one another.
    pub right_step: i64,
    /// From the scale of a term to that of the next.
    pub scale_step: i64,
    /// From the scale of a column to that of the next: 0 or 4.
    pub scale_column: i64,
    /// Terms.
    pub depth: u64,
    /// Rows, 1 … 12.
    pub rows: u8,
    /// Columns, 1 … 64.
    pub columns: u8,
    /// Columns of each term of the right factor, from the tile's first on, that may be read; no fewer than it has.
    pub readable: u8,
    /// Columns to a vector, at most.
    pub lanes: u8,
    /// The left factor's elements.
    pub left: Kind,
    /// The right factor's elements.
    pub right: Kind,
    /// Whether the sums go on from where they stand.
    pub continues: bool,
    /// Whether a multiplication and its addition are one operation.
    pub fused: bool,
}

/// Words of eight bytes that a form has.
pub const WORDS: usize = size_of::<Form>() / 8;

impl Form {
    /// The form as it lies in memory, word by word.
    #[must_use]
    pub fn words(&self) -> [i64; WORDS] {
        let small = [
            self.rows,
            self.columns,
            self.readable,
            self.lanes,
            self.left as u8,
            self.right as u8,
            u8::from(self.continues),
            u8::from(self.fused),
        ];
        [
            self.sum_row,
            self.left_row,
            self.left_step,
            self.right_step,
            self.scale_step,
            self.scale_column,
            self.depth.cast_signed(),
            i64::from_ne_bytes(small),
        ]
    }
}

/// Computes one tile: its form, the first sum, the first factors, the first scale of the right one (or null).
///
/// # Safety
/// The form is one that [`Form::words`] gave, within the bounds its fields state. At its strides, all sums may be read and
/// written and all factors and scales read, `readable` columns of the right one; nothing else touches the sums meanwhile,
/// and the sums overlap no factor and each other nowhere. Nothing need be aligned. The machine has the instruction set.
pub type Routine = unsafe extern "C" fn(*const Form, *mut u8, *const u8, *const u8, *const f32);

/// The routine for tiles of f32 of an instruction set.
#[must_use]
pub fn routine_f32(isa: Isa) -> Routine {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => x86::avx512_f32,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => x86::avx2_f32,
        #[cfg(target_arch = "x86_64")]
        Isa::Baseline => x86::baseline_f32,
        #[cfg(target_arch = "aarch64")]
        _ => neon::baseline_f32,
    }
}

/// The routine for tiles of f64 of an instruction set.
#[must_use]
pub fn routine_f64(isa: Isa) -> Routine {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => x86::avx512_f64,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => x86::avx2_f64,
        #[cfg(target_arch = "x86_64")]
        Isa::Baseline => x86::baseline_f64,
        #[cfg(target_arch = "aarch64")]
        _ => neon::baseline_f64,
    }
}

/// Most rows and columns of a tile, and the terms that are staged at a time.
const ROWS: usize = 12;
const COLUMNS: usize = 64;
const STAGED: usize = 64;

/// Where a tile's operands lie.
#[derive(Clone, Copy)]
struct Operands<T> {
    sum: *mut T,
    left: *const u8,
    right: *const u8,
    scales: *const f32,
}

/// Computes a tile with the blocks of one instruction set.
///
/// # Safety
/// As for [`Routine`]; the machine has what the blocks are compiled for.
unsafe fn run<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>) {
    let columns = usize::from(form.columns);
    let width = columns.next_multiple_of(blocks.lanes);
    let is_whole = width == columns;
    let is_row = form.rows == 1 && is_whole && width <= usize::from(form.readable) && form.left == Kind::Own;
    if is_row && let Some(widths) = blocks.rows.of(form) {
        // SAFETY: as the caller vouches, whole vectors lie within what may be read.
        return unsafe { row::all(form, operands, widths, width, blocks.lanes) };
    }
    let is_in_place = form.right == Kind::Own && width <= usize::from(form.readable) && form.left == Kind::Own;
    if is_whole && is_in_place {
        let block = Block {
            sum: operands.sum,
            sum_row: form.sum_row,
            left: operands.left.cast(),
            left_row: form.left_row,
            left_step: form.left_step,
            right: operands.right.cast(),
            right_step: form.right_step,
            depth: form.depth,
            continues: form.continues,
        };
        // SAFETY: the operands are of the arithmetic type and every vector of them lies within what the caller vouches for.
        return unsafe { blocks.all(block, usize::from(form.rows), width, form.fused) };
    }
    // SAFETY: as the caller vouches.
    unsafe { staged(form, operands, blocks, width, is_in_place) };
}

/// A tile whose factors are widened first, or whose last columns fill no vector: its sums are kept in a buffer whose
/// rows are whole vectors.
///
/// # Safety
/// As for [`run`].
unsafe fn staged<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>, width: usize, is_in_place: bool) {
    let (rows, columns) = (usize::from(form.rows), usize::from(form.columns));
    let mut sums = MaybeUninit::<[T; ROWS * COLUMNS]>::uninit();
    let sums: *mut T = sums.as_mut_ptr().cast();
    let size = size_of::<T>();
    let row = |number: usize| operands.sum.wrapping_byte_offset(form.sum_row as isize * number.cast_signed());
    for number in 0..rows {
        // SAFETY: a row of the buffer has COLUMNS elements, no fewer than `width`; the tile's rows are readable.
        unsafe {
            let kept = sums.add(number * COLUMNS);
            kept.add(columns).write_bytes(0, width - columns);
            if form.continues {
                copy(row(number), kept, columns);
            } else {
                kept.write_bytes(0, columns);
            }
        }
    }
    let block = Block {
        sum: sums,
        sum_row: (COLUMNS * size) as i64,
        left: operands.left.cast(),
        left_row: form.left_row,
        left_step: form.left_step,
        right: operands.right.cast(),
        right_step: form.right_step,
        depth: form.depth,
        continues: true,
    };
    if is_in_place {
        // SAFETY: factors are of the arithmetic type, and whole vectors of the right one may be read.
        unsafe { blocks.all(block, rows, width, form.fused) };
    } else {
        // SAFETY: the caller vouches for the factors; the block's sums are rows of whole vectors.
        unsafe { widened(form, operands, blocks, width, block) };
    }
    for number in 0..rows {
        // SAFETY: as above, and the tile's sums may be written.
        unsafe { copy(sums.add(number * COLUMNS), row(number), columns) };
    }
}

/// The terms of a tile whose factors are widened first, as many at a time as the buffers hold, added to a block's sums.
///
/// # Safety
/// As for [`run`]; the rows of the block's sums have `width` elements.
unsafe fn widened<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>, width: usize, mut block: Block<T>) {
    let (rows, columns) = (usize::from(form.rows), usize::from(form.columns));
    let mut lefts = MaybeUninit::<[T; ROWS * STAGED]>::uninit();
    let mut rights = MaybeUninit::<[T; STAGED * COLUMNS]>::uninit();
    let size = size_of::<T>();
    let mut done = 0;
    while done < form.depth {
        let terms = (form.depth - done).min(STAGED as u64) as usize;
        let left = Factor::left(form, operands.left, done as isize);
        let right = Factor::right::<T>(form, operands.right, operands.scales, done as isize);
        block.left = left.first().cast();
        block.depth = terms as u64;
        // SAFETY: the buffers hold STAGED terms of ROWS rows and of COLUMNS columns; the factors of these terms are
        // among those the caller vouches for, and the block's are what the buffers were filled with.
        unsafe {
            if form.left != Kind::Own {
                (blocks.widen)(&left, rows, terms, lefts.as_mut_ptr().cast(), terms);
                block.left = lefts.as_ptr().cast();
                (block.left_row, block.left_step) = ((terms * size) as i64, size as i64);
            }
            (blocks.widen)(&right, terms, columns, rights.as_mut_ptr().cast(), width);
            block.right = rights.as_ptr().cast();
            block.right_step = (width * size) as i64;
            blocks.all(block, rows, width, form.fused);
        }
        done += terms as u64;
    }
}

/// Copies reals, which need not be aligned.
///
/// # Safety
/// There are as many to read and as many places to write, elsewhere.
unsafe fn copy<T: Real>(from: *const T, to: *mut T, count: usize) {
    // SAFETY: as the caller vouches; bytes have no alignment.
    unsafe { from.cast::<u8>().copy_to_nonoverlapping(to.cast(), count * size_of::<T>()) };
}
