//! Machine code for kernels.
//!
//! A verified kernel becomes one function, by way of the lane rewrite and Cranelift, with the bits of the kernel
//! interpreter. docs/native.md describes the code; each module is one concern of it.
//!
//! Called by the executor of schedules through [`Native`], by `presk-py`, and by `explain` and `dump` for what it lists.

#![deny(unsafe_code)]

mod addresses;
mod broadcasts;
mod calls;
mod compiler;
mod conversions;
mod division;
mod error;
mod extremes;
mod folds;
mod generator;
mod held;
mod jit;
mod listing;
mod loads;
mod loops;
mod maps;
mod masks;
mod prepare;
mod scalars;
mod target;
mod tiles;
mod types;
mod unrolling;
mod vectors;

pub use compiler::{Native, compile, compile_all};
pub use error::Error;
pub use jit::Code;
pub use listing::{Instruction, Listing, bytes, clif, machine_code, optimised_clif};
pub use prepare::{MOST_NODES, Options};
pub use target::Target;
