//! A verified schedule with its names resolved: buffers and loops by number, offsets in bytes, launches with the code they
//! call. What is done here once isn't done at each launch.

use std::collections::HashMap;

use presk_kernel::Kernel;
use presk_kernel::ir::Element;
use presk_kernel::parallel;
use presk_kernel::written::{Unwritten, unwritten};

use super::random::DRAWS_DIVIDED_FROM;
use crate::code::Job;
use crate::error::{Error, ErrorKind};
use crate::interrupt::STEP;
use crate::memory::{ALIGNMENT, Block, Spot};
use crate::numbers::{Float, convert};
use crate::schedule::{
    Distribution, Input, Key, Launch, Name, Number, Sample, Schedule, Shape, Space, Split, Step, StepKind, View, limits,
};
use crate::verify::Storage;
use crate::work::{DIVIDED_FROM, all_operations, weighted_operations};

/// One step as it is run.
pub enum LinkedStep {
    Launch(LaunchStep),
    Loop { counter: u32, trips: u64, reversed: bool, steps: Vec<LinkedStep> },
    Convert { number: usize, from: Float, to: Float, source: Spot, target: Spot },
    Copy { number: usize, source: Spot, target: Spot },
    Count { number: usize, counter: u32, start: u64, target: Spot },
    Swap { number: usize, first: u32, second: u32 },
    Draw(DrawStep),
    Sample(SampleStep),
}

/// A kernel's code on views.
pub struct LaunchStep {
    /// The step's number in the text, loops left out.
    pub number: usize,
    /// The number of its code.
    pub code: usize,
    /// Inputs, a quantised one being two, then outputs.
    pub spots: Box<[Spot]>,
    /// Which of them are cleared before: outputs of which elements may be read or left unwritten.
    pub clears: Box<[Spot]>,
    /// Whether scratch is cleared before, for the same reason.
    pub clears_scratch: bool,
    /// Views of indices that nobody has checked, and their bounds.
    pub indices: Box<[(Spot, u64)]>,
    /// The rounds of the loop to be divided, and over how many workers if not the pool's.
    pub divided: Option<(u64, Option<usize>)>,
    /// Weighted operations.
    pub work: u64,
}

impl LinkedStep {
    /// About as many weighted operations as a step that is no loop takes.
    pub fn work(&self) -> u64 {
        STEP + match self {
            Self::Launch(launch) => launch.work,
            Self::Convert { target, .. } | Self::Copy { target, .. } => target.bytes as u64,
            Self::Draw(draw) => draw.target.bytes as u64 * 4,
            Self::Sample(sample) => sample.logits.bytes as u64 * 4,
            Self::Loop { .. } | Self::Count { .. } | Self::Swap { .. } => 0,
        }
    }
}

/// What an element of a draw becomes.
pub enum Drawn {
    /// The number itself.
    Number(Distribution),
    /// A dropout mask's factor; the probability is at a view.
    Factor(Float, Spot),
}

/// A draw or a mask.
pub struct DrawStep {
    pub number: usize,
    pub drawn: Drawn,
    pub layout: Rows,
    pub element: Float,
    pub key: Key,
    pub target: Spot,
}

/// Positions drawn by logits.
pub struct SampleStep {
    pub number: usize,
    pub element: Float,
    pub logits: Spot,
    pub scalar: Float,
    pub temperature: Spot,
    pub top_p: Spot,
    pub layout: Rows,
    /// Elements between two of the sampled axis.
    pub inner: usize,
    pub size: usize,
    pub top_k: usize,
    pub key: Key,
    pub target: Spot,
}

/// A shape as a stream numbers it: rows outermost, wherever their axis stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Whether the row offset counts.
    pub has_rows: bool,
    /// Elements before the rows' axis, rows, elements behind it.
    pub outer: usize,
    pub rows: usize,
    pub inner: usize,
}

/// A linked schedule.
pub struct Linked<'s> {
    pub steps: Vec<LinkedStep>,
    pub jobs: Vec<Job<'s>>,
    pub loops: usize,
    pub sample_size: usize,
    pub launch_buffers: usize,
    /// Whether a launch asks to be divided, and whether a draw is large enough for it.
    pub divides_launches: bool,
    pub divides_draws: bool,
}

