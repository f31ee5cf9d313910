//! Machine code to be read: what a schedule has compiled, a kernel's CLIF, its instructions by the lines of its text.

use std::sync::{Arc, Mutex, PoisonError};

use presk_cranelift::{Error, Listing, Options, Target};
use presk_rt::code::{Compiler, Job, KernelCode};
use presk_rt::execute::Executable;
use presk_rt::interpret::Interpreter;
use presk_rt::schedule::read;
use pyo3::prelude::*;

use crate::kernel::KernelError;
use crate::schedule;

/// A kernel's text, and the depth of the loop that its runs may divide.
type Request = (String, Option<usize>);

/// Keeps what an executor wants compiled.
#[derive(Default)]
struct Requests(Mutex<Vec<Request>>);

impl Compiler for Requests {
    fn compile(&self, jobs: &[Job<'_>]) -> Result<Vec<Arc<dyn KernelCode>>, presk_rt::error::Error> {
        let found = jobs.iter().map(|job| (job.kernel.to_string(), job.depth));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        Interpreter::default().compile(jobs)
    }
}

/// What running a schedule compiles, in order: each kernel's text, and the depth of the loop that its runs may divide.
#[pyfunction]
pub fn schedule_kernels(py: Python<'_>, text: &str) -> PyResult<Vec<Request>> {
    let requests = Requests::default();
    py.detach(|| Executable::new(&read(text)?, &requests, false)).map_err(schedule::raise)?;
    Ok(requests.0.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn raise(error: Error) -> PyErr {
    let error = presk_rt::error::Error::from(error);
    KernelError::new_err((error.kind.code(), error.kind.to_string(), error.line, error.column))
}

/// The CLIF of one kernel for a target. `depth`: the loop that runs may divide.
#[pyfunction]
#[pyo3(signature = (text, *, target, lanes, depth))]
pub fn kernel_clif(py: Python<'_>, text: &str, target: &str, lanes: bool, depth: Option<usize>) -> PyResult<String> {
    py.detach(|| presk_cranelift::clif(&presk_kernel::parse(text)?, Options { depth, lanes }, &Target::named(target)?))
        .map_err(raise)
}

/// First byte, end, line of the kernel's text (0: none) and words of each instruction.
type Instructions = Vec<(usize, usize, u32, String)>;

/// The machine code of one kernel for a target: its bytes, constants at their end, and its instructions.
#[pyfunction]
#[pyo3(signature = (text, *, target, lanes, depth))]
pub fn kernel_machine_code(
    py: Python<'_>,
    text: &str,
    target: &str,
    lanes: bool,
    depth: Option<usize>,
) -> PyResult<(Vec<u8>, Instructions)> {
    let list = || {
        let kernel = presk_kernel::parse(text)?;
        presk_cranelift::machine_code(&kernel, Options { depth, lanes }, &Target::named(target)?)
    };
    let Listing { bytes, instructions, .. } = py.detach(list).map_err(raise)?;
    let instructions = instructions.into_iter().map(|each| (each.start, each.end, each.line, each.text));
    Ok((bytes, instructions.collect()))
}
