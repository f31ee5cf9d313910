//! How large a kernel may be. Whatever exceeds one of these is refused by name, never truncated.

/// Bytes of kernel text.
pub const TEXT_BYTES: usize = 8 << 20;
/// Depth of blocks and expressions together, from the kernel's own block on.
pub const NESTING: usize = 128;
/// Inputs, outputs and scratch buffers of one kernel, each.
pub const BUFFERS: usize = 1024;
/// Axes of a buffer.
pub const RANK: usize = 64;
/// Elements of a buffer.
pub const ELEMENTS: u64 = 1 << 48;
/// Bytes of all scratch buffers of a kernel, which every worker holds.
pub const SCRATCH_BYTES: u64 = 1 << 30;
/// Rounds of all loops around a statement multiplied.
pub const ROUNDS: u64 = 1 << 62;
/// Number of a variable (`s4095` is the last).
pub const VARIABLE: u32 = 1 << 16;
/// V of `i64<V`.
pub const BOUND: u64 = 1 << 62;
/// Stores to an output that shares an input's buffer, when that input is read.
pub const SHARED_STORES: usize = 2048;
/// Statements of a kernel whose loops are rewritten to lanes; a larger one keeps its scalar loops.
pub const LANE_STATEMENTS: usize = 4096;
