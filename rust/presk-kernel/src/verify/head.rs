//! What a kernel's head may declare, and which element types an access may meet.

use crate::error::{Error, ErrorKind};
use crate::ir::{Access, Arithmetic, BufferType, Element, Kernel, Place};
use crate::limits;
use crate::verify::find;
use crate::walk::Value;

fn type_fault<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(ErrorKind::Type(message.into()).at(Place::default()))
}

/// Checks buffers, sharing and limits of a kernel's head.
pub fn check(kernel: &Kernel) -> Result<(), Error> {
    if kernel.outputs.is_empty() {
        return type_fault("a kernel has at least one output");
    }
    for (what, count) in
        [("inputs", kernel.inputs.len()), ("outputs", kernel.outputs.len()), ("scratch buffers", kernel.scratch.len())]
    {
        if count > limits::BUFFERS {
            let what = format!("the number of {what}");
            return Err(ErrorKind::Limit { what, limit: limits::BUFFERS as u64 }.at(Place::default()));
        }
    }
    let written = kernel.outputs.iter().map(|output| &output.buffer).chain(&kernel.scratch);
    let buffers = kernel.inputs.iter().map(|buffer| (buffer, true)).chain(written.map(|buffer| (buffer, false)));
    for (buffer, is_input) in buffers {
        if let Some(kind) = buffer_fault(buffer, is_input) {
            return Err(kind.at(Place::default()));
        }
    }
    let scratch = kernel.scratch.iter().map(|buffer| buffer.bytes().unwrap_or(u64::MAX));
    if scratch.fold(0, u64::saturating_add) > limits::SCRATCH_BYTES {
        let what = "the bytes of all scratch buffers".into();
        return Err(ErrorKind::Limit { what, limit: limits::SCRATCH_BYTES }.at(Place::default()));
    }
    check_sharing(kernel)
}

fn check_sharing(kernel: &Kernel) -> Result<(), Error> {
    for (number, output) in kernel.outputs.iter().enumerate() {
        let Some(shared) = output.shares else { continue };
        let Some(input) = kernel.inputs.get(shared as usize) else {
            return type_fault(format!("an output shares %{shared}, which is not an input"));
        };
        let sizes = |buffer: &BufferType| buffer.axes.iter().map(|axis| axis.size).collect::<Vec<_>>();
        if input.element != output.buffer.element || sizes(input) != sizes(&output.buffer) {
            return type_fault(format!("an output that shares %{shared} has its element type and its sizes"));
        }
        if kernel.outputs[..number].iter().any(|other| other.shares == Some(shared)) {
            return type_fault(format!("%{shared} is shared by two outputs"));
        }
    }
    Ok(())
}

/// What is wrong with a buffer's type, if anything.
pub fn buffer_fault(buffer: &BufferType, is_input: bool) -> Option<ErrorKind> {
    if buffer.axes.len() > limits::RANK {
        return Some(ErrorKind::Limit { what: "the number of axes".into(), limit: limits::RANK as u64 });
    }
    // Sizes one by one too: an axis of 0 makes the product small, whatever the others are.
    let too_large = buffer.axes.iter().any(|axis| axis.size > limits::ELEMENTS)
        || buffer.elements().is_none_or(|elements| elements > limits::ELEMENTS);
    if too_large {
        return Some(ErrorKind::Limit { what: "the number of elements of a buffer".into(), limit: limits::ELEMENTS });
    }
    if let Element::Index(bound) = buffer.element {
        if bound == 0 {
            return Some(ErrorKind::Type("the bound V of i64<V is at least 1".into()));
        }
        if bound > limits::BOUND {
            return Some(ErrorKind::Limit { what: "the bound V of i64<V".into(), limit: limits::BOUND });
        }
    }
    let scales = buffer.element.scale_axes()?;
    if !is_input {
        return Some(ErrorKind::Type("only inputs are quantised".into()));
    }
    if scales.first >= scales.end || scales.end as usize > buffer.axes.len() {
        return Some(ErrorKind::Type("the axes of the scales are not axes of the buffer".into()));
    }
    None
}

/// Whether the buffer exists and has as many axes as the access has indices.
pub fn check_access(kernel: &Kernel, access: &Access) -> Result<(), Error> {
    match find(kernel, access.buffer) {
        Some(buffer) if buffer.axes.len() == access.index.len() => Ok(()),
        Some(_) => Err(ErrorKind::Type("an access has an index for each axis".into()).at(access.place)),
        None => Err(ErrorKind::Type("an access of a buffer that isn't declared".into()).at(access.place)),
    }
}

/// Whether a load meets elements of its kind.
pub fn check_load(kernel: &Kernel, access: &Access, value: Value) -> Result<(), Error> {
    check_access(kernel, access)?;
    let element = kernel.buffer(access.buffer).element;
    let fits = match value {
        Value::Real(_) | Value::Vector(_) => element.is_real(),
        Value::Int(_) | Value::Wholes(_) => matches!(element, Element::I64 | Element::Index(_)),
        Value::Bool(_) | Value::Mask(_) => element == Element::Bool,
    };
    if !fits {
        let message = format!("{} holds values of another kind", kernel.buffer_name(access.buffer));
        return Err(ErrorKind::Type(message).at(access.place));
    }
    match load_fault(kernel, access, value.is_lanes()) {
        Some(kind) => Err(kind.at(access.place)),
        None => Ok(()),
    }
}

/// What forbids loading elements of this buffer as they are: a float wider than the arithmetic, or no run for lanes.
pub fn load_fault(kernel: &Kernel, access: &Access, is_vector: bool) -> Option<ErrorKind> {
    let buffer = find(kernel, access.buffer)?;
    let name = kernel.buffer_name(access.buffer);
    if buffer.element == Element::F64 && kernel.arithmetic == Arithmetic::F32 {
        return Some(ErrorKind::Type(format!("{name} is wider than the kernel's arithmetic; convert it first")));
    }
    if is_vector && buffer.axes.is_empty() {
        return Some(ErrorKind::Type(format!("{name} has no axis a vector could lie along")));
    }
    None
}

/// Whether a buffer holds reals of the arithmetic type along an axis: what runs, and sums that go on, lie in.
pub fn is_arithmetic(kernel: &Kernel, access: &Access) -> bool {
    let wanted = match kernel.arithmetic {
        Arithmetic::F32 => Element::F32,
        Arithmetic::F64 => Element::F64,
    };
    find(kernel, access.buffer).is_none_or(|buffer| buffer.element == wanted && !buffer.axes.is_empty())
}

/// What forbids a vector store to this buffer: integers, or no axis.
pub fn vector_store_fault(kernel: &Kernel, access: &Access) -> Option<ErrorKind> {
    let buffer = find(kernel, access.buffer)?;
    let is_stored = matches!(buffer.element, Element::F64 | Element::F32 | Element::Bf16 | Element::Bool);
    if is_stored && !buffer.axes.is_empty() {
        return None;
    }
    let name = kernel.buffer_name(access.buffer);
    let wanted = "a vector is stored along the last axis of a buffer of reals or truth values";
    Some(ErrorKind::Type(format!("{wanted}, which {name} isn't")))
}
