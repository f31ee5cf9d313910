//! Loops as blocks.
//!
//! Cranelift hoists out of a loop only what its block order lets it see: it forgets a loop at the first block outside of
//! it. So loops are tested at the bottom, where a loop's exit comes after its body whatever the order; where the rounds are
//! known to be some there is no guard; and where a header tests, the exit is named first.

use std::collections::BTreeSet;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types as clif};
use cranelift_frontend::Variable;
use presk_kernel::ir::Loop;
use presk_kernel::walk;
use presk_rt::interrupt::LOOK;
use presk_rt::work::of_round;

use crate::addresses::{Linear, is_scale};
use crate::broadcasts::{Arrangement, Broadcast};
use crate::generator::{Ahead, Counter, Generator, Position};
use crate::{types, unrolling};

/// Byte offsets kept beside a counter; further strides are multiplied out.
const STRIDES: usize = 4;

/// A header's counter and byte offsets, and the variables they are carried in.
struct Header {
    block: Block,
    counter: Value,
    strides: Vec<(i64, Value)>,
    /// The counter's, then the offsets'.
    variables: Vec<Variable>,
}

impl<'k> Generator<'_, 'k> {
    pub(crate) fn for_loop(&mut self, each: &'k Loop) {
        if self.request.divided.is_some_and(|divided| std::ptr::eq(divided, each)) {
            return self.divided(each);
        }
        match each.extent {
            0 => {}
            1 => self.copy(each, Position::Fixed(0), Vec::new()),
            _ if self.request.calls_rows && (self.folded(each) || self.mapped(each)) => {}
            _ => {
                let held = self.hold(each);
                match self.looks_after(each) {
                    Some(rounds) => self.watched(each, rounds),
                    None => self.all_rounds(each),
                }
                self.release(held);
            }
        }
    }

    fn all_rounds(&mut self, each: &'k Loop) {
        match self.arrangement(each) {
            Some(Arrangement::Ahead(broadcasts)) => return self.rounds_ahead(each, &broadcasts),
            Some(Arrangement::TopTested) => return self.top_tested(each),
            None => {}
        }
        let factor = self.factor(each);
        let whole = each.extent - each.extent % factor;
        if whole > factor {
            let (begin, end) = (self.whole(0), self.whole(whole.cast_signed()));
            self.bottom_tested(each, begin, end, factor);
        }
        let rest = if whole > factor { whole } else { 0 };
        for round in rest..each.extent {
            self.copy(each, Position::Fixed(round.cast_signed()), Vec::new());
        }
    }

    /// After how many rounds a loop looks at whether to go on, a multiple of its factor; none where it is short.
    fn looks_after(&self, each: &'k Loop) -> Option<u64> {
        self.watch?;
        let rounds = (LOOK / of_round(each)).max(1).next_multiple_of(self.factor(each));
        (each.extent > rounds).then_some(rounds)
    }

    /// A long loop: so many rounds at a time, with a look after each. The last ones are fewer.
    fn watched(&mut self, each: &'k Loop, rounds: u64) {
        let factor = self.factor(each);
        let whole = each.extent - each.extent % rounds;
        let (begin, end) = (self.whole(0), self.whole(whole.cast_signed()));
        let variable = self.carry(begin);
        let header = self.builder.create_block();
        self.builder.ins().jump(header, &[]);
        self.builder.switch_to_block(header);
        let first = self.builder.use_var(variable);
        let next = self.builder.ins().iadd_imm_s(first, rounds.cast_signed());
        if rounds == 1 {
            self.copy(each, Position::Running(first, 0), Vec::new());
        } else {
            self.bottom_tested(each, first, next, factor);
        }
        self.look();
        self.builder.def_var(variable, next);
        let goes_on = self.builder.ins().icmp(IntCC::UnsignedLessThan, next, end);
        let after = self.builder.create_block();
        self.builder.ins().brif(goes_on, header, &[], after, &[]);
        self.builder.seal_block(header);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
        let rest = each.extent - whole;
        let many = rest - rest % factor;
        if many > 0 {
            let (begin, end) = (self.whole(whole.cast_signed()), self.whole((whole + many).cast_signed()));
            self.bottom_tested(each, begin, end, factor);
        }
        for round in whole + many..each.extent {
            self.copy(each, Position::Fixed(round.cast_signed()), Vec::new());
        }
    }

    /// One copy of the body, the counter at a position.
    fn copy(&mut self, each: &'k Loop, position: Position, strides: Vec<(i64, Value)>) {
        self.nest.push(Counter { number: each.variable, extent: each.extent, position, strides });
        self.block(&each.body);
        self.nest.pop();
    }

    /// The rounds `begin` … `end` − 1, at least one, their number a multiple of the factor.
    fn bottom_tested(&mut self, each: &'k Loop, begin: Value, end: Value, factor: u64) {
        let header = self.header(each, begin, &[]);
        for copy in 0..factor.cast_signed() {
            self.copy(each, Position::Running(header.counter, copy), header.strides.clone());
        }
        let next = self.advance(&header, factor.cast_signed());
        let goes_on = self.builder.ins().icmp(IntCC::UnsignedLessThan, next, end);
        let after = self.builder.create_block();
        self.builder.ins().brif(goes_on, header.block, &[], after, &[]);
        self.builder.seal_block(header.block);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
    }

    /// Every round loads the broadcasts of the next one; the last stands after the loop. The header tests, so that what a
    /// round computes is used by the next one alone: only then is a broadcast one instruction with its load.
    fn rounds_ahead(&mut self, each: &'k Loop, broadcasts: &[Broadcast<'k>]) {
        let of = types::vector(self.kernel.arithmetic);
        let declared = broadcasts.iter().map(|&broadcast| Ahead { broadcast, variable: self.builder.declare_var(of) });
        let ahead: Vec<Ahead> = declared.collect();
        let counter = |position, strides| Counter { number: each.variable, extent: each.extent, position, strides };
        self.nest.push(counter(Position::Fixed(0), Vec::new()));
        self.load_ahead(&ahead);
        self.nest.pop();
        let begin = self.whole(0);
        let header = self.header(each, begin, &ahead);
        let (body, after) = (self.builder.create_block(), self.builder.create_block());
        let last = (each.extent - 1).cast_signed();
        let done = self.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, header.counter, last);
        self.builder.ins().brif(done, after, &[], body, &[]);
        self.builder.switch_to_block(body);
        self.builder.seal_block(body);
        self.ahead.extend(&ahead);
        self.copy(each, Position::Running(header.counter, 0), header.strides.clone());
        self.nest.push(counter(Position::Running(header.counter, 1), header.strides.clone()));
        self.load_ahead(&ahead);
        self.nest.pop();
        self.repeat(&header, after);
        self.copy(each, Position::Fixed(last), Vec::new());
        self.ahead.truncate(self.ahead.len() - ahead.len());
    }

    /// All rounds, tested in the header, the exit named first.
    fn top_tested(&mut self, each: &'k Loop) {
        let begin = self.whole(0);
        let header = self.header(each, begin, &[]);
        let (body, after) = (self.builder.create_block(), self.builder.create_block());
        let extent = each.extent.cast_signed();
        let done = self.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, header.counter, extent);
        self.builder.ins().brif(done, after, &[], body, &[]);
        self.builder.switch_to_block(body);
        self.builder.seal_block(body);
        self.copy(each, Position::Running(header.counter, 0), header.strides.clone());
        self.repeat(&header, after);
    }

    /// Goes back to a header that tests, and opens the block its exit leads to.
    fn repeat(&mut self, header: &Header, after: Block) {
        self.advance(header, 1);
        self.builder.ins().jump(header.block, &[]);
        self.builder.seal_block(header.block);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
    }

    /// The rounds of this run: in vectors where there are any, with what is left of the range on both sides.
    fn divided(&mut self, each: &'k Loop) {
        let (begin, end) = self.range;
        let Some(in_lanes) = self.request.divided_in_lanes else {
            return self.guarded_rounds(each, begin, end);
        };
        let lanes = self.kernel.arithmetic.lanes().cast_signed();
        let shift = i64::from(lanes.trailing_zeros());
        let up = self.builder.ins().iadd_imm_s(begin, lanes - 1);
        let first = self.builder.ins().ushr_imm_u(up, shift);
        let last = self.builder.ins().ushr_imm_u(end, shift);
        let has_vectors = self.builder.ins().icmp(IntCC::UnsignedLessThan, first, last);
        let (start, stop) = (self.builder.ins().ishl_imm_u(first, shift), self.builder.ins().ishl_imm_u(last, shift));
        let head = self.builder.ins().select(has_vectors, start, end);
        let tail = self.builder.ins().select(has_vectors, stop, end);
        self.guarded_rounds(each, begin, head);
        self.guarded_rounds(in_lanes, first, last);
        self.guarded_rounds(each, tail, end);
    }

    /// Any number of rounds.
    fn guarded_rounds(&mut self, each: &'k Loop, begin: Value, end: Value) {
        let factor = self.factor(each);
        if factor == 1 {
            return self.guarded_loop(each, begin, end, 1);
        }
        let rounds = self.builder.ins().isub(end, begin);
        let some = self.builder.ins().icmp(IntCC::UnsignedLessThan, begin, end);
        let none = self.whole(0);
        let rounds = self.builder.ins().select(some, rounds, none);
        let whole = self.builder.ins().band_imm_s(rounds, -factor.cast_signed());
        let middle = self.builder.ins().iadd(begin, whole);
        self.guarded_loop(each, begin, middle, factor);
        self.guarded_loop(each, middle, end, 1);
    }

    fn guarded_loop(&mut self, each: &'k Loop, begin: Value, end: Value, factor: u64) {
        let some = self.builder.ins().icmp(IntCC::UnsignedLessThan, begin, end);
        let (rounds, after) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(some, rounds, &[], after, &[]);
        self.builder.switch_to_block(rounds);
        self.builder.seal_block(rounds);
        self.bottom_tested(each, begin, end, factor);
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
    }

    /// Opens a header, entered from here.
    ///
    /// The order in which a header first reads variables is that in which a round computes their next values: sums first, then
    /// what is loaded ahead, the counter and the offsets last, when nothing needs their old values and they can be
    /// increased in place.
    fn header(&mut self, each: &'k Loop, begin: Value, ahead: &[Ahead]) -> Header {
        let strides: Vec<i64> = self.strides(each).into_iter().take(STRIDES).collect();
        let mut variables = vec![self.carry(begin)];
        for &stride in &strides {
            let start = self.scaled(begin, stride);
            variables.push(self.carry(start));
        }
        let block = self.builder.create_block();
        self.builder.ins().jump(block, &[]);
        self.builder.switch_to_block(block);
        if unrolling::is_straight(&each.body) {
            for (letter, number) in unrolling::carried(&each.body) {
                self.get(letter, number);
            }
        }
        for each in ahead {
            self.builder.use_var(each.variable);
        }
        let counter = self.builder.use_var(variables[0]);
        let offsets: Vec<Value> = variables[1..].iter().map(|&each| self.builder.use_var(each)).collect();
        Header { block, counter, strides: strides.into_iter().zip(offsets).collect(), variables }
    }

    /// A variable of 64 bits that begins with a value.
    fn carry(&mut self, value: Value) -> Variable {
        let variable = self.builder.declare_var(clif::I64);
        self.builder.def_var(variable, value);
        variable
    }

    /// Sets counter and offsets for some rounds on; the new counter.
    fn advance(&mut self, header: &Header, rounds: i64) -> Value {
        let next = self.builder.ins().iadd_imm_s(header.counter, rounds);
        self.builder.def_var(header.variables[0], next);
        for (&(stride, offset), &variable) in header.strides.iter().zip(&header.variables[1..]) {
            let moved = self.builder.ins().iadd_imm_s(offset, stride.wrapping_mul(rounds));
            self.builder.def_var(variable, moved);
        }
        next
    }

    /// Byte strides of a straight loop's accesses that no address mode multiplies by.
    fn strides(&self, each: &'k Loop) -> BTreeSet<i64> {
        let mut strides = BTreeSet::new();
        if !unrolling::is_straight(&each.body) {
            return strides;
        }
        walk::accesses(&each.body, &mut |access, _, _| {
            let buffer = self.kernel.buffer(access.buffer);
            let is_held = self.held.iter().any(|held| held.buffer == self.resolved(access.buffer));
            let is_packed = matches!(buffer.element, presk_kernel::ir::Element::Int4(_));
            if is_held || is_packed {
                return;
            }
            let stride = Linear::element(access, buffer).times(types::step(buffer.element)).coefficient(each.variable);
            if stride != 0 && !is_scale(stride) {
                strides.insert(stride);
            }
        });
        strides
    }
}
