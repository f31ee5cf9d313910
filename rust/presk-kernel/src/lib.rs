//! PSK-Kernel: the kernel text, its IR, the one verifier, the lane rewrite and the kernel interpreter.
//!
//! ```
//! use presk_kernel::{Options, Program, parse, verify};
//!
//! let text = "kernel double (%0 : f32[2]) -> %1 : f32[2] {\n  for i0 in 0..2 {\n    %1[i0] = (%0[i0] * 2)\n  }\n}\n";
//! let kernel = parse(text)?;
//! verify(&kernel)?;
//! assert_eq!(kernel.to_string(), text);
//! let input = [1.5f32, -4.0].map(f32::to_ne_bytes).concat();
//! let mut output = vec![0; 8];
//! Program::compile(&kernel)?.run(&[&input], &mut [&mut output], Options::default())?;
//! assert_eq!(output, [3.0f32, -8.0].map(f32::to_ne_bytes).concat());
//! # Ok::<(), presk_kernel::Error>(())
//! ```
//!
//! Kernel text is untrusted: whatever it holds, reading and verifying it end in a kernel or an [`Error`], in time and
//! memory proportional to the text. A [`Program`] is made of verified kernels alone.
#![forbid(unsafe_code)]

pub mod affine;
mod elaborate;
mod error;
pub mod expand;
pub mod forms;
pub mod interpret;
pub mod interval;
pub mod ir;
pub mod lanes;
mod lexer;
pub mod limits;
mod literal;
pub mod parallel;
pub mod print;
mod raw;
mod read;
pub mod runs;
mod share;
mod verify;
pub mod walk;
pub mod written;

pub use error::{Error, ErrorKind};
pub use interpret::{Options, Program};
pub use ir::Kernel;
pub use read::{parse, parse_all};
pub use verify::verify;
