//! The statement that reaches beyond sixteen bytes: a register tile of a contraction.

use super::{Access, Arithmetic};

/// A counter of a tile and its extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// N of iN. Not the variable of a loop around.
    pub variable: u32,
    /// Number of values, from 0.
    pub extent: u64,
}

/// `tile<lanes> iR in 0..m, iC in 0..n, iK in 0..k { sum = (left * right) }`: m × n sums, each taking its k products in
/// increasing order, from 0 or (`+=`) from where it stood. [`crate::expand`] is what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Rows, columns and depth.
    pub runs: [Run; 3],
    /// Columns to a vector, where the machine has vectors that wide.
    pub lanes: u64,
    /// Whether the sums go on from where they stand; else they begin at 0.
    pub continues: bool,
    /// Whether each multiplication and addition is one operation.
    pub fused: bool,
    /// The sum of a row and a column.
    pub sum: Access,
    /// The factor of a row and a term.
    pub left: Access,
    /// The factor of a term and a column.
    pub right: Access,
}

impl Tile {
    /// Most rows.
    pub const ROWS: u64 = 12;
    /// Most columns.
    pub const COLUMNS: u64 = 64;
    /// Most columns of one row.
    pub const ROW_COLUMNS: u64 = 4096;

    /// The lanes a tile may have: vectors of 32 or 64 bytes.
    #[must_use]
    pub fn lanes_of(arithmetic: Arithmetic) -> [u64; 2] {
        [32 / arithmetic.bytes(), 64 / arithmetic.bytes()]
    }

    /// The elements of operands and sums.
    #[must_use]
    pub fn accesses(&self) -> [&Access; 3] {
        [&self.sum, &self.left, &self.right]
    }
}
