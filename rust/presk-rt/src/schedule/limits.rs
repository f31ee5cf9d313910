//! How large a schedule may be. Whatever exceeds one of these is refused by name, never truncated.

/// Bytes of a schedule's text without its kernels.
pub const TEXT_BYTES: usize = 64 << 20;
/// Depth of loops.
pub const NESTING: usize = 60;
/// Number of a loop's counter (`l65535` is the last).
pub const COUNTERS: u32 = 1 << 16;
/// Buffers of a kind.
pub const BUFFERS: usize = 1 << 20;
/// Axes of a buffer or a shape.
pub const RANK: usize = 64;
/// Elements of a buffer, and bytes of the arena.
pub const ELEMENTS: u64 = 1 << 48;
/// Rounds of all loops around a step multiplied.
pub const ROUNDS: u64 = 1 << 62;
/// Steps of one call, all rounds of loops counted: hours, were each as short as one can be.
pub const STEPS: u64 = 1 << 40;
/// Weighted operations of one call ([`crate::work::all_operations`]): years of one core.
pub const OPERATIONS: u64 = 1 << 60;
