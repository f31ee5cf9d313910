//! Blocks of a tile whose sums a machine's registers hold, and how tiles are cut into them.

use super::Kind;
use super::real::{Real, Vector};
use super::row::{Read, Rows};
use super::stage::Factor;

/// A block's operands: sums and left factors of the arithmetic type, right ones as the block reads them. Strides are in
/// bytes.
#[derive(Clone, Copy)]
pub(super) struct Block<T> {
    pub sum: *mut T,
    pub sum_row: i64,
    pub left: *const T,
    pub left_row: i64,
    pub left_step: i64,
    pub right: *const u8,
    pub right_step: i64,
    pub depth: u64,
    pub continues: bool,
}

const LINE: usize = 64;

/// Asks for the cache line of an address, which need not be one, as near as it can be.
#[inline(always)]
fn ask_for(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults nowhere; SSE is there on every x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Computes M rows of N vectors, whose right factors have no scales.
///
/// Inlined into functions compiled for the vector's instruction set.
///
/// # Safety
/// At the strides, M rows of N vectors of sums may be read and written, `depth` terms of M left factors and of N vectors
/// of right ones read; the sums overlap nothing else. The machine has the vector's instruction set.
#[inline(always)]
pub(super) unsafe fn compute<V: Vector, R: Read<V, Scales = ()>, const M: usize, const N: usize, const FUSED: bool>(
    block: &Block<V::Real>,
) {
    // SAFETY: every access is one that the caller vouches for.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        let row = |number: usize| block.sum.byte_offset(block.sum_row as isize * number.cast_signed());
        if block.continues {
            for (number, sums) in sums.iter_mut().enumerate() {
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(row(number).add(column * V::LANES));
                }
            }
        } else {
            // Nothing else asks for the sums' lines before they are stored, and the next block would wait for that.
            for number in 0..M {
                for line in 0..(N * size_of::<V>()).div_ceil(LINE) {
                    ask_for(row(number).wrapping_byte_add(line * LINE).cast());
                }
            }
        }
        let (mut left, mut right) = (block.left, block.right);
        for _ in 0..block.depth {
            let mut vectors = [V::zero(); N];
            for (column, vector) in vectors.iter_mut().enumerate() {
                *vector = R::read(right, column * V::LANES, (), std::ptr::null());
            }
            for (number, sums) in sums.iter_mut().enumerate() {
                let factor = V::broadcast(left.byte_offset(block.left_row as isize * number.cast_signed()));
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = sum.grown::<FUSED>(factor, vector);
                }
            }
            left = left.wrapping_byte_offset(block.left_step as isize);
            right = right.wrapping_byte_offset(block.right_step as isize);
        }
        for (number, sums) in sums.into_iter().enumerate() {
            for (column, sum) in sums.into_iter().enumerate() {
                sum.store(row(number).add(column * V::LANES));
            }
        }
    }
}

/// [`compute`] for some rows, vectors and fusing, [`super::stage::widen`] and [`super::stage::narrow`], compiled for an
/// instruction set.
pub(super) type Compute<T> = unsafe fn(&Block<T>);
pub(super) type Widen<T> = unsafe fn(&Factor, usize, usize, *mut T, usize);
pub(super) type Narrowing<T> = unsafe fn(*const T, usize, usize, *mut u16, isize);

/// Blocks by how the right factor is read: for one, two and four vectors those of each number of rows, from one on; each
/// plain, then fused.
pub(super) struct Heights<T: 'static> {
    pub single: [&'static [Compute<T>]; 2],
    pub double: [&'static [Compute<T>]; 2],
    pub quadruple: [&'static [Compute<T>]; 2],
}

/// The blocks of an instruction set.
pub(super) struct Blocks<T: 'static> {
    /// Columns to a vector.
    pub lanes: usize,
    pub own: Heights<T>,
    /// Of right factors that are bf16, where they are widened in registers.
    pub bf16: Option<Heights<T>>,
    pub widen: Widen<T>,
    pub narrow: Narrowing<T>,
    /// Tiles of one row.
    pub rows: Rows<T>,
}

/// Rows of four vectors that are sums enough to keep a processor busy.
const TALL: usize = 4;

impl<T: Real> Blocks<T> {
    /// The blocks that read right factors of a kind where they lie; none where these are staged.
    pub fn of(&self, kind: Kind) -> Option<&Heights<T>> {
        match kind {
            Kind::Own => Some(&self.own),
            Kind::Bf16 => self.bf16.as_ref(),
            Kind::F32 | Kind::Int8 | Kind::Int4 => None,
        }
    }

    /// Computes `rows` rows of `width` columns, a multiple of the lanes, the right factor being of a kind there are blocks
    /// for.
    ///
    /// # Safety
    /// As for [`compute`], with all rows and columns.
    pub unsafe fn all(&self, whole: Block<T>, kind: Kind, rows: usize, width: usize, fused: bool) {
        let Some(heights) = self.of(kind) else { unreachable!("what no block reads has been staged") };
        let bytes = kind.bits::<T>() / 8;
        let mut column = 0;
        while column < width {
            let vectors = (width - column) / self.lanes;
            let (blocks, taken) = heights.widest(rows, vectors, fused);
            // Rows in parts as equal as can be: a last one of a row or two would wait for its own sums.
            let parts = rows.div_ceil(blocks.len());
            let mut row = 0;
            for part in 0..parts {
                let height = (rows - row).div_ceil(parts - part);
                let block = Block {
                    sum: whole
                        .sum
                        .wrapping_byte_offset(whole.sum_row as isize * row.cast_signed())
                        .wrapping_add(column),
                    left: whole.left.wrapping_byte_offset(whole.left_row as isize * row.cast_signed()),
                    right: whole.right.wrapping_add(column * bytes),
                    ..whole
                };
                // SAFETY: a part of what the caller vouches for; the table is of the machine's instruction set.
                unsafe { blocks[height - 1](&block) };
                row += height;
            }
            column += taken * self.lanes;
        }
    }
}

impl<T: Real> Heights<T> {
    /// The blocks for the next columns, and how many vectors they take: four where these hold all rows or so many that a
    /// part of them waits for no sum, else two.
    fn widest(&self, rows: usize, vectors: usize, fused: bool) -> (&'static [Compute<T>], usize) {
        let fused = usize::from(fused);
        match vectors {
            4.. if rows.min(TALL) <= self.quadruple[fused].len() => (self.quadruple[fused], 4),
            2.. => (self.double[fused], 2),
            _ => (self.single[fused], 1),
        }
    }
}
