//! Running register code over byte slices.

use super::bytes::{get, nibble, set};
use super::code::{Code, IntOp, Op, Packing, RealOp, Register, Rounds, Source, Spot};
use super::real::{Arith, narrow_bf16, widen_bf16};
use crate::error::{Error, ErrorKind};
use crate::ir::{Comparison, Place};

/// Which elements of outputs and scratch have been written, one byte an element.
pub struct Shadow {
    pub written: Vec<Vec<u8>>,
    /// How many of them are outputs.
    pub outputs: usize,
    /// The depth whose rounds begin with unwritten scratch.
    pub split: Option<usize>,
}

/// What stopped a run, and the access it was, by number.
enum Fault {
    /// Outside of the buffer, which a verified kernel never is.
    Outside(u32),
    Unwritten(u32, i64),
    Value(u32, i64, u64),
    Interrupted,
}

/// Rounds of loops between two looks at whether the run is to end.
const LOOK: u32 = 1 << 12;

/// The registers and the memory of one run.
pub struct Machine<'m, R> {
    reals: Vec<R>,
    ints: Vec<i64>,
    inputs: &'m [&'m [u8]],
    written: Vec<&'m mut [u8]>,
    shadow: Option<Shadow>,
    code: &'m Code,
    is_over: &'m dyn Fn() -> bool,
    /// Rounds until it is asked.
    patience: u32,
}

type Run = Result<(), Fault>;

