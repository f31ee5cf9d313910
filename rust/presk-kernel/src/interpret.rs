//! The kernel interpreter: the yardstick every faster executor is compared with, bit for bit.
//!
//! A verified kernel is compiled once to register code and run on byte slices. Every operation is rounded in the
//! kernel's arithmetic type; every access is checked again, whatever the verifier proved; on demand a shadow map of
//! written elements finds reads of what was never written and outputs left unwritten. It shares nothing with the code
//! generator but the IR.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind};
use crate::expand::expand;
use crate::ir::{Arithmetic, Buffer, BufferType, Kernel, Place};
use crate::verify::verify;
use code::{Code, Source};
use machine::{Machine, Shadow};

mod bytes;
mod code;
mod lanes;
mod machine;
mod real;
mod values;

/// How a run is watched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keeps a map of written elements; a read before a write and an unwritten output element are errors then.
    pub shadow: bool,
    /// With `shadow`: scratch counts as unwritten again at each round of the loop at this depth of the perfect nest, as
    /// for a worker that begins there.
    pub split: Option<usize>,
}

/// A kernel compiled for the interpreter.
#[derive(Debug)]
pub struct Program {
    name: String,
    arithmetic: Arithmetic,
    code: Code,
    inputs: Vec<Argument>,
    outputs: Vec<Argument>,
    scratch: Vec<u64>,
    /// Elements of each output, then of each scratch buffer.
    elements: Vec<u64>,
    shared: Vec<bool>,
}

/// A buffer a caller gives: what to call it, and its exact length.
#[derive(Debug)]
struct Argument {
    name: String,
    bytes: u64,
}

impl Program {
    /// Verifies a kernel and compiles it.
    ///
    /// # Errors
    /// What [`verify`] finds.
    pub fn compile(kernel: &Kernel) -> Result<Self, Error> {
        verify(kernel)?;
        let shared: HashMap<u32, usize> =
            kernel.outputs.iter().enumerate().filter_map(|(n, output)| Some((output.shares?, n))).collect();
        let mut inputs = Vec::new();
        let mut sources = Vec::new();
        for (number, buffer) in (0u32..).zip(&kernel.inputs) {
            let name = kernel.buffer_name(Buffer::Input(number));
            if let Some(&output) = shared.get(&number) {
                sources.push(Source::Written(index(output)));
                inputs.push(Argument { name, bytes: 0 });
                continue;
            }
            sources.push(Source::Input(index(inputs.len())));
            inputs.push(Argument { name: name.clone(), bytes: bytes(buffer) });
            if let Some((count, _)) = buffer.scales() {
                inputs.push(Argument { name: format!("the scales of {name}"), bytes: count * 4 });
            }
        }
        let outputs = (0u32..).zip(&kernel.outputs).map(|(number, output)| Argument {
            name: kernel.buffer_name(Buffer::Output(number)),
            bytes: bytes(&output.buffer),
        });
        let written = kernel.outputs.iter().map(|output| &output.buffer).chain(&kernel.scratch);
        Ok(Self {
            name: kernel.name.clone(),
            arithmetic: kernel.arithmetic,
            inputs,
            outputs: outputs.collect(),
            scratch: kernel.scratch.iter().map(bytes).collect(),
            elements: written.map(|buffer| buffer.elements().unwrap_or(0)).collect(),
            shared: kernel.outputs.iter().map(|output| output.shares.is_some()).collect(),
            code: Code::compile(&expand(kernel), &sources)?,
        })
    }

