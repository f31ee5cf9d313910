//! Loads and stores of elements and of vectors of them, and which loads may move.
//!
//! A load may be hoisted, merged and sunk where its address lies in the buffer whatever path was taken to it and nobody
//! writes there: it is of an input that shares no output's buffer, its index is made of loop counters alone, and no `if` is
//! around it, or it lies in the buffer in all rounds of the loops around. All others stay where the text has them.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types as clif};
use presk_kernel::ir::{Access, Arithmetic, Buffer, BufferType, Element};

use crate::addresses::Linear;
use crate::generator::{Generator, Memory};
use crate::types;

impl<'k> Generator<'_, 'k> {
    pub(crate) fn memory(&self, access: &Access) -> Memory {
        self.memory[&self.resolved(access.buffer)]
    }

    pub(crate) fn flags(&self, access: &Access, linear: &Linear) -> MemFlagsData {
        let region = self.memory(access).region;
        if self.guards == 0 && self.is_movable(access, linear) { types::pure(region) } else { types::access(region) }
    }

    /// Whether so many bytes lie in the buffer in every round of the loops around, whatever conditions leave of these.
    fn is_always_inside(&self, linear: &Linear, bytes: u32, buffer: &BufferType) -> bool {
        let (mut low, mut high) = (i128::from(linear.constant), i128::from(linear.constant) + i128::from(bytes));
        for (&counter, &stride) in &linear.counters {
            let Some(around) = self.nest.iter().find(|each| each.number == counter) else { return false };
            let most = i128::from(stride) * i128::from(around.extent.saturating_sub(1));
            low += most.min(0);
            high += most.max(0);
        }
        low >= 0 && buffer.bytes().is_some_and(|bytes| high <= i128::from(bytes))
    }

    /// Whether a load could stand anywhere in the loops around it.
    pub(crate) fn is_movable(&self, access: &Access, linear: &Linear) -> bool {
        matches!(self.resolved(access.buffer), Buffer::Input(_)) && linear.is_affine()
    }

    /// The address of an element, or of a run's first.
    pub(crate) fn place(&mut self, access: &'k Access) -> Value {
        let buffer = self.kernel.buffer(access.buffer);
        let linear = Linear::element(access, buffer).times(types::step(buffer.element));
        let base = self.memory(access).base;
        let (address, offset) = self.address(base, &linear);
        self.builder.ins().iadd_imm_s(address, i64::from(offset))
    }

    /// The value kept for an access's buffer while a loop runs.
    fn held(&self, access: &Access) -> Option<cranelift_frontend::Variable> {
        let buffer = self.resolved(access.buffer);
        self.held.iter().find(|held| held.buffer == buffer).map(|held| held.variable)
    }

    /// A real, widened to the arithmetic type.
    pub(crate) fn load_real(&mut self, access: &'k Access) -> Value {
        if let Some(variable) = self.held(access) {
            return self.builder.use_var(variable);
        }
        let kernel = self.kernel;
        let buffer = kernel.buffer(access.buffer);
        match buffer.element {
            Element::Int8(_) => self.load_int8(access, buffer),
            Element::Int4(_) => self.load_int4(access, buffer),
            element => {
                let of = match element {
                    Element::F64 => clif::F64,
                    Element::F32 => clif::F32,
                    _ => clif::I16,
                };
                let loaded = self.load_element(access, of);
                self.widened(loaded, element)
            }
        }
    }

    pub(crate) fn load_element(&mut self, access: &'k Access, of: cranelift_codegen::ir::Type) -> Value {
        let buffer = self.kernel.buffer(access.buffer);
        let linear = Linear::element(access, buffer).times(types::step(buffer.element));
        let may_move = self.is_movable(access, &linear)
            && (self.guards == 0 || self.is_always_inside(&linear, of.bytes(), buffer));
        let Memory { base, region, .. } = self.memory(access);
        let flags = if may_move { types::pure(region) } else { types::access(region) };
        let (address, offset) = self.address(base, &linear);
        self.builder.ins().load(of, flags, address, offset)
    }

    /// An integer.
    pub(crate) fn load_int(&mut self, access: &'k Access) -> Value {
        self.load_element(access, clif::I64)
    }

    /// A truth value, 0 or 1.
    pub(crate) fn load_bool(&mut self, access: &'k Access) -> Value {
        let byte = self.load_element(access, clif::I8);
        self.builder.ins().icmp_imm_u(cranelift_codegen::ir::condcodes::IntCC::NotEqual, byte, 0)
    }

    fn load_int8(&mut self, access: &'k Access, buffer: &'k BufferType) -> Value {
        let byte = self.load_element(access, clif::I8);
        let integer = self.builder.ins().sextend(clif::I32, byte);
        self.dequantised(access, buffer, integer)
    }

    fn load_int4(&mut self, access: &'k Access, buffer: &'k BufferType) -> Value {
        let integer = self.nibble(access, buffer);
        self.dequantised(access, buffer, integer)
    }

    /// A nibble, sign-extended: elements lie two to a byte, the low one first, each row beginning at a byte.
    fn nibble(&mut self, access: &'k Access, buffer: &'k BufferType) -> Value {
        let (line, column) = rows(access, buffer);
        let flags = self.flags(access, &both(&line, &column));
        let column = self.value(&column);
        let half = self.builder.ins().ushr_imm_u(column, 1);
        let base = self.memory(access).base;
        let (address, offset) = self.address(base, &line);
        let address = self.builder.ins().iadd(address, half);
        let byte = self.builder.ins().load(clif::I8, flags, address, offset);
        let word = self.builder.ins().uextend(clif::I32, byte);
        // To the top of the word, then down again with the sign: by 28 bits, by 24 where it is the high nibble.
        let narrow = self.builder.ins().ireduce(clif::I32, column);
        let odd = self.builder.ins().band_imm_u(narrow, 1);
        let less = self.builder.ins().ishl_imm_u(odd, 2);
        let most = self.builder.ins().iconst(clif::I32, 28);
        let up = self.builder.ins().isub(most, less);
        let top = self.builder.ins().ishl(word, up);
        self.builder.ins().sshr_imm_u(top, 28)
    }

    /// f32(q)·s, rounded once in f32 and widened.
    fn dequantised(&mut self, access: &'k Access, buffer: &'k BufferType, integer: Value) -> Value {
        let scale = self.load_scale(access, buffer, clif::F32);
        let real = self.builder.ins().fcvt_from_sint(clif::F32, integer);
        let product = self.builder.ins().fmul(real, scale);
        self.widened(product, Element::F32)
    }

    /// The scale of an element, or several in a row as another type of their bytes.
    fn load_scale(&mut self, access: &'k Access, buffer: &'k BufferType, of: cranelift_codegen::ir::Type) -> Value {
        let linear = scale_index(access, buffer).times(4);
        let (base, region) = self.memory(access).scales.expect("a quantised buffer has scales");
        let may_move = self.guards == 0 && linear.is_affine();
        let flags = if may_move { types::pure(region) } else { types::access(region) };
        let (address, offset) = self.address(base, &linear);
        self.builder.ins().load(of, flags, address, offset)
    }

    /// A vector of consecutive elements, widened.
    pub(crate) fn load_vector(&mut self, access: &'k Access) -> Value {
        if let Some(variable) = self.held(access) {
            return self.builder.use_var(variable);
        }
        let kernel = self.kernel;
        let buffer = kernel.buffer(access.buffer);
        let is_double = kernel.arithmetic == Arithmetic::F64;
        match (buffer.element, kernel.arithmetic) {
            (Element::F64, _) => self.load_element(access, clif::F64X2),
            (Element::F32, Arithmetic::F32) => self.load_element(access, clif::F32X4),
            (Element::F32, Arithmetic::F64) => {
                let pair = self.load_element(access, clif::F64);
                self.promoted_pair(pair)
            }
            (Element::Bf16, _) => {
                let raw = self.load_element(access, if is_double { clif::I32 } else { clif::F64 });
                self.widened_bf16_lanes(raw)
            }
            (Element::Int8(_), _) => {
                let integers = self.load_element(access, if is_double { clif::I16 } else { clif::I32 });
                let lanes = self.widened_int8_lanes(integers);
                self.dequantised_lanes(access, buffer, lanes)
            }
            (Element::Int4(_), _) => {
                let lanes = self.nibbles(access, buffer);
                self.dequantised_lanes(access, buffer, lanes)
            }
            (Element::I64 | Element::Index(_) | Element::Bool, _) => {
                unreachable!("the reader makes vector loads of reals alone")
            }
        }
    }

    /// The nibbles of a vector's elements, sign-extended in lanes of 32 bits.
    fn nibbles(&mut self, access: &'k Access, buffer: &'k BufferType) -> Value {
        let lanes = self.kernel.arithmetic.lanes();
        let (line, column) = rows(access, buffer);
        let flags = self.flags(access, &both(&line, &column));
        let is_even = column.is_affine()
            && column.constant % 2 == 0
            && column.counters.values().all(|coefficient| coefficient % 2 == 0);
        let column = self.value(&column);
        let base = self.memory(access).base;
        let (start, offset) = self.address(base, &line);
        if is_even {
            let half = self.builder.ins().ushr_imm_u(column, 1);
            let address = self.builder.ins().iadd(start, half);
            let of = if lanes == 4 { clif::I16 } else { clif::I8 };
            let packed = self.builder.ins().load(of, flags, address, offset);
            return self.spread_nibbles(packed);
        }
        // Each nibble by itself: the first one may be the high half of its byte.
        let mut all = Vec::new();
        for lane in 0..lanes.cast_signed() {
            let at = self.builder.ins().iadd_imm_s(column, lane);
            let half = self.builder.ins().ushr_imm_u(at, 1);
            let address = self.builder.ins().iadd(start, half);
            let byte = self.builder.ins().load(clif::I8, flags, address, offset);
            let low = self.builder.ins().ishl_imm_u(byte, 4);
            let narrow = self.builder.ins().ireduce(clif::I8, at);
            let is_odd = self.builder.ins().band_imm_u(narrow, 1);
            let top = self.builder.ins().select(is_odd, byte, low);
            let wide = self.builder.ins().sextend(clif::I32, top);
            all.push(self.builder.ins().sshr_imm_u(wide, 4));
        }
        let mut vector = self.builder.ins().splat(clif::I32X4, all[0]);
        for (lane, value) in (1u8..).zip(&all[1..]) {
            vector = self.builder.ins().insertlane(vector, *value, lane);
        }
        vector
    }

    /// f32(q)·s for each lane, and widened.
    fn dequantised_lanes(&mut self, access: &'k Access, buffer: &'k BufferType, integers: Value) -> Value {
        let is_double = self.kernel.arithmetic == Arithmetic::F64;
        let last = buffer.axes.len().saturating_sub(1);
        let axes = buffer.element.scale_axes().expect("a quantised buffer");
        let scales = if (axes.first as usize..axes.end as usize).contains(&last) {
            // The scales vary along the lanes, and lie in a row.
            let raw = self.load_scale(access, buffer, if is_double { clif::F64 } else { clif::F32X4 });
            if is_double { self.pair_of_singles(raw) } else { raw }
        } else {
            let scale = self.load_scale(access, buffer, clif::F32);
            self.builder.ins().splat(clif::F32X4, scale)
        };
        let reals = self.builder.ins().fcvt_from_sint(clif::F32X4, integers);
        let products = self.builder.ins().fmul(reals, scales);
        if is_double { self.builder.ins().fvpromote_low(products) } else { products }
    }

    /// Stores a real, rounded once to the element.
    pub(crate) fn store_real(&mut self, access: &'k Access, value: Value) {
        let element = self.kernel.buffer(access.buffer).element;
        let narrowed = self.narrowed(value, element);
        self.store(access, narrowed);
    }

    /// Stores a value that is the element's already, or a vector of such.
    pub(crate) fn store(&mut self, access: &'k Access, value: Value) {
        if let Some(variable) = self.held(access) {
            return self.builder.def_var(variable, value);
        }
        self.store_element(access, value);
    }

    /// The same past what is held.
    pub(crate) fn store_element(&mut self, access: &'k Access, value: Value) {
        let buffer = self.kernel.buffer(access.buffer);
        let linear = Linear::element(access, buffer).times(types::step(buffer.element));
        let memory = self.memory(access);
        let (address, offset) = self.address(memory.base, &linear);
        self.builder.ins().store(types::access(memory.region), value, address, offset);
    }
}

