//! The types of expressions: what is written becomes typed IR, or a type error at its place.
//!
//! Every place wants a kind. A literal of digits alone is an integer or a real, whichever is wanted; operands of a
//! comparison and arguments of a conversion want what the first of them that isn't such a literal is, else an integer.

use crate::error::{Error, ErrorKind};
use crate::ir::{Access, Buffer, BufferType, Condition, Element, Kernel, Place, StatementKind};
use crate::limits;
use crate::literal;
use crate::raw::{Raw, RawAccess, RawKind, VariableKind};
use crate::verify::{load_fault, vector_store_fault};

mod lanes;
mod values;

/// Types expressions against the buffers and the arithmetic type of a kernel's head.
#[derive(Clone, Copy)]
pub struct Typer<'k> {
    pub kernel: &'k Kernel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Real,
    Int,
    Bool,
    /// Lanes of each of these.
    Vector,
    Wholes,
    Mask,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Real => "a real",
            Self::Int => "an integer",
            Self::Bool => "a truth value",
            Self::Vector => "a vector",
            Self::Wholes => "a vector of integers",
            Self::Mask => "a vector of truth values",
        }
    }

    /// The kind whose lanes are of this one.
    fn in_lanes(self) -> Self {
        match self {
            Self::Real => Self::Vector,
            Self::Int => Self::Wholes,
            Self::Bool => Self::Mask,
            lanes => lanes,
        }
    }

    fn is_lanes(self) -> bool {
        self.in_lanes() == self
    }
}

type Typed<T> = Result<T, Error>;

fn type_error<T>(message: impl Into<String>, place: Place) -> Typed<T> {
    Err(ErrorKind::Type(message.into()).at(place))
}

impl<'k> Typer<'k> {
    /// `sN = e` and its kin.
    pub fn assignment(self, kind: VariableKind, number: u32, value: &Raw, place: Place) -> Typed<StatementKind> {
        check_number(number, place)?;
        Ok(match kind {
            VariableKind::Counter => return type_error("a loop counter can't be assigned", place),
            VariableKind::Int => StatementKind::SetInt(number, self.int(value)?),
            VariableKind::Real => StatementKind::SetReal(number, self.real(value)?),
            VariableKind::Bool => StatementKind::SetBool(number, self.bool(value)?),
            VariableKind::Vector => StatementKind::SetVector(number, self.vector(value)?),
            VariableKind::Mask => StatementKind::SetMask(number, self.mask(value)?),
        })
    }

    /// A scalar store; the value is of the buffer's kind.
    pub fn store(self, access: Access, value: &Raw) -> Typed<StatementKind> {
        self.check_writable(&access)?;
        Ok(match self.kernel.buffer(access.buffer).element {
            Element::I64 | Element::Index(_) => StatementKind::StoreInt(access, self.int(value)?),
            Element::Bool => StatementKind::StoreBool(access, self.bool(value)?),
            _ => StatementKind::StoreReal(access, self.real(value)?),
        })
    }

    /// A vector store.
    pub fn store_vector(self, access: Access, value: &Raw) -> Typed<StatementKind> {
        self.check_writable(&access)?;
        if let Some(kind) = vector_store_fault(self.kernel, &access) {
            return Err(kind.at(access.place));
        }
        Ok(match self.kernel.buffer(access.buffer).element {
            Element::Bool => StatementKind::StoreMask(access, self.mask(value)?),
            _ => StatementKind::StoreVector(access, self.vector(value)?),
        })
    }

    /// An element that is stored to.
    pub fn written(self, raw: &RawAccess) -> Typed<Access> {
        let access = self.access(raw)?;
        self.check_writable(&access)?;
        Ok(access)
    }

    /// An element that is loaded as a real.
    pub fn real_load(self, raw: &RawAccess) -> Typed<Access> {
        let access = self.access(raw)?;
        if element_kind(self.kernel.buffer(access.buffer).element) != Kind::Real {
            return type_error(format!("{} holds no reals", self.kernel.buffer_name(access.buffer)), access.place);
        }
        match load_fault(self.kernel, &access, false) {
            Some(kind) => Err(kind.at(access.place)),
            None => Ok(access),
        }
    }

    pub fn check_writable(self, access: &Access) -> Typed<()> {
        if let Buffer::Input(number) = access.buffer {
            return type_error(format!("%{number} is an input and can't be stored to"), access.place);
        }
        Ok(())
    }

    /// The condition of an `if`.
    pub fn condition(self, raw: &Raw) -> Typed<Condition> {
        match self.kind(raw) {
            None | Some(Kind::Int) => Ok(Condition::NonZero(self.int(raw)?)),
            _ => Ok(Condition::Holds(self.bool(raw)?)),
        }
    }

