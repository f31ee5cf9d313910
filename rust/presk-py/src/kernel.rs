//! Kernel text for Python: reading, verifying, printing, the lane rewrite, and the interpreter on bytes.

use numpy::{PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use presk_kernel::{Error, Options, Program};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(_native, KernelError, PyException, "A fault of kernel text: code, message, line, column.");

fn raise(error: Error) -> PyErr {
    KernelError::new_err((error.kind.code(), error.kind.to_string(), error.place.line, error.place.column))
}

/// Reads and verifies a text of kernels; the text they print as.
#[pyfunction]
pub fn verify_kernels(py: Python<'_>, text: &str) -> PyResult<String> {
    py.detach(|| {
        let kernels = presk_kernel::parse_all(text)?;
        kernels.iter().try_for_each(presk_kernel::verify)?;
        Ok(kernels.iter().map(ToString::to_string).collect())
    })
    .map_err(raise)
}

/// Reads and verifies a text of kernels; their text with every statement over runs written out as loops.
#[pyfunction]
pub fn expand_kernels(py: Python<'_>, text: &str) -> PyResult<String> {
    py.detach(|| {
        let kernels = presk_kernel::parse_all(text)?;
        kernels.iter().try_for_each(presk_kernel::verify)?;
        Ok(kernels.iter().map(|kernel| presk_kernel::expand::expand(kernel).to_string()).collect())
    })
    .map_err(raise)
}

/// The text of one kernel with its loops rewritten to lanes, but for the one at depth `split`.
#[pyfunction]
#[pyo3(signature = (text, split=None))]
pub fn kernel_lanes(py: Python<'_>, text: &str, split: Option<usize>) -> PyResult<String> {
    py.detach(|| {
        let kernel = presk_kernel::parse(text)?;
        presk_kernel::verify(&kernel)?;
        Ok(presk_kernel::lanes::rewrite(&kernel, split).to_string())
    })
    .map_err(raise)
}

/// The depths of the loops of one kernel that may be split over workers.
#[pyfunction]
pub fn parallel_depths(py: Python<'_>, text: &str) -> PyResult<Vec<usize>> {
    use presk_kernel::parallel::{is_parallel, perfect_nest};
    py.detach(|| {
        let kernel = presk_kernel::parse(text)?;
        presk_kernel::verify(&kernel)?;
        Ok((0..perfect_nest(&kernel).len()).filter(|&depth| is_parallel(&kernel, depth)).collect())
    })
    .map_err(raise)
}

/// One kernel compiled for the interpreter.
#[pyclass(frozen)]
pub struct KernelProgram {
    program: Program,
}

#[pymethods]
impl KernelProgram {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let program = py.detach(|| Program::compile(&presk_kernel::parse(text)?)).map_err(raise)?;
        Ok(Self { program })
    }

    /// Runs once on the bytes of the inputs (a quantised one's scales follow it; empty where an output shares it).
    #[pyo3(signature = (inputs, outputs, *, shadow, split))]
    fn run(
        &self,
        py: Python<'_>,
        inputs: Vec<PyReadonlyArray1<'_, u8>>,
        outputs: Vec<Bound<'_, numpy::PyArray1<u8>>>,
        shadow: bool,
        split: Option<usize>,
    ) -> PyResult<()> {
        let mut outputs =
            outputs.iter().map(|each| each.try_readwrite()).collect::<Result<Vec<PyReadwriteArray1<u8>>, _>>()?;
        let inputs = inputs.iter().map(|each| each.as_slice()).collect::<Result<Vec<_>, _>>()?;
        let mut outputs = outputs.iter_mut().map(|each| each.as_slice_mut()).collect::<Result<Vec<_>, _>>()?;
        let options = Options { shadow, split };
        py.detach(|| self.program.run(&inputs, &mut outputs, options)).map_err(raise)
    }
}
