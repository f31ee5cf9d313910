//! The kernel IR: one loop nest over row-major buffers, specialised to sizes and types.
//!
//! Typed by construction: reals, integers, truth values and lanes of each are expressions of different Rust types, so no
//! value of these types holds a type error. What they can't express (bounds, definite assignment, aliasing, limits)
//! is [`crate::verify`]'s. The text form and the meaning of every node are in docs/kernels.md.
//!
//! [`crate::read`] makes these from text, [`crate::print`] is its inverse, [`crate::lanes`] maps them to themselves;
//! the interpreter and the code generator read them.

use std::fmt;

mod functions;
mod lanes;
mod runs;
mod tile;

pub use functions::Function;
pub use lanes::{Mask, Vector, Wholes};
pub use runs::{Applied, Apply};
pub use tile::{Run, Tile};

/// Where in the kernel text something stood, both from 1; zero where a pass made it.
///
/// A place is no part of what a kernel is: all places are equal, so kernels compare by meaning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The machine type all reals of a kernel have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Arithmetic {
    /// Bytes of one real.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Reals in one vector of sixteen bytes.
    #[must_use]
    pub fn lanes(self) -> u64 {
        16 / self.bytes()
    }

    /// The name in the text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// A float type a conversion rounds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// `bf16(x)`, through f32.
    Bf16,
    /// `f32(x)`.
    F32,
    /// `f64(x)`.
    F64,
}

impl Float {
    /// The name in the text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// What one element of a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Eight bytes, a real.
    F64,
    /// Four bytes, a real.
    F32,
    /// Two bytes, a real: the upper half of an f32.
    Bf16,
    /// Eight bytes, any integer. Its loads have no bound.
    I64,
    /// `i64<V`: eight bytes, an integer 0 … V − 1.
    Index(u64),
    /// One byte, false where it is 0.
    Bool,
    /// One byte and a scale: a real, f32(q)·s.
    Int8(ScaleAxes),
    /// Half a byte and a scale: a real, f32(q)·s.
    Int4(ScaleAxes),
}

/// The axes `first` … `end − 1` of a quantised buffer's view along which its scales vary (one scale for each index).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScaleAxes {
    /// The first such axis.
    pub first: u32,
    /// One past the last.
    pub end: u32,
}

/// An axis of a buffer. The name is documentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// The name, where it has one.
    pub name: Option<String>,
    /// Number of indices.
    pub size: u64,
}

/// Element and axes of a buffer, row-major and without gaps (int4: each row padded to a byte).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufferType {
    /// What an element is.
    pub element: Element,
    /// The axes, outermost first; none for a single element.
    pub axes: Vec<Axis>,
}

/// An output, and the input whose buffer it shares, if any (`%2 in %0`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Output {
    /// Number of the input whose buffer this output overwrites.
    pub shares: Option<u32>,
    /// Its type.
    pub buffer: BufferType,
}

/// One kernel. Buffers `%0` … are its inputs, then its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The name, with its bracketed part if any: `ein[batch, heads]`.
    pub name: String,
    /// The type of all its reals and of its vectors' lanes.
    pub arithmetic: Arithmetic,
    /// Types of `%0` …
    pub inputs: Vec<BufferType>,
    /// The outputs, numbered after the inputs; at least one.
    pub outputs: Vec<Output>,
    /// Types of `t0` …, private to a worker and unwritten at first.
    pub scratch: Vec<BufferType>,
    /// The statements.
    pub body: Vec<Statement>,
}

/// A buffer of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// `%n`, n below the number of inputs.
    Input(u32),
    /// `%n`; the number here counts outputs from 0.
    Output(u32),
    /// `tn`.
    Scratch(u32),
}

/// One element of a buffer (a vector's first): an index per axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The buffer.
    pub buffer: Buffer,
    /// One index for each axis.
    pub index: Vec<Int>,
    /// Where it stood.
    pub place: Place,
}

/// A statement and where it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Where it begins.
    pub place: Place,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `sN = e`
    SetReal(u32, Real),
    /// `nN = e`
    SetInt(u32, Int),
    /// `bN = e`
    SetBool(u32, Bool),
    /// `vN = e`
    SetVector(u32, Vector),
    /// `mN = e`
    SetMask(u32, Mask),
    /// `%n[…] = e` into a float buffer: one rounding to its type (bf16 through f32).
    StoreReal(Access, Real),
    /// `%n[…] = e` into an i64 or i64<V buffer.
    StoreInt(Access, Int),
    /// `%n[…] = e` into a bool buffer.
    StoreBool(Access, Bool),
    /// `%n[…] <v= e`: the lanes into consecutive elements of the last axis.
    StoreVector(Access, Vector),
    /// `%n[…] <v= e` into a bool buffer.
    StoreMask(Access, Mask),
    /// `for iN in 0..extent { … }`
    For(Loop),
    /// `if c { … }`
    If(Condition, Vec<Statement>),
    /// `apply exp(t0[0]) to t1[0] over 256`
    Apply(Apply),
    /// `tile<lanes> … { … }`
    Tile(Box<Tile>),
}

