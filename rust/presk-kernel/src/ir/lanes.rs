//! Values of several lanes, each lane computed as the scalar operation.

use super::{Access, Bool, Comparison, Float, Int, Real, RealBinary, RealUnary};

/// Sixteen bytes of the arithmetic type: four f32 or two f64.
#[derive(Clone, Debug, PartialEq)]
pub enum Vector {
    /// `vN`
    Variable(u32),
    /// `splat(a)`
    Splat(Box<Real>),
    /// `%n[…]<v>`: consecutive elements of the last axis, each widened as a scalar load widens it.
    Load(Access),
    /// `op(a)<v>`
    Unary(RealUnary, Box<Vector>),
    /// `(a op b)<v>`; never [`RealBinary::Pow`].
    Binary(RealBinary, Box<Vector>, Box<Vector>),
    /// `fma(a, b, c)<v>`
    Fma(Box<[Vector; 3]>),
    /// `select(m, a, b)<v>`
    Select(Box<Mask>, Box<Vector>, Box<Vector>),
    /// `bf16(a)<v>`: rounded to a type no wider than the arithmetic one and held in the latter; never [`Float::F64`].
    Round(Float, Box<Vector>),
    /// `f32(a)<v>`: integers rounded once to that type (bf16 through f32), held in the arithmetic one.
    FromInt(Float, Box<Wholes>),
}

/// A truth value a lane.
#[derive(Clone, Debug, PartialEq)]
pub enum Mask {
    /// `mN`
    Variable(u32),
    /// `splat(a)`
    Splat(Box<Bool>),
    /// `%n[…]<v>` of a bool buffer: consecutive elements of the last axis.
    Load(Access),
    /// `(a < b)<v>`, of reals.
    CompareReal(Comparison, Box<Vector>, Box<Vector>),
    /// `(a < b)<v>`, of integers.
    CompareInt(Comparison, Box<Wholes>, Box<Wholes>),
    /// `(not a)<v>`
    Not(Box<Mask>),
    /// `(a and b)<v>`
    And(Box<Mask>, Box<Mask>),
    /// `(a or b)<v>`
    Or(Box<Mask>, Box<Mask>),
}

/// An integer of 64 bits a lane. They are compared and become reals, nothing else.
#[derive(Clone, Debug, PartialEq)]
pub enum Wholes {
    /// `splat(a)`
    Splat(Box<Int>),
    /// `ramp(a, k)`: a in the first lane, and k more in each next one, wrapping.
    Ramp(Box<Int>, i64),
    /// `%n[…]<v>` of an i64 or i64<V buffer: consecutive elements of the last axis.
    Load(Access),
}