/// The first byte of an int4 element's row, and its column in the row.
pub(crate) fn rows<'k>(access: &'k Access, buffer: &BufferType) -> (Linear<'k>, Linear<'k>) {
    let rank = buffer.axes.len();
    let axes = buffer.element.scale_axes().expect("a quantised buffer");
    let first = if axes.end as usize == rank { axes.first as usize } else { rank.saturating_sub(1) };
    let column = Linear::axes(access, buffer, first);
    let row_bytes = buffer.row().unwrap_or(1).div_ceil(2).cast_signed();
    let mut line = Linear::default();
    let mut stride = row_bytes;
    for (index, axis) in access.index[..first].iter().zip(&buffer.axes).rev() {
        line.add(index, stride);
        stride = stride.wrapping_mul(axis.size.cast_signed());
    }
    (line, column)
}

/// A form that is affine where both are.
fn both<'k>(line: &Linear<'k>, column: &Linear<'k>) -> Linear<'k> {
    let others = line.others.iter().chain(&column.others).copied().collect();
    Linear { others, ..Linear::default() }
}

/// The number of an element's scale.
pub(crate) fn scale_index<'k>(access: &'k Access, buffer: &BufferType) -> Linear<'k> {
    let axes = buffer.element.scale_axes().expect("a quantised buffer");
    let mut linear = Linear::default();
    let mut stride = 1i64;
    for at in (axes.first as usize..axes.end as usize).rev() {
        linear.add(&access.index[at], stride);
        stride = stride.wrapping_mul(buffer.axes[at].size.cast_signed());
    }
    linear
}
