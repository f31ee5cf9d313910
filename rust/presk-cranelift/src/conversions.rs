//! Conversions between element types and the arithmetic type, of one real and in lanes, to the bit.
//!
//! bf16 is the upper half of an f32: it widens by a shift and narrows by one rounding to nearest even, a NaN staying one.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{ConstantData, InstBuilder, MemFlagsData, Value, types as clif};
use presk_kernel::ir::{Arithmetic, Element, Float};

use crate::generator::Generator;
use crate::types;

impl Generator<'_, '_> {
    fn is_double(&self) -> bool {
        self.kernel.arithmetic == Arithmetic::F64
    }

    /// A loaded f64, f32 or bf16 (its sixteen bits) in the arithmetic type.
    pub(crate) fn widened(&mut self, loaded: Value, element: Element) -> Value {
        match element {
            Element::F64 => loaded,
            Element::Bf16 => {
                let wide = self.builder.ins().uextend(clif::I32, loaded);
                let bits = self.builder.ins().ishl_imm_u(wide, 16);
                let single = self.builder.ins().bitcast(clif::F32, MemFlagsData::new(), bits);
                self.promoted(single)
            }
            _ => self.promoted(loaded),
        }
    }

    /// An f32 in the arithmetic type.
    fn promoted(&mut self, single: Value) -> Value {
        if self.is_double() { self.builder.ins().fpromote(clif::F64, single) } else { single }
    }

    /// A real of the arithmetic type as an f32.
    fn single(&mut self, value: Value) -> Value {
        if self.is_double() { self.builder.ins().fdemote(clif::F32, value) } else { value }
    }

    /// A real of the arithmetic type as what an element stores.
    pub(crate) fn narrowed(&mut self, value: Value, element: Element) -> Value {
        match element {
            Element::F64 => value,
            Element::Bf16 => {
                let single = self.single(value);
                let upper = self.bf16_bits(single);
                self.builder.ins().ireduce(clif::I16, upper)
            }
            _ => self.single(value),
        }
    }

    /// The bf16 nearest an f32, in the low half of a word.
    fn bf16_bits(&mut self, single: Value) -> Value {
        let bits = self.builder.ins().bitcast(clif::I32, MemFlagsData::new(), single);
        let upper = self.builder.ins().ushr_imm_u(bits, 16);
        let odd = self.builder.ins().band_imm_u(upper, 1);
        let half = self.builder.ins().iadd_imm_u(odd, 0x7fff);
        let rounded = self.builder.ins().iadd(bits, half);
        let quiet = self.builder.ins().bor_imm_u(bits, 0x0040_0000);
        let is_nan = self.builder.ins().fcmp(FloatCC::Unordered, single, single);
        let chosen = self.builder.ins().select(is_nan, quiet, rounded);
        self.builder.ins().ushr_imm_u(chosen, 16)
    }

    /// A real rounded to a type no wider than its own, held in its own.
    pub(crate) fn rounded(&mut self, value: Value, float: Float) -> Value {
        match float {
            Float::F64 => value,
            Float::F32 => {
                let single = self.single(value);
                self.promoted(single)
            }
            Float::Bf16 => {
                let single = self.single(value);
                self.through_bf16(single)
            }
        }
    }

    fn through_bf16(&mut self, single: Value) -> Value {
        let upper = self.bf16_bits(single);
        let bits = self.builder.ins().ishl_imm_u(upper, 16);
        let narrow = self.builder.ins().bitcast(clif::F32, MemFlagsData::new(), bits);
        self.promoted(narrow)
    }

    /// An integer rounded once to a type (bf16 through f32), held in the arithmetic one.
    pub(crate) fn converted(&mut self, integer: Value, float: Float) -> Value {
        let to = if float == Float::F64 { clif::F64 } else { clif::F32 };
        let real = self.builder.ins().fcvt_from_sint(to, integer);
        match float {
            Float::F64 => real,
            Float::F32 => self.promoted(real),
            Float::Bf16 => self.through_bf16(real),
        }
    }

    /// The bf16 nearest each lane of f32, sign-extended to 32 bits.
    fn bf16_lanes(&mut self, singles: Value) -> Value {
        let bits = self.builder.ins().bitcast(clif::I32X4, types::cast(), singles);
        let upper = self.builder.ins().ushr_imm_u(bits, 16);
        let [one, most, quiet] = [1, 0x7fff, 0x0040_0000].map(|word| self.words(word));
        let odd = self.builder.ins().band(upper, one);
        let half = self.builder.ins().iadd(odd, most);
        let rounded = self.builder.ins().iadd(bits, half);
        let quiet = self.builder.ins().bor(bits, quiet);
        let is_nan = self.builder.ins().fcmp(FloatCC::Unordered, singles, singles);
        let chosen = self.builder.ins().bitselect(is_nan, quiet, rounded);
        self.builder.ins().sshr_imm_u(chosen, 16)
    }

