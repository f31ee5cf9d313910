//! Register code: what a kernel is compiled to, and the compiler of statements and addresses.
//!
//! Reals have one file of registers, integers and truth values another. Vectors are runs of real registers, one a lane.
//! An affine access has its element's offset in an integer register that the loops around it step; any other access
//! computes the offset from its indices, each checked as it is added. Constants are set before the first operation.

use std::collections::{BTreeMap, HashMap};

use crate::affine::Affine;
use crate::error::{Error, ErrorKind};
use crate::ir::{Access, Buffer, Comparison, Condition, Constant, Element, Float, Function, Kernel, Place};
use crate::ir::{Loop, Statement, StatementKind};
use crate::parallel;

/// Number of a register.
pub type Register = u32;

/// Where a buffer's bytes are: among the caller's inputs, or among outputs and scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Input(u32),
    Written(u32),
}

/// An element: its buffer, the register of its offset, a lane added to it, and the access in the text.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub source: Source,
    pub address: Register,
    pub lane: u16,
    pub site: u32,
}

/// Operations of two reals that have no [`Op`] of their own, being rarer.
#[derive(Clone, Copy, Debug)]
pub enum RealOp {
    Sub,
    Div,
    Max,
    Min,
    Pow,
}

/// Operations of two integers or truth values.
#[derive(Clone, Copy, Debug)]
pub enum IntOp {
    Add,
    Sub,
    Mul,
    Max,
    Min,
    And,
    Or,
}

/// One operation; `to` is the register it sets.
#[derive(Clone, Debug)]
pub enum Op {
    Copy {
        to: Register,
        from: Register,
    },
    Neg {
        to: Register,
        from: Register,
    },
    Abs {
        to: Register,
        from: Register,
    },
    Floor {
        to: Register,
        from: Register,
    },
    Sqrt {
        to: Register,
        from: Register,
    },
    Call {
        to: Register,
        from: Register,
        function: Function,
    },
    Add {
        to: Register,
        left: Register,
        right: Register,
    },
    Mul {
        to: Register,
        left: Register,
        right: Register,
    },
    /// `addend` + `left` · `right`, both rounded: the step of a contraction, in one dispatch.
    MulAdd {
        to: Register,
        addend: Register,
        left: Register,
        right: Register,
    },
    Real {
        to: Register,
        left: Register,
        right: Register,
        operator: RealOp,
    },
    Fma {
        to: Register,
        a: Register,
        b: Register,
        c: Register,
    },
    Select {
        to: Register,
        condition: Register,
        a: Register,
        b: Register,
    },
    Round {
        to: Register,
        from: Register,
        float: Float,
    },
    Convert {
        to: Register,
        from: Register,
        float: Float,
    },
    LoadF32 {
        to: Register,
        from: Spot,
    },
    LoadF64 {
        to: Register,
        from: Spot,
    },
    LoadBf16 {
        to: Register,
        from: Spot,
    },
    LoadQuantised {
        to: Register,
        from: Spot,
        packing: u32,
    },
    StoreF32 {
        to: Spot,
        from: Register,
    },
    StoreF64 {
        to: Spot,
        from: Register,
    },
    StoreBf16 {
        to: Spot,
        from: Register,
    },
    CopyInt {
        to: Register,
        from: Register,
    },
    NegInt {
        to: Register,
        from: Register,
    },
    AbsInt {
        to: Register,
        from: Register,
    },
    Int {
        to: Register,
        left: Register,
        right: Register,
        operator: IntOp,
    },
    Quotient {
        to: Register,
        from: Register,
        divisor: i64,
    },
    Remainder {
        to: Register,
        from: Register,
        divisor: i64,
    },
    SelectInt {
        to: Register,
        condition: Register,
        a: Register,
        b: Register,
    },
    /// `bound` is V of an i64<V buffer, 0 of an i64 one.
    LoadInt {
        to: Register,
        from: Spot,
        bound: u64,
    },
    StoreInt {
        to: Spot,
        from: Register,
    },
    LoadBool {
        to: Register,
        from: Spot,
    },
    StoreBool {
        to: Spot,
        from: Register,
    },
    Not {
        to: Register,
        from: Register,
    },
    CompareReal {
        to: Register,
        left: Register,
        right: Register,
        comparison: Comparison,
    },
    CompareInt {
        to: Register,
        left: Register,
        right: Register,
        comparison: Comparison,
    },
    /// `to` = `base` + `index` · `stride`, the index checked to lie in 0 … `size` − 1.
    Locate {
        to: Register,
        base: Register,
        index: Register,
        axis: u32,
    },
    Loop(Box<Rounds>),
    If {
        condition: Register,
        body: Vec<Op>,
    },
}

