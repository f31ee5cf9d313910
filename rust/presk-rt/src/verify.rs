//! The verifier of schedules: what makes running one safe.
//!
//! It proves that buffers of the arena lie in it and are aligned, that every view lies in its buffer in every round of the
//! loops around it, that each buffer's elements are stored as the step or kernel that touches it wants, that only what may
//! be written is, and that what a step writes overlaps nothing else it touches, except where a kernel's text says that an
//! output takes an input's place. Kernels have been proven by their own verifier. It proves, too, that one call
//! doesn't take absurdly long. Integers that kernels index with are checked by whoever runs the kernel. Whether elements of
//! the arena are written before they are read is found out ([`written`]): buffers lie apart where they aren't.

use presk_kernel::Kernel;
use presk_kernel::ir::{Element, Place};
use presk_kernel::parallel;

use crate::error::{Error, ErrorKind};
use crate::schedule::limits;
use crate::schedule::{Key, Launch, Loop, Name, Sample, Schedule, Shape, Space, Split, Step, StepKind, Transfer, View};
use crate::work::all_operations;
use buffers::{Buffers, Touched};
pub use buffers::{Storage, extent_of};

mod buffers;
mod written;

/// Proves a schedule safe to run.
///
/// # Errors
/// The first thing that can't be proven, with its place.
pub fn verify(schedule: &Schedule) -> Result<Verified, Error> {
    let buffers = Buffers::of(schedule)?;
    let works = schedule.kernels.iter().map(all_operations).collect();
    let mut verifier = Verifier { schedule, buffers, works, loops: Vec::new(), taken: (0, 0), place: Place::default() };
    verifier.steps(&schedule.steps)?;
    Ok(Verified { writes_before_it_reads: written::writes_before_it_reads(schedule, &verifier.buffers) })
}

/// What is known of a verified schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Whether each element that is read of the arena has been written before. Where it hasn't, buffers are apart.
    pub writes_before_it_reads: bool,
}

/// An error of a step or a declaration.
fn fault<T>(kind: ErrorKind, place: Place) -> Result<T, Error> {
    Err(Error { kind, line: place.line, column: place.column })
}

struct Verifier<'s> {
    schedule: &'s Schedule,
    buffers: Buffers<'s>,
    /// Weighted operations of each kernel.
    works: Vec<u64>,
    /// Steps and weighted operations of a call so far.
    taken: (u64, u64),
    /// Counters and trips of the loops around, outermost first.
    loops: Vec<(u32, u64)>,
    /// The step at hand.
    place: Place,
}

