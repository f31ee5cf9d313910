//! What a running presk program computes with: keys and draws, and the elementary functions.
//!
//! Everything here is a pure function of its arguments, so that any piece of a result can be computed on any thread.
//! Called by `presk-py`, and by the executors of schedules.

#![deny(unsafe_code)]

pub mod code;
pub mod draw;
pub mod elementary;
pub mod error;
pub mod float_mode;
pub mod key;
