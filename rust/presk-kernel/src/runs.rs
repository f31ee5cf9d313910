//! Statements over whole runs of elements, and the expansion that says what they mean.
//!
//! Such a statement is one call of a routine in machine code. Whatever reasons about elements (the verifier, the
//! interpreter, the proof that a loop may be divided) is given the expansion, which is kernel text as any other.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind};
use crate::ir::{
    Access, Applied, Apply, Buffer, Int, IntBinary, Kernel, Loop, Place, Real, RealBinary, Statement, StatementKind,
};
use crate::limits;
use crate::verify::{check_access, is_arithmetic};
use crate::walk;

/// The kernel with every statement over a run written out as loops. [`crate::expand`] writes out all that there are.
#[must_use]
pub fn expand(kernel: &Kernel) -> Cow<'_, Kernel> {
    let mut counters = BTreeSet::new();
    let mut has_runs = false;
    walk::statements(&kernel.body, &mut |statement| match &statement.kind {
        StatementKind::For(each) => drop(counters.insert(each.variable)),
        StatementKind::Apply(_) => has_runs = true,
        _ => {}
    });
    if !has_runs {
        return Cow::Borrowed(kernel);
    }
    let counter = (0..).find(|counter| !counters.contains(counter)).unwrap_or(limits::VARIABLE);
    Cow::Owned(Kernel { body: block(&kernel.body, counter), ..kernel.clone() })
}

fn block(body: &[Statement], counter: u32) -> Vec<Statement> {
    let expanded = body.iter().map(|statement| {
        let kind = match &statement.kind {
            StatementKind::Apply(apply) => StatementKind::For(applied(apply, counter, statement.place)),
            StatementKind::For(each) => StatementKind::For(Loop { body: block(&each.body, counter), ..each.clone() }),
            StatementKind::If(condition, inner) => StatementKind::If(condition.clone(), block(inner, counter)),
            other => other.clone(),
        };
        Statement { kind, place: statement.place }
    });
    expanded.collect()
}

/// `for i7 in 0..256 { t1[i7] = exp(t0[i7]) }`
fn applied(apply: &Apply, counter: u32, place: Place) -> Loop {
    let load = |access: &Access| Box::new(Real::Load(at(access, counter)));
    let value = match &apply.applied {
        Applied::Function(function, source) => Real::Call(*function, load(source)),
        Applied::Power(base, exponent) => Real::Binary(RealBinary::Pow, load(base), load(exponent)),
    };
    let store = StatementKind::StoreReal(at(&apply.target, counter), value);
    Loop { variable: counter, extent: apply.count, body: vec![Statement { kind: store, place }] }
}

/// The element of a run that a counter numbers.
fn at(first: &Access, counter: u32) -> Access {
    let mut access = first.clone();
    if let Some(last) = access.index.last_mut() {
        let counter = Int::Counter(counter);
        *last = match std::mem::replace(last, Int::Constant(0)) {
            Int::Constant(0) => counter,
            other => Int::Binary(IntBinary::Add, Box::new(other), Box::new(counter)),
        };
    }
    access
}

/// Checks what the expansion doesn't say: that every run is of the arithmetic type and lies along an axis, and that a
/// run read of the buffer that is written is the run that is written.
pub fn check(kernel: &Kernel) -> Result<(), Error> {
    let mut fault = None;
    walk::statements(&kernel.body, &mut |statement| {
        if let StatementKind::Apply(apply) = &statement.kind
            && fault.is_none()
        {
            fault = check_apply(kernel, apply).err();
        }
    });
    fault.map_or(Ok(()), Err)
}

fn check_apply(kernel: &Kernel, apply: &Apply) -> Result<(), Error> {
    for access in apply.sources().chain([&apply.target]) {
        check_access(kernel, access)?;
        if let Some(kind) = run_fault(kernel, access) {
            return Err(kind.at(access.place));
        }
    }
    let target = memory(kernel, apply.target.buffer);
    let is_other = |source: &&Access| memory(kernel, source.buffer) == target && source.index != apply.target.index;
    match apply.sources().find(is_other) {
        Some(source) => {
            let name = kernel.buffer_name(source.buffer);
            let message =
                format!("this run of {name} may overlap the one that is written; in place it is the same run");
            Err(ErrorKind::Shared(message).at(source.place))
        }
        None => Ok(()),
    }
}

/// What forbids a run of elements here: another type than the arithmetic one, or no axis.
pub fn run_fault(kernel: &Kernel, access: &Access) -> Option<ErrorKind> {
    if is_arithmetic(kernel, access) {
        return None;
    }
    let (name, real) = (kernel.buffer_name(access.buffer), kernel.arithmetic.name());
    Some(ErrorKind::Type(format!("a run lies along the last axis of a buffer of {real}, which {name} isn't")))
}

/// The buffer whose memory this is: an input whose place an output takes is that output.
fn memory(kernel: &Kernel, buffer: Buffer) -> Buffer {
    let Buffer::Input(number) = buffer else { return buffer };
    let output = kernel.outputs.iter().position(|output| output.shares == Some(number));
    output.and_then(|output| u32::try_from(output).ok()).map_or(buffer, Buffer::Output)
}