/// A loop: its counter, the offsets it steps, its body.
#[derive(Clone, Debug)]
pub struct Rounds {
    pub extent: u64,
    pub counter: Register,
    pub steps: Vec<(Register, i64)>,
    pub body: Vec<Op>,
    /// Depth in the perfect nest, where the loop belongs to it.
    pub depth: Option<usize>,
}

/// How a quantised buffer is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    pub is_int4: bool,
    pub row: u64,
    pub scales: u32,
    pub count: u64,
    pub inner: u64,
}

/// An axis an index that isn't affine moves along.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub size: u64,
    pub stride: i64,
    pub site: u32,
}

/// A compiled kernel.
#[derive(Debug, Default)]
pub struct Code {
    pub body: Vec<Op>,
    pub reals: usize,
    pub ints: usize,
    pub constants: Vec<(Register, f64)>,
    pub int_constants: Vec<(Register, i64)>,
    pub packings: Vec<Packing>,
    pub axes: Vec<Step>,
    /// Name and place of each access, for errors.
    pub sites: Vec<(String, Place)>,
}

/// A loop around the statement at hand, and the offsets used within that it steps.
struct Around {
    counter: u32,
    extent: u64,
    steps: BTreeMap<Register, i64>,
}

/// A variable's kind and number; vectors have a register a lane.
type Named = (char, u32);

/// The compiler's state. Every value has a register of its own.
pub struct Compiler<'k> {
    pub kernel: &'k Kernel,
    pub code: Code,
    sources: &'k [Source],
    loops: Vec<Around>,
    pub variables: HashMap<Named, Register>,
    real_constants: HashMap<Constant, Register>,
    int_constants: HashMap<i64, Register>,
    addresses: HashMap<Affine, Register>,
    packings: HashMap<Buffer, u32>,
}

impl Code {
    pub fn compile(kernel: &Kernel, sources: &[Source]) -> Result<Self, Error> {
        let mut compiler = Compiler {
            kernel,
            code: Self::default(),
            sources,
            loops: Vec::new(),
            variables: HashMap::new(),
            real_constants: HashMap::new(),
            int_constants: HashMap::new(),
            addresses: HashMap::new(),
            packings: HashMap::new(),
        };
        let body = compiler.block(&kernel.body, Some(0))?;
        Ok(Self { body, ..compiler.code })
    }
}

