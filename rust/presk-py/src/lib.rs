//! The Python extension `presk._native`.
use pyo3::prelude::*;

/// The compiled half of presk.
#[pymodule]
mod _native {
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
