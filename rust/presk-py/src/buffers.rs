//! The memory of NumPy arrays, and calls of schedules on it without the GIL: what needs pointers, and why it may.

#![allow(unsafe_code, reason = "a call reads and writes arrays while the GIL is released")]

use std::sync::{Mutex, PoisonError};

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods, npyffi};
use presk_rt::error::Error;
use presk_rt::execute::{Executable, Profile, Settings};
use presk_rt::interrupt::Question;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::Numpy;
use crate::schedule::raise;

/// Whether an array may be written to.
pub fn is_writeable(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: the pointer is of a live array object, and the GIL is held.
    unsafe { (*array.as_array_ptr()).fields.flags & npyffi::NPY_ARRAY_WRITEABLE != 0 }
}

/// The bytes of a C-contiguous array.
pub struct Bytes {
    start: *mut u8,
    length: usize,
}

// SAFETY: whoever makes one keeps its array alive for as long, on whatever thread it is read.
unsafe impl Send for Bytes {}

impl Bytes {
    /// Of an array that is contiguous, and that the caller keeps alive.
    pub fn of(array: &Bound<'_, PyUntypedArray>) -> Self {
        // SAFETY: the pointer is of a live array object, and the GIL is held.
        let start = unsafe { (*array.as_array_ptr()).fields.data.cast() };
        Self { start, length: array.len() * array.dtype().itemsize() }
    }

    /// The bytes, read.
    pub fn read(&self) -> &[u8] {
        // SAFETY: a contiguous array has this many initialised bytes, and its owner is borrowed by the caller. Another
        // thread that writes to them meanwhile spoils values and nothing else: they are numbers, whatever their bits.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    #[expect(clippy::mut_from_ref, reason = "a new array is nobody else's")]
    /// The bytes of an array made just now, to be filled.
    pub fn write(&self) -> &mut [u8] {
        // SAFETY: as for `read`; only called on arrays made just now, whose bytes nobody else has.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// First bytes of a call's arrays.
struct Starts(Vec<*mut u8>);

// SAFETY: the arrays are kept alive by the caller of `call`, on whatever thread that runs.
unsafe impl Send for Starts {}

impl Starts {
    fn of(arrays: &[Bound<'_, PyUntypedArray>]) -> Self {
        Self(arrays.iter().map(|array| Bytes::of(array).start).collect())
    }

    fn all(&self) -> &[*mut u8] {
        &self.0
    }
}

/// Runs a schedule on arrays that [`Numpy::take`] and [`Numpy::zeros`] have made of or for its leaves, without the GIL.
/// A donated array that shares memory with another one is copied first, and comes back in `inputs`. A signal whose handler
/// raises ends the call with what that raises; donated arrays hold no values then.
pub fn call(
    py: Python<'_>,
    numpy: &Numpy,
    executable: &Executable,
    inputs: &mut [Bound<'_, PyUntypedArray>],
    settings: Settings,
    profile: Option<&mut Profile>,
) -> PyResult<Vec<Py<PyUntypedArray>>> {
    separate_donated(numpy, executable, inputs)?;
    let outputs = executable
        .outputs()
        .iter()
        .map(|leaf| leaf.shares.map_or_else(|| numpy.zeros(py, leaf), |input| shaped(&inputs[input], &leaf.sizes)))
        .collect::<PyResult<Vec<_>>>()?;
    let (given, written) = (Starts::of(inputs), Starts::of(&outputs));
    let raised = Mutex::new(None);
    let question = || is_interrupted(&raised);
    let asked: &Question<'_> = &question;
    // SAFETY: `take` and `zeros` give C-contiguous, aligned arrays of the leaves' elements and shapes, which `inputs` and
    // `outputs` keep alive. Indices are in arrays made just now and have been checked; outputs are new, and donated inputs
    // share memory with no other array of the call.
    let done: Result<(), Error> =
        py.detach(move || unsafe { executable.call(given.all(), written.all(), settings, profile, Some(asked)) });
    if let Err(error) = done {
        // What a signal's handler has raised; KeyboardInterrupt where the program has set none.
        let raised = raised.into_inner().unwrap_or_else(PoisonError::into_inner);
        return Err(raised.unwrap_or_else(|| raise(error)));
    }
    Ok(outputs.into_iter().map(Bound::unbind).collect())
}

/// A donated array as the result that takes its memory: itself, or a view where the result's shape is another.
fn shaped<'py>(array: &Bound<'py, PyUntypedArray>, sizes: &[u64]) -> PyResult<Bound<'py, PyUntypedArray>> {
    if array.shape().iter().map(|&size| size as u64).eq(sizes.iter().copied()) {
        return Ok(array.clone());
    }
    let view = array.call_method1("reshape", (PyTuple::new(array.py(), sizes)?,))?;
    Ok(view.cast_into()?)
}

/// Whether the handler of a signal that has come meanwhile raises something, which is put there. Python runs handlers on the
/// main thread alone, so calls on others go on.
fn is_interrupted(raised: &Mutex<Option<PyErr>>) -> bool {
    let Err(error) = Python::attach(|py| py.check_signals()) else { return false };
    raised.lock().unwrap_or_else(PoisonError::into_inner).replace(error);
    true
}

fn separate_donated(numpy: &Numpy, executable: &Executable, inputs: &mut [Bound<'_, PyUntypedArray>]) -> PyResult<()> {
    for (number, _) in executable.inputs().iter().enumerate().filter(|(_, leaf)| leaf.donated) {
        let range = |array: &Bound<'_, PyUntypedArray>| {
            let bytes = Bytes::of(array);
            bytes.start.addr()..bytes.start.addr() + bytes.length
        };
        let own = range(&inputs[number]);
        let overlaps = inputs.iter().enumerate().any(|(other, array)| {
            let found = range(array);
            other != number && own.start < found.end && found.start < own.end
        });
        if overlaps {
            inputs[number] = numpy.copy(&inputs[number])?;
        }
    }
    Ok(())
}
