//! The verifier: what the types of the IR can't express.
//!
//! It proves that every index lies within its axis (from ranges of integer variables, of `i64<V` loads, and of counters,
//! which `if (i0 < n)` around narrows), that every variable is assigned before it is read on every path, that an integer
//! stored to an `i64<V` buffer is below V, that an output sharing an input's buffer never spoils a later read, and that no
//! limit is exceeded. Whether elements are written before they are read is
//! [`crate::written`]'s. Nothing that runs a kernel takes one that hasn't passed here.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, ErrorKind};
use crate::expand::expand;
use crate::interval::{Interval, Ranges, range};
use crate::ir::{
    Access, Arithmetic, Bool, Buffer, BufferType, Condition, Element, Float, Int, Kernel, Mask, Place, Real,
    RealBinary, Statement, StatementKind, Vector,
};
use crate::limits;
use crate::runs;
use crate::share;
use crate::walk::Value;

mod head;
mod tile;

pub use head::{buffer_fault, check_access, is_arithmetic, load_fault, vector_store_fault};

/// Proves a kernel safe to run.
///
/// # Errors
/// The first thing that can't be proven, with its place in the text the kernel was read from.
pub fn verify(kernel: &Kernel) -> Result<(), Error> {
    head::check(kernel)?;
    runs::check(kernel)?;
    tile::check(kernel)?;
    // What reaches beyond sixteen bytes is proven as what it means.
    let expanded = expand(kernel);
    let kernel = &*expanded;
    let mut verifier =
        Verifier { kernel, ranges: HashMap::new(), counters: Vec::new(), assigned: HashSet::new(), order: Vec::new() };
    verifier.find_ranges();
    verifier.block(&kernel.body, 1)?;
    share::check(kernel)
}

/// The range of each integer variable of a verified kernel whose runs and tiles are written out.
pub fn ranges_of(kernel: &Kernel) -> HashMap<u32, Interval> {
    let mut verifier =
        Verifier { kernel, ranges: HashMap::new(), counters: Vec::new(), assigned: HashSet::new(), order: Vec::new() };
    verifier.find_ranges();
    verifier.ranges
}

/// Rounds of joining ranges before those that still grow are widened to the end, and rounds of narrowing after that.
const ROUNDS: usize = 8;

type Variable = (char, u32);

struct Verifier<'k> {
    kernel: &'k Kernel,
    /// The range of each integer variable: the union over its assignments.
    ranges: HashMap<u32, Interval>,
    /// Counters and extents of the loops around the statement at hand, outermost first.
    counters: Vec<(u32, u64)>,
    assigned: HashSet<Variable>,
    /// The variables of `assigned` in the order they came in, so that leaving a block forgets the block's.
    order: Vec<Variable>,
}

impl Ranges for Verifier<'_> {
    fn counter(&self, number: u32) -> Option<Interval> {
        self.counters.iter().find(|each| each.0 == number).map(|each| Interval::below(each.1))
    }

    fn variable(&self, number: u32) -> Option<Interval> {
        self.ranges.get(&number).copied()
    }

    fn load(&self, access: &Access) -> Interval {
        match find(self.kernel, access.buffer).map(|buffer| buffer.element) {
            Some(Element::Index(bound)) => Interval::below(bound),
            _ => Interval::FULL,
        }
    }
}

/// The buffer, where the kernel has it.
fn find(kernel: &Kernel, buffer: Buffer) -> Option<&BufferType> {
    match buffer {
        Buffer::Input(n) => kernel.inputs.get(n as usize),
        Buffer::Output(n) => kernel.outputs.get(n as usize).map(|output| &output.buffer),
        Buffer::Scratch(n) => kernel.scratch.get(n as usize),
    }
}

