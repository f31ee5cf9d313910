//! What can be wrong with a schedule's text, with a schedule, or with a run of it.

use thiserror::Error;

/// An error, and where in the text.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{}{kind}", show(*.line, *.column))]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The line from 1; 0 where no text is involved.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

fn show(line: u32, column: u32) -> String {
    if line == 0 { String::new() } else { format!("{line}:{column}: ") }
}

/// What is wrong. Each kind has a diagnostic code of its own.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ErrorKind {
    /// A kernel of the schedule, in its text or while it ran.
    #[error("{0}")]
    Kernel(presk_kernel::ErrorKind),
    /// The text doesn't follow the grammar.
    #[error("{0}")]
    Syntax(String),
    /// A step's buffers aren't what the step or its kernel wants.
    #[error("{0}")]
    Type(String),
    /// A view isn't proven to lie in its buffer, or a buffer in the arena.
    #[error("{0}")]
    Bounds(String),
    /// What a step writes may overlap what it reads or writes besides.
    #[error("{0}")]
    Overlap(String),
    /// Larger than presk takes.
    #[error("{what} exceeds {limit}")]
    Limit {
        /// What is too large.
        what: String,
        /// The greatest allowed.
        limit: u64,
    },
    /// The arrays of a run are not those the schedule declares.
    #[error("{0}")]
    Arguments(String),
    /// An element of an index input isn't below its bound.
    #[error("{0}")]
    Index(String),
    /// A draw whose coordinates leave 64 bits, or a sample whose settings have no meaning.
    #[error("{0}")]
    Draw(String),
    /// There is no memory for so many bytes.
    #[error("there is no memory for {0} bytes")]
    Memory(u64),
    /// A worker stopped in the middle of a piece: presk's own fault.
    #[error("a worker stopped: {0}")]
    Panicked(String),
    /// The caller asked a running call to end.
    #[error("the call was interrupted; what it writes holds no result")]
    Interrupted,
    /// A kernel the code generator can't compile.
    #[error("{0}")]
    Code(String),
}

impl ErrorKind {
    /// The diagnostic code, as documented in the package's table of codes.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Kernel(kind) => kind.code(),
            Self::Syntax(_) => "E9211",
            Self::Type(_) => "E9212",
            Self::Bounds(_) => "E9213",
            Self::Overlap(_) => "E9214",
            Self::Limit { .. } => "E9215",
            Self::Arguments(_) => "E9216",
            Self::Panicked(_) => "E9217",
            Self::Code(_) => "E9218",
            Self::Interrupted => "E9230",
            Self::Index(_) => "E6002",
            Self::Draw(_) => "E6020",
            Self::Memory(_) => "E9004",
        }
    }

    /// This error at no place in a text.
    #[must_use]
    pub fn anywhere(self) -> Error {
        Error { kind: self, line: 0, column: 0 }
    }
}

impl From<presk_kernel::Error> for Error {
    fn from(error: presk_kernel::Error) -> Self {
        if error.kind == presk_kernel::ErrorKind::Interrupted {
            return ErrorKind::Interrupted.anywhere();
        }
        Self { kind: ErrorKind::Kernel(error.kind), line: error.place.line, column: error.place.column }
    }
}