/// Links a verified schedule.
pub fn link(schedule: &Schedule) -> Linked<'_> {
    let work: Vec<u64> = schedule.kernels.iter().map(weighted_operations).collect();
    let linked = Linked {
        steps: Vec::new(),
        jobs: Vec::new(),
        loops: 0,
        sample_size: 0,
        launch_buffers: 0,
        divides_launches: false,
        divides_draws: false,
    };
    let operations = schedule.kernels.iter().map(all_operations).collect();
    let mut linker =
        Linker { schedule, work, operations, known: HashMap::new(), unwritten: Vec::new(), linked, count: 0 };
    let steps = linker.steps(&schedule.steps);
    Linked { steps, ..linker.linked }
}

/// The first byte of each buffer of the arena, and the bytes of that. Buffers share bytes as the schedule says where nobody
/// can see it, else they lie apart.
pub fn places(schedule: &Schedule, shares: bool) -> Result<(Vec<usize>, usize), Error> {
    let fault = |bytes: u64| ErrorKind::Memory(bytes).anywhere();
    let (mut places, mut end) = (Vec::with_capacity(schedule.regions.len()), 0u64);
    for region in &schedule.regions {
        let place = if shares { region.offset } else { end };
        places.push(usize::try_from(place).map_err(|_| fault(place))?);
        let bytes = Storage::of(region.element).extent(region.count, None);
        end = end.saturating_add(bytes.next_multiple_of(ALIGNMENT as u64));
    }
    let bytes = if shares { schedule.arena } else { end };
    Ok((places, usize::try_from(bytes).map_err(|_| fault(bytes))?))
}

/// The constants' bytes, each at a multiple of eight.
pub fn constants(schedule: &Schedule) -> Result<Block, Error> {
    let mut block = Block::new(8 * schedule.constants.len())?;
    for (constant, place) in schedule.constants.iter().zip(block.bytes().as_chunks_mut::<8>().0) {
        let real = constant.value.real().to_ne_bytes();
        match constant.element {
            Element::F64 => *place = real,
            Element::F32 => convert(Float::F64, &real, Float::F32, &mut place[..4]),
            Element::Bf16 => convert(Float::F64, &real, Float::Bf16, &mut place[..2]),
            _ => match constant.value {
                Number::Whole(value) if constant.element == Element::Bool => place[0] = value as u8,
                Number::Whole(value) => *place = value.to_ne_bytes(),
                Number::Real(_) => {}
            },
        }
    }
    Ok(block)
}

struct Linker<'s> {
    schedule: &'s Schedule,
    /// Weighted operations of each kernel: without tiles, and all.
    work: Vec<u64>,
    operations: Vec<u64>,
    /// Codes by kernel and divided depth.
    known: HashMap<(u32, Option<usize>), usize>,
    /// What runs of each code may find unwritten.
    unwritten: Vec<Unwritten>,
    linked: Linked<'s>,
    count: usize,
}