impl<'m, R: Arith> Machine<'m, R> {
    pub fn new(
        code: &'m Code,
        inputs: &'m [&'m [u8]],
        written: Vec<&'m mut [u8]>,
        is_over: &'m dyn Fn() -> bool,
    ) -> Self {
        let mut machine = Self {
            reals: vec![R::default(); code.reals],
            ints: vec![0; code.ints],
            inputs,
            written,
            shadow: None,
            code,
            is_over,
            patience: LOOK,
        };
        for &(to, value) in &code.constants {
            machine.reals[to as usize] = R::constant(value);
        }
        for &(to, value) in &code.int_constants {
            machine.ints[to as usize] = value;
        }
        machine
    }

    /// Runs the code. Under `WATCHED` the shadow map is kept and asked.
    pub fn run<const WATCHED: bool>(&mut self, code: &'m Code) -> Result<(), Error> {
        self.block::<WATCHED>(&code.body).map_err(|fault| self.explain(&fault))
    }

    pub fn watch(&mut self, shadow: Shadow) {
        self.shadow = Some(shadow);
    }

    fn explain(&self, fault: &Fault) -> Error {
        let site = |number: u32| &self.code.sites[number as usize];
        match *fault {
            Fault::Outside(number) => {
                let (name, place) = site(number);
                ErrorKind::Arguments(format!("{name}: an access leaves the buffer")).at(*place)
            }
            Fault::Unwritten(number, element) => {
                let (name, place) = site(number);
                ErrorKind::Unwritten(format!("{name}: element {element} is read before it is written")).at(*place)
            }
            Fault::Value(number, value, bound) => {
                let (name, place) = site(number);
                ErrorKind::Value(format!("{name}: {value} is not in 0..{bound}")).at(*place)
            }
            Fault::Interrupted => ErrorKind::Interrupted.at(Place::default()),
        }
    }

    fn block<const WATCHED: bool>(&mut self, ops: &[Op]) -> Run {
        for op in ops {
            match op {
                Op::Add { to, left, right } => self.reals[*to as usize] = self.real(*left).add(self.real(*right)),
                Op::Mul { to, left, right } => self.reals[*to as usize] = self.real(*left).mul(self.real(*right)),
                Op::MulAdd { to, addend, left, right } => {
                    let product = self.real(*left).mul(self.real(*right));
                    self.reals[*to as usize] = self.real(*addend).add(product);
                }
                Op::LoadF32 { to, from } => {
                    let bytes = self.load::<WATCHED, 4>(from)?;
                    self.reals[*to as usize] = R::from_f32(f32::from_ne_bytes(bytes));
                }
                Op::LoadF64 { to, from } => {
                    let bytes = self.load::<WATCHED, 8>(from)?;
                    self.reals[*to as usize] = R::from_f64(f64::from_ne_bytes(bytes));
                }
                Op::LoadBf16 { to, from } => {
                    let bytes = self.load::<WATCHED, 2>(from)?;
                    self.reals[*to as usize] = R::from_f32(widen_bf16(u16::from_ne_bytes(bytes)));
                }
                Op::StoreF32 { to, from } => {
                    self.store::<WATCHED, 4>(to, self.real(*from).to_f32().to_ne_bytes())?;
                }
                Op::StoreF64 { to, from } => {
                    self.store::<WATCHED, 8>(to, self.real(*from).to_f64().to_ne_bytes())?;
                }
                Op::StoreBf16 { to, from } => {
                    self.store::<WATCHED, 2>(to, narrow_bf16(self.real(*from).to_f32()).to_ne_bytes())?;
                }
                Op::Loop(rounds) => self.rounds::<WATCHED>(rounds)?,
                Op::If { condition, body } => {
                    if self.int(*condition) != 0 {
                        self.block::<WATCHED>(body)?;
                    }
                }
                Op::Locate { to, base, index, axis } => self.locate(*to, *base, *index, *axis)?,
                Op::LoadInt { .. }
                | Op::StoreInt { .. }
                | Op::LoadBool { .. }
                | Op::StoreBool { .. }
                | Op::LoadQuantised { .. } => self.rare_access::<WATCHED>(op)?,
                _ => self.compute(op),
            }
        }
        Ok(())
    }

    #[inline]
    fn real(&self, register: Register) -> R {
        self.reals[register as usize]
    }

    #[inline]
    fn int(&self, register: Register) -> i64 {
        self.ints[register as usize]
    }

    fn rounds<const WATCHED: bool>(&mut self, rounds: &Rounds) -> Run {
        self.ints[rounds.counter as usize] = 0;
        for _ in 0..rounds.extent {
            self.patience -= 1;
            if self.patience == 0 {
                self.patience = LOOK;
                if (self.is_over)() {
                    return Err(Fault::Interrupted);
                }
            }
            if WATCHED {
                self.forget_scratch(rounds.depth);
            }
            self.block::<WATCHED>(&rounds.body)?;
            self.ints[rounds.counter as usize] += 1;
            for &(address, step) in &rounds.steps {
                let offset = &mut self.ints[address as usize];
                *offset = offset.wrapping_add(step);
            }
        }
        for &(address, step) in &rounds.steps {
            let offset = &mut self.ints[address as usize];
            *offset = offset.wrapping_sub(step.wrapping_mul(rounds.extent.cast_signed()));
        }
        Ok(())
    }

    fn forget_scratch(&mut self, depth: Option<usize>) {
        if let Some(shadow) = self.shadow.as_mut().filter(|shadow| depth.is_some() && shadow.split == depth) {
            shadow.written[shadow.outputs..].iter_mut().for_each(|map| map.fill(0));
        }
    }

    #[inline]
    fn element(&self, spot: &Spot) -> i64 {
        self.int(spot.address) + i64::from(spot.lane)
    }

    #[inline]
    fn load<const WATCHED: bool, const N: usize>(&self, from: &Spot) -> Result<[u8; N], Fault> {
        let at = self.element(from);
        let bytes: &[u8] = match from.source {
            Source::Input(number) => self.inputs[number as usize],
            Source::Written(number) => {
                if WATCHED {
                    self.check_written(number, at, from.site)?;
                }
                self.written[number as usize]
            }
        };
        get(bytes, at).ok_or(Fault::Outside(from.site))
    }

    #[inline]
    fn store<const WATCHED: bool, const N: usize>(&mut self, to: &Spot, value: [u8; N]) -> Run {
        let at = self.element(to);
        let Source::Written(number) = to.source else { return Err(Fault::Outside(to.site)) };
        set(self.written[number as usize], at, value).ok_or(Fault::Outside(to.site))?;
        if WATCHED && let Some(shadow) = &mut self.shadow {
            let element = usize::try_from(at).ok().and_then(|at| shadow.written[number as usize].get_mut(at));
            *element.ok_or(Fault::Outside(to.site))? = 1;
        }
        Ok(())
    }

    fn check_written(&self, number: u32, at: i64, site: u32) -> Run {
        let Some(shadow) = &self.shadow else { return Ok(()) };
        match usize::try_from(at).ok().and_then(|at| shadow.written[number as usize].get(at)) {
            Some(0) => Err(Fault::Unwritten(site, at)),
            Some(_) => Ok(()),
            None => Err(Fault::Outside(site)),
        }
    }

    fn locate(&mut self, to: Register, base: Register, index: Register, axis: u32) -> Run {
        let axis = &self.code.axes[axis as usize];
        let index = self.int(index);
        if u64::try_from(index).is_ok_and(|index| index < axis.size) {
            self.ints[to as usize] = self.int(base).wrapping_add(index.wrapping_mul(axis.stride));
            return Ok(());
        }
        Err(Fault::Outside(axis.site))
    }

    fn rare_access<const WATCHED: bool>(&mut self, op: &Op) -> Run {
        match op {
            Op::LoadInt { to, from, bound } => {
                let value = i64::from_ne_bytes(self.load::<WATCHED, 8>(from)?);
                let is_below = u64::try_from(value).is_ok_and(|value| value < *bound);
                if *bound > 0 && !is_below {
                    return Err(Fault::Value(from.site, value, *bound));
                }
                self.ints[*to as usize] = value;
            }
            Op::StoreInt { to, from } => self.store::<WATCHED, 8>(to, self.int(*from).to_ne_bytes())?,
            Op::LoadBool { to, from } => {
                let [byte] = self.load::<WATCHED, 1>(from)?;
                self.ints[*to as usize] = i64::from(byte != 0);
            }
            Op::StoreBool { to, from } => self.store::<WATCHED, 1>(to, [u8::from(self.int(*from) != 0)])?,
            Op::LoadQuantised { to, from, packing } => {
                let packing = &self.code.packings[*packing as usize];
                let value = self.quantised(from, packing).ok_or(Fault::Outside(from.site))?;
                self.reals[*to as usize] = R::from_f32(value);
            }
            _ => {}
        }
        Ok(())
    }

    /// f32(q)·s, rounded once in f32.
    fn quantised(&self, from: &Spot, packing: &Packing) -> Option<f32> {
        let Source::Input(number) = from.source else { return None };
        let at = u64::try_from(self.element(from)).ok()?;
        let bytes = self.inputs[number as usize];
        let integer = if packing.is_int4 {
            nibble(bytes, at, packing.row)?
        } else {
            bytes.get(usize::try_from(at).ok()?)?.cast_signed()
        };
        let scale = get(self.inputs.get(packing.scales as usize)?, (at / packing.inner % packing.count).cast_signed())?;
        Some(f32::from(integer) * f32::from_ne_bytes(scale))
    }

    /// The operations that touch registers alone.
    fn compute(&mut self, op: &Op) {
        match *op {
            Op::Copy { to, from } => self.reals[to as usize] = self.real(from),
            Op::Neg { to, from } => self.reals[to as usize] = self.real(from).neg(),
            Op::Abs { to, from } => self.reals[to as usize] = self.real(from).abs(),
            Op::Floor { to, from } => self.reals[to as usize] = self.real(from).floor(),
            Op::Sqrt { to, from } => self.reals[to as usize] = self.real(from).sqrt(),
            Op::Call { to, from, function } => self.reals[to as usize] = self.real(from).call(function),
            Op::Real { to, left, right, operator } => {
                let (a, b) = (self.real(left), self.real(right));
                self.reals[to as usize] = match operator {
                    RealOp::Sub => a.sub(b),
                    RealOp::Div => a.div(b),
                    RealOp::Max => a.max(b),
                    RealOp::Min => a.min(b),
                    RealOp::Pow => a.pow(b),
                };
            }
            Op::Fma { to, a, b, c } => self.reals[to as usize] = self.real(a).fma(self.real(b), self.real(c)),
            Op::Select { to, condition, a, b } => {
                self.reals[to as usize] = self.real(if self.int(condition) != 0 { a } else { b });
            }
            Op::Round { to, from, float } => self.reals[to as usize] = self.real(from).round(float),
            Op::Convert { to, from, float } => self.reals[to as usize] = R::convert(self.int(from), float),
            Op::CompareReal { to, left, right, comparison } => {
                self.ints[to as usize] = i64::from(self.real(left).compare(comparison, self.real(right)));
            }
            _ => self.compute_int(op),
        }
    }

    fn compute_int(&mut self, op: &Op) {
        let (to, value) = match *op {
            Op::CopyInt { to, from } => (to, self.int(from)),
            Op::NegInt { to, from } => (to, self.int(from).wrapping_neg()),
            Op::AbsInt { to, from } => (to, self.int(from).wrapping_abs()),
            Op::Int { to, left, right, operator } => {
                let (a, b) = (self.int(left), self.int(right));
                let value = match operator {
                    IntOp::Add => a.wrapping_add(b),
                    IntOp::Sub => a.wrapping_sub(b),
                    IntOp::Mul => a.wrapping_mul(b),
                    IntOp::Max => a.max(b),
                    IntOp::Min => a.min(b),
                    IntOp::And => a & b,
                    IntOp::Or => a | b,
                };
                (to, value)
            }
            Op::Quotient { to, from, divisor } => (to, self.int(from).div_euclid(divisor)),
            Op::Remainder { to, from, divisor } => (to, self.int(from).rem_euclid(divisor)),
            Op::SelectInt { to, condition, a, b } => (to, self.int(if self.int(condition) != 0 { a } else { b })),
            Op::Not { to, from } => (to, i64::from(self.int(from) == 0)),
            Op::CompareInt { to, left, right, comparison } => {
                let (a, b) = (self.int(left), self.int(right));
                let holds = match comparison {
                    Comparison::Lt => a < b,
                    Comparison::Le => a <= b,
                    Comparison::Eq => a == b,
                    Comparison::Ne => a != b,
                    Comparison::Ge => a >= b,
                    Comparison::Gt => a > b,
                };
                (to, i64::from(holds))
            }
            _ => unreachable!("the other operations are run by their own functions"),
        };
        self.ints[to as usize] = value;
    }
}

impl<R> Machine<'_, R> {
    /// The shadow map, outputs first; empty where the run wasn't watched.
    pub fn written_map(&self) -> &[Vec<u8>] {
        self.shadow.as_ref().map_or(&[], |shadow| &shadow.written)
    }
}
