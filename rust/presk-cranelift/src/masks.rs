//! Truth values in lanes, as wide as the lanes of vectors, and the integers in lanes that are compared for them.

use cranelift_codegen::ir::{ConstantData, InstBuilder, Opcode, Value, types as clif};
use presk_kernel::interval::{Interval, Ranges, range};
use presk_kernel::ir::{Access, Arithmetic, Comparison, Element, Float, Int, IntBinary, Mask, Wholes};

use crate::addresses::Linear;
use crate::generator::Generator;
use crate::scalars::{float_condition, int_condition};
use crate::types;

/// The bytes of every other lane of 32 bits of two vectors.
const EVEN_WORDS: [u8; 16] = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];

impl<'k> Generator<'_, 'k> {
    fn is_single(&self) -> bool {
        self.kernel.arithmetic == Arithmetic::F32
    }

    pub(crate) fn mask(&mut self, mask: &'k Mask) -> Value {
        self.nodes += 1;
        match mask {
            Mask::Variable(number) => self.get('m', *number),
            Mask::Splat(operand) => {
                let truth = self.bool(operand);
                let wide = self.builder.ins().uextend(types::bits(self.kernel.arithmetic), truth);
                let all = self.builder.ins().ineg(wide);
                self.builder.ins().splat(types::mask(self.kernel.arithmetic), all)
            }
            Mask::Load(access) => self.load_mask(access),
            Mask::CompareReal(comparison, left, right) => {
                let (left, right) = (self.vector(left), self.vector(right));
                let (left, right) = (self.in_register(left), self.in_register(right));
                self.builder.ins().fcmp(float_condition(*comparison), left, right)
            }
            Mask::CompareInt(comparison, left, right) => self.compare_wholes(*comparison, left, right),
            Mask::Not(operand) => {
                let operand = self.mask(operand);
                self.builder.ins().bnot(operand)
            }
            Mask::And(left, right) => {
                let (left, right) = (self.mask(left), self.mask(right));
                self.builder.ins().band(left, right)
            }
            Mask::Or(left, right) => {
                let (left, right) = (self.mask(left), self.mask(right));
                self.builder.ins().bor(left, right)
            }
        }
    }

    /// Where reals are f32, integers that are known to have 32 bits are compared as such, others in pairs.
    fn compare_wholes(&mut self, comparison: Comparison, left: &'k Wholes, right: &'k Wholes) -> Value {
        let condition = int_condition(comparison);
        if self.is_single() && self.are_narrow(left) && self.are_narrow(right) {
            let (left, right) = (self.narrow_wholes(left), self.narrow_wholes(right));
            return self.builder.ins().icmp(condition, left, right);
        }
        let (left, right) = (self.wholes(left), self.wholes(right));
        let low = self.builder.ins().icmp(condition, left[0], right[0]);
        if !self.is_single() {
            return low;
        }
        let high = self.builder.ins().icmp(condition, left[1], right[1]);
        self.even_words(low, high)
    }

    /// Chooses lanes. A comparison of integers is known to be all bits or none where lanes are integers too.
    pub(crate) fn chosen(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let (real, whole) = (types::vector(self.kernel.arithmetic), types::mask(self.kernel.arithmetic));
        let dfg = &self.builder.func.dfg;
        let is_compared = dfg.value_def(mask).inst().is_some_and(|each| dfg.insts[each].opcode() == Opcode::Icmp);
        if !is_compared {
            let mask = self.builder.ins().bitcast(real, types::cast(), mask);
            return self.builder.ins().bitselect(mask, a, b);
        }
        let [a, b] = [a, b].map(|each| self.builder.ins().bitcast(whole, types::cast(), each));
        let found = self.builder.ins().bitselect(mask, a, b);
        self.builder.ins().bitcast(real, types::cast(), found)
    }

    /// A vector that a comparison doesn't take from memory: Cranelift makes a load the operand of SSE's comparison, as of
    /// AVX's, but that one faults where the address isn't aligned. A cast's operand is loaded by itself.
    fn in_register(&mut self, vector: Value) -> Value {
        if !self.facts.aligns_operands {
            return vector;
        }
        let bits = self.builder.ins().bitcast(types::mask(self.kernel.arithmetic), types::cast(), vector);
        self.builder.ins().bitcast(types::vector(self.kernel.arithmetic), types::cast(), bits)
    }

    /// The low halves of the lanes of 64 bits of two vectors.
    fn even_words(&mut self, low: Value, high: Value) -> Value {
        let [low, high] = [low, high].map(|each| self.builder.ins().bitcast(clif::I8X16, types::cast(), each));
        let order = self.builder.func.dfg.immediates.push(ConstantData::from(EVEN_WORDS.to_vec()));
        let words = self.builder.ins().shuffle(low, high, order);
        self.builder.ins().bitcast(clif::I32X4, types::cast(), words)
    }

    /// A byte a lane; a truth value is any that isn't 0.
    fn load_mask(&mut self, access: &'k Access) -> Value {
        let raw = self.load_element(access, if self.is_single() { clif::I32 } else { clif::I16 });
        let word = if self.is_single() { raw } else { self.builder.ins().uextend(clif::I32, raw) };
        let vector = self.builder.ins().scalar_to_vector(clif::I32X4, word);
        let bytes = self.builder.ins().bitcast(clif::I8X16, types::cast(), vector);
        let none = self.constant_bytes(clif::I8X16, [0; 16].to_vec());
        let truths = self.builder.ins().icmp(int_condition(Comparison::Ne), bytes, none);
        let halves = self.builder.ins().swiden_low(truths);
        let words = self.builder.ins().swiden_low(halves);
        if self.is_single() { words } else { self.builder.ins().swiden_low(words) }
    }

    /// A mask's lanes as the bytes 0 and 1, in one integer.
    pub(crate) fn mask_bytes(&mut self, mask: Value) -> Value {
        let words = if self.is_single() { mask } else { self.even_words(mask, mask) };
        let halves = self.builder.ins().snarrow(words, words);
        let bytes = self.builder.ins().snarrow(halves, halves);
        let ones = self.constant_bytes(clif::I8X16, [1; 16].to_vec());
        let truths = self.builder.ins().band(bytes, ones);
        let of = if self.is_single() { clif::I32X4 } else { clif::I16X8 };
        let cast = self.builder.ins().bitcast(of, types::cast(), truths);
        self.builder.ins().extractlane(cast, 0)
    }

    fn constant_bytes(&mut self, of: cranelift_codegen::ir::Type, bytes: Vec<u8>) -> Value {
        let data = self.builder.func.dfg.constants.insert(ConstantData::from(bytes));
        self.builder.ins().vconst(of, data)
    }

    /// Integers in lanes, two to a vector: the first two, then the last two. Where reals are f64, the second isn't used.
    fn wholes(&mut self, wholes: &'k Wholes) -> [Value; 2] {
        self.nodes += 1;
        match wholes {
            Wholes::Splat(operand) => [self.splat_int(operand); 2],
            Wholes::Ramp(first, step) => {
                let first = self.splat_int(first);
                [0, 2].map(|lane: i64| {
                    let steps = [lane, lane + 1].map(|lane| step.wrapping_mul(lane));
                    let steps = self.constant_bytes(clif::I64X2, steps.map(i64::to_le_bytes).concat());
                    self.builder.ins().iadd(first, steps)
                })
            }
            Wholes::Load(access) => self.load_wholes(access),
        }
    }

    /// Integers rounded once to a type (bf16 through f32), held in the arithmetic one. Lane by lane where they may have more
    /// than 32 bits: there is no instruction for these before AVX-512.
    pub(crate) fn converted_lanes(&mut self, wholes: &'k Wholes, float: Float) -> Value {
        let real = types::vector(self.kernel.arithmetic);
        if !self.are_narrow(wholes) {
            let pairs = self.wholes(wholes);
            let lanes = (0..self.kernel.arithmetic.lanes()).map(|lane| (pairs[(lane / 2) as usize], (lane % 2) as u8));
            let lanes: Vec<(Value, u8)> = lanes.collect();
            let first = self.builder.ins().extractlane(lanes[0].0, 0);
            let first = self.converted(first, float);
            let mut found = self.builder.ins().splat(real, first);
            for (at, (pair, lane)) in (1u8..).zip(&lanes[1..]) {
                let each = self.builder.ins().extractlane(*pair, *lane);
                let each = self.converted(each, float);
                found = self.builder.ins().insertlane(found, each, at);
            }
            return found;
        }
        let narrow = self.narrow_wholes(wholes);
        let exact = if self.is_single() {
            self.builder.ins().fcvt_from_sint(real, narrow)
        } else {
            let low = self.builder.ins().swiden_low(narrow);
            self.builder.ins().fcvt_from_sint(real, low)
        };
        self.rounded_lanes(exact, float)
    }

    /// Whether all of four integers have 32 bits, by what is known of counters and of elements' bounds.
    fn are_narrow(&self, wholes: &Wholes) -> bool {
        let found = match wholes {
            Wholes::Splat(operand) => range(operand, self),
            Wholes::Ramp(first, step) => range(first, self).map(|first| {
                let steps = Interval::new((*step).min(0), (*step).max(0)).binary(IntBinary::Mul, Interval::new(0, 3));
                first.binary(IntBinary::Add, steps)
            }),
            Wholes::Load(access) => Some(self.load(access)),
        };
        found.is_some_and(|found| i32::try_from(found.low).is_ok() && i32::try_from(found.high).is_ok())
    }

    fn narrow_wholes(&mut self, wholes: &'k Wholes) -> Value {
        self.nodes += 1;
        match wholes {
            Wholes::Splat(operand) => self.splat_narrow(operand),
            Wholes::Ramp(first, step) => {
                let first = self.splat_narrow(first);
                let steps = [0, 1, 2, 3].map(|lane| low_word(step.wrapping_mul(lane)));
                let steps = self.constant_bytes(clif::I32X4, steps.concat());
                self.builder.ins().iadd(first, steps)
            }
            Wholes::Load(access) => {
                let [low, high] = self.load_wholes(access);
                self.even_words(low, high)
            }
        }
    }

    fn splat_narrow(&mut self, int: &'k Int) -> Value {
        if let Int::Constant(value) = int {
            return self.constant_bytes(clif::I32X4, low_word(*value).repeat(4));
        }
        let int = self.int(int);
        let narrow = self.builder.ins().ireduce(clif::I32, int);
        self.builder.ins().splat(clif::I32X4, narrow)
    }

    fn splat_int(&mut self, int: &'k Int) -> Value {
        if let Int::Constant(value) = int {
            return self.constant_bytes(clif::I64X2, value.to_le_bytes().repeat(2));
        }
        let int = self.int(int);
        self.builder.ins().splat(clif::I64X2, int)
    }

    fn load_wholes(&mut self, access: &'k Access) -> [Value; 2] {
        let buffer = self.kernel.buffer(access.buffer);
        let linear = Linear::element(access, buffer).times(types::step(buffer.element));
        let flags = self.flags(access, &linear);
        let base = self.memory(access).base;
        let (address, offset) = self.address(base, &linear);
        let low = self.builder.ins().load(clif::I64X2, flags, address, offset);
        if !self.is_single() {
            return [low; 2];
        }
        let next = self.builder.ins().iadd_imm_s(address, 16);
        [low, self.builder.ins().load(clif::I64X2, flags, next, offset)]
    }
}

impl Ranges for Generator<'_, '_> {
    fn counter(&self, number: u32) -> Option<Interval> {
        let counter = self.nest.iter().find(|each| each.number == number)?;
        Some(Interval::below(counter.extent))
    }

    /// Nothing is kept of what variables may be.
    fn variable(&self, _: u32) -> Option<Interval> {
        None
    }

    fn load(&self, access: &Access) -> Interval {
        match self.kernel.buffer(access.buffer).element {
            Element::Index(bound) => Interval::below(bound),
            _ => Interval::FULL,
        }
    }
}

/// The bytes of the lower half of an integer.
fn low_word(value: i64) -> [u8; 4] {
    let [a, b, c, d, ..] = value.to_le_bytes();
    [a, b, c, d]
}