impl Verifier<'_> {
    /// Finds a range for each integer variable that holds all its assignments' values, given the others' ranges.
    ///
    /// Joins in text order until nothing grows; a bound that still grows after some rounds goes to its end. What that
    /// overshoots, computing all ranges again from those found takes back: each round of it holds all values still.
    fn find_ranges(&mut self) {
        for round in 0.. {
            let before = self.ranges.clone();
            self.join_ranges(&self.kernel.body, &mut None);
            if self.ranges == before {
                break;
            }
            if round > 2 * ROUNDS {
                self.ranges.values_mut().for_each(|range| *range = Interval::FULL);
                break;
            }
            if round >= ROUNDS {
                let grown = self.ranges.iter_mut().filter(|(number, range)| before.get(number) != Some(range));
                grown.for_each(|(_, range)| *range = Interval::FULL);
            }
        }
        for _ in 0..ROUNDS {
            let mut fresh = Some(HashMap::new());
            self.join_ranges(&self.kernel.body, &mut fresh);
            let fresh = fresh.unwrap_or_default();
            if fresh == self.ranges {
                break;
            }
            self.ranges = fresh;
        }
    }

    /// Joins the range of every assignment into those known, or into fresh ones while the known stay.
    fn join_ranges(&mut self, body: &[Statement], fresh: &mut Option<HashMap<u32, Interval>>) {
        for statement in body {
            match &statement.kind {
                StatementKind::SetInt(number, value) => {
                    let Some(found) = range(value, self) else { continue };
                    let ranges = fresh.as_mut().unwrap_or(&mut self.ranges);
                    ranges.entry(*number).and_modify(|old| *old = old.join(found)).or_insert(found);
                }
                StatementKind::For(each) if each.extent > 0 => {
                    self.counters.push((each.variable, each.extent));
                    self.join_ranges(&each.body, fresh);
                    self.counters.pop();
                }
                StatementKind::If(condition, body) => {
                    let bounded = self.bound(condition);
                    self.join_ranges(body, fresh);
                    self.unbound(bounded);
                }
                _ => {}
            }
        }
    }

    fn block(&mut self, body: &[Statement], depth: usize) -> Result<(), Error> {
        if depth > limits::NESTING {
            let kind = ErrorKind::Limit { what: "the depth of blocks".into(), limit: limits::NESTING as u64 };
            return Err(kind.at(body.first().map_or(Place::default(), |statement| statement.place)));
        }
        body.iter().try_for_each(|statement| self.statement(statement, depth))
    }

    fn statement(&mut self, statement: &Statement, depth: usize) -> Result<(), Error> {
        let mut fault = None;
        statement.kind.values(&mut |value| {
            if fault.is_none() {
                fault = self.value(value, statement.place, depth).err();
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        match &statement.kind {
            StatementKind::SetReal(number, _) => self.assign('s', *number, statement.place)?,
            StatementKind::SetInt(number, _) => self.assign('n', *number, statement.place)?,
            StatementKind::SetBool(number, _) => self.assign('b', *number, statement.place)?,
            StatementKind::SetVector(number, _) => self.assign('v', *number, statement.place)?,
            StatementKind::SetMask(number, _) => self.assign('m', *number, statement.place)?,
            StatementKind::For(each) => return self.for_loop(each, statement.place, depth),
            StatementKind::If(condition, body) => {
                let before = self.order.len();
                let bounded = self.bound(condition);
                self.block(body, depth + 1)?;
                self.unbound(bounded);
                self.forget(before);
            }
            stored => return self.store(stored),
        }
        Ok(())
    }

    /// Where a condition is that a counter is below a number, lets it range below that: the counter's place, and where
    /// its range ended before.
    fn bound(&mut self, condition: &Condition) -> Option<(usize, u64)> {
        let (number, end) = condition.bound()?;
        let place = self.counters.iter().position(|each| each.0 == number)?;
        let extent = self.counters[place].1;
        self.counters[place].1 = extent.min(end);
        Some((place, extent))
    }

    /// Takes a bound back.
    fn unbound(&mut self, bounded: Option<(usize, u64)>) {
        if let Some((place, extent)) = bounded {
            self.counters[place].1 = extent;
        }
    }

    fn for_loop(&mut self, each: &crate::ir::Loop, place: Place, depth: usize) -> Result<(), Error> {
        check_number(each.variable, place)?;
        if self.counters.iter().any(|counter| counter.0 == each.variable) {
            let message = format!("i{} is already the counter of an enclosing loop", each.variable);
            return Err(ErrorKind::Unassigned(message).at(place));
        }
        let around = self.counters.iter().map(|counter| u128::from(counter.1).max(1));
        let rounds = around.chain([u128::from(each.extent)]).try_fold(1u128, u128::checked_mul);
        if rounds.is_none_or(|rounds| rounds > u128::from(limits::ROUNDS)) {
            let what = "the number of rounds of nested loops".into();
            return Err(ErrorKind::Limit { what, limit: limits::ROUNDS }.at(place));
        }
        let before = self.order.len();
        self.counters.push((each.variable, each.extent));
        self.block(&each.body, depth + 1)?;
        self.counters.pop();
        if each.extent == 0 {
            self.forget(before);
        }
        Ok(())
    }

    fn assign(&mut self, letter: char, number: u32, place: Place) -> Result<(), Error> {
        check_number(number, place)?;
        if self.assigned.insert((letter, number)) {
            self.order.push((letter, number));
        }
        Ok(())
    }

    /// Forgets the variables first assigned in a block that may not have run.
    fn forget(&mut self, before: usize) {
        for variable in self.order.drain(before..) {
            self.assigned.remove(&variable);
        }
    }

    /// Whether no round of an enclosing loop ever runs: nothing there needs a bound.
    fn is_dead(&self) -> bool {
        self.counters.iter().any(|counter| counter.1 == 0)
    }

    fn store(&self, stored: &StatementKind) -> Result<(), Error> {
        let Some((access, is_vector)) = stored.stored() else { return Ok(()) };
        head::check_access(self.kernel, access)?;
        let buffer = self.kernel.buffer(access.buffer);
        let fits = match stored {
            StatementKind::StoreInt(..) => matches!(buffer.element, Element::I64 | Element::Index(_)),
            StatementKind::StoreBool(..) | StatementKind::StoreMask(..) => buffer.element == Element::Bool,
            _ => buffer.element.is_real(),
        };
        if matches!(access.buffer, Buffer::Input(_)) || !fits {
            let message = format!("{} can't be stored to so", self.kernel.buffer_name(access.buffer));
            return Err(ErrorKind::Type(message).at(access.place));
        }
        if let Some(kind) = vector_store_fault(self.kernel, access).filter(|_| is_vector) {
            return Err(kind.at(access.place));
        }
        self.bounds(access, is_vector)?;
        let (StatementKind::StoreInt(_, value), Element::Index(bound)) = (stored, buffer.element) else {
            return Ok(());
        };
        let found = range(value, self).unwrap_or(Interval::FULL);
        if self.is_dead() || (found.low >= 0 && u64::try_from(found.high).is_ok_and(|high| high < bound)) {
            return Ok(());
        }
        let name = self.kernel.buffer_name(access.buffer);
        let message =
            format!("{name}: the stored integer is {} to {}, not proven below {bound}", found.low, found.high);
        Err(ErrorKind::Value(message).at(access.place))
    }

    fn bounds(&self, access: &Access, is_vector: bool) -> Result<(), Error> {
        if self.is_dead() {
            return Ok(());
        }
        let buffer = self.kernel.buffer(access.buffer);
        for (axis, index) in access.index.iter().enumerate() {
            let found = range(index, self).unwrap_or(Interval::FULL);
            let is_last = axis + 1 == access.index.len();
            let lanes = if is_vector && is_last { self.kernel.arithmetic.lanes() - 1 } else { 0 };
            let high = u64::try_from(found.high).ok().and_then(|high| high.checked_add(lanes));
            let size = buffer.axes[axis].size;
            if found.low < 0 || high.is_none_or(|high| high >= size) {
                let high = found.high.saturating_add_unsigned(lanes);
                let access_name = self.kernel.buffer_name(access.buffer);
                let kind = ErrorKind::Bounds { access: access_name, axis, low: found.low, high, size };
                return Err(kind.at(access.place));
            }
        }
        Ok(())
    }

    fn value(&self, value: Value, place: Place, depth: usize) -> Result<(), Error> {
        if depth > limits::NESTING {
            let what = "the depth of expressions".into();
            return Err(ErrorKind::Limit { what, limit: limits::NESTING as u64 }.at(place));
        }
        let mut fault = self.node(value, place).err();
        value.operands(&mut |operand| {
            if fault.is_none() {
                fault = self.value(operand, place, depth + 1).err();
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        match value.load() {
            Some(access) => self.bounds(access, value.is_lanes()),
            None => Ok(()),
        }
    }

    /// What one node demands, its operands aside.
    fn node(&self, value: Value, place: Place) -> Result<(), Error> {
        if let Some(access) = value.load() {
            return head::check_load(self.kernel, access, value);
        }
        let arithmetic = self.kernel.arithmetic;
        match value {
            Value::Real(Real::Variable(number)) => self.assigned('s', *number, place),
            Value::Int(Int::Variable(number)) => self.assigned('n', *number, place),
            Value::Bool(Bool::Variable(number)) => self.assigned('b', *number, place),
            Value::Vector(Vector::Variable(number)) => self.assigned('v', *number, place),
            Value::Mask(Mask::Variable(number)) => self.assigned('m', *number, place),
            Value::Int(Int::Counter(number)) if self.counter(*number).is_none() => {
                Err(ErrorKind::Unassigned(format!("i{number} is not the counter of an enclosing loop")).at(place))
            }
            Value::Int(Int::Divide(_, _, ..=0)) => {
                Err(ErrorKind::Type("a divisor of integers is a positive literal".into()).at(place))
            }
            Value::Real(Real::Round(Float::F64, _) | Real::FromInt(Float::F64, _))
            | Value::Vector(Vector::FromInt(Float::F64, _))
                if arithmetic == Arithmetic::F32 =>
            {
                Err(ErrorKind::Type("reals of an f32 kernel are f32: f64(x) has no meaning here".into()).at(place))
            }
            Value::Vector(Vector::Binary(RealBinary::Pow, ..)) => {
                Err(ErrorKind::Type("`pow` has no vector form".into()).at(place))
            }
            Value::Vector(Vector::Round(Float::F64, _)) => {
                Err(ErrorKind::Type("`f64` has no vector form".into()).at(place))
            }
            #[allow(clippy::cast_possible_truncation, reason = "what the narrowing loses is the question")]
            Value::Real(Real::Constant(constant))
                if arithmetic == Arithmetic::F32
                    && !constant.value().is_nan()
                    && f64::from(constant.value() as f32).to_bits() != constant.value().to_bits() =>
            {
                Err(ErrorKind::Type(format!("{} is not an f32", constant.value())).at(place))
            }
            _ => Ok(()),
        }
    }

    fn assigned(&self, letter: char, number: u32, place: Place) -> Result<(), Error> {
        if self.assigned.contains(&(letter, number)) {
            return Ok(());
        }
        Err(ErrorKind::Unassigned(format!("{letter}{number} may be read before it is assigned")).at(place))
    }
}

fn check_number(number: u32, place: Place) -> Result<(), Error> {
    if number < limits::VARIABLE {
        return Ok(());
    }
    let what = "the number of a variable".into();
    Err(ErrorKind::Limit { what, limit: u64::from(limits::VARIABLE - 1) }.at(place))
}