    /// Runs the kernel once.
    ///
    /// `inputs` are the bytes of `%0` … in the machine's byte order, a quantised one followed by its f32 scales as a
    /// slice of their own; an input whose buffer an output shares is an empty slice, and its elements are what that
    /// output's slice holds at first. `outputs` are those of the outputs. No alignment is asked for.
    ///
    /// # Errors
    /// [`ErrorKind::Arguments`] where a slice is missing or of another length, [`ErrorKind::Value`] where an element of
    /// an `i64<V` buffer is not in 0 … V − 1, [`ErrorKind::Unwritten`] from the shadow map. Outputs may be partly
    /// written then.
    pub fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], options: Options) -> Result<(), Error> {
        self.run_until(inputs, outputs, options, &|| false)
    }

    /// The same, ended where `is_over`, which is asked every some thousand rounds of loops, says so.
    ///
    /// # Errors
    /// As for [`Self::run`], and [`ErrorKind::Interrupted`].
    pub fn run_until(
        &self,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
        options: Options,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        self.check(inputs.iter().map(|slice| slice.len()), &self.inputs, "input")?;
        self.check(outputs.iter().map(|slice| slice.len()), &self.outputs, "output")?;
        let mut scratch = self.scratch.iter().map(|&bytes| allocate(bytes)).collect::<Result<Vec<_>, _>>()?;
        let mut written: Vec<&mut [u8]> = outputs.iter_mut().map(|slice| &mut **slice).collect();
        written.extend(scratch.iter_mut().map(|bytes| &mut bytes[..]));
        let shadow = if options.shadow { Some(self.shadow(options.split)?) } else { None };
        match self.arithmetic {
            Arithmetic::F32 => self.execute::<f32>(inputs, written, shadow, is_over),
            Arithmetic::F64 => self.execute::<f64>(inputs, written, shadow, is_over),
        }
    }

    fn execute<R: real::Arith>(
        &self,
        inputs: &[&[u8]],
        written: Vec<&mut [u8]>,
        shadow: Option<Shadow>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let mut machine = Machine::<R>::new(&self.code, inputs, written, is_over);
        match shadow {
            None => machine.run::<false>(&self.code),
            Some(shadow) => {
                machine.watch(shadow);
                machine.run::<true>(&self.code)?;
                self.check_outputs(&machine)
            }
        }
    }

    fn check(
        &self,
        lengths: impl ExactSizeIterator<Item = usize>,
        wanted: &[Argument],
        what: &str,
    ) -> Result<(), Error> {
        let fault = |message| Err(ErrorKind::Arguments(message).at(Place::default()));
        if lengths.len() != wanted.len() {
            let (name, found) = (&self.name, lengths.len());
            return fault(format!("kernel {name} takes {} {what} buffers, not {found}", wanted.len()));
        }
        for (length, argument) in lengths.zip(wanted) {
            if length as u64 != argument.bytes {
                let Argument { name, bytes } = argument;
                return fault(format!("kernel {}: {name} is {bytes} bytes, not {length}", self.name));
            }
        }
        Ok(())
    }

    fn shadow(&self, split: Option<usize>) -> Result<Shadow, Error> {
        let outputs = self.outputs.len();
        let mut written = Vec::new();
        for (number, &elements) in self.elements.iter().enumerate() {
            let mut map = allocate(elements)?;
            if self.shared.get(number) == Some(&true) {
                map.fill(1);
            }
            written.push(map);
        }
        Ok(Shadow { written, outputs, split })
    }

    fn check_outputs<R>(&self, machine: &Machine<R>) -> Result<(), Error> {
        for (argument, map) in self.outputs.iter().zip(machine.written_map()) {
            if let Some(element) = map.iter().position(|&written| written == 0) {
                let message = format!("kernel {}: element {element} of {} is never written", self.name, argument.name);
                return Err(ErrorKind::Unwritten(message).at(Place::default()));
            }
        }
        Ok(())
    }
}

fn bytes(buffer: &BufferType) -> u64 {
    buffer.bytes().expect("the verifier has bounded the sizes")
}

fn index(number: usize) -> u32 {
    u32::try_from(number).expect("the verifier has bounded the number of buffers")
}

fn allocate(bytes: u64) -> Result<Vec<u8>, Error> {
    let fault = || ErrorKind::Arguments(format!("there is no memory for {bytes} bytes")).at(Place::default());
    let length = usize::try_from(bytes).map_err(|_| fault())?;
    let mut memory = Vec::new();
    memory.try_reserve_exact(length).map_err(|_| fault())?;
    memory.resize(length, 0);
    Ok(memory)
}
