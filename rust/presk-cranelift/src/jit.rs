//! Machine code in memory: one module a kernel, freed when its last user goes.

#![allow(unsafe_code, reason = "compiled code is called through a pointer and its memory freed by hand")]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::{CodegenError, CompiledCode, Context};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc, default_libcall_names};
use presk_kernel::Kernel;
use presk_rt::code::KernelCode;
use presk_rt::error::ErrorKind;
use presk_rt::interrupt::Watch;

use crate::calls;
use crate::error::Error;
use crate::generator::scratch_layout;
use crate::prepare::{Options, Prepared, too_large};
use crate::target::Target;

/// Code begins at a cache line.
const ALIGNMENT: u64 = 64;

/// What a kernel becomes: `fn(buffers, scratch, begin, end, watch)`, which gives 0 but where the watch ended it.
type Entry = unsafe extern "C" fn(*const *mut u8, *mut u8, u64, u64, *const Watch<'_>) -> u64;

/// What long loops of generated code call: 1 where the run is to end.
///
/// # Safety
/// The pointer is the last argument of the [`Entry`] that calls.
pub(crate) unsafe extern "C" fn look(watch: *const Watch<'_>) -> u64 {
    // SAFETY: `Code::run` made the pointer of a reference that outlives the call.
    u64::from(unsafe { &*watch }.is_over())
}

/// A compiled kernel.
pub struct Code {
    entry: Entry,
    scratch: usize,
    /// Rounds of the loop that runs may divide.
    rounds: Option<u64>,
    bytes: usize,
    /// Owns the memory `entry` points to; there until dropped.
    module: Mutex<Option<JITModule>>,
}

impl Code {
    /// Compiles a kernel for the machine at hand. See [`crate::compile`], which also remembers.
    pub(crate) fn new(kernel: &Kernel, options: Options, target: &Target) -> Result<Self, Error> {
        let prepared = Prepared::new(kernel, options)?;
        if !target.runs_here() {
            return Err(Error::Target(format!("code for `{}` doesn't run here", target.name())));
        }
        let function = prepared.function(target, false)?;
        let (context, compiled) = compile_function(prepared.kernel(), function, target, false)?;
        let internal = |error: cranelift_module::ModuleError| internal(kernel, error.to_string());
        let mut builder = JITBuilder::with_isa(target.shared_isa(), default_libcall_names());
        builder.symbols(calls::symbols(target.routines()));
        let mut module = JITModule::new(builder);
        let convention = target.isa().default_call_conv();
        for (number, name) in calls::names(kernel.arithmetic).iter().enumerate() {
            let signature = calls::signature(number, kernel.arithmetic, convention);
            let id = module.declare_function(name, Linkage::Import, &signature).map_err(internal)?;
            assert_eq!(id.as_u32() as usize, number, "the generator names functions by their numbers here");
        }
        let id = module.declare_anonymous_function(&context.func.signature).map_err(internal)?;
        define(&mut module, id, &context.func, &compiled).map_err(|error| internal(*error))?;
        module.finalize_definitions().map_err(internal)?;
        let address = module.get_finalized_function(id);
        // SAFETY: the address is that of a finished function of exactly this signature, which the generator gives every
        // kernel, in the calling convention of the machine at hand.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        let (_, scratch) = scratch_layout(prepared.kernel());
        Ok(Self {
            entry,
            scratch: usize::try_from(scratch).map_err(|_| too_large(kernel, "its scratch".to_owned()))?,
            rounds: prepared.rounds(),
            bytes: compiled.code_buffer().len(),
            module: Mutex::new(Some(module)),
        })
    }

    /// Bytes of machine code and its constants.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            // SAFETY: nobody else has this code: every run borrows it, and `entry` is given to no one.
            unsafe { module.free_memory() };
        }
    }
}

impl KernelCode for Code {
    fn scratch_bytes(&self) -> usize {
        self.scratch
    }

    fn divides(&self) -> bool {
        self.rounds.is_some()
    }

    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        scratch: *mut u8,
        rounds: Option<Range<u64>>,
        watch: &Watch<'_>,
    ) -> Result<(), presk_rt::error::Error> {
        let all = self.rounds.unwrap_or(0);
        let Range { start, end } = rounds.unwrap_or(0..all);
        // SAFETY: the function reads as many pointers as the kernel has buffers, and through them what the verifier has
        // proven to lie in the buffers; the caller vouches for pointers and scratch. Rounds past the loop's end would leave
        // the buffers, so they are cut off.
        let ended = unsafe { (self.entry)(buffers.as_ptr(), scratch, start, end.min(all), watch) };
        if ended == 0 { Ok(()) } else { Err(ErrorKind::Interrupted.anywhere()) }
    }
}

fn define(
    module: &mut JITModule,
    id: FuncId,
    function: &Function,
    compiled: &CompiledCode,
) -> Result<(), Box<cranelift_module::ModuleError>> {
    let relocations: Vec<ModuleReloc> =
        compiled.buffer.relocs().iter().map(|each| ModuleReloc::from_mach_reloc(each, function, id)).collect();
    let alignment = ALIGNMENT.max(u64::from(compiled.buffer.alignment));
    module.define_function_bytes(id, alignment, compiled.code_buffer(), &relocations).map_err(Box::new)
}

/// Machine code of a function, not yet placed in memory.
pub(crate) fn compile_function(
    kernel: &Kernel,
    function: Function,
    target: &Target,
    has_text: bool,
) -> Result<(Context, CompiledCode), Error> {
    let mut context = Context::for_function(function);
    context.set_disasm(has_text);
    let compile =
        || context.compile(target.isa(), &mut ControlPlane::default()).map(|_| ()).map_err(|error| error.inner);
    // A limit that Cranelift doesn't report but trips over is an error of this kernel, not of the process.
    match catch_unwind(AssertUnwindSafe(compile)) {
        Ok(Ok(())) => {}
        Ok(Err(CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge)) => {
            return Err(too_large(kernel, "it exceeds the code generator's limits".to_owned()));
        }
        Ok(Err(error)) => return Err(internal(kernel, format!("{error:?}"))),
        Err(_) => return Err(internal(kernel, "it stopped".to_owned())),
    }
    let compiled = context.take_compiled_code().ok_or_else(|| internal(kernel, "it made no code".to_owned()))?;
    Ok((context, compiled))
}

fn internal(kernel: &Kernel, what: String) -> Error {
    Error::Internal { name: kernel.name.clone(), what }
}
