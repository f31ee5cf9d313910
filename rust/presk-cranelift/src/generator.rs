//! From a kernel to CLIF: one function, its blocks following the kernel's statements.
//!
//! The function is `fn(buffers, scratch, begin, end, watch)`: a table of pointers in the order of
//! [`presk_rt::code::KernelCode`], the scratch of this run, the rounds of the divided loop, if one is divided, and what long
//! loops ask whether to go on. It gives 0, or 1 where that ended it. What each kind of node becomes is in
//! the module named after it; this one keeps what they share.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::ir::{
    AbiParam, AliasRegion, AliasRegionData, Block, FuncRef, Function, InstBuilder, MemFlagsData, Signature, SourceLoc,
    Type, UserFuncName, Value, types as clif,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use presk_kernel::ir::{Buffer, Condition, Kernel, Loop, Statement, StatementKind};
use presk_kernel::walk;
use presk_rt::interrupt::LONG;
use presk_rt::work::all_operations;

use crate::broadcasts::Broadcast;
use crate::calls;
use crate::target::{Facts, Target};
use crate::tiles::Formed;
use crate::types;

/// A kernel to be compiled, and how.
#[derive(Clone, Copy)]
pub(crate) struct Request<'k> {
    pub kernel: &'k Kernel,
    /// The loop whose rounds `begin` … `end` − 1 are run.
    pub divided: Option<&'k Loop>,
    /// The same loop in lanes, of a kernel otherwise the same: its rounds are those of as many lanes.
    pub divided_in_lanes: Option<&'k Loop>,
    /// Whether instructions carry the line of the statement they come from.
    pub has_lines: bool,
    /// Whether loops over rows call the runtime's routines, which have vectors.
    pub calls_rows: bool,
}

/// Where a loop's counter stands while its body is generated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Position {
    /// A number known now.
    Fixed(i64),
    /// A value at run time, and how many rounds past it: a copy of an unrolled body.
    Running(Value, i64),
}

/// A loop around what is being generated.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    /// Rounds of the loop in all.
    pub extent: u64,
    pub number: u32,
    pub position: Position,
    /// Byte offsets the loop keeps beside its counter: a stride and counter · stride.
    pub strides: Vec<(i64, Value)>,
}

/// A buffer as generated code reaches it.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub base: Value,
    /// Nothing reached through another region overlaps this one.
    pub region: Option<AliasRegion>,
    /// Of a quantised buffer: its scales, and their region.
    pub scales: Option<(Value, Option<AliasRegion>)>,
}

/// An element kept in a variable while a loop runs.
pub(crate) struct Held {
    pub buffer: Buffer,
    pub variable: Variable,
}

/// A broadcast loaded one round ahead.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<'k> {
    pub broadcast: Broadcast<'k>,
    pub variable: Variable,
}

pub(crate) struct Generator<'a, 'k> {
    pub builder: FunctionBuilder<'a>,
    pub kernel: &'k Kernel,
    pub facts: Facts,
    pub request: Request<'k>,
    /// First and last but one round of the divided loop.
    pub range: (Value, Value),
    /// The watch, of a kernel whose loops ask it.
    pub watch: Option<Value>,
    /// Where a run that is to end goes.
    ended: Option<Block>,
    pub memory: BTreeMap<Buffer, Memory>,
    pub nest: Vec<Counter>,
    pub held: Vec<Held>,
    pub ahead: Vec<Ahead<'k>>,
    /// How many `if`s are around what is being generated.
    pub guards: usize,
    pub functions: [Option<FuncRef>; calls::COUNT],
    pub formed: Vec<Formed<'k>>,
    variables: BTreeMap<(char, u32), Variable>,
    /// Nodes generated so far, unrolled copies included.
    pub nodes: usize,
}

