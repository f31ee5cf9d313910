//! The elementary functions for Python: `presk_rt::elementary` over one-dimensional arrays, in place.

use numpy::{Element, PyReadonlyArray1, PyReadwriteArray1};
use presk_rt::elementary::{self, Function, Real};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Replaces each f64 by the named function of it.
#[pyfunction]
pub fn apply_f64(py: Python<'_>, function: &str, values: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
    apply(py, function, values)
}

/// Replaces each f32 by the named function of it.
#[pyfunction]
pub fn apply_f32(py: Python<'_>, function: &str, values: PyReadwriteArray1<'_, f32>) -> PyResult<()> {
    apply(py, function, values)
}

/// Replaces each f64 base by its power.
#[pyfunction]
pub fn power_f64(
    py: Python<'_>,
    bases: PyReadwriteArray1<'_, f64>,
    exponents: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    power(py, bases, exponents)
}

/// Replaces each f32 base by its power.
#[pyfunction]
pub fn power_f32(
    py: Python<'_>,
    bases: PyReadwriteArray1<'_, f32>,
    exponents: PyReadonlyArray1<'_, f32>,
) -> PyResult<()> {
    power(py, bases, exponents)
}

fn apply<T: Element + Real + Send>(
    py: Python<'_>,
    function: &str,
    mut values: PyReadwriteArray1<'_, T>,
) -> PyResult<()> {
    let function: Function =
        function.parse().map_err(|_| PyValueError::new_err(format!("no elementary function `{function}`")))?;
    let values = values.as_slice_mut()?;
    py.detach(|| elementary::apply(function, values));
    Ok(())
}

fn power<T: Element + Real + Send + Sync>(
    py: Python<'_>,
    mut bases: PyReadwriteArray1<'_, T>,
    exponents: PyReadonlyArray1<'_, T>,
) -> PyResult<()> {
    let (bases, exponents) = (bases.as_slice_mut()?, exponents.as_slice()?);
    if bases.len() != exponents.len() {
        return Err(PyValueError::new_err("as many exponents as bases are wanted"));
    }
    py.detach(|| elementary::power(bases, exponents));
    Ok(())
}