    /// One word in each of four lanes.
    fn words(&mut self, word: u32) -> Value {
        let data = self.builder.func.dfg.constants.insert(ConstantData::from(word.to_le_bytes().repeat(4)));
        self.builder.ins().vconst(clif::I32X4, data)
    }

    /// A vector of the arithmetic type as lanes of f32; of two f64 the low ones.
    fn single_lanes(&mut self, vector: Value) -> Value {
        if self.is_double() { self.builder.ins().fvdemote(vector) } else { vector }
    }

    /// A vector as what its lanes' elements store: itself, or all their bytes in one value.
    pub(crate) fn narrowed_lanes(&mut self, vector: Value, element: Element) -> Value {
        match (element, self.is_double()) {
            (Element::Bf16, is_double) => {
                let singles = self.single_lanes(vector);
                let words = self.bf16_lanes(singles);
                let halves = self.builder.ins().snarrow(words, words);
                self.low_bytes(halves, if is_double { clif::I32X4 } else { clif::F64X2 })
            }
            (Element::F32, true) => {
                let singles = self.single_lanes(vector);
                self.low_bytes(singles, clif::F64X2)
            }
            _ => vector,
        }
    }

    fn low_bytes(&mut self, vector: Value, of: cranelift_codegen::ir::Type) -> Value {
        let cast = self.builder.ins().bitcast(of, types::cast(), vector);
        self.builder.ins().extractlane(cast, 0)
    }

    /// A vector's lanes rounded to a type no wider than their own, held in their own.
    pub(crate) fn rounded_lanes(&mut self, vector: Value, float: Float) -> Value {
        let singles = match float {
            Float::F64 => return vector,
            Float::F32 => self.single_lanes(vector),
            Float::Bf16 => {
                let singles = self.single_lanes(vector);
                let upper = self.bf16_lanes(singles);
                let bits = self.builder.ins().ishl_imm_u(upper, 16);
                self.builder.ins().bitcast(clif::F32X4, types::cast(), bits)
            }
        };
        if self.is_double() { self.builder.ins().fvpromote_low(singles) } else { singles }
    }

    /// Two f32 that lie in the bytes of an f64, in the low lanes of a vector.
    pub(crate) fn pair_of_singles(&mut self, pair: Value) -> Value {
        let vector = self.builder.ins().scalar_to_vector(clif::F64X2, pair);
        self.builder.ins().bitcast(clif::F32X4, types::cast(), vector)
    }

    /// The same as two f64.
    pub(crate) fn promoted_pair(&mut self, pair: Value) -> Value {
        let singles = self.pair_of_singles(pair);
        self.builder.ins().fvpromote_low(singles)
    }

    /// bf16 lanes: four in the bytes of an f64, or two in those of an i32.
    pub(crate) fn widened_bf16_lanes(&mut self, raw: Value) -> Value {
        let halves = if self.is_double() {
            let vector = self.builder.ins().scalar_to_vector(clif::I32X4, raw);
            self.builder.ins().bitcast(clif::I16X8, types::cast(), vector)
        } else {
            let vector = self.builder.ins().scalar_to_vector(clif::F64X2, raw);
            self.builder.ins().bitcast(clif::I16X8, types::cast(), vector)
        };
        let words = self.builder.ins().uwiden_low(halves);
        let bits = self.builder.ins().ishl_imm_u(words, 16);
        let singles = self.builder.ins().bitcast(clif::F32X4, types::cast(), bits);
        if self.is_double() { self.builder.ins().fvpromote_low(singles) } else { singles }
    }

    /// int8 lanes: four in an i32, or two in an i16, sign-extended to 32 bits each.
    pub(crate) fn widened_int8_lanes(&mut self, raw: Value) -> Value {
        let word = if self.is_double() { self.builder.ins().uextend(clif::I32, raw) } else { raw };
        let vector = self.builder.ins().scalar_to_vector(clif::I32X4, word);
        let bytes = self.builder.ins().bitcast(clif::I8X16, types::cast(), vector);
        let halves = self.builder.ins().swiden_low(bytes);
        self.builder.ins().swiden_low(halves)
    }

    /// Consecutive nibbles, the first one lowest, sign-extended to 32 bits each: lane l is shifted up by 28 − 4 l bits,
    /// by a multiplication because lanes have no shifts of their own, and all down again.
    pub(crate) fn spread_nibbles(&mut self, packed: Value) -> Value {
        let word = self.builder.ins().uextend(clif::I32, packed);
        let all = self.builder.ins().splat(clif::I32X4, word);
        let factors: Vec<u8> = [28, 24, 20, 16].iter().flat_map(|shift| (1u32 << shift).to_le_bytes()).collect();
        let factors = self.builder.func.dfg.constants.insert(ConstantData::from(factors));
        let factors = self.builder.ins().vconst(clif::I32X4, factors);
        let tops = self.builder.ins().imul(all, factors);
        self.builder.ins().sshr_imm_u(tops, 28)
    }
}