/// The CLIF of a kernel for a target.
pub(crate) fn generate(request: Request, target: &Target) -> Function {
    let isa = target.isa();
    let pointer = AbiParam::new(clif::I64);
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params.extend([pointer; 5]);
    signature.returns.push(pointer);
    let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature);
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut function, &mut context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let arguments: [Value; 5] = std::array::from_fn(|number| builder.block_params(entry)[number]);
    let mut generator = Generator {
        builder,
        kernel: request.kernel,
        facts: target.facts(),
        request,
        range: (arguments[2], arguments[3]),
        watch: (all_operations(request.kernel) > LONG).then_some(arguments[4]),
        ended: None,
        memory: BTreeMap::new(),
        nest: Vec::new(),
        held: Vec::new(),
        ahead: Vec::new(),
        guards: 0,
        functions: [None; calls::COUNT],
        formed: Vec::new(),
        variables: BTreeMap::new(),
        nodes: 0,
    };
    generator.reach(arguments[0], arguments[1]);
    generator.form_tiles();
    generator.block(&request.kernel.body);
    let whole = generator.whole(0);
    generator.builder.ins().return_(&[whole]);
    generator.end_early();
    generator.builder.finalize(isa.frontend_config());
    function
}

/// Where each scratch buffer begins in the scratch of a run, and how many bytes that has.
pub(crate) fn scratch_layout(kernel: &Kernel) -> (Vec<u64>, u64) {
    let mut bytes = 0;
    let starts = kernel.scratch.iter().map(|buffer| {
        let start = bytes;
        // The verifier has bounded the sum; each buffer begins on a cache line of its own.
        bytes += buffer.bytes().unwrap_or(0).next_multiple_of(64);
        start
    });
    (starts.collect(), bytes)
}

