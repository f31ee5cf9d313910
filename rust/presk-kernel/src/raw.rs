//! Expressions as they are written, before their types are known. The reader makes them, [`crate::elaborate`] types them.

use crate::ir::{Buffer, Place};

/// An expression and where it begins.
#[derive(Debug)]
pub struct Raw<'t> {
    pub kind: RawKind<'t>,
    pub place: Place,
}

/// `vector` marks `<v>`.
#[derive(Debug)]
pub enum RawKind<'t> {
    Number { text: &'t str, negative: bool },
    Infinity { negative: bool },
    Nan,
    Truth(bool),
    Variable(VariableKind, u32),
    Load { access: RawAccess<'t>, vector: bool },
    Negate { operand: Box<Raw<'t>>, vector: bool },
    Not { operand: Box<Raw<'t>>, vector: bool },
    Binary { operator: &'static str, operands: Box<[Raw<'t>; 2]>, vector: bool },
    Call { function: &'t str, arguments: Vec<Raw<'t>>, vector: bool },
    Splat(Box<Raw<'t>>),
    Ramp(Box<[Raw<'t>; 2]>),
}

#[derive(Debug)]
pub struct RawAccess<'t> {
    pub buffer: Buffer,
    pub index: Vec<Raw<'t>>,
    pub place: Place,
}

/// The letter of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    Counter,
    Int,
    Real,
    Bool,
    Vector,
    Mask,
}

impl VariableKind {
    /// Kind and number of a word such as `s0`; none where it isn't a variable.
    pub fn of(word: &str) -> Option<(Self, u32)> {
        let kind = match word.as_bytes().first()? {
            b'i' => Self::Counter,
            b'n' => Self::Int,
            b's' => Self::Real,
            b'b' => Self::Bool,
            b'v' => Self::Vector,
            b'm' => Self::Mask,
            _ => return None,
        };
        let digits = &word[1..];
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some((kind, crate::lexer::index(digits)?))
    }
}