/// `for iN in 0..extent { … }`, counting upward.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// N of iN. Not the variable of an enclosing loop.
    pub variable: u32,
    /// Number of rounds; may be 0.
    pub extent: u64,
    /// The statements of a round.
    pub body: Vec<Statement>,
}

/// What an `if` tests.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A truth value.
    Holds(Bool),
    /// An integer that isn't 0 (`if i3 { … }`: not the first block).
    NonZero(Int),
}

impl Condition {
    /// The counter and the number of a condition that the counter is below it: the one kind that proofs of bounds read.
    #[must_use]
    pub fn bound(&self) -> Option<(u32, u64)> {
        let Self::Holds(Bool::CompareInt(Comparison::Lt, left, right)) = self else { return None };
        let (Int::Counter(number), Int::Constant(end)) = (&**left, &**right) else { return None };
        Some((*number, u64::try_from(*end).unwrap_or(0)))
    }

    /// The counter that a condition leaves some rounds alone, and which: those below a number, or one of them.
    #[must_use]
    pub fn rounds(&self) -> Option<(u32, std::ops::Range<u64>)> {
        if let Some((number, end)) = self.bound() {
            return Some((number, 0..end));
        }
        let Self::Holds(Bool::CompareInt(Comparison::Eq, left, right)) = self else { return None };
        let (Int::Counter(number), Int::Constant(round)) = (&**left, &**right) else { return None };
        let round = u64::try_from(*round).ok()?;
        Some((*number, round..round.checked_add(1)?))
    }
}

/// A constant real, compared by bits so that NaN equals itself and −0 isn't 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constant(u64);

impl Constant {
    /// The constant of a value. NaNs are made one.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Self(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() })
    }

    /// The value; in an f32 kernel it is exactly an f32.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// Operations of one real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RealUnary {
    /// `(-a)`: the sign bit flipped.
    Neg,
    /// `abs(a)`: the sign bit cleared.
    Abs,
    /// `floor(a)`
    Floor,
    /// `sqrt(a)`, correctly rounded.
    Sqrt,
}

/// Operations of two reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RealBinary {
    /// `(a + b)`
    Add,
    /// `(a - b)`
    Sub,
    /// `(a * b)`
    Mul,
    /// `(a / b)`
    Div,
    /// `max(a, b)`: IEEE 754-2019 maximum.
    Max,
    /// `min(a, b)`: IEEE 754-2019 minimum.
    Min,
    /// `pow(a, b)`, the libm crate's.
    Pow,
}

/// A real of the kernel's arithmetic type.
#[derive(Clone, Debug, PartialEq)]
pub enum Real {
    /// A literal.
    Constant(Constant),
    /// `sN`
    Variable(u32),
    /// An element, widened exactly; of a quantised buffer, f32(q)·s.
    Load(Access),
    /// One operand.
    Unary(RealUnary, Box<Real>),
    /// An elementary function.
    Call(Function, Box<Real>),
    /// Two operands.
    Binary(RealBinary, Box<Real>, Box<Real>),
    /// `fma(a, b, c)`: a·b + c, rounded once.
    Fma(Box<[Real; 3]>),
    /// `select(c, a, b)`
    Select(Box<Bool>, Box<Real>, Box<Real>),
    /// `f32(x)`: rounded to a type no wider than the arithmetic one and held in the latter.
    Round(Float, Box<Real>),
    /// `f32(n)`: the integer rounded once to that type (bf16 through f32), held in the arithmetic one.
    FromInt(Float, Box<Int>),
}

/// Operations of two integers. Sums, differences and products wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntBinary {
    /// `(a + b)`
    Add,
    /// `(a - b)`
    Sub,
    /// `(a * b)`
    Mul,
    /// `max(a, b)`
    Max,
    /// `min(a, b)`
    Min,
}

/// Division of an integer by a positive literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Division {
    /// `(a // n)`, rounded down.
    Quotient,
    /// `(a % n)`, 0 … n − 1.
    Remainder,
}

/// An integer of 64 bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Int {
    /// A literal.
    Constant(i64),
    /// `iN`, a loop's counter.
    Counter(u32),
    /// `nN`
    Variable(u32),
    /// An element of an i64 or i64<V buffer.
    Load(Access),
    /// `(-a)`, wrapping.
    Neg(Box<Int>),
    /// `abs(a)`, wrapping.
    Abs(Box<Int>),
    /// Two operands.
    Binary(IntBinary, Box<Int>, Box<Int>),
    /// A division by a positive literal.
    Divide(Division, Box<Int>, i64),
    /// `select(c, a, b)`
    Select(Box<Bool>, Box<Int>, Box<Int>),
}