impl<'k> Generator<'_, 'k> {
    /// Leaves the kernel where the watch says so. What was stored so far stays, so nothing may follow.
    pub(crate) fn look(&mut self) {
        let Some(watch) = self.watch else { return };
        let is_over = self.call_look(watch);
        let ended = *self.ended.get_or_insert_with(|| self.builder.create_block());
        let after = self.builder.create_block();
        self.builder.ins().brif(is_over, ended, &[], after, &[]);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
    }

    /// The block that a run which is to end goes to.
    fn end_early(&mut self) {
        let Some(ended) = self.ended else { return };
        self.builder.set_cold_block(ended);
        self.builder.switch_to_block(ended);
        self.builder.seal_block(ended);
        let early = self.whole(1);
        self.builder.ins().return_(&[early]);
    }

    /// Loads the pointers of all buffers the kernel touches.
    fn reach(&mut self, table: Value, scratch: Value) {
        let mut used = BTreeSet::new();
        walk::accesses(&self.kernel.body, &mut |access, _, _| {
            used.insert(self.resolved(access.buffer));
        });
        let mut slot = 0;
        for (number, input) in (0u32..).zip(&self.kernel.inputs) {
            let scales = input.element.scale_axes().is_some();
            if used.contains(&Buffer::Input(number)) {
                let base = self.pointer(table, slot);
                let region = self.region(slot);
                let scales = scales.then(|| (self.pointer(table, slot + 1), self.region(slot + 1)));
                self.memory.insert(Buffer::Input(number), Memory { base, region, scales });
            }
            slot += 1 + i32::from(scales);
        }
        for (number, _) in (0u32..).zip(&self.kernel.outputs) {
            if used.contains(&Buffer::Output(number)) {
                let base = self.pointer(table, slot);
                let region = self.region(slot);
                self.memory.insert(Buffer::Output(number), Memory { base, region, scales: None });
            }
            slot += 1;
        }
        let (starts, _) = scratch_layout(self.kernel);
        for (number, start) in (0u32..).zip(starts) {
            if used.contains(&Buffer::Scratch(number)) {
                let base = self.builder.ins().iadd_imm_s(scratch, start.cast_signed());
                let region = self.region(slot);
                self.memory.insert(Buffer::Scratch(number), Memory { base, region, scales: None });
            }
            slot += 1;
        }
    }

    fn pointer(&mut self, table: Value, slot: i32) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.builder.ins().load(clif::I64, flags, table, slot * 8)
    }

    fn region(&mut self, slot: i32) -> Option<AliasRegion> {
        let data = AliasRegionData { user_id: slot.cast_unsigned(), description: "buffer".into() };
        Some(self.builder.func.dfg.alias_regions.insert(data))
    }

    /// The buffer whose memory an access touches: an input whose buffer an output shares is that output.
    pub(crate) fn resolved(&self, buffer: Buffer) -> Buffer {
        let Buffer::Input(number) = buffer else { return buffer };
        let output = (0u32..).zip(&self.kernel.outputs).find(|(_, output)| output.shares == Some(number));
        output.map_or(buffer, |(output, _)| Buffer::Output(output))
    }

    pub(crate) fn block(&mut self, body: &'k [Statement]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'k Statement) {
        self.nodes += 1;
        if self.request.has_lines {
            self.builder.set_srcloc(SourceLoc::new(statement.place.line));
        }
        match &statement.kind {
            StatementKind::SetReal(number, _) if self.is_ahead(*number) => {}
            StatementKind::SetReal(number, value) => {
                let value = self.real(value);
                self.set('s', *number, value);
            }
            StatementKind::SetInt(number, value) => {
                let value = self.int(value);
                self.set('n', *number, value);
            }
            StatementKind::SetBool(number, value) => {
                let value = self.bool(value);
                self.set('b', *number, value);
            }
            StatementKind::SetVector(number, value) => {
                let value = self.vector(value);
                self.set('v', *number, value);
            }
            StatementKind::SetMask(number, value) => {
                let value = self.mask(value);
                self.set('m', *number, value);
            }
            StatementKind::StoreReal(access, value) => {
                let value = self.real(value);
                self.store_real(access, value);
            }
            StatementKind::StoreInt(access, value) => {
                let value = self.int(value);
                self.store(access, value);
            }
            StatementKind::StoreBool(access, value) => {
                let value = self.bool(value);
                self.store(access, value);
            }
            StatementKind::StoreVector(access, value) => {
                let value = self.vector(value);
                let narrowed = self.narrowed_lanes(value, self.kernel.buffer(access.buffer).element);
                self.store(access, narrowed);
            }
            StatementKind::StoreMask(access, value) => {
                let value = self.mask(value);
                let bytes = self.mask_bytes(value);
                self.store(access, bytes);
            }
            StatementKind::For(each) => self.for_loop(each),
            StatementKind::If(condition, body) => self.guarded(condition, body),
            StatementKind::Apply(apply) => self.apply(apply),
            StatementKind::Tile(tile) => self.tile(tile),
        }
    }

    fn guarded(&mut self, condition: &'k Condition, body: &'k [Statement]) {
        let holds = match condition {
            Condition::Holds(condition) => self.bool(condition),
            Condition::NonZero(int) => self.int(int),
        };
        let (inner, after) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(holds, inner, &[], after, &[]);
        self.builder.switch_to_block(inner);
        self.builder.seal_block(inner);
        self.guards += 1;
        self.block(body);
        self.guards -= 1;
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
    }

    /// The Cranelift variable of a kernel's variable, by its letter and number.
    pub(crate) fn variable(&mut self, letter: char, number: u32) -> Variable {
        let of = match letter {
            's' => types::real(self.kernel.arithmetic),
            'v' => types::vector(self.kernel.arithmetic),
            'm' => types::mask(self.kernel.arithmetic),
            'b' => clif::I8,
            _ => clif::I64,
        };
        let builder = &mut self.builder;
        *self.variables.entry((letter, number)).or_insert_with(|| builder.declare_var(of))
    }

    pub(crate) fn set(&mut self, letter: char, number: u32, value: Value) {
        let variable = self.variable(letter, number);
        self.builder.def_var(variable, value);
    }

    pub(crate) fn get(&mut self, letter: char, number: u32) -> Value {
        let variable = self.variable(letter, number);
        self.builder.use_var(variable)
    }

    pub(crate) fn whole(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(clif::I64, value)
    }

    /// The type of a value of an access: the element's real as arithmetic has it, or a vector of such.
    pub(crate) fn kept_type(&self, is_vector: bool) -> Type {
        if is_vector { types::vector(self.kernel.arithmetic) } else { types::real(self.kernel.arithmetic) }
    }
}
