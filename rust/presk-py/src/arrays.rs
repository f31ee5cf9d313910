//! NumPy arrays as a schedule's buffers: read in place where they can be, else copied or converted once.

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use presk_kernel::ir::Element;
use presk_rt::error::ErrorKind;
use presk_rt::execute::Leaf;
use presk_rt::float_mode::FloatMode;
use presk_rt::numbers::{Float, convert};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyTuple};

use crate::buffers::{Bytes, is_writeable};
use crate::schedule::raise;

/// Bytes of a leaf from which it is converted without the GIL: releasing it takes as long as some hundred elements.
const DETACHED_FROM: usize = 1 << 14;

/// NumPy's functions and types that arrays are made with.
pub struct Numpy {
    zeros: Py<PyAny>,
    array: Py<PyAny>,
    bf16: Py<PyArrayDescr>,
}

impl Numpy {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let bf16 = PyArrayDescr::new(py, py.import("ml_dtypes")?.getattr("bfloat16")?)?;
        Ok(Self {
            zeros: numpy.getattr("zeros")?.unbind(),
            array: numpy.getattr("array")?.unbind(),
            bf16: bf16.unbind(),
        })
    }

    /// The type of arrays that hold such elements.
    pub fn dtype<'py>(&self, py: Python<'py>, element: Element) -> Bound<'py, PyArrayDescr> {
        match element {
            Element::F64 => numpy::dtype::<f64>(py),
            Element::F32 => numpy::dtype::<f32>(py),
            Element::Bf16 => self.bf16.bind(py).clone(),
            Element::I64 | Element::Index(_) => numpy::dtype::<i64>(py),
            Element::Bool => numpy::dtype::<bool>(py),
            Element::Int8(_) => numpy::dtype::<i8>(py),
            Element::Int4(_) => numpy::dtype::<u8>(py),
        }
    }

    /// A new array of zeros for a leaf.
    pub fn zeros<'py>(&self, py: Python<'py>, leaf: &Leaf) -> PyResult<Bound<'py, PyUntypedArray>> {
        let shape = PyTuple::new(py, &leaf.sizes)?;
        Ok(self.zeros.bind(py).call1((shape, self.dtype(py, leaf.element)))?.cast_into()?)
    }

    /// The array as the schedule holds that leaf: itself where it can be read in place, else a copy. Floats of another
    /// type are rounded once, bf16 through f32; indices are copied, then checked.
    pub fn take<'py>(&self, leaf: &Leaf, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
        let py = given.py();
        let array = given.cast::<PyUntypedArray>()?;
        let wanted = self.dtype(py, leaf.element);
        let found = array.dtype();
        let is_same = found.num() == wanted.num()
            || (found.kind() == wanted.kind() && found.itemsize() == wanted.itemsize() && found.kind() == b'i');
        let source = match (self.float(&wanted), self.float(&found)) {
            (Some(to), Some(from)) if from != to => Some((from, to)),
            _ if is_same => None,
            _ => return Err(misfit(leaf, &format!("elements of type {found}"))),
        };
        let has_shape = match leaf.element {
            Element::Int4(_) => array.len() == leaf.bytes,
            _ => array.shape().iter().map(|&size| size as u64).eq(leaf.sizes.iter().copied()),
        };
        if !has_shape {
            return Err(misfit(leaf, &format!("the shape {:?}", array.shape())));
        }
        let is_index = matches!(leaf.element, Element::I64 | Element::Index(_));
        let is_plain = array.is_c_contiguous() && array.is_aligned() && found.is_native_byteorder() != Some(false);
        if let Some((from, to)) = source {
            let source = if is_plain { array.clone() } else { self.copy(array)? };
            let target = self.zeros(py, leaf)?;
            let bytes = (Bytes::of(&source), Bytes::of(&target));
            let rounded = move || {
                let (source, target) = bytes;
                let _mode = FloatMode::standard();
                convert(from, source.read(), to, target.write());
            };
            if leaf.bytes < DETACHED_FROM {
                rounded();
            } else {
                py.detach(rounded);
            }
            return Ok(target);
        }
        let in_place = is_plain && !is_index && (!leaf.donated || is_writeable(array));
        let taken = if in_place { array.clone() } else { self.copy(array)? };
        if let Element::Index(bound) = leaf.element {
            check_indices(leaf, bound, Bytes::of(&taken).read())?;
        }
        Ok(taken)
    }

    /// A copy in the machine's byte order, C-contiguous and aligned.
    pub fn copy<'py>(&self, array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
        let py = array.py();
        let native = array.dtype().call_method1("newbyteorder", ("=",))?;
        let options = [("order", "C".into_pyobject(py)?.into_any()), ("dtype", native)].into_py_dict(py)?;
        Ok(self.array.bind(py).call((array,), Some(&options))?.cast_into()?)
    }

    fn float(&self, dtype: &Bound<'_, PyArrayDescr>) -> Option<Float> {
        match (dtype.kind(), dtype.itemsize()) {
            (b'f', 8) => Some(Float::F64),
            (b'f', 4) => Some(Float::F32),
            _ => (dtype.num() == self.bf16.bind(dtype.py()).num()).then_some(Float::Bf16),
        }
    }
}

fn misfit(leaf: &Leaf, what: &str) -> PyErr {
    raise(ErrorKind::Arguments(format!("`{}` was given {what}", leaf.path)).anywhere())
}

/// E6002 where an index isn't below its bound.
fn check_indices(leaf: &Leaf, bound: u64, bytes: &[u8]) -> PyResult<()> {
    let values = bytes.as_chunks().0.iter().map(|&value| i64::from_ne_bytes(value));
    let mut values = values.enumerate();
    let Some((at, value)) = values.find(|&(_, value)| !u64::try_from(value).is_ok_and(|value| value < bound)) else {
        return Ok(());
    };
    let mut rest = at as u64;
    let mut position: Vec<u64> = leaf.sizes.iter().rev().map(|&size| (rest % size, rest /= size).0).collect();
    position.reverse();
    let message = format!("`{}` at {position:?} is {value}, and must be below {bound}", leaf.path);
    Err(raise(ErrorKind::Index(message).anywhere()))
}