    /// Buffer and indices of an access.
    pub fn access(self, raw: &RawAccess) -> Typed<Access> {
        let Some(buffer) = self.find(raw.buffer) else {
            return type_error(format!("{} is not declared", self.kernel.buffer_name(raw.buffer)), raw.place);
        };
        if buffer.axes.len() != raw.index.len() {
            let name = self.kernel.buffer_name(raw.buffer);
            let message = format!("{name} has {} axes, not {}", buffer.axes.len(), raw.index.len());
            return type_error(message, raw.place);
        }
        let index = raw.index.iter().map(|each| self.int(each)).collect::<Typed<_>>()?;
        Ok(Access { buffer: raw.buffer, index, place: raw.place })
    }

    fn find(self, buffer: Buffer) -> Option<&'k BufferType> {
        let kernel = self.kernel;
        match buffer {
            Buffer::Input(n) => kernel.inputs.get(n as usize),
            Buffer::Output(n) => kernel.outputs.get(n as usize).map(|output| &output.buffer),
            Buffer::Scratch(n) => kernel.scratch.get(n as usize),
        }
    }

    /// The kind an expression has whatever is wanted; none of one made of digits-only literals.
    fn kind(self, raw: &Raw) -> Option<Kind> {
        match &raw.kind {
            RawKind::Number { text, .. } => (!literal::is_plain(text)).then_some(Kind::Real),
            RawKind::Infinity { .. } | RawKind::Nan => Some(Kind::Real),
            RawKind::Truth(_) => Some(Kind::Bool),
            RawKind::Not { vector, .. } => Some(if *vector { Kind::Mask } else { Kind::Bool }),
            RawKind::Variable(kind, _) => Some(match kind {
                VariableKind::Counter | VariableKind::Int => Kind::Int,
                VariableKind::Real => Kind::Real,
                VariableKind::Bool => Kind::Bool,
                VariableKind::Vector => Kind::Vector,
                VariableKind::Mask => Kind::Mask,
            }),
            RawKind::Splat(operand) => self.kind(operand).map(Kind::in_lanes),
            RawKind::Ramp(_) => Some(Kind::Wholes),
            RawKind::Load { access, vector } => {
                let kind = self.find(access.buffer).map(|buffer| element_kind(buffer.element));
                if *vector { kind.map(Kind::in_lanes) } else { kind }
            }
            RawKind::Negate { operand, .. } => self.kind(operand),
            RawKind::Binary { operator, operands, vector } => {
                let scalar = match *operator {
                    "+" | "-" | "*" => return self.first_kind(operands.iter()),
                    "/" => Kind::Real,
                    "//" | "%" => Kind::Int,
                    _ => Kind::Bool,
                };
                Some(if *vector { scalar.in_lanes() } else { scalar })
            }
            RawKind::Call { function, arguments, vector } => match *function {
                "max" | "min" | "abs" => self.first_kind(arguments.iter()),
                "select" => self.first_kind(arguments.iter().skip(1)),
                _ => Some(if *vector { Kind::Vector } else { Kind::Real }),
            },
        }
    }

    fn first_kind<'r, 't: 'r>(self, raws: impl Iterator<Item = &'r Raw<'t>>) -> Option<Kind> {
        raws.into_iter().find_map(|raw| self.kind(raw))
    }

    fn mismatch<T>(self, wanted: Kind, raw: &Raw) -> Typed<T> {
        let message = match self.kind(raw) {
            Some(found) if found != wanted => format!("expected {}, found {}", wanted.name(), found.name()),
            _ => format!("expected {}", wanted.name()),
        };
        type_error(message, raw.place)
    }

    fn load(self, access: &RawAccess, wanted: Kind, raw: &Raw) -> Typed<Access> {
        let typed = self.access(access)?;
        match load_fault(self.kernel, &typed, wanted.is_lanes()) {
            Some(kind) => Err(kind.at(typed.place)),
            None if self.kind(raw) != Some(wanted) => self.mismatch(wanted, raw),
            None => Ok(typed),
        }
    }
}

fn element_kind(element: Element) -> Kind {
    match element {
        Element::I64 | Element::Index(_) => Kind::Int,
        Element::Bool => Kind::Bool,
        _ => Kind::Real,
    }
}

fn check_number(number: u32, place: Place) -> Typed<()> {
    if number < limits::VARIABLE {
        return Ok(());
    }
    let what = "the number of a variable".into();
    Err(ErrorKind::Limit { what, limit: u64::from(limits::VARIABLE - 1) }.at(place))
}
