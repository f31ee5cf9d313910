//! The compiler of values of several lanes: a register a lane.

use super::code::{Compiler, IntOp, Op, Register, Spot};
use super::values::{binary, push, unary};
use crate::error::Error;
use crate::ir::{Access, Element, Mask, RealBinary, Vector, Wholes};

type Compiled<T> = Result<T, Error>;

impl Compiler<'_> {
    fn lanes(&self) -> usize {
        usize::try_from(self.kernel.arithmetic.lanes()).expect("two or four")
    }

    /// The registers of a vector or mask variable, one a lane.
    pub fn lanes_variable(&mut self, letter: char, number: u32) -> Vec<Register> {
        let lanes = self.lanes();
        let first = self.variables.get(&(letter, number)).copied().unwrap_or_else(|| {
            let registers: Vec<Register> =
                (0..lanes).map(|_| if letter == 'v' { self.new_real() } else { self.new_int() }).collect();
            self.variables.insert((letter, number), registers[0]);
            registers[0]
        });
        (first..).take(lanes).collect()
    }

    /// A vector's lanes, in the registers they already have or in new ones.
    pub fn vector(&mut self, value: &Vector, ops: &mut Vec<Op>) -> Compiled<Vec<Register>> {
        let lanes = self.lanes();
        match value {
            Vector::Variable(number) => Ok(self.lanes_variable('v', *number)),
            Vector::Splat(operand) => Ok(vec![self.real(operand, ops)?; lanes]),
            _ => {
                let to: Vec<Register> = (0..lanes).map(|_| self.new_real()).collect();
                self.vector_into(value, &to, ops)?;
                Ok(to)
            }
        }
    }

    /// A vector, in those registers: each is set by the last operation of its lane, which reads no other lane.
    pub fn vector_into(&mut self, value: &Vector, to: &[Register], ops: &mut Vec<Op>) -> Compiled<()> {
        match value {
            Vector::Variable(_) | Vector::Splat(_) => {
                let from = self.vector(value, ops)?;
                ops.extend(to.iter().zip(from).map(|(&to, from)| Op::Copy { to, from }));
            }
            Vector::Load(access) => self.load(access, to, ops)?,
            Vector::Round(float, operand) => {
                let from = self.vector(operand, ops)?;
                ops.extend(to.iter().zip(from).map(|(&to, from)| Op::Round { to, from, float: *float }));
            }
            Vector::FromInt(float, operand) => {
                let from = self.wholes(operand, ops)?;
                ops.extend(to.iter().zip(from).map(|(&to, from)| Op::Convert { to, from, float: *float }));
            }
            Vector::Select(mask, a, b) => {
                let (mask, a, b) = (self.mask(mask, ops)?, self.vector(a, ops)?, self.vector(b, ops)?);
                ops.extend((0..to.len()).map(|lane| Op::Select {
                    to: to[lane],
                    condition: mask[lane],
                    a: a[lane],
                    b: b[lane],
                }));
            }
            Vector::Unary(operator, operand) => {
                let from = self.vector(operand, ops)?;
                ops.extend(to.iter().zip(from).map(|(&to, from)| unary(*operator, to, from)));
            }
            Vector::Binary(RealBinary::Add, addend, product)
                if matches!(**product, Vector::Binary(RealBinary::Mul, ..)) =>
            {
                let Vector::Binary(_, left, right) = &**product else { unreachable!("it is a product") };
                let (addend, left, right) =
                    (self.vector(addend, ops)?, self.vector(left, ops)?, self.vector(right, ops)?);
                ops.extend((0..to.len()).map(|lane| Op::MulAdd {
                    to: to[lane],
                    addend: addend[lane],
                    left: left[lane],
                    right: right[lane],
                }));
            }
            Vector::Binary(operator, left, right) => {
                let (left, right) = (self.vector(left, ops)?, self.vector(right, ops)?);
                let lanes = to.iter().zip(left.into_iter().zip(right));
                ops.extend(lanes.map(|(&to, (left, right))| binary(*operator, to, left, right)));
            }
            Vector::Fma(operands) => {
                let [a, b, c] = &**operands;
                let (a, b, c) = (self.vector(a, ops)?, self.vector(b, ops)?, self.vector(c, ops)?);
                ops.extend((0..to.len()).map(|lane| Op::Fma { to: to[lane], a: a[lane], b: b[lane], c: c[lane] }));
            }
        }
        Ok(())
    }

    /// A mask's lanes, each 0 or 1.
    pub fn mask(&mut self, value: &Mask, ops: &mut Vec<Op>) -> Compiled<Vec<Register>> {
        match value {
            Mask::Variable(number) => Ok(self.lanes_variable('m', *number)),
            Mask::Splat(operand) => Ok(vec![self.bool(operand, ops)?; self.lanes()]),
            Mask::Load(access) => self.load_lanes(access, ops),
            Mask::CompareReal(comparison, left, right) => {
                let (left, right) = (self.vector(left, ops)?, self.vector(right, ops)?);
                let comparison = *comparison;
                Ok(self.each(left, right, ops, |to, left, right| Op::CompareReal { to, left, right, comparison }))
            }
            Mask::CompareInt(comparison, left, right) => {
                let (left, right) = (self.wholes(left, ops)?, self.wholes(right, ops)?);
                let comparison = *comparison;
                Ok(self.each(left, right, ops, |to, left, right| Op::CompareInt { to, left, right, comparison }))
            }
            Mask::Not(operand) => {
                let lanes = self.mask(operand, ops)?;
                Ok(lanes.into_iter().map(|from| push(Op::Not { to: self.new_int(), from }, ops)).collect())
            }
            Mask::And(left, right) | Mask::Or(left, right) => {
                let (left, right) = (self.mask(left, ops)?, self.mask(right, ops)?);
                let operator = if matches!(value, Mask::And(..)) { IntOp::And } else { IntOp::Or };
                Ok(self.each(left, right, ops, |to, left, right| Op::Int { to, left, right, operator }))
            }
        }
    }

    /// An operation of each pair of lanes.
    fn each(
        &mut self,
        left: Vec<Register>,
        right: Vec<Register>,
        ops: &mut Vec<Op>,
        op: impl Fn(Register, Register, Register) -> Op,
    ) -> Vec<Register> {
        let pairs = left.into_iter().zip(right);
        pairs.map(|(left, right)| push(op(self.new_int(), left, right), ops)).collect()
    }

    fn wholes(&mut self, value: &Wholes, ops: &mut Vec<Op>) -> Compiled<Vec<Register>> {
        match value {
            Wholes::Splat(operand) => Ok(vec![self.int(operand, ops)?; self.lanes()]),
            Wholes::Ramp(first, step) => {
                let mut register = self.int(first, ops)?;
                let step = self.int_constant(*step);
                let mut lanes = vec![register];
                while lanes.len() < self.lanes() {
                    let to = self.new_int();
                    register = push(Op::Int { to, left: register, right: step, operator: IntOp::Add }, ops);
                    lanes.push(register);
                }
                Ok(lanes)
            }
            Wholes::Load(access) => self.load_lanes(access, ops),
        }
    }

    /// Stores lanes in a row.
    pub fn store_lanes(&mut self, access: &Access, lanes: Vec<Register>, ops: &mut Vec<Op>) -> Compiled<()> {
        let first = self.spot(access, self.kernel.arithmetic.lanes(), ops)?;
        for (lane, from) in (0u16..).zip(lanes) {
            self.store(access.buffer, Spot { lane, ..first }, from, ops);
        }
        Ok(())
    }

    /// Integers or truth values in a row.
    fn load_lanes(&mut self, access: &Access, ops: &mut Vec<Op>) -> Compiled<Vec<Register>> {
        let first = self.spot(access, self.kernel.arithmetic.lanes(), ops)?;
        let element = self.kernel.buffer(access.buffer).element;
        let lanes = (0u16..).take(self.lanes()).map(|lane| {
            let (to, from) = (self.new_int(), Spot { lane, ..first });
            push(
                match element {
                    Element::Bool => Op::LoadBool { to, from },
                    Element::Index(bound) => Op::LoadInt { to, from, bound },
                    _ => Op::LoadInt { to, from, bound: 0 },
                },
                ops,
            )
        });
        Ok(lanes.collect())
    }
}
