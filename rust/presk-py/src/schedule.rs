//! Schedules for Python: read, verified and compiled once, then called on arrays.

use numpy::PyUntypedArray;
use presk_cranelift::{Native, Target};
use presk_rt::code::Compiler;
use presk_rt::error::Error;
use presk_rt::execute::{Executable, Profile, Settings};
use presk_rt::float_mode::FloatMode;
use presk_rt::interpret::Interpreter;
use presk_rt::schedule::read;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::Numpy;
use crate::buffers::call;

create_exception!(_native, ScheduleError, PyException, "A fault of a schedule: code, message, line, column.");

/// The exception of an error.
pub fn raise(error: Error) -> PyErr {
    ScheduleError::new_err((error.kind.code(), error.kind.to_string(), error.line, error.column))
}

/// What compiles kernels for a backend. `watch`: elements that are read before they are written are errors. `target` and
/// `lanes` are the code generator's.
fn compiler(backend: &str, watch: bool, target: &str, lanes: bool) -> PyResult<Box<dyn Compiler + Send>> {
    match backend {
        "kernel" => Ok(Box::new(Interpreter { shadow: watch })),
        "native" => {
            let target = Target::named(target).map_err(|error| raise(error.into()))?;
            Ok(Box::new(Native::new(target, lanes)))
        }
        _ => Err(PyValueError::new_err(format!("no backend `{backend}` runs schedules"))),
    }
}

/// A schedule ready to be called from any thread.
#[pyclass(frozen)]
pub struct Schedule {
    executable: Executable,
    numpy: Numpy,
}

type Timings = Vec<(String, u64, u64)>;

#[pymethods]
impl Schedule {
    #[new]
    #[pyo3(signature = (text, backend, *, watch=false, target="host", lanes=true))]
    fn new(py: Python<'_>, text: &str, backend: &str, watch: bool, target: &str, lanes: bool) -> PyResult<Self> {
        let compiler = compiler(backend, watch, target, lanes)?;
        let made = py.detach(move || {
            let _mode = FloatMode::standard();
            Executable::new(&read(text)?, &*compiler, watch)
        });
        Ok(Self { executable: made.map_err(raise)?, numpy: Numpy::new(py)? })
    }

    /// Bytes of one call's arena.
    #[getter]
    fn arena_bytes(&self) -> usize {
        self.executable.arena_bytes()
    }

    /// How many arenas calls have given back.
    #[getter]
    fn free_arenas(&self) -> usize {
        self.executable.free_arenas()
    }

    /// The array as the schedule holds its input of that number: itself, or a copy in the input's element.
    fn take<'py>(&self, number: usize, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
        let leaf = self.executable.inputs().get(number).ok_or_else(|| PyIndexError::new_err("no such input"))?;
        self.numpy.take(leaf, array)
    }

    /// One call: an array for each output.
    #[pyo3(signature = (inputs, *, seed, step, row_offset, threads))]
    fn run(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, PyAny>>,
        seed: u64,
        step: u64,
        row_offset: u64,
        threads: usize,
    ) -> PyResult<Vec<Py<PyUntypedArray>>> {
        self.call(py, &inputs, Settings { seed, step, row_offset, threads }, None)
    }

    /// One call, and for each step its name, how often it ran, and its nanoseconds altogether.
    #[pyo3(signature = (inputs, *, seed, step, row_offset, threads))]
    fn profile(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, PyAny>>,
        seed: u64,
        step: u64,
        row_offset: u64,
        threads: usize,
    ) -> PyResult<(Vec<Py<PyUntypedArray>>, Timings)> {
        let mut profile = self.executable.profile();
        let settings = Settings { seed, step, row_offset, threads };
        let outputs = self.call(py, &inputs, settings, Some(&mut profile))?;
        let nanoseconds = |each: &presk_rt::execute::Timing| u64::try_from(each.time.as_nanos()).unwrap_or(u64::MAX);
        let timings = profile.timings.iter().map(|each| (each.label.clone(), each.runs, nanoseconds(each)));
        Ok((outputs, timings.collect()))
    }
}

impl Schedule {
    fn call(
        &self,
        py: Python<'_>,
        inputs: &[Bound<'_, PyAny>],
        settings: Settings,
        profile: Option<&mut Profile>,
    ) -> PyResult<Vec<Py<PyUntypedArray>>> {
        let leaves = self.executable.inputs();
        if inputs.len() != leaves.len() {
            return Err(PyValueError::new_err(format!("the schedule takes {} arrays", leaves.len())));
        }
        let mut taken = leaves
            .iter()
            .zip(inputs)
            .map(|(leaf, given)| self.numpy.take(leaf, given))
            .collect::<PyResult<Vec<_>>>()?;
        call(py, &self.numpy, &self.executable, &mut taken, settings, profile)
    }
}
