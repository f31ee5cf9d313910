//! Keys and draws for Python: `presk_rt::key` and `presk_rt::draw` over one-dimensional arrays, filled in place.

use numpy::PyReadwriteArray1;
use presk_rt::{draw, key};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The 32 bytes of the key of a place.
#[pyfunction]
pub fn derive_key(seed: u64, stream: &[u8], path: &[u8], indices: Vec<u32>) -> PyResult<key::Key> {
    key::derive(seed, stream, path, &indices).ok_or_else(|| PyValueError::new_err("a name of 4 GiB"))
}

/// Fills `out` with the u64 of a stream's elements from `start` on.
#[pyfunction]
pub fn fill_bits(
    py: Python<'_>,
    key: key::Key,
    nonce: u64,
    start: u64,
    mut out: PyReadwriteArray1<'_, u64>,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    py.detach(|| draw::fill_bits(&key, nonce, start, out));
    Ok(())
}

/// Fills `out` with uniforms in [lo, hi) kept within [least, most], from a stream's element `start` on.
#[pyfunction]
pub fn fill_uniform(
    py: Python<'_>,
    key: key::Key,
    nonce: u64,
    start: u64,
    of: (f64, f64, f64, f64),
    mut out: PyReadwriteArray1<'_, f64>,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    let (lo, hi, least, most) = of;
    let of = draw::Uniform { lo, hi, least, most };
    py.detach(|| draw::fill_uniform(&key, nonce, start, of, out));
    Ok(())
}

/// Fills `out` with normals, from a stream's element `start` on.
#[pyfunction]
pub fn fill_normal(
    py: Python<'_>,
    key: key::Key,
    nonce: u64,
    start: u64,
    std: f64,
    mean: f64,
    mut out: PyReadwriteArray1<'_, f64>,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    py.detach(|| draw::fill_normal(&key, nonce, start, std, mean, out));
    Ok(())
}

/// Fills `out` with a permutation of 0 … n − 1, n being its length.
#[pyfunction]
pub fn shuffle(py: Python<'_>, key: key::Key, nonce: u64, mut out: PyReadwriteArray1<'_, i64>) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    py.detach(|| draw::shuffle(&key, nonce, out));
    Ok(())
}
