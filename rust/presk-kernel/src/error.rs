//! What can be wrong with kernel text, with a kernel, or with the buffers it is run on.

use thiserror::Error;

use crate::ir::Place;

/// An error, and where in the text.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{}{kind}", show(*.place))]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Where; line 0 where no text is involved.
    pub place: Place,
}

fn show(place: Place) -> String {
    if place.line == 0 { String::new() } else { format!("{}:{}: ", place.line, place.column) }
}

/// What is wrong. Each kind has a diagnostic code of its own.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text doesn't follow the grammar.
    #[error("{0}")]
    Syntax(String),
    /// A value or a buffer is of another type than its place wants.
    #[error("{0}")]
    Type(String),
    /// An index isn't proven to lie within its axis.
    #[error("{access}: index {axis} is {low} to {high}, which is not proven to lie in 0..{size}")]
    Bounds {
        /// The buffer's name.
        access: String,
        /// Position of the index, from 0.
        axis: usize,
        /// Least value the analysis allows.
        low: i64,
        /// Greatest value the analysis allows (a vector's last lane).
        high: i64,
        /// Size of the axis, or V of the `i64<V` buffer stored to.
        size: u64,
    },
    /// A variable is read where it may be unassigned, or a counter outside of its loop.
    #[error("{0}")]
    Unassigned(String),
    /// An output shares an input's buffer, and a read of the input may come after the element was overwritten.
    #[error("{0}")]
    Shared(String),
    /// Larger than presk takes.
    #[error("{what} exceeds {limit}")]
    Limit {
        /// What is too large.
        what: String,
        /// The greatest allowed.
        limit: u64,
    },
    /// The buffers of a run are not those the kernel declares.
    #[error("{0}")]
    Arguments(String),
    /// Found by the shadow map: an element is read before it is written, or an output's element never is.
    #[error("{0}")]
    Unwritten(String),
    /// A tile's operands don't lie as the routines of tiles read them.
    #[error("{0}")]
    Tile(String),
    /// Whoever watches a run asked it to end.
    #[error("the run was interrupted; what it writes holds no result")]
    Interrupted,
    /// An element of an `i64<V` input isn't in 0 … V − 1.
    #[error("{0}")]
    Value(String),
}

impl ErrorKind {
    /// The diagnostic code, as documented in the package's table of codes.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "E9201",
            Self::Type(_) => "E9202",
            Self::Bounds { .. } => "E9203",
            Self::Unassigned(_) => "E9204",
            Self::Shared(_) => "E9205",
            Self::Limit { .. } => "E9206",
            Self::Arguments(_) => "E9207",
            Self::Unwritten(_) => "E9208",
            Self::Value(_) => "E9209",
            Self::Tile(_) => "E9219",
            Self::Interrupted => "E9230",
        }
    }

    /// This error at a place.
    #[must_use]
    pub fn at(self, place: Place) -> Error {
        Error { kind: self, place }
    }
}
