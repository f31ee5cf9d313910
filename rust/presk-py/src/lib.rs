//! The Python extension `presk._native`: it converts arguments, releases the GIL, calls the crates and maps their errors.
//!
//! Nothing is decided here. Python has checked what a user gave, so whatever is refused is a fault of presk's own and
//! raised as `ValueError`. The stub `python/presk/_native.pyi` is held against this module by a test.

#![deny(unsafe_code)]

use pyo3::prelude::*;

mod arrays;
mod buffers;
mod draw;
mod elementary;
mod kernel;
mod mode;
mod native;
mod schedule;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::draw::{derive_key, fill_bits, fill_normal, fill_uniform, shuffle};
    #[pymodule_export]
    use super::elementary::{apply_f32, apply_f64, power_f32, power_f64};

    #[pymodule_export]
    use super::kernel::{KernelError, KernelProgram, expand_kernels, kernel_lanes, parallel_depths, verify_kernels};
    #[pymodule_export]
    use super::mode::StandardMode;
    #[pymodule_export]
    use super::native::{kernel_clif, kernel_machine_code, schedule_kernels};
    #[pymodule_export]
    use super::schedule::{Schedule, ScheduleError};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