impl Verifier<'_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), Error> {
        for step in steps {
            self.place = step.place;
            self.take(&step.kind)?;
            match &step.kind {
                StepKind::Launch(launch) => self.launch(launch)?,
                StepKind::Loop(each) => self.repeat(each)?,
                StepKind::Convert(transfer) => self.transfer(transfer, true)?,
                StepKind::Copy(transfer) => self.transfer(transfer, false)?,
                StepKind::Count { counter, start, target } => self.count(*counter, *start, target)?,
                StepKind::Swap(first, second) => self.swap(*first, *second)?,
                StepKind::Draw { shape, element, key, target, .. } => {
                    let count = self.drawn(shape, key)?;
                    self.real(*element)?;
                    self.written(target, *element, count)?;
                }
                StepKind::Mask { given, probability, shape, element, key, target } => {
                    let count = self.drawn(shape, key)?;
                    self.real(*element)?;
                    self.real(*given)?;
                    let read = self.read(probability, *given, 1)?;
                    let target = self.written(target, *element, count)?;
                    self.apart(&target, &[read])?;
                }
                StepKind::Sample(sample) => self.sample(sample)?,
            }
        }
        Ok(())
    }

    /// Counts what a step takes in all rounds around it; of a loop, that each of its rounds is a step.
    fn take(&mut self, kind: &StepKind) -> Result<(), Error> {
        let elements = |shape: &Shape| extent_of(&shape.sizes).unwrap_or(0);
        let (steps, work) = match kind {
            StepKind::Loop(each) => (each.trips, 0),
            StepKind::Launch(launch) => (1, self.works.get(launch.kernel as usize).copied().unwrap_or(0)),
            StepKind::Convert(each) | StepKind::Copy(each) => (1, each.count),
            StepKind::Draw { shape, .. } | StepKind::Mask { shape, .. } => (1, elements(shape)),
            StepKind::Sample(sample) => (1, elements(&sample.shape).saturating_mul(sample.size)),
            StepKind::Count { .. } | StepKind::Swap(..) => (1, 0),
        };
        let rounds = self.loops.iter().fold(1u64, |rounds, &(_, trips)| rounds.saturating_mul(trips));
        self.taken.0 = self.taken.0.saturating_add(rounds.saturating_mul(steps));
        self.taken.1 = self.taken.1.saturating_add(rounds.saturating_mul(work));
        let limits = [
            (self.taken.0, limits::STEPS, "the number of steps of one call"),
            (self.taken.1, limits::OPERATIONS, "the number of operations of one call"),
        ];
        match limits.into_iter().find(|(taken, limit, _)| taken > limit) {
            Some((_, limit, what)) => fault(ErrorKind::Limit { what: what.into(), limit }, self.place),
            None => Ok(()),
        }
    }

    fn type_fault<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        fault(ErrorKind::Type(message.into()), self.place)
    }

    fn repeat(&mut self, each: &Loop) -> Result<(), Error> {
        if self.loops.iter().any(|&(counter, _)| counter == each.counter) {
            return self.type_fault(format!("l{} is the counter of an enclosing loop", each.counter));
        }
        self.loops.push((each.counter, each.trips));
        let rounds = self.loops.iter().try_fold(1u64, |rounds, &(_, trips)| rounds.checked_mul(trips.max(1)));
        if rounds.is_none_or(|rounds| rounds > limits::ROUNDS) {
            let what = "the number of rounds of all loops around a step".into();
            return fault(ErrorKind::Limit { what, limit: limits::ROUNDS }, self.place);
        }
        self.steps(&each.steps)?;
        self.loops.pop();
        Ok(())
    }

    fn swap(&self, first: Name, second: Name) -> Result<(), Error> {
        // That both exist, are alike and lie apart has been seen with the buffers.
        if first == second { self.type_fault("a buffer is exchanged with another one") } else { Ok(()) }
    }

    /// A view that is read.
    fn read(&self, view: &View, element: Element, count: u64) -> Result<Touched, Error> {
        self.buffers.touched(view, element, count, &self.loops, self.place)
    }

    /// A view that is written.
    fn written(&self, view: &View, element: Element, count: u64) -> Result<Touched, Error> {
        let may_be = match view.buffer.space {
            Space::Arena | Space::Output => true,
            Space::Constant => false,
            Space::Input => self.schedule.inputs.get(view.buffer.number as usize).is_some_and(|input| input.donated),
        };
        if !may_be {
            return self.type_fault(format!("{} can't be written: it is no buffer of the call", view.buffer));
        }
        self.read(view, element, count)
    }

    fn apart(&self, target: &Touched, others: &[Touched]) -> Result<(), Error> {
        match others.iter().find(|other| self.buffers.may_overlap(target, other, &self.loops)) {
            None => Ok(()),
            Some(other) => {
                let (written, touched) = (target.buffer(), other.buffer());
                let message = format!("what is written to {written} may overlap what the step uses of {touched}");
                fault(ErrorKind::Overlap(message), self.place)
            }
        }
    }

    fn real(&self, element: Element) -> Result<(), Error> {
        if matches!(element, Element::F64 | Element::F32 | Element::Bf16) {
            return Ok(());
        }
        self.type_fault("this step's elements are f64, f32 or bf16")
    }

    fn transfer(&self, each: &Transfer, is_conversion: bool) -> Result<(), Error> {
        if is_conversion {
            self.real(each.from)?;
            self.real(each.to)?;
        } else if each.from.scale_axes().is_some() {
            return self.type_fault("quantised elements are read by kernels alone");
        }
        let source = self.read(&each.source, each.from, each.count)?;
        let target = self.written(&each.target, each.to, each.count)?;
        self.apart(&target, &[source])
    }

    fn count(&self, counter: u32, start: u64, target: &View) -> Result<(), Error> {
        let Some(&(_, trips)) = self.loops.iter().find(|&&(number, _)| number == counter) else {
            return self.type_fault(format!("l{counter} is not the counter of an enclosing loop"));
        };
        if start.checked_add(trips).is_none_or(|end| end > presk_kernel::limits::BOUND) {
            let what = "the number of a loop's round".into();
            return fault(ErrorKind::Limit { what, limit: presk_kernel::limits::BOUND }, self.place);
        }
        self.written(target, Element::I64, 1).map(drop)
    }

    /// The number of elements of a drawn shape; key and rows are checked.
    fn drawn(&self, shape: &Shape, key: &Key) -> Result<u64, Error> {
        if shape.rows.is_some_and(|axis| axis >= shape.sizes.len() as u64) {
            return self.type_fault("the axis of rows is no axis of the shape");
        }
        for counter in &key.counters {
            if !self.loops.iter().any(|(number, _)| number == counter) {
                return self.type_fault(format!("l{counter} is not the counter of an enclosing loop"));
            }
        }
        if self.loops.iter().any(|&(_, trips)| trips > 1 << 32) && !key.counters.is_empty() {
            let what = "the number of a round in a draw's key".into();
            return fault(ErrorKind::Limit { what, limit: u64::from(u32::MAX) }, self.place);
        }
        extent_of(&shape.sizes).map_or_else(|| self.too_large(), Ok)
    }

    fn too_large<T>(&self) -> Result<T, Error> {
        let what = "the number of elements of a buffer".into();
        fault(ErrorKind::Limit { what, limit: limits::ELEMENTS }, self.place)
    }

    fn sample(&self, sample: &Sample) -> Result<(), Error> {
        let count = self.drawn(&sample.shape, &sample.key)?;
        self.real(sample.element)?;
        self.real(sample.scalar)?;
        if sample.axis > sample.shape.sizes.len() as u64 || sample.size == 0 {
            return self.type_fault("a sample is drawn along an axis of the logits that has elements");
        }
        if u32::try_from(sample.size).is_err() {
            return self.too_large();
        }
        let Some(logits) = count.checked_mul(sample.size).filter(|&all| all <= limits::ELEMENTS) else {
            return self.too_large();
        };
        let read = [
            self.read(&sample.logits, sample.element, logits)?,
            self.read(&sample.temperature, sample.scalar, 1)?,
            self.read(&sample.top_p, sample.scalar, 1)?,
        ];
        let target = self.written(&sample.target, Element::I64, count)?;
        self.apart(&target, &read)
    }

    fn launch(&self, launch: &Launch) -> Result<(), Error> {
        let Some(kernel) = self.schedule.kernels.get(launch.kernel as usize) else {
            return self.type_fault(format!("there is no kernel k{}", launch.kernel));
        };
        if kernel.name.split('[').next() != Some(launch.name.as_str()) {
            return self.type_fault(format!("k{} is {}, not {}", launch.kernel, kernel.name, launch.name));
        }
        self.split(kernel, launch.split)?;
        let inputs = self.inputs(kernel, launch)?;
        let outputs = self.outputs(kernel, launch)?;
        for (number, (target, output)) in outputs.iter().zip(&kernel.outputs).enumerate() {
            for (_, touched) in inputs.iter().filter(|(input, _)| output.shares != Some(*input)) {
                self.apart(target, std::slice::from_ref(touched))?;
            }
            self.apart(target, &outputs[..number])?;
        }
        Ok(())
    }

    fn split(&self, kernel: &Kernel, split: Split) -> Result<(), Error> {
        let Split::At { depth, .. } = split else { return Ok(()) };
        if usize::try_from(depth).is_ok_and(|depth| parallel::is_parallel(kernel, depth)) {
            return Ok(());
        }
        self.type_fault(format!("kernel {} has no loop at depth {depth} that can be divided", kernel.name))
    }

    /// What a launch reads, each with the number of the kernel's input it belongs to.
    fn inputs(&self, kernel: &Kernel, launch: &Launch) -> Result<Vec<(u32, Touched)>, Error> {
        let mut views = launch.inputs.iter();
        let mut found = Vec::with_capacity(launch.inputs.len());
        for (number, wanted) in (0u32..).zip(&kernel.inputs) {
            let count = wanted.elements().unwrap_or(0);
            let view = self.next_view(kernel, &mut views)?;
            let touched = self.read(view, wanted.element, count)?;
            if matches!(wanted.element, Element::Int4(_)) && touched.row() != wanted.row() {
                return self
                    .type_fault(format!("kernel {}: %{number} has other rows than {}", kernel.name, view.buffer));
            }
            found.push((number, touched));
            if let Some((scales, _)) = wanted.scales() {
                let view = self.next_view(kernel, &mut views)?;
                found.push((number, self.read(view, Element::F32, scales)?));
            }
        }
        if views.next().is_some() {
            return self.type_fault(format!("kernel {} takes fewer inputs", kernel.name));
        }
        Ok(found)
    }

    fn next_view<'v>(&self, kernel: &Kernel, views: &mut std::slice::Iter<'v, View>) -> Result<&'v View, Error> {
        match views.next() {
            Some(view) => Ok(view),
            None => self.type_fault(format!("kernel {} takes more inputs", kernel.name)),
        }
    }

    fn outputs(&self, kernel: &Kernel, launch: &Launch) -> Result<Vec<Touched>, Error> {
        if launch.outputs.len() != kernel.outputs.len() {
            return self.type_fault(format!("kernel {} has {} outputs", kernel.name, kernel.outputs.len()));
        }
        let mut found = Vec::with_capacity(launch.outputs.len());
        for (output, view) in kernel.outputs.iter().zip(&launch.outputs) {
            found.push(self.written(view, output.buffer.element, output.buffer.elements().unwrap_or(0))?);
            if let Some(shared) = output.shares
                && !is_same(view, &launch.inputs[first_view(kernel, shared)])
            {
                let message = format!("kernel {}: an output takes the place of %{shared}, another view", kernel.name);
                return self.type_fault(message);
            }
        }
        Ok(found)
    }
}

/// The number of the first view of a kernel's input.
fn first_view(kernel: &Kernel, input: u32) -> usize {
    let before = &kernel.inputs[..input as usize];
    before.iter().map(|buffer| if buffer.element.scale_axes().is_some() { 2 } else { 1 }).sum()
}

fn is_same(left: &View, right: &View) -> bool {
    let sorted = |view: &View| {
        let mut strides: Vec<_> = view.strides.iter().copied().filter(|&(_, stride)| stride != 0).collect();
        strides.sort_unstable();
        strides
    };
    left.buffer == right.buffer && left.start == right.start && sorted(left) == sorted(right)
}