/// A comparison. On reals IEEE 754's: with a NaN only `!=` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Lt,
    Le,
    Eq,
    Ne,
    Ge,
    Gt,
}

impl Comparison {
    /// The operator in the text.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Ge => ">=",
            Self::Gt => ">",
        }
    }
}

/// A truth value.
#[derive(Clone, Debug, PartialEq)]
pub enum Bool {
    /// `true`, `false`
    Constant(bool),
    /// `bN`
    Variable(u32),
    /// An element of a bool buffer.
    Load(Access),
    /// Reals compared.
    CompareReal(Comparison, Box<Real>, Box<Real>),
    /// Integers compared.
    CompareInt(Comparison, Box<Int>, Box<Int>),
    /// `(not a)`
    Not(Box<Bool>),
    /// `(a and b)`
    And(Box<Bool>, Box<Bool>),
    /// `(a or b)`
    Or(Box<Bool>, Box<Bool>),
}

impl Element {
    /// Whether loads of it are reals.
    #[must_use]
    pub fn is_real(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::Bf16 | Self::Int8(_) | Self::Int4(_))
    }

    /// The axes its scales vary along, of a quantised element.
    #[must_use]
    pub fn scale_axes(self) -> Option<ScaleAxes> {
        match self {
            Self::Int8(axes) | Self::Int4(axes) => Some(axes),
            _ => None,
        }
    }

    /// The arithmetic type of an output of this element, where it says one.
    #[must_use]
    pub fn arithmetic(self) -> Option<Arithmetic> {
        match self {
            Self::F64 => Some(Arithmetic::F64),
            Self::F32 | Self::Bf16 => Some(Arithmetic::F32),
            _ => None,
        }
    }
}

impl BufferType {
    /// Number of elements; none where it exceeds a u64.
    #[must_use]
    pub fn elements(&self) -> Option<u64> {
        product(&self.axes)
    }

    /// Elements of one row of an int4 buffer, which begins at a byte: its last axis, or all axes its scales vary
    /// along where they reach the last one (they are one stored axis then).
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        let last = self.axes.len().checked_sub(1)?;
        match self.element.scale_axes() {
            Some(axes) if axes.end as usize == self.axes.len() => product(self.axes.get(axes.first as usize..)?),
            _ => Some(self.axes[last].size),
        }
    }

    /// Bytes of the elements (the scales of a quantised buffer are a buffer of their own); none past a u64.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let elements = self.elements()?;
        match self.element {
            Element::F64 | Element::I64 | Element::Index(_) => elements.checked_mul(8),
            Element::F32 => elements.checked_mul(4),
            Element::Bf16 => elements.checked_mul(2),
            Element::Bool | Element::Int8(_) => Some(elements),
            Element::Int4(_) => match self.row()? {
                0 => Some(0),
                row => (elements / row).checked_mul(row.div_ceil(2)),
            },
        }
    }

    /// Number of f32 scales of a quantised buffer, and how many consecutive elements share one before the next.
    #[must_use]
    pub fn scales(&self) -> Option<(u64, u64)> {
        let axes = self.element.scale_axes()?;
        let count = product(self.axes.get(axes.first as usize..axes.end as usize)?)?;
        Some((count, product(self.axes.get(axes.end as usize..)?)?))
    }
}

fn product(axes: &[Axis]) -> Option<u64> {
    if axes.iter().any(|axis| axis.size == 0) {
        return Some(0);
    }
    axes.iter().try_fold(1u64, |count, axis| count.checked_mul(axis.size))
}

impl Kernel {
    /// The type of a buffer. Panics for one the kernel doesn't have; the verifier refuses those.
    #[must_use]
    pub fn buffer(&self, buffer: Buffer) -> &BufferType {
        match buffer {
            Buffer::Input(n) => &self.inputs[n as usize],
            Buffer::Output(n) => &self.outputs[n as usize].buffer,
            Buffer::Scratch(n) => &self.scratch[n as usize],
        }
    }

    /// Whether the head states the arithmetic type: where the first output's element doesn't say it.
    #[must_use]
    pub fn states_arithmetic(&self) -> bool {
        self.outputs.first().and_then(|output| output.buffer.element.arithmetic()) != Some(self.arithmetic)
    }

    /// The name of a buffer in the text.
    #[must_use]
    pub fn buffer_name(&self, buffer: Buffer) -> String {
        match buffer {
            Buffer::Input(n) => format!("%{n}"),
            Buffer::Output(n) => format!("%{}", self.inputs.len() + n as usize),
            Buffer::Scratch(n) => format!("t{n}"),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&crate::print::print(self))
    }
}
