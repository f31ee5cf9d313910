//! The kernel interpreter as code for schedules: every access and every index is checked as it happens, one thread runs
//! a launch whole.

#![allow(unsafe_code, reason = "the interpreter takes slices, which are made of the pointers of a launch")]

use std::ops::Range;
use std::sync::Arc;

use presk_kernel::ir::BufferType;
use presk_kernel::{Kernel, Options, Program};

use crate::code::{Compiler, Job, KernelCode};
use crate::error::{Error, ErrorKind};
use crate::interrupt::Watch;

/// Compiles kernels for the interpreter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interpreter {
    /// Keeps a map of written elements: one that is read or left unwritten is an error.
    pub shadow: bool,
}

impl Compiler for Interpreter {
    fn compile(&self, jobs: &[Job<'_>]) -> Result<Vec<Arc<dyn KernelCode>>, Error> {
        jobs.iter().map(|job| Ok(Arc::new(Interpreted::new(job.kernel, self.shadow)?) as Arc<dyn KernelCode>)).collect()
    }
}

/// A kernel as the interpreter runs it.
struct Interpreted {
    program: Program,
    /// Bytes of each buffer of the inputs; none of one whose place an output takes, which the program isn't given.
    inputs: Vec<Option<usize>>,
    outputs: Vec<usize>,
    options: Options,
}

impl Interpreted {
    fn new(kernel: &Kernel, shadow: bool) -> Result<Self, Error> {
        let program = Program::compile(kernel)?;
        let mut inputs = Vec::new();
        for (number, input) in (0u32..).zip(&kernel.inputs) {
            let is_shared = kernel.outputs.iter().any(|output| output.shares == Some(number));
            inputs.push(if is_shared { None } else { Some(length(input)?) });
            if let Some((scales, _)) = input.scales() {
                inputs.push(Some(usize::try_from(scales * 4).map_err(|_| ErrorKind::Memory(scales).anywhere())?));
            }
        }
        let outputs = kernel.outputs.iter().map(|output| length(&output.buffer)).collect::<Result<_, _>>()?;
        Ok(Self { program, inputs, outputs, options: Options { shadow, split: None } })
    }
}

fn length(buffer: &BufferType) -> Result<usize, Error> {
    let bytes = buffer.bytes().unwrap_or(u64::MAX);
    usize::try_from(bytes).map_err(|_| ErrorKind::Memory(bytes).anywhere())
}

impl KernelCode for Interpreted {
    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        _scratch: *mut u8,
        _rounds: Option<Range<u64>>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let (inputs, outputs) = buffers.split_at(self.inputs.len());
        let given = inputs.iter().zip(&self.inputs).map(|(&start, bytes)| match bytes {
            None => &[][..],
            // SAFETY: the caller gives pointers to as many initialised bytes as the kernel declares, which nobody writes
            // to during the run.
            Some(bytes) => unsafe { std::slice::from_raw_parts(start.cast_const(), *bytes) },
        });
        let given: Vec<&[u8]> = given.collect();
        // SAFETY: as above; and an output overlaps no other buffer but the input whose place it takes, which is not read
        // but through the output.
        let written = outputs
            .iter()
            .zip(&self.outputs)
            .map(|(&start, &bytes)| unsafe { std::slice::from_raw_parts_mut(start, bytes) });
        let mut written: Vec<&mut [u8]> = written.collect();
        let is_over = || watch.is_over();
        self.program.run_until(&given, &mut written, self.options, &is_over).map_err(Error::from)
    }
}
