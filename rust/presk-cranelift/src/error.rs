//! What keeps a kernel from becoming machine code.

use presk_kernel::ir::Place;
use thiserror::Error;

/// Why there is no code.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Error {
    /// The kernel doesn't pass the verifier.
    #[error(transparent)]
    Kernel(#[from] presk_kernel::Error),
    /// Larger than what is compiled in reasonable time.
    #[error("kernel {name} is too large to compile: {what}")]
    TooLarge {
        /// The kernel's name.
        name: String,
        /// What is too large, and the limit.
        what: String,
    },
    /// No loop of that depth may be divided.
    #[error("kernel {name} has no parallel loop at depth {depth}")]
    Depth {
        /// The kernel's name.
        name: String,
        /// The depth asked for.
        depth: usize,
    },
    /// The machine or the instruction set isn't one code is generated for.
    #[error("{0}")]
    Target(String),
    /// Cranelift refuses what it was given: presk's own fault.
    #[error("kernel {name}: the code generator failed: {what}")]
    Internal {
        /// The kernel's name.
        name: String,
        /// What Cranelift says.
        what: String,
    },
}

impl From<Error> for presk_rt::error::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Kernel(error) => error.into(),
            other => presk_rt::error::ErrorKind::Code(other.to_string()).anywhere(),
        }
    }
}

impl Error {
    /// Where in the kernel's text, of a fault the verifier found.
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Self::Kernel(error) => error.place,
            _ => Place::default(),
        }
    }
}
