//! Statements over runs of elements, as [`crate::runs`] expands them.

use super::{Access, Function};

/// An elementary function over a run of elements: each of the target's is the function of the one in its place.
///
/// The accesses name the first elements; a run lies along the last axis. What it means is what it expands to
/// ([`crate::runs::expand`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// The function, and the first elements of what it takes.
    pub applied: Applied,
    /// The first element written.
    pub target: Access,
    /// Number of elements; may be 0.
    pub count: u64,
}

/// A function and the runs of its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Applied {
    /// An elementary function of one real.
    Function(Function, Access),
    /// `pow` of bases and exponents.
    Power(Access, Access),
}

impl Apply {
    /// The first elements of the arguments' runs, in order.
    pub fn sources(&self) -> impl Iterator<Item = &Access> {
        let (first, second) = match &self.applied {
            Applied::Function(_, source) => (source, None),
            Applied::Power(base, exponent) => (base, Some(exponent)),
        };
        std::iter::once(first).chain(second)
    }

    /// The name in the text.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.applied {
            Applied::Function(function, _) => function.name(),
            Applied::Power(..) => "pow",
        }
    }
}
