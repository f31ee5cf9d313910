//! Walking over a kernel's statements and values without naming every node.

use crate::ir::{Access, Bool, Condition, Int, Mask, Real, Statement, StatementKind, Vector, Wholes};

/// A value of any kind.
#[derive(Clone, Copy, Debug)]
pub enum Value<'k> {
    /// A real.
    Real(&'k Real),
    /// An integer.
    Int(&'k Int),
    /// A truth value.
    Bool(&'k Bool),
    /// A vector.
    Vector(&'k Vector),
    /// A truth value a lane.
    Mask(&'k Mask),
    /// An integer a lane.
    Wholes(&'k Wholes),
}

impl<'k> Value<'k> {
    /// The access of a load.
    #[must_use]
    pub fn load(self) -> Option<&'k Access> {
        match self {
            Self::Real(Real::Load(access))
            | Self::Int(Int::Load(access))
            | Self::Bool(Bool::Load(access))
            | Self::Vector(Vector::Load(access))
            | Self::Mask(Mask::Load(access))
            | Self::Wholes(Wholes::Load(access)) => Some(access),
            _ => None,
        }
    }

    /// Whether it has several lanes.
    #[must_use]
    pub fn is_lanes(self) -> bool {
        matches!(self, Self::Vector(_) | Self::Mask(_) | Self::Wholes(_))
    }

    /// Calls `each` on the operands, a load's indices included, from left to right.
    pub fn operands(self, each: &mut dyn FnMut(Value<'k>)) {
        if let Some(access) = self.load() {
            return access.index.iter().for_each(|index| each(Value::Int(index)));
        }
        match self {
            Self::Real(real) => real_operands(real, each),
            Self::Int(int) => int_operands(int, each),
            Self::Bool(bool) => bool_operands(bool, each),
            Self::Vector(vector) => vector_operands(vector, each),
            Self::Mask(mask) => mask_operands(mask, each),
            Self::Wholes(Wholes::Splat(a) | Wholes::Ramp(a, _)) => each(Value::Int(a)),
            Self::Wholes(Wholes::Load(_)) => {}
        }
    }

    /// Calls `each` on this value and all values within it, each before its operands.
    pub fn visit(self, each: &mut dyn FnMut(Value<'k>)) {
        each(self);
        self.operands(&mut |operand| operand.visit(each));
    }
}

fn real_operands<'k>(real: &'k Real, each: &mut dyn FnMut(Value<'k>)) {
    match real {
        Real::Constant(_) | Real::Variable(_) | Real::Load(_) => {}
        Real::Unary(_, a) | Real::Call(_, a) | Real::Round(_, a) => each(Value::Real(a)),
        Real::FromInt(_, a) => each(Value::Int(a)),
        Real::Binary(_, a, b) => {
            each(Value::Real(a));
            each(Value::Real(b));
        }
        Real::Fma(operands) => operands.iter().for_each(|operand| each(Value::Real(operand))),
        Real::Select(condition, a, b) => {
            each(Value::Bool(condition));
            each(Value::Real(a));
            each(Value::Real(b));
        }
    }
}

fn int_operands<'k>(int: &'k Int, each: &mut dyn FnMut(Value<'k>)) {
    match int {
        Int::Constant(_) | Int::Counter(_) | Int::Variable(_) | Int::Load(_) => {}
        Int::Neg(a) | Int::Abs(a) | Int::Divide(_, a, _) => each(Value::Int(a)),
        Int::Binary(_, a, b) => {
            each(Value::Int(a));
            each(Value::Int(b));
        }
        Int::Select(condition, a, b) => {
            each(Value::Bool(condition));
            each(Value::Int(a));
            each(Value::Int(b));
        }
    }
}

fn bool_operands<'k>(bool: &'k Bool, each: &mut dyn FnMut(Value<'k>)) {
    match bool {
        Bool::Constant(_) | Bool::Variable(_) | Bool::Load(_) => {}
        Bool::Not(a) => each(Value::Bool(a)),
        Bool::CompareReal(_, a, b) => {
            each(Value::Real(a));
            each(Value::Real(b));
        }
        Bool::CompareInt(_, a, b) => {
            each(Value::Int(a));
            each(Value::Int(b));
        }
        Bool::And(a, b) | Bool::Or(a, b) => {
            each(Value::Bool(a));
            each(Value::Bool(b));
        }
    }
}

fn vector_operands<'k>(vector: &'k Vector, each: &mut dyn FnMut(Value<'k>)) {
    match vector {
        Vector::Variable(_) | Vector::Load(_) => {}
        Vector::Splat(a) => each(Value::Real(a)),
        Vector::Unary(_, a) | Vector::Round(_, a) => each(Value::Vector(a)),
        Vector::Binary(_, a, b) => {
            each(Value::Vector(a));
            each(Value::Vector(b));
        }
        Vector::FromInt(_, a) => each(Value::Wholes(a)),
        Vector::Fma(operands) => operands.iter().for_each(|operand| each(Value::Vector(operand))),
        Vector::Select(mask, a, b) => {
            each(Value::Mask(mask));
            each(Value::Vector(a));
            each(Value::Vector(b));
        }
    }
}

fn mask_operands<'k>(mask: &'k Mask, each: &mut dyn FnMut(Value<'k>)) {
    match mask {
        Mask::Variable(_) | Mask::Load(_) => {}
        Mask::Splat(a) => each(Value::Bool(a)),
        Mask::Not(a) => each(Value::Mask(a)),
        Mask::CompareReal(_, a, b) => {
            each(Value::Vector(a));
            each(Value::Vector(b));
        }
        Mask::CompareInt(_, a, b) => {
            each(Value::Wholes(a));
            each(Value::Wholes(b));
        }
        Mask::And(a, b) | Mask::Or(a, b) => {
            each(Value::Mask(a));
            each(Value::Mask(b));
        }
    }
}

impl StatementKind {
    /// The element a store writes, and whether it is a vector's first.
    #[must_use]
    pub fn stored(&self) -> Option<(&Access, bool)> {
        match self {
            Self::StoreReal(access, _) | Self::StoreInt(access, _) | Self::StoreBool(access, _) => {
                Some((access, false))
            }
            Self::StoreVector(access, _) | Self::StoreMask(access, _) => Some((access, true)),
            _ => None,
        }
    }

    /// The first elements of the runs the statement reads or writes as a whole, and whether it reads them.
    pub fn runs(&self) -> impl Iterator<Item = (&Access, bool)> {
        let apply = match self {
            Self::Apply(apply) => Some(apply),
            _ => None,
        };
        let read = apply.into_iter().flat_map(|apply| apply.sources().map(|access| (access, true)));
        read.chain(apply.map(|apply| (&apply.target, false)))
    }

    /// The statements within, of a loop or an `if`.
    #[must_use]
    pub fn body(&self) -> Option<&[Statement]> {
        match self {
            Self::For(each) => Some(&each.body),
            Self::If(_, body) => Some(body),
            _ => None,
        }
    }

    /// Calls `each` on the values the statement itself computes: a store's indices, then its value; an `if`'s
    /// condition; a tile's indices. Bodies are left out.
    pub fn values<'k>(&'k self, each: &mut dyn FnMut(Value<'k>)) {
        if let Some((access, _)) = self.stored() {
            access.index.iter().for_each(|index| each(Value::Int(index)));
        }
        match self {
            Self::SetReal(_, value) | Self::StoreReal(_, value) => each(Value::Real(value)),
            Self::SetInt(_, value) | Self::StoreInt(_, value) => each(Value::Int(value)),
            Self::SetBool(_, value) | Self::StoreBool(_, value) => each(Value::Bool(value)),
            Self::SetVector(_, value) | Self::StoreVector(_, value) => each(Value::Vector(value)),
            Self::SetMask(_, value) | Self::StoreMask(_, value) => each(Value::Mask(value)),
            Self::If(Condition::Holds(condition), _) => each(Value::Bool(condition)),
            Self::If(Condition::NonZero(condition), _) => each(Value::Int(condition)),
            Self::For(_) => {}
            Self::Apply(_) => {
                self.runs().flat_map(|(access, _)| &access.index).for_each(|index| each(Value::Int(index)));
            }
            Self::Tile(tile) => {
                tile.accesses().into_iter().flat_map(|access| &access.index).for_each(|index| each(Value::Int(index)));
            }
        }
    }
}

/// Calls `each` on every statement, outer ones before those within.
pub fn statements<'k>(body: &'k [Statement], each: &mut dyn FnMut(&'k Statement)) {
    for statement in body {
        each(statement);
        if let Some(inner) = statement.kind.body() {
            statements(inner, each);
        }
    }
}

/// Calls `each` on every access within statements: whether it is a load, and whether of a vector. Of a run it is the first
/// element's.
pub fn accesses<'k>(body: &'k [Statement], each: &mut dyn FnMut(&'k Access, bool, bool)) {
    statements(body, &mut |statement| {
        statement.kind.values(&mut |value| {
            value.visit(&mut |value| {
                if let Some(access) = value.load() {
                    each(access, true, value.is_lanes());
                }
            });
        });
        if let Some((access, is_vector)) = statement.kind.stored() {
            each(access, false, is_vector);
        }
        statement.kind.runs().for_each(|(access, is_load)| each(access, is_load, false));
        if let StatementKind::Tile(tile) = &statement.kind {
            let [sum, left, right] = tile.accesses();
            each(left, true, false);
            each(right, true, false);
            if tile.continues {
                each(sum, true, false);
            }
            each(sum, false, false);
        }
    });
}
