//! Addresses, built from the loop structure in byte strides.
//!
//! An access is a linear form: a constant, a coefficient for each loop counter, and whatever else its indices hold (loaded
//! numbers, integer variables), all in bytes. The constant goes into the instruction; the terms are added in the order of
//! the loops, the innermost last, so that what an inner loop doesn't change is one value for the whole of it. All of this
//! is modulo 2⁶⁴: the verifier has proven that the result lies in the buffer.

use std::collections::BTreeMap;

use cranelift_codegen::ir::{InstBuilder, Value};
use presk_kernel::ir::{Access, BufferType, Int, IntBinary};

use crate::generator::{Generator, Position};

/// constant + Σ coefficient · counter + Σ coefficient · other integer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Linear<'k> {
    pub constant: i64,
    /// By counter; none is 0.
    pub counters: BTreeMap<u32, i64>,
    pub others: Vec<(&'k Int, i64)>,
}

impl<'k> Linear<'k> {
    /// The number of the element an access touches, row-major.
    pub fn element(access: &'k Access, buffer: &BufferType) -> Self {
        Self::axes(access, buffer, 0)
    }

    /// The same among the axes from `first` on.
    pub fn axes(access: &'k Access, buffer: &BufferType, first: usize) -> Self {
        let mut linear = Self::default();
        let mut stride = 1i64;
        for (index, axis) in access.index.iter().zip(&buffer.axes).skip(first).rev() {
            linear.add(index, stride);
            stride = stride.wrapping_mul(axis.size.cast_signed());
        }
        linear
    }

    /// Adds `factor` times an integer.
    pub fn add(&mut self, int: &'k Int, factor: i64) {
        match int {
            Int::Constant(value) => self.constant = self.constant.wrapping_add(value.wrapping_mul(factor)),
            Int::Counter(number) => self.add_counter(*number, factor),
            Int::Neg(operand) => self.add(operand, factor.wrapping_neg()),
            Int::Binary(IntBinary::Add, left, right) => {
                self.add(left, factor);
                self.add(right, factor);
            }
            Int::Binary(IntBinary::Sub, left, right) => {
                self.add(left, factor);
                self.add(right, factor.wrapping_neg());
            }
            Int::Binary(IntBinary::Mul, left, right) => match (&**left, &**right) {
                (Int::Constant(value), other) | (other, Int::Constant(value)) => {
                    self.add(other, factor.wrapping_mul(*value));
                }
                _ => self.others.push((int, factor)),
            },
            _ => self.others.push((int, factor)),
        }
    }

    fn add_counter(&mut self, number: u32, factor: i64) {
        let sum = self.counters.get(&number).copied().unwrap_or(0).wrapping_add(factor);
        if sum == 0 {
            self.counters.remove(&number);
        } else {
            self.counters.insert(number, sum);
        }
    }

    /// The form times a number of bytes.
    #[must_use]
    pub fn times(mut self, factor: i64) -> Self {
        self.constant = self.constant.wrapping_mul(factor);
        self.counters.values_mut().for_each(|each| *each = each.wrapping_mul(factor));
        self.others.iter_mut().for_each(|(_, each)| *each = each.wrapping_mul(factor));
        self
    }

    /// Whether it is made of counters alone.
    pub fn is_affine(&self) -> bool {
        self.others.is_empty()
    }

    /// The coefficient of a counter.
    pub fn coefficient(&self, counter: u32) -> i64 {
        self.counters.get(&counter).copied().unwrap_or(0)
    }
}

/// Whether an address mode multiplies by this itself.
pub(crate) fn is_scale(stride: i64) -> bool {
    matches!(stride, 1 | 2 | 4 | 8)
}

impl<'k> Generator<'_, 'k> {
    /// The address `base` + a form in bytes, and what an access adds to it.
    pub(crate) fn address(&mut self, base: Value, linear: &Linear<'k>) -> (Value, i32) {
        let constant = self.constant(linear);
        let (start, offset) = match i32::try_from(constant) {
            // A vector's last byte must be within reach too.
            Ok(offset) if offset < i32::MAX - 64 => (base, offset),
            _ => (self.builder.ins().iadd_imm_s(base, constant), 0),
        };
        (self.sum(start, linear), offset)
    }

    /// The value of a form.
    pub(crate) fn value(&mut self, linear: &Linear<'k>) -> Value {
        let constant = self.constant(linear);
        let start = self.whole(constant);
        self.sum(start, linear)
    }

    /// The constant, with what counters known by now add to it.
    fn constant(&self, linear: &Linear) -> i64 {
        self.nest.iter().fold(linear.constant, |sum, counter| {
            let known = match counter.position {
                Position::Fixed(value) | Position::Running(_, value) => value,
            };
            sum.wrapping_add(linear.coefficient(counter.number).wrapping_mul(known))
        })
    }

    fn sum(&mut self, start: Value, linear: &Linear<'k>) -> Value {
        let mut sum = start;
        let innermost = self.nest.iter().rposition(|counter| matches!(counter.position, Position::Running(..)));
        for depth in 0..innermost.unwrap_or(0) {
            sum = self.add_term(sum, depth, linear);
        }
        for &(other, factor) in &linear.others {
            let value = self.int(other);
            let term = self.scaled(value, factor);
            sum = self.builder.ins().iadd(sum, term);
        }
        match innermost {
            Some(depth) => self.add_term(sum, depth, linear),
            None => sum,
        }
    }

    fn add_term(&mut self, sum: Value, depth: usize, linear: &Linear) -> Value {
        let counter = &self.nest[depth];
        let stride = linear.coefficient(counter.number);
        let Position::Running(value, _) = counter.position else { return sum };
        if stride == 0 {
            return sum;
        }
        let kept = counter.strides.iter().find(|(each, _)| *each == stride);
        let term = kept.map(|(_, offset)| *offset).unwrap_or_else(|| self.scaled(value, stride));
        self.builder.ins().iadd(sum, term)
    }

    pub(crate) fn scaled(&mut self, value: Value, factor: i64) -> Value {
        match factor {
            1 => value,
            factor if factor > 0 && factor.count_ones() == 1 => {
                self.builder.ins().ishl_imm_u(value, i64::from(factor.trailing_zeros()))
            }
            factor => self.builder.ins().imul_imm_s(value, factor),
        }
    }
}
