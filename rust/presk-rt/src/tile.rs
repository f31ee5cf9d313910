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
use row::Widths;
use stage::Factor;

mod block;
#[cfg(target_arch = "aarch64")]
mod neon;
mod real;
mod row;
mod stage;
#[cfg(target_arch = "x86_64")]
mod tops;
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
    /// Half a byte and an f32 scale, the same; two to a byte, the low one first. A tile's first column begins a byte.
    Int4 = 4,
}

impl Kind {
    /// Bits of an element, T being the arithmetic type.
    fn bits<T>(self) -> usize {
        match self {
            Self::Own => 8 * size_of::<T>(),
            Self::F32 => 32,
            Self::Bf16 => 16,
            Self::Int8 => 8,
            Self::Int4 => 4,
        }
    }
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
    /// Columns, 1 … 64; of one row up to 4096.
    pub columns: u16,
    /// Columns of each term of the right factor, from the tile's first on, that may be read; no fewer than it has.
    pub readable: u16,
    /// Rows, 1 … 12.
    pub rows: u8,
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
    /// Whether the sums are stored as bf16, rounded once; they don't go on then.
    pub rounds: bool,
}

/// Words of eight bytes that a form has.
pub const WORDS: usize = size_of::<Form>() / 8;

impl Form {
    /// The form as it lies in memory, word by word.
    #[must_use]
    pub fn words(&self) -> [i64; WORDS] {
        let ([a, b], [c, d]) = (self.columns.to_ne_bytes(), self.readable.to_ne_bytes());
        let first = [a, b, c, d, self.rows, self.lanes, self.left as u8, self.right as u8];
        let flags = [self.continues, self.fused, self.rounds].map(u8::from);
        let second = [flags[0], flags[1], flags[2], 0, 0, 0, 0, 0];
        [
            self.sum_row,
            self.left_row,
            self.left_step,
            self.right_step,
            self.scale_step,
            self.scale_column,
            self.depth.cast_signed(),
            i64::from_ne_bytes(first),
            i64::from_ne_bytes(second),
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

/// Most rows and columns of a tile, most columns of one row, and the terms that are staged at a time.
const ROWS: usize = 12;
const COLUMNS: usize = 64;
const ROW_COLUMNS: usize = 4096;
const STAGED: usize = 64;
/// The same where the left factor alone is.
const LEFT_STAGED: usize = 256;
/// The same of one row.
const ROW_TERMS: usize = 1024;

/// Where a tile's operands lie.
#[derive(Clone, Copy)]
struct Operands<T> {
    sum: *mut T,
    left: *const u8,
    right: *const u8,
    scales: *const f32,
}

impl<T> Operands<T> {
    /// The operands from a column on, a multiple of two.
    fn at_column(self, form: &Form, column: usize) -> Self {
        Self {
            sum: self.sum.wrapping_add(column),
            right: self.right.wrapping_add(column * form.right.bits::<T>() / 8),
            scales: self.scales.wrapping_byte_add(column * form.scale_column as usize),
            ..self
        }
    }

    /// The operands from a term on.
    fn at_term(self, form: &Form, term: u64) -> Self {
        let term = term.cast_signed();
        Self {
            left: self.left.wrapping_offset((form.left_step * term) as isize),
            right: self.right.wrapping_offset((form.right_step * term) as isize),
            scales: self.scales.wrapping_byte_offset((form.scale_step * term) as isize),
            ..self
        }
    }
}

/// Computes a tile with the blocks of one instruction set.
///
/// # Safety
/// As for [`Routine`]; the machine has what the blocks are compiled for.
unsafe fn run<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>) {
    // SAFETY: as the caller vouches. Sums that are rounded lie in a buffer that has room for those of every tile.
    unsafe {
        if !form.rounds {
            return summed(form, operands, blocks);
        }
        let mut sums = MaybeUninit::<[T; ROW_COLUMNS]>::uninit();
        let (rows, columns) = (usize::from(form.rows), usize::from(form.columns));
        let own = Form { sum_row: (columns * size_of::<T>()) as i64, rounds: false, ..*form };
        summed(&own, Operands { sum: sums.as_mut_ptr().cast(), ..operands }, blocks);
        (blocks.narrow)(sums.as_ptr().cast(), rows, columns, operands.sum.cast(), form.sum_row as isize);
    }
}

/// A tile whose sums are of the arithmetic type.
///
/// # Safety
/// As for [`run`].
unsafe fn summed<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>) {
    // SAFETY: as the caller vouches, here and of each part.
    unsafe {
        if form.rows != 1 {
            return several(form, operands, blocks);
        }
        let columns = usize::from(form.columns);
        let mut column = 0;
        if let Some(widths) = blocks.rows.of(form, &operands) {
            column = columns - columns % blocks.lanes;
            if column > 0 {
                one(form, operands, blocks, widths, column);
            }
        }
        while column < columns {
            let taken = COLUMNS.min(columns - column);
            let readable = usize::from(form.readable) - column;
            let part = Form { columns: taken as u16, readable: readable as u16, ..*form };
            several(&part, operands.at_column(form, column), blocks);
            column += taken;
        }
    }
}

/// One row of whole vectors, `width` columns; a left factor of another type is widened first.
///
/// # Safety
/// As for [`run`].
unsafe fn one<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>, widths: &Widths<T>, width: usize) {
    if form.left == Kind::Own {
        // SAFETY: as the caller vouches.
        return unsafe { row::all(form, operands, widths, width, blocks.lanes) };
    }
    let mut lefts = MaybeUninit::<[T; ROW_TERMS]>::uninit();
    let lefts: *mut T = lefts.as_mut_ptr().cast();
    let mut done = 0;
    loop {
        let terms = (form.depth - done).min(ROW_TERMS as u64);
        let part = Form {
            left: Kind::Own,
            left_step: size_of::<T>() as i64,
            depth: terms,
            continues: form.continues || done > 0,
            ..*form
        };
        let here = operands.at_term(form, done);
        let factor = Factor::left(form, here.left);
        // SAFETY: as the caller vouches; the buffer has room for these terms.
        unsafe {
            (blocks.widen)(&factor, 1, terms as usize, lefts, terms as usize);
            row::all(&part, Operands { left: lefts.cast(), ..here }, widths, width, blocks.lanes);
        }
        done += terms;
        if done >= form.depth {
            return;
        }
    }
}

