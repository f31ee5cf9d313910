//! Whether a schedule writes what it reads of the arena.
//!
//! Buffers of the arena mean memory of their own that begins with zeros. Those that are never needed at once share bytes,
//! which nobody can see where each element that is read has been written as an element of that very buffer since: this is
//! proven here, of everything that Python records. Where it isn't proven, the executor gives each buffer its own bytes.
//!
//! The proof follows the steps and keeps, of each buffer, the views written so far. Who writes to a buffer takes all of its
//! bytes from the buffers they belonged to. A loop begins each round without the buffers that it takes bytes from, and its
//! end joins the views of its rounds where they are side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::buffers::{Buffers, region_bytes};
use crate::schedule::{Loop, Name, Schedule, Space, Step, StepKind, View};

/// Views that one buffer is known to be written in; further ones are forgotten.
const VIEWS: usize = 64;

/// How often a loop is looked at until what its swaps leave is found.
const TRIES: usize = 4;

/// Whether each element of the arena that a verified schedule reads has been written before.
#[must_use]
pub fn writes_before_it_reads(schedule: &Schedule, buffers: &Buffers<'_>) -> bool {
    let steps = count(&schedule.steps);
    let mut proof = Proof {
        schedule,
        buffers,
        loops: Vec::new(),
        known: Known::default(),
        left: steps.saturating_mul(16).saturating_add(1 << 12),
        holds: true,
    };
    proof.steps(&schedule.steps);
    proof.holds
}

fn count(steps: &[Step]) -> usize {
    let within = |step: &Step| if let StepKind::Loop(each) = &step.kind { count(&each.steps) } else { 0 };
    steps.iter().fold(0, |sum: usize, step| sum.saturating_add(1 + within(step)))
}

/// Views, and how many elements they are of.
type Views<'v> = Vec<(&'v View, u64)>;

/// Elements of a buffer: as a view, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    start: u64,
    /// By the loop's number; none is 0.
    strides: BTreeMap<u32, u64>,
    count: u64,
}

impl Range {
    fn of(view: &View, count: u64) -> Self {
        let strides = view.strides.iter().copied().filter(|&(_, stride)| stride != 0).collect();
        Self { start: view.start, strides, count }
    }

    /// Whether it holds another one in all rounds.
    fn holds(&self, other: &Self, loops: &[(u32, u64)]) -> bool {
        let apart = i128::from(other.start) - i128::from(self.start);
        let (mut low, mut high) = (apart, apart);
        for &(counter, trips) in loops {
            let stride = |range: &Self| range.strides.get(&counter).map_or(0, |&stride| i128::from(stride));
            let Some(moves) = (stride(other) - stride(self)).checked_mul(i128::from(trips.saturating_sub(1))) else {
                return false;
            };
            low = low.saturating_add(moves.min(0));
            high = high.saturating_add(moves.max(0));
        }
        low >= 0 && high.saturating_add(i128::from(other.count)) <= i128::from(self.count)
    }

    /// One range that is both, where they lie side by side.
    fn joined(&self, other: &Self) -> Option<Self> {
        if self.strides != other.strides {
            return None;
        }
        let (low, high) = if self.start <= other.start { (self, other) } else { (other, self) };
        let apart = high.start - low.start;
        let count = low.count.max(apart.checked_add(high.count)?);
        (apart <= low.count).then(|| Self { start: low.start, strides: low.strides.clone(), count })
    }

    /// What all rounds of a loop make of it, where they lie side by side.
    fn of_all_rounds(mut self, counter: u32, trips: u64) -> Option<Self> {
        let Some(stride) = self.strides.remove(&counter) else { return Some(self) };
        if trips > 1 && stride > self.count {
            return None;
        }
        self.count = stride.checked_mul(trips.saturating_sub(1))?.checked_add(self.count)?;
        Some(self)
    }
}

/// What has been written.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Ranges by the buffer's number.
    ranges: HashMap<u32, Vec<Range>>,
    /// Bytes by the class of the buffers they belong to: the first byte, one past the last, the class.
    owners: BTreeMap<u64, (u64, u32)>,
}

struct Proof<'s> {
    schedule: &'s Schedule,
    buffers: &'s Buffers<'s>,
    loops: Vec<(u32, u64)>,
    known: Known,
    /// Steps that may still be looked at.
    left: usize,
    holds: bool,
}

