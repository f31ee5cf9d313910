//! Kernel types as Cranelift's, and how each buffer's memory may be touched.

use cranelift_codegen::ir::{AliasRegion, Endianness, MemFlagsData, Type, types};
use presk_kernel::ir::{Arithmetic, Element};

/// A real of the arithmetic type.
pub(crate) fn real(arithmetic: Arithmetic) -> Type {
    match arithmetic {
        Arithmetic::F32 => types::F32,
        Arithmetic::F64 => types::F64,
    }
}

/// A vector of the arithmetic type.
pub(crate) fn vector(arithmetic: Arithmetic) -> Type {
    match arithmetic {
        Arithmetic::F32 => types::F32X4,
        Arithmetic::F64 => types::F64X2,
    }
}

/// Truth values as vectors have them: all bits of a lane, or none.
pub(crate) fn mask(arithmetic: Arithmetic) -> Type {
    match arithmetic {
        Arithmetic::F32 => types::I32X4,
        Arithmetic::F64 => types::I64X2,
    }
}

/// Integers as wide as a real, for choosing between reals without a branch.
pub(crate) fn bits(arithmetic: Arithmetic) -> Type {
    match arithmetic {
        Arithmetic::F32 => types::I32,
        Arithmetic::F64 => types::I64,
    }
}

/// Bytes from one element to the next. Of int4, where two share a byte, addresses are made of nibbles.
pub(crate) fn step(element: Element) -> i64 {
    match element {
        Element::F64 | Element::I64 | Element::Index(_) => 8,
        Element::F32 => 4,
        Element::Bf16 => 2,
        Element::Bool | Element::Int8(_) | Element::Int4(_) => 1,
    }
}

/// Whether a buffer holds reals of the arithmetic type itself, so that a store rounds nothing.
pub(crate) fn is_exact(element: Element, arithmetic: Arithmetic) -> bool {
    element.is_real() && element.arithmetic() == Some(arithmetic) && element != Element::Bf16
}

/// Flags of an access that can't trap and belongs to a region of its own. No alignment is promised.
pub(crate) fn access(region: Option<AliasRegion>) -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_alias_region(region)
}

/// Flags of a load that may be moved, merged and left out: of memory nobody writes, at an address always in bounds.
pub(crate) fn pure(region: Option<AliasRegion>) -> MemFlagsData {
    access(region).with_readonly().with_can_move()
}

/// Flags of a bitcast between lane counts.
pub(crate) fn cast() -> MemFlagsData {
    MemFlagsData::new().with_endianness(Endianness::Little)
}
