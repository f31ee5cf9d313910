//! The standard floating-point mode as a Python context: whoever rounds a number for a result is within one.

use presk_rt::float_mode::FloatMode;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Within `with`, the calling thread is in the standard floating-point mode; then in the one it was in. One at a time.
#[pyclass(unsendable)]
#[derive(Default)]
pub struct StandardMode {
    held: Option<FloatMode>,
}

#[pymethods]
impl StandardMode {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __enter__(&mut self) {
        self.held.get_or_insert_with(FloatMode::standard);
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&mut self, _raised: &Bound<'_, PyTuple>) {
        self.held = None;
    }
}
