//! What a running presk program computes with: schedules and their executor, the worker pool, keys and draws, and the
//! elementary functions.
//!
//! A schedule is untrusted text: [`schedule::read`] and [`verify::verify`] end in a schedule that is safe to run or in an
//! error. [`execute::Executable`] runs it over whatever computes its kernels ([`code::KernelCode`]). Every value is a
//! function of its place alone, so that any piece of a result can be computed on any thread. Called by `presk-py`.

#![deny(unsafe_code)]

pub mod code;
pub mod draw;
pub mod elementary;
pub mod error;
pub mod execute;
pub mod float_mode;
pub mod folds;
pub mod interpret;
pub mod interrupt;
pub mod isa;
pub mod key;
pub mod memory;
pub mod numbers;
pub mod pool;
pub mod runs;
pub mod schedule;
pub mod tile;
pub mod verify;
pub mod work;