impl Proof<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.left = self.left.saturating_sub(1);
            self.holds &= self.left > 0;
            if !self.holds {
                return;
            }
            match &step.kind {
                StepKind::Loop(each) => self.rounds(each),
                StepKind::Swap(first, second) => {
                    let [a, b] = [first, second].map(|name| self.known.ranges.remove(&name.number));
                    self.known.ranges.extend(a.map(|ranges| (second.number, ranges)));
                    self.known.ranges.extend(b.map(|ranges| (first.number, ranges)));
                }
                kind => {
                    let (read, written) = self.views(kind);
                    self.holds &= read.iter().all(|(view, count)| self.is_written(view, *count));
                    written.iter().for_each(|(view, count)| self.write(view, *count));
                }
            }
        }
    }

    /// The views of a step that are read, and those that it fills.
    fn views<'v>(&self, kind: &'v StepKind) -> (Views<'v>, Views<'v>) {
        let extent = |sizes: &[u64]| super::extent_of(sizes).unwrap_or(0);
        match kind {
            StepKind::Launch(launch) => {
                let kernel = &self.schedule.kernels[launch.kernel as usize];
                let wanted = kernel.inputs.iter().flat_map(|input| {
                    let scales = input.scales().map(|(scales, _)| scales);
                    [input.elements()].into_iter().chain(scales.map(Some))
                });
                let outputs = kernel.outputs.iter().map(|output| output.buffer.elements().unwrap_or(0));
                let read = launch.inputs.iter().zip(wanted.map(|count| count.unwrap_or(0)));
                (read.collect(), launch.outputs.iter().zip(outputs).collect())
            }
            StepKind::Convert(each) | StepKind::Copy(each) => {
                (vec![(&each.source, each.count)], vec![(&each.target, each.count)])
            }
            StepKind::Count { target, .. } => (Vec::new(), vec![(target, 1)]),
            StepKind::Draw { shape, target, .. } => (Vec::new(), vec![(target, extent(&shape.sizes))]),
            StepKind::Mask { probability, shape, target, .. } => {
                (vec![(probability, 1)], vec![(target, extent(&shape.sizes))])
            }
            StepKind::Sample(sample) => {
                let count = extent(&sample.shape.sizes);
                let logits = count.saturating_mul(sample.size);
                let read = vec![(&sample.logits, logits), (&sample.temperature, 1), (&sample.top_p, 1)];
                (read, vec![(&sample.target, count)])
            }
            StepKind::Loop(_) | StepKind::Swap(..) => (Vec::new(), Vec::new()),
        }
    }

    fn is_written(&self, view: &View, count: u64) -> bool {
        if view.buffer.space != Space::Arena || count == 0 {
            return true;
        }
        let read = Range::of(view, count);
        let known = self.known.ranges.get(&view.buffer.number);
        known.is_some_and(|ranges| ranges.iter().any(|range| range.holds(&read, &self.loops)))
    }

    fn write(&mut self, view: &View, count: u64) {
        let Name { space: Space::Arena, number } = view.buffer else { return };
        if count == 0 {
            return;
        }
        self.take(self.buffers.class_of(number));
        self.add(number, Range::of(view, count));
    }

    fn add(&mut self, number: u32, mut range: Range) {
        let ranges = self.known.ranges.entry(number).or_default();
        while let Some((at, joined)) =
            ranges.iter().enumerate().find_map(|(at, known)| Some((at, known.joined(&range)?)))
        {
            ranges.swap_remove(at);
            range = joined;
        }
        if ranges.len() < VIEWS {
            ranges.push(range);
        }
    }

    /// Gives a class the bytes of its buffers.
    fn take(&mut self, class: u32) {
        let places = self.places(class);
        if places.first().is_some_and(|(start, _)| self.known.owners.get(start).is_some_and(|owner| owner.1 == class)) {
            return;
        }
        self.rob(class);
        self.known.owners.extend(places.into_iter().map(|(start, end)| (start, (end, class))));
    }

    /// Takes the bytes of a class from all others.
    fn rob(&mut self, class: u32) {
        for (start, end) in self.places(class) {
            let before = self.known.owners.range(..end).rev();
            let robbed = before.take_while(|(_, owner)| owner.0 > start).map(|(_, owner)| owner.1);
            let robbed: BTreeSet<u32> = robbed.filter(|&owner| owner != class).collect();
            for other in robbed {
                for (start, _) in self.places(other) {
                    self.known.owners.remove(&start);
                }
                for number in self.buffers.members_of(other) {
                    self.known.ranges.remove(number);
                }
            }
        }
    }

    /// The bytes of a class's buffers that have some.
    fn places(&self, class: u32) -> Vec<(u64, u64)> {
        let place = |number: &u32| {
            let region = &self.schedule.regions[*number as usize];
            (region.offset, region.offset + region_bytes(region))
        };
        self.buffers.members_of(class).iter().map(place).filter(|(start, end)| start < end).collect()
    }

    fn rounds(&mut self, each: &Loop) {
        if each.trips == 0 {
            return;
        }
        let (mut written, mut swapped) = (BTreeSet::new(), BTreeSet::new());
        self.touched(&each.steps, &mut written, &mut swapped);
        let classes: BTreeSet<u32> = written.iter().map(|&number| self.buffers.class_of(number)).collect();
        classes.into_iter().for_each(|class| self.rob(class));
        let carried = self.carried(each, &swapped);
        self.loops.push((each.counter, each.trips));
        carried.into_iter().for_each(|(number, range)| self.add(number, range));
        if swapped.is_empty() {
            self.steps(&each.steps);
        } else {
            self.swapping(each, &swapped);
        }
        self.loops.pop();
        for number in written.into_iter().chain(swapped) {
            for range in self.known.ranges.remove(&number).unwrap_or_default() {
                if let Some(range) = range.of_all_rounds(each.counter, each.trips) {
                    self.add(number, range);
                }
            }
        }
    }

    /// What each round finds written: by induction the place that the round before wrote, where that of the first round has
    /// been written before the loop. So a state that lives in its stack is read where the last round left it.
    fn carried(&self, each: &Loop, swapped: &BTreeSet<u32>) -> Vec<(u32, Range)> {
        let mut found = Vec::new();
        for (view, count) in each.steps.iter().flat_map(|step| self.views(&step.kind).1) {
            let number = view.buffer.number;
            if view.buffer.space != Space::Arena || count == 0 || swapped.contains(&number) {
                continue;
            }
            let mut range = Range::of(view, count);
            let Some(&stride) = range.strides.get(&each.counter) else { continue };
            let before = if each.reversed { range.start.checked_add(stride) } else { range.start.checked_sub(stride) };
            let Some(start) = before else { continue };
            range.start = start;
            let mut first = range.clone();
            first.strides.remove(&each.counter);
            if each.reversed {
                let Some(last) = stride.checked_mul(each.trips - 1).and_then(|all| start.checked_add(all)) else {
                    continue;
                };
                first.start = last;
            }
            let known = self.known.ranges.get(&number);
            if known.is_some_and(|known| known.iter().any(|known| known.holds(&first, &self.loops))) {
                found.push((number, range));
            }
        }
        found
    }

    /// A loop of which rounds leave other buffers under a name than they find: each begins with what every one leaves.
    fn swapping(&mut self, each: &Loop, swapped: &BTreeSet<u32>) {
        let mut begin = self.known.clone();
        for attempt in 0..TRIES {
            self.left = self.left.saturating_sub(begin.ranges.len());
            self.known = begin.clone();
            self.steps(&each.steps);
            let is_left = |number: u32, range: &Range| {
                let found = self.known.ranges.get(&number);
                found.is_some_and(|found| found.iter().any(|found| found.holds(range, &self.loops)))
            };
            let mut next = begin.clone();
            for &number in swapped {
                if let Some(ranges) = next.ranges.get_mut(&number) {
                    ranges.retain(|range| is_left(number, range) && attempt + 2 < TRIES);
                }
            }
            let is_stable = swapped.iter().all(|&number| {
                begin.ranges.get(&number).is_none_or(|ranges| ranges.iter().all(|range| is_left(number, range)))
            });
            // What is found to be unwritten now is so with less at the beginning, too.
            if is_stable || !self.holds {
                return;
            }
            begin = next;
        }
    }

    /// The arena's buffers that steps write, and those that they swap.
    fn touched(&self, steps: &[Step], written: &mut BTreeSet<u32>, swapped: &mut BTreeSet<u32>) {
        for step in steps {
            match &step.kind {
                StepKind::Loop(each) if each.trips > 0 => self.touched(&each.steps, written, swapped),
                StepKind::Swap(first, second) => swapped.extend([first.number, second.number]),
                kind => {
                    let targets = self.views(kind).1.into_iter();
                    let arena = targets.filter(|(view, count)| view.buffer.space == Space::Arena && *count > 0);
                    written.extend(arena.map(|(view, _)| view.buffer.number));
                }
            }
        }
    }
}