/// A tile of several rows, or of columns that one row has no functions for. Where its last columns fill no vector, its
/// sums are kept in a buffer whose rows are whole vectors.
///
/// # Safety
/// As for [`run`].
unsafe fn several<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>) {
    let (rows, columns) = (usize::from(form.rows), usize::from(form.columns));
    let width = columns.next_multiple_of(blocks.lanes);
    let block = Block {
        sum: operands.sum,
        sum_row: form.sum_row,
        left: operands.left.cast(),
        left_row: form.left_row,
        left_step: form.left_step,
        right: operands.right,
        right_step: form.right_step,
        depth: form.depth,
        continues: form.continues,
    };
    if width == columns {
        // SAFETY: as the caller vouches.
        return unsafe { terms(form, operands, blocks, width, block) };
    }
    let mut sums = MaybeUninit::<[T; ROWS * COLUMNS]>::uninit();
    let sums: *mut T = sums.as_mut_ptr().cast();
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
    let block = Block { sum: sums, sum_row: (COLUMNS * size_of::<T>()) as i64, continues: true, ..block };
    // SAFETY: the caller vouches for the factors; the block's sums are rows of whole vectors.
    unsafe { terms(form, operands, blocks, width, block) };
    for number in 0..rows {
        // SAFETY: as above, and the tile's sums may be written.
        unsafe { copy(sums.add(number * COLUMNS), row(number), columns) };
    }
}

/// The terms of a tile, whose block stands at the first of them: factors that blocks don't read where they lie are widened
/// first, of as many terms at a time as the buffers hold.
///
/// # Safety
/// As for [`run`]; the rows of the block's sums have `width` elements.
unsafe fn terms<T: Real>(form: &Form, operands: Operands<T>, blocks: &Blocks<T>, width: usize, mut block: Block<T>) {
    let (rows, columns) = (usize::from(form.rows), usize::from(form.columns));
    let is_in_place = blocks.of(form.right).is_some() && width <= usize::from(form.readable);
    if is_in_place && form.left == Kind::Own {
        // SAFETY: factors are read as they are, and whole vectors of the right one may be read.
        return unsafe { blocks.all(block, form.right, rows, width, form.fused) };
    }
    let mut lefts = MaybeUninit::<[T; ROWS * LEFT_STAGED]>::uninit();
    let mut rights = MaybeUninit::<[T; STAGED * COLUMNS]>::uninit();
    let (size, most) = (size_of::<T>(), if is_in_place { LEFT_STAGED } else { STAGED });
    let mut done = 0;
    loop {
        let terms = (form.depth - done).min(most as u64) as usize;
        let here = operands.at_term(form, done);
        block.left = here.left.cast();
        block.right = here.right;
        block.depth = terms as u64;
        // SAFETY: the buffers hold so many terms of ROWS rows and of COLUMNS columns; the factors of these terms are
        // among those the caller vouches for, and the block's are what the buffers were filled with.
        unsafe {
            if form.left != Kind::Own {
                let left = Factor::left(form, here.left);
                (blocks.widen)(&left, rows, terms, lefts.as_mut_ptr().cast(), terms);
                block.left = lefts.as_ptr().cast();
                (block.left_row, block.left_step) = ((terms * size) as i64, size as i64);
            }
            let mut kind = form.right;
            if !is_in_place {
                ask_ahead(form, here.right, terms, columns);
                let right = Factor::right::<T>(form, here.right, here.scales);
                (blocks.widen)(&right, terms, columns, rights.as_mut_ptr().cast(), width);
                block.right = rights.as_ptr().cast();
                block.right_step = (width * size) as i64;
                kind = Kind::Own;
            }
            blocks.all(block, kind, rows, width, form.fused);
        }
        block.continues = true;
        done += terms as u64;
        if done >= form.depth {
            return;
        }
    }
}

/// Asks for the columns to the right of some terms', which the next tile takes where the rows of a matrix are long.
fn ask_ahead(form: &Form, right: *const u8, terms: usize, columns: usize) {
    let next = right.wrapping_add(columns * form.right.bits::<u8>() / 8);
    for term in 0..terms {
        row::ask_for(next.wrapping_offset(form.right_step as isize * term.cast_signed()));
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