impl Compiler<'_> {
    fn block(&mut self, statements: &[Statement], depth: Option<usize>) -> Result<Vec<Op>, Error> {
        // Only a loop behind assignments alone continues the perfect nest.
        let depth = depth.filter(|_| parallel::nested(statements).is_some());
        let mut ops = Vec::new();
        for statement in statements {
            self.statement(statement, depth, &mut ops)?;
        }
        Ok(ops)
    }

    fn statement(&mut self, statement: &Statement, depth: Option<usize>, ops: &mut Vec<Op>) -> Result<(), Error> {
        match &statement.kind {
            StatementKind::SetReal(number, value) => {
                let to = self.variable('s', *number);
                self.real_into(value, to, ops)?;
            }
            StatementKind::SetInt(number, value) => {
                let (to, from) = (self.variable('n', *number), self.int(value, ops)?);
                ops.push(Op::CopyInt { to, from });
            }
            StatementKind::SetBool(number, value) => {
                let (to, from) = (self.variable('b', *number), self.bool(value, ops)?);
                ops.push(Op::CopyInt { to, from });
            }
            StatementKind::SetVector(number, value) => {
                let to = self.lanes_variable('v', *number);
                self.vector_into(value, &to, ops)?;
            }
            StatementKind::SetMask(number, value) => {
                let (to, from) = (self.lanes_variable('m', *number), self.mask(value, ops)?);
                ops.extend(to.into_iter().zip(from).map(|(to, from)| Op::CopyInt { to, from }));
            }
            StatementKind::StoreReal(access, value) => {
                let from = self.real(value, ops)?;
                let to = self.spot(access, 1, ops)?;
                self.store(access.buffer, to, from, ops);
            }
            StatementKind::StoreInt(access, value) => {
                let from = self.int(value, ops)?;
                let to = self.spot(access, 1, ops)?;
                ops.push(Op::StoreInt { to, from });
            }
            StatementKind::StoreBool(access, value) => {
                let from = self.bool(value, ops)?;
                let to = self.spot(access, 1, ops)?;
                ops.push(Op::StoreBool { to, from });
            }
            StatementKind::StoreVector(access, value) => {
                let lanes = self.vector(value, ops)?;
                self.store_lanes(access, lanes, ops)?;
            }
            StatementKind::StoreMask(access, value) => {
                let lanes = self.mask(value, ops)?;
                self.store_lanes(access, lanes, ops)?;
            }
            StatementKind::For(each) => ops.extend(self.rounds(each, depth)?),
            StatementKind::If(condition, body) => {
                let holds = match condition {
                    Condition::Holds(condition) => self.bool(condition, ops)?,
                    Condition::NonZero(condition) => self.int(condition, ops)?,
                };
                ops.push(Op::If { condition: holds, body: self.guarded(condition, body)? });
            }
            StatementKind::Apply(_) | StatementKind::Tile(_) => unreachable!("a program is made of the expansion"),
        }
        Ok(())
    }

    /// What a condition guards; where it bounds a counter, that ranges no further within.
    fn guarded(&mut self, condition: &Condition, body: &[Statement]) -> Result<Vec<Op>, Error> {
        let Some((counter, end)) = condition.bound() else { return self.block(body, None) };
        let around = self.loops.iter().position(|each| each.counter == counter);
        let Some(place) = around.filter(|_| end > 0) else { return Ok(Vec::new()) };
        let extent = self.loops[place].extent;
        self.loops[place].extent = extent.min(end);
        let ops = self.block(body, None);
        self.loops[place].extent = extent;
        ops
    }

    /// A loop without rounds is nothing.
    fn rounds(&mut self, each: &Loop, depth: Option<usize>) -> Result<Option<Op>, Error> {
        if each.extent == 0 {
            return Ok(None);
        }
        let counter = self.variable('i', each.variable);
        self.loops.push(Around { counter: each.variable, extent: each.extent, steps: BTreeMap::new() });
        let body = self.block(&each.body, depth.map(|depth| depth + 1));
        let steps = self.loops.pop().map(|around| around.steps.into_iter().collect()).unwrap_or_default();
        Ok(Some(Op::Loop(Box::new(Rounds { extent: each.extent, counter, steps, body: body?, depth }))))
    }

    pub fn store(&mut self, buffer: Buffer, to: Spot, from: Register, ops: &mut Vec<Op>) {
        ops.push(match self.kernel.buffer(buffer).element {
            Element::F64 => Op::StoreF64 { to, from },
            Element::Bf16 => Op::StoreBf16 { to, from },
            Element::Bool => Op::StoreBool { to, from },
            _ => Op::StoreF32 { to, from },
        });
    }

    /// The register of a variable or a loop's counter.
    pub fn variable(&mut self, letter: char, number: u32) -> Register {
        if let Some(&register) = self.variables.get(&(letter, number)) {
            return register;
        }
        let register = if letter == 's' { self.new_real() } else { self.new_int() };
        self.variables.insert((letter, number), register);
        register
    }

    pub fn new_real(&mut self) -> Register {
        self.code.reals += 1;
        u32::try_from(self.code.reals - 1).expect("the text is too short for more registers")
    }

    pub fn new_int(&mut self) -> Register {
        self.code.ints += 1;
        u32::try_from(self.code.ints - 1).expect("the text is too short for more registers")
    }

    pub fn real_constant(&mut self, constant: Constant) -> Register {
        if let Some(&register) = self.real_constants.get(&constant) {
            return register;
        }
        let register = self.new_real();
        self.code.constants.push((register, constant.value()));
        self.real_constants.insert(constant, register);
        register
    }

    pub fn int_constant(&mut self, value: i64) -> Register {
        if let Some(&register) = self.int_constants.get(&value) {
            return register;
        }
        let register = self.new_int();
        self.code.int_constants.push((register, value));
        self.int_constants.insert(value, register);
        register
    }

    /// The element an access names: `lanes` of them lie in a row.
    pub fn spot(&mut self, access: &Access, lanes: u64, ops: &mut Vec<Op>) -> Result<Spot, Error> {
        let source = match access.buffer {
            Buffer::Input(number) => self.sources[number as usize],
            Buffer::Output(number) => Source::Written(number),
            Buffer::Scratch(number) => Source::Written(super::index(self.kernel.outputs.len()) + number),
        };
        let site = super::index(self.code.sites.len());
        self.code.sites.push((self.kernel.buffer_name(access.buffer), access.place));
        let address = match self.offset(access) {
            Some(offset) => {
                self.check(access, lanes)?;
                self.address(offset)
            }
            None => self.located(access, lanes, site, ops)?,
        };
        Ok(Spot { source, address, lane: 0, site })
    }

    fn address(&mut self, offset: Affine) -> Register {
        if offset.terms.is_empty() {
            return self.int_constant(offset.constant);
        }
        let register = match self.addresses.get(&offset) {
            Some(&register) => register,
            None => {
                let register = self.new_int();
                self.code.int_constants.push((register, offset.constant));
                self.addresses.insert(offset.clone(), register);
                register
            }
        };
        for around in &mut self.loops {
            match offset.coefficient(around.counter) {
                0 => {}
                step => drop(around.steps.insert(register, step)),
            }
        }
        register
    }

    /// Row-major strides of a buffer, in elements.
    fn strides(&self, buffer: Buffer) -> Vec<i64> {
        let axes = &self.kernel.buffer(buffer).axes;
        let mut strides = vec![1i64; axes.len()];
        for axis in (1..axes.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(i64::try_from(axes[axis].size).unwrap_or(i64::MAX));
        }
        strides
    }

    /// The offset of an access's element, where all its indices are affine.
    fn offset(&self, access: &Access) -> Option<Affine> {
        let strides = self.strides(access.buffer);
        access
            .index
            .iter()
            .zip(strides)
            .try_fold(Affine::default(), |sum, (index, stride)| sum.plus(&Affine::of(index)?.scaled(stride)?))
    }

    /// Checks each affine index over all rounds of its loops: the interpreter takes nobody's word.
    fn check(&self, access: &Access, lanes: u64) -> Result<(), Error> {
        let extent = |counter| self.loops.iter().find(|each| each.counter == counter).map(|each| each.extent);
        let axes = &self.kernel.buffer(access.buffer).axes;
        for (axis, index) in access.index.iter().enumerate() {
            let last = if axis + 1 == axes.len() { lanes - 1 } else { 0 };
            let size = axes[axis].size;
            let range = Affine::of(index).and_then(|affine| affine.range(extent));
            if range.is_none_or(|(low, high)| low < 0 || high + i128::from(last) >= i128::from(size)) {
                let (low, high) = range.map_or((i64::MIN, i64::MAX), |(low, high)| (clip(low), clip(high)));
                let access_name = self.kernel.buffer_name(access.buffer);
                return Err(ErrorKind::Bounds { access: access_name, axis, low, high, size }.at(access.place));
            }
        }
        Ok(())
    }

    fn located(&mut self, access: &Access, lanes: u64, site: u32, ops: &mut Vec<Op>) -> Result<Register, Error> {
        let strides = self.strides(access.buffer);
        let mut base = self.int_constant(0);
        for (axis, (index, stride)) in access.index.iter().zip(strides).enumerate() {
            let index = self.int(index, ops)?;
            let size = self.kernel.buffer(access.buffer).axes[axis].size;
            let last = if axis + 1 == access.index.len() { lanes - 1 } else { 0 };
            let number = super::index(self.code.axes.len());
            self.code.axes.push(Step { size: size.saturating_sub(last), stride, site });
            let to = self.new_int();
            ops.push(Op::Locate { to, base, index, axis: number });
            base = to;
        }
        Ok(base)
    }

    /// The load of an access into real registers, `lanes` of them.
    pub fn load(&mut self, access: &Access, lanes: &[Register], ops: &mut Vec<Op>) -> Result<(), Error> {
        let first = self.spot(access, lanes.len() as u64, ops)?;
        let element = self.kernel.buffer(access.buffer).element;
        for (lane, &to) in (0u16..).zip(lanes) {
            let from = Spot { lane, ..first };
            ops.push(match element {
                Element::F64 => Op::LoadF64 { to, from },
                Element::Bf16 => Op::LoadBf16 { to, from },
                Element::F32 => Op::LoadF32 { to, from },
                _ => Op::LoadQuantised { to, from, packing: self.packing(access.buffer, first.source) },
            });
        }
        Ok(())
    }

    fn packing(&mut self, buffer: Buffer, source: Source) -> u32 {
        if let Some(&number) = self.packings.get(&buffer) {
            return number;
        }
        let declared = self.kernel.buffer(buffer);
        let (count, inner) = declared.scales().expect("the verifier has checked the axes of the scales");
        // The scales are the caller's slice after the integers'; no output shares a quantised input's buffer.
        let Source::Input(integers) = source else { unreachable!("outputs are never quantised") };
        let is_int4 = matches!(declared.element, Element::Int4(_));
        let row = declared.row().unwrap_or(1).max(1);
        let number = super::index(self.code.packings.len());
        self.code.packings.push(Packing { is_int4, row, scales: integers + 1, count, inner });
        self.packings.insert(buffer, number);
        number
    }
}

fn clip(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}