impl<'s> Linker<'s> {
    fn steps(&mut self, steps: &[Step]) -> Vec<LinkedStep> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Step) -> LinkedStep {
        if let StepKind::Loop(each) = &step.kind {
            self.linked.loops = self.linked.loops.max(each.counter as usize + 1);
            let steps = self.steps(&each.steps);
            return LinkedStep::Loop { counter: each.counter, trips: each.trips, reversed: each.reversed, steps };
        }
        let number = self.count;
        self.count += 1;
        match &step.kind {
            StepKind::Loop(_) => unreachable!("loops are linked above"),
            StepKind::Launch(launch) => LinkedStep::Launch(self.launch(number, launch)),
            StepKind::Convert(each) => LinkedStep::Convert {
                number,
                from: float(each.from),
                to: float(each.to),
                source: self.spot(&each.source, each.from, each.count),
                target: self.spot(&each.target, each.to, each.count),
            },
            StepKind::Copy(each) => LinkedStep::Copy {
                number,
                source: self.spot(&each.source, each.from, each.count),
                target: self.spot(&each.target, each.to, each.count),
            },
            StepKind::Count { counter, start, target } => LinkedStep::Count {
                number,
                counter: *counter,
                start: *start,
                target: self.spot(target, Element::I64, 1),
            },
            StepKind::Swap(first, second) => {
                LinkedStep::Swap { number, first: self.slot(*first), second: self.slot(*second) }
            }
            StepKind::Draw { distribution, shape, element, key, target } => {
                let target = self.spot(target, *element, count_of(shape));
                self.draw(number, Drawn::Number(*distribution), shape, float(*element), key, target)
            }
            StepKind::Mask { given, probability, shape, element, key, target } => {
                let drawn = Drawn::Factor(float(*given), self.spot(probability, *given, 1));
                let target = self.spot(target, *element, count_of(shape));
                self.draw(number, drawn, shape, float(*element), key, target)
            }
            StepKind::Sample(sample) => LinkedStep::Sample(self.sample(number, sample)),
        }
    }

    fn draw(
        &mut self,
        number: usize,
        drawn: Drawn,
        shape: &Shape,
        element: Float,
        key: &Key,
        target: Spot,
    ) -> LinkedStep {
        let layout = Rows::of(shape);
        self.linked.divides_draws |= layout.count() >= DRAWS_DIVIDED_FROM;
        LinkedStep::Draw(DrawStep { number, drawn, layout, element, key: key.clone(), target })
    }

    fn sample(&mut self, number: usize, sample: &Sample) -> SampleStep {
        let count = count_of(&sample.shape);
        let candidates = size(sample.size);
        self.linked.sample_size = self.linked.sample_size.max(candidates);
        SampleStep {
            number,
            element: float(sample.element),
            logits: self.spot(&sample.logits, sample.element, count * sample.size),
            scalar: float(sample.scalar),
            temperature: self.spot(&sample.temperature, sample.scalar, 1),
            top_p: self.spot(&sample.top_p, sample.scalar, 1),
            layout: Rows::of(&sample.shape),
            inner: product(&sample.shape.sizes[size(sample.axis)..]),
            size: candidates,
            top_k: usize::try_from(sample.top_k).unwrap_or(usize::MAX),
            key: sample.key.clone(),
            target: self.spot(&sample.target, Element::I64, count),
        }
    }

    fn launch(&mut self, number: usize, launch: &Launch) -> LaunchStep {
        let kernel = &self.schedule.kernels[launch.kernel as usize];
        let divided = self.divided(kernel, launch);
        let depth = divided.map(|(depth, _)| depth);
        let codes = self.known.len();
        let code = *self.known.entry((launch.kernel, depth)).or_insert(codes);
        if code == codes {
            self.linked.jobs.push(Job { kernel, depth });
            self.unwritten.push(unwritten(kernel, depth));
        }
        let mut spots = Vec::with_capacity(launch.inputs.len() + launch.outputs.len());
        let mut indices = Vec::new();
        let mut views = launch.inputs.iter();
        for wanted in &kernel.inputs {
            let Some(view) = views.next() else { break };
            let spot = self.spot(view, wanted.element, wanted.elements().unwrap_or(0));
            if let Element::Index(bound) = wanted.element
                && !self.is_checked(view.buffer, bound)
            {
                indices.push((spot.clone(), bound));
            }
            spots.push(spot);
            if let Some((scales, _)) = wanted.scales() {
                spots.extend(views.next().map(|view| self.spot(view, Element::F32, scales)));
            }
        }
        for (wanted, view) in kernel.outputs.iter().zip(&launch.outputs) {
            spots.push(self.spot(view, wanted.buffer.element, wanted.buffer.elements().unwrap_or(0)));
        }
        let Unwritten { scratch: clears_scratch, outputs } = &self.unwritten[code];
        let first = spots.len() - kernel.outputs.len();
        let clears: Vec<Spot> = outputs.iter().map(|&output| spots[first + output as usize].clone()).collect();
        let clears_scratch = *clears_scratch;
        self.linked.launch_buffers = self.linked.launch_buffers.max(spots.len());
        self.linked.divides_launches |= divided.is_some();
        let divided = divided.map(|(depth, workers)| (parallel::perfect_nest(kernel)[depth].extent, workers));
        let work = self.operations[launch.kernel as usize];
        let (spots, clears, indices) = (spots.into(), clears.into(), indices.into());
        LaunchStep { number, code, spots, clears, clears_scratch, indices, divided, work }
    }

    /// The depth of the loop to be divided, and over how many workers if that is said.
    fn divided(&self, kernel: &Kernel, launch: &Launch) -> Option<(usize, Option<usize>)> {
        match launch.split {
            Split::Whole => None,
            Split::At { depth, workers } => Some((size(depth), workers.map(size))),
            Split::Free if self.work[launch.kernel as usize] > DIVIDED_FROM => {
                Some((parallel::outermost_parallel(kernel)?, None))
            }
            Split::Free => None,
        }
    }

    /// Whether a buffer's integers are known to be below a bound: arguments have been checked when the call began.
    fn is_checked(&self, name: Name, bound: u64) -> bool {
        name.space == Space::Input
            && match self.schedule.inputs[name.number as usize] {
                Input { element: Element::Index(declared), donated: false, .. } => declared <= bound,
                _ => false,
            }
    }

    fn slot(&self, name: Name) -> u32 {
        let counts = [self.schedule.inputs.len(), self.schedule.outputs.len(), self.schedule.regions.len()];
        let before = match name.space {
            Space::Input => 0,
            Space::Output => 1,
            Space::Arena => 2,
            Space::Constant => 3,
        };
        let first: usize = counts[..before].iter().sum();
        u32::try_from(first).expect("the number of buffers is bounded") + name.number
    }

    /// A view in bytes. Of int4, everything counts whole rows, which is verified.
    fn spot(&self, view: &View, element: Element, count: u64) -> Spot {
        let storage = Storage::of(element);
        let row = match view.buffer.space {
            Space::Input => self.schedule.inputs[view.buffer.number as usize].sizes.last().copied(),
            _ => None,
        };
        // Where a loop has no round, views of its steps may be out of all bounds; they are never asked for.
        let bytes = |elements: u64| storage.extent(elements.min(limits::ELEMENTS), row.or(Some(1)));
        let signed = |bytes: u64| isize::try_from(bytes).expect("the elements of buffers are bounded");
        let steps = view.strides.iter().filter(|&&(_, stride)| stride != 0);
        Spot {
            slot: self.slot(view.buffer),
            offset: signed(bytes(view.start)),
            steps: steps.map(|&(counter, stride)| (counter, signed(bytes(stride)))).collect(),
            bytes: size(bytes(count)),
        }
    }
}

impl Rows {
    /// How a stream numbers a shape's elements.
    pub fn of(shape: &Shape) -> Self {
        match shape.rows {
            None => Self { has_rows: false, outer: 1, rows: 1, inner: product(&shape.sizes) },
            Some(axis) => {
                let axis = size(axis);
                let (outer, inner) = (product(&shape.sizes[..axis]), product(&shape.sizes[axis + 1..]));
                Self { has_rows: true, outer, rows: size(shape.sizes[axis]), inner }
            }
        }
    }
}

fn float(element: Element) -> Float {
    match element {
        Element::F64 => Float::F64,
        Element::F32 => Float::F32,
        Element::Bf16 => Float::Bf16,
        _ => unreachable!("the verifier has seen that the step's elements are floats"),
    }
}

fn count_of(shape: &Shape) -> u64 {
    crate::verify::extent_of(&shape.sizes).expect("the verifier has bounded the shape")
}

/// Elements of axes; where that is past all bounds, another axis of the shape has none.
fn product(sizes: &[u64]) -> usize {
    sizes.iter().fold(1, |product: usize, &each| product.saturating_mul(size(each)))
}

fn size(number: u64) -> usize {
    usize::try_from(number).expect("the verifier has bounded sizes, and presk runs on 64 bits")
}
