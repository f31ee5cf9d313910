//! Which elements of scratch and of outputs a run may find unwritten.
//!
//! Memory begins as whatever was there before. What a kernel reads of its scratch and its outputs counts as 0 where it has
//! written nothing, so whoever runs a kernel clears what isn't proven here to be written first: then integers of `i64<V`,
//! which all stores keep below V, are below V whatever the text says. Kernels that lowering makes are proven, but for sorts,
//! whose places depend on data, so that nothing is cleared where time counts.
//!
//! The proof follows the statements and keeps the boxes of elements written so far: for each axis a first index, affine in
//! the counters around, and a width. A loop's end joins the boxes of its rounds where they are side by side; its rounds
//! but the first begin with what the last one wrote; what stands under a condition on a counter holds for the rounds it
//! leaves. All else is dropped: a box that is kept is written for certain.

use std::collections::{BTreeMap, HashMap};

use crate::affine::Affine;
use crate::expand::expand;
use crate::interval::{Interval, Ranges, range};
use crate::ir::{
    Access, Bool, Buffer, Comparison, Condition, Element, Int, IntBinary, Kernel, Loop, Statement, StatementKind,
};
use crate::parallel;
use crate::verify::ranges_of;

/// Boxes that one block is known to have written; further ones are dropped.
const BLOCK: usize = 64;

/// Boxes known at once.
const MOST: usize = 512;

/// Conditions of several cases that are looked at case by case.
const SPLITS: usize = 256;

/// What isn't proven to be written before it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Whether elements of scratch may be read unwritten.
    pub scratch: bool,
    /// The outputs of which elements may be read, or left, unwritten. None that takes an input's place.
    pub outputs: Vec<u32>,
}

impl Unwritten {
    /// Whether all is proven.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        !self.scratch && self.outputs.is_empty()
    }
}

/// What a run of a verified kernel may find unwritten. `divided` is the depth of the loop whose rounds are divided over
/// workers: what one round of it writes counts for no other one.
#[must_use]
pub fn unwritten(kernel: &Kernel, divided: Option<usize>) -> Unwritten {
    let expanded = expand(kernel);
    let kernel = &*expanded;
    let divided = divided.and_then(|depth| parallel::perfect_nest(kernel).get(depth).map(|each| number(each)));
    let mut proof = Proof {
        kernel,
        divided,
        ranges: ranges_of(kernel),
        rounds: Vec::new(),
        ends: HashMap::new(),
        known: Vec::new(),
        unread: Unwritten::default(),
        splits: SPLITS,
        is_checking: false,
    };
    proof.block(&kernel.body, 0);
    proof.known.clear();
    proof.is_checking = true;
    proof.block(&kernel.body, 0);
    for (output, _) in (0u32..).zip(&kernel.outputs).filter(|(_, output)| output.shares.is_none()) {
        let buffer = Buffer::Output(output);
        let all = kernel.buffer(buffer).axes.iter().map(|axis| Run::constant(0, axis.size.cast_signed())).collect();
        let whole = Written { buffer, axes: all, rounds: BTreeMap::new() };
        if kernel.buffer(buffer).elements() != Some(0) && !proof.is_written(&whole) {
            proof.reads(buffer);
        }
    }
    proof.unread.outputs.sort_unstable();
    proof.unread
}

/// Indices along an axis: the first one and how many.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    first: Affine,
    count: i64,
}

impl Run {
    fn constant(first: i64, count: i64) -> Self {
        Self { first: Affine::constant(first), count }
    }
}

/// Elements that are written, in those rounds of the loops around that are named.
#[derive(Clone, Debug, PartialEq)]
struct Written {
    buffer: Buffer,
    axes: Vec<Run>,
    rounds: BTreeMap<u32, (i64, i64)>,
}

struct Proof<'k> {
    kernel: &'k Kernel,
    /// The loop whose rounds know nothing of each other.
    divided: Option<usize>,
    /// Ranges of integer variables.
    ranges: HashMap<u32, Interval>,
    /// The counters around, and the rounds they may be in: the first, and one past the last.
    rounds: Vec<(u32, (i64, i64))>,
    /// What a round of each loop has written at its end, by the loop's address.
    ends: HashMap<usize, Vec<Written>>,
    known: Vec<Written>,
    unread: Unwritten,
    /// How many cases may still be looked at.
    splits: usize,
    /// The first pass finds what loops write, the second one looks at what is read.
    is_checking: bool,
}

fn number(each: &Loop) -> usize {
    std::ptr::from_ref(each).addr()
}

impl Ranges for Proof<'_> {
    fn counter(&self, number: u32) -> Option<Interval> {
        self.round(number).map(|(first, end)| Interval::new(first, end - 1))
    }

    fn variable(&self, number: u32) -> Option<Interval> {
        self.ranges.get(&number).copied()
    }

    fn load(&self, access: &Access) -> Interval {
        match self.kernel.buffer(access.buffer).element {
            Element::Index(bound) => Interval::below(bound),
            _ => Interval::FULL,
        }
    }
}

impl Proof<'_> {
    fn round(&self, counter: u32) -> Option<(i64, i64)> {
        self.rounds.iter().find(|each| each.0 == counter).map(|each| each.1)
    }

    /// Whether no statement here is ever reached.
    fn is_dead(&self) -> bool {
        self.rounds.iter().any(|(_, (first, end))| first >= end)
    }

    fn block(&mut self, body: &[Statement], start: usize) {
        for statement in body {
            if self.is_checking && !self.is_dead() {
                statement.kind.values(&mut |value| {
                    value.visit(&mut |value| {
                        if let Some(access) = value.load() {
                            self.load(access, value.is_lanes());
                        }
                    });
                });
            }
            match &statement.kind {
                StatementKind::For(each) if each.extent > 0 => self.for_loop(each, start),
                StatementKind::If(condition, body) => self.guarded(condition, body, start),
                stored => {
                    if let Some(written) = stored.stored().and_then(|(access, is_lanes)| self.store(access, is_lanes)) {
                        self.add(written, start);
                    }
                }
            }
        }
    }

    fn for_loop(&mut self, each: &Loop, start: usize) {
        let (before, extent) = (self.known.len(), each.extent.cast_signed());
        if self.is_checking && self.divided != Some(number(each)) {
            let ends = self.ends.get(&number(each)).cloned().unwrap_or_default();
            self.known.extend(ends.into_iter().filter_map(|end| end.a_round_later(each.variable, extent)));
        }
        self.rounds.push((each.variable, (0, extent)));
        self.block(&each.body, before);
        self.rounds.pop();
        // What earlier rounds have written is there at a round's end too.
        let end: Vec<Written> = self.known.drain(before..).collect();
        for written in end.iter().cloned().filter_map(|written| written.of_all_rounds(each.variable, extent)) {
            self.add(written, start);
        }
        if !self.is_checking {
            self.ends.insert(number(each), end);
        }
    }

    fn guarded(&mut self, condition: &Condition, body: &[Statement], start: usize) {
        let before = self.known.len();
        let mut cases = self.cases(condition);
        if cases.len() > 1 {
            self.splits = self.splits.saturating_sub(cases.len());
            if self.splits == 0 {
                cases = vec![Vec::new()];
            }
        }
        for case in &cases {
            self.known.truncate(before);
            let around = self.rounds.clone();
            for (counter, rounds) in self.rounds.iter_mut() {
                if let Some((_, (first, end))) = case.iter().find(|each| each.0 == *counter) {
                    *rounds = (rounds.0.max(*first), rounds.1.min(*end));
                }
            }
            self.block(body, before);
            self.rounds = around;
        }
        let within: Vec<Written> = self.known.drain(before..).collect();
        let [case] = &cases[..] else { return };
        for mut written in within.into_iter().filter(|_| !case.is_empty()) {
            if written.only_in(case) {
                self.add(written, start);
            }
        }
    }

    /// Rounds of counters in which a condition may hold: if one case is all there is it holds in all of its rounds. None
    /// where it is about more than counters.
    fn cases(&self, condition: &Condition) -> Vec<Vec<(u32, (i64, i64))>> {
        match condition {
            Condition::NonZero(sum) => {
                let mut counters = Vec::new();
                if !is_sum(sum, &mut counters) {
                    return vec![Vec::new()];
                }
                // Some counter is the first that isn't 0.
                let case = |at: usize| {
                    let zeros = counters[..at].iter().map(|&counter| (counter, (0, 1)));
                    zeros.chain([(counters[at], (1, i64::MAX))]).collect()
                };
                (0..counters.len()).map(case).collect()
            }
            Condition::Holds(Bool::CompareInt(comparison, left, right)) => {
                let mut counters = Vec::new();
                let Int::Constant(number) = **right else { return vec![Vec::new()] };
                if !is_sum(left, &mut counters) {
                    return vec![Vec::new()];
                }
                let next = number.saturating_add(1);
                let rounds = match comparison {
                    Comparison::Lt => (i64::MIN, number),
                    Comparison::Le => (i64::MIN, next),
                    Comparison::Eq => (number, next),
                    Comparison::Ge => (number, i64::MAX),
                    Comparison::Gt => (next, i64::MAX),
                    Comparison::Ne if number == 0 => (1, i64::MAX),
                    Comparison::Ne => return vec![Vec::new()],
                };
                match counters[..] {
                    [counter] => vec![vec![(counter, rounds)]],
                    _ if *comparison == Comparison::Eq && number == 0 => {
                        vec![counters.iter().map(|&counter| (counter, rounds)).collect()]
                    }
                    _ => vec![Vec::new()],
                }
            }
            Condition::Holds(_) => vec![Vec::new()],
        }
    }

    fn is_own(&self, buffer: Buffer) -> bool {
        match buffer {
            Buffer::Input(_) => false,
            Buffer::Output(number) => self.kernel.outputs[number as usize].shares.is_none(),
            Buffer::Scratch(_) => true,
        }
    }

    fn lanes(&self, is_lanes: bool) -> i64 {
        if is_lanes { self.kernel.arithmetic.lanes().cast_signed() } else { 1 }
    }

    /// What a store writes; none where that depends on more than counters.
    fn store(&self, access: &Access, is_lanes: bool) -> Option<Written> {
        if !self.is_own(access.buffer) {
            return None;
        }
        let mut axes = access
            .index
            .iter()
            .map(|index| Some(Run { first: Affine::of(index)?, count: 1 }))
            .collect::<Option<Vec<Run>>>()?;
        if let Some(last) = axes.last_mut() {
            last.count = self.lanes(is_lanes);
        }
        // A store within rounds that a condition leaves is put under it where the condition ends.
        Some(Written { buffer: access.buffer, axes, rounds: BTreeMap::new() })
    }

    /// A load of what isn't proven to be written.
    fn load(&mut self, access: &Access, is_lanes: bool) {
        if !self.is_own(access.buffer) {
            return;
        }
        let axis = |index: &Int| match Affine::of(index) {
            Some(first) => Run { first, count: 1 },
            None => {
                let found = range(index, self).unwrap_or(Interval::FULL);
                Run::constant(found.low, found.high.saturating_sub(found.low).saturating_add(1))
            }
        };
        let mut axes: Vec<Run> = access.index.iter().map(axis).collect();
        if let Some(last) = axes.last_mut() {
            last.count = last.count.saturating_add(self.lanes(is_lanes) - 1);
        }
        let read = Written { buffer: access.buffer, axes, rounds: BTreeMap::new() };
        if !self.is_written(&read) {
            self.reads(access.buffer);
        }
    }

    fn reads(&mut self, buffer: Buffer) {
        match buffer {
            Buffer::Output(number) if !self.unread.outputs.contains(&number) => self.unread.outputs.push(number),
            Buffer::Scratch(_) => self.unread.scratch = true,
            _ => {}
        }
    }

    /// Whether one known box holds all these elements, in every round the counters may be in.
    fn is_written(&self, read: &Written) -> bool {
        self.known.iter().any(|known| {
            known.buffer == read.buffer
                && known.rounds.iter().all(|(&counter, &(first, end))| {
                    self.round(counter).is_some_and(|(low, high)| first <= low && high <= end)
                })
                && known.axes.iter().zip(&read.axes).all(|(known, read)| {
                    let apart = known.first.clone().scaled(-1).and_then(|first| read.first.clone().plus(&first));
                    apart
                        .and_then(|apart| self.range_of(&apart))
                        .is_some_and(|(low, high)| low >= 0 && high + i128::from(read.count) <= i128::from(known.count))
                })
        })
    }

    /// The least and the greatest value in the rounds the counters may be in.
    fn range_of(&self, affine: &Affine) -> Option<(i128, i128)> {
        let (mut low, mut high) = (i128::from(affine.constant), i128::from(affine.constant));
        for (&counter, &coefficient) in &affine.terms {
            let (first, end) = self.round(counter)?;
            let ends = [first, end - 1].map(|round| i128::from(round) * i128::from(coefficient));
            low += ends[0].min(ends[1]);
            high += ends[0].max(ends[1]);
        }
        Some((low, high))
    }

    /// Adds a box to those of a block, which begin at `start`, joined with those it lies beside.
    fn add(&mut self, mut written: Written, start: usize) {
        loop {
            let joined = self.known[start..].iter().enumerate().find_map(|(at, known)| {
                let mut joined = known.joined(&written)?;
                joined.rounds.retain(|&counter, rounds| {
                    self.round(counter).is_none_or(|all| rounds.0 > all.0 || rounds.1 < all.1)
                });
                Some((at, joined))
            });
            let Some((at, joined)) = joined else { break };
            self.known.remove(start + at);
            written = joined;
        }
        if self.known.len() - start < BLOCK && self.known.len() < MOST {
            self.known.push(written);
        }
    }
}

/// Whether an integer is a sum of different counters, of a few; which ones.
fn is_sum(int: &Int, counters: &mut Vec<u32>) -> bool {
    match int {
        Int::Counter(counter) if counters.len() < 4 && !counters.contains(counter) => {
            counters.push(*counter);
            true
        }
        Int::Binary(IntBinary::Add, left, right) => is_sum(left, counters) && is_sum(right, counters),
        _ => false,
    }
}

impl Written {
    /// Leaves those of the rounds alone that a condition leaves; whether any are.
    fn only_in(&mut self, case: &[(u32, (i64, i64))]) -> bool {
        for &(counter, (first, end)) in case {
            let rounds = self.rounds.entry(counter).or_insert((first, end));
            *rounds = (rounds.0.max(first), rounds.1.min(end));
        }
        self.rounds.values().all(|(first, end)| first < end)
    }

    /// What all rounds of a loop have written, where those of its rounds lie side by side.
    fn of_all_rounds(mut self, counter: u32, extent: i64) -> Option<Self> {
        let (first, end) = self.rounds.remove(&counter).unwrap_or((0, extent));
        let (first, end) = (first.max(0), end.min(extent));
        let last = end.checked_sub(1).filter(|&last| last >= first)?;
        let moving = self.axes.iter().filter(|run| run.first.coefficient(counter) != 0).count();
        for run in &mut self.axes {
            let Some(step) = run.first.terms.remove(&counter) else { continue };
            let apart = step.checked_abs()?;
            if first != last && (moving > 1 || apart > run.count) {
                return None;
            }
            let least = step.checked_mul(if step < 0 { last } else { first })?;
            run.first.constant = run.first.constant.checked_add(least)?;
            run.count = apart.checked_mul(last - first)?.checked_add(run.count)?;
        }
        Some(self)
    }

    /// What the round before has written, as a round knows it.
    fn a_round_later(mut self, counter: u32, extent: i64) -> Option<Self> {
        let (first, end) = self.rounds.get(&counter).copied().unwrap_or((0, extent));
        let (first, end) = (first.max(0), end.min(extent));
        let moves = self.axes.iter().any(|run| run.first.coefficient(counter) != 0);
        for run in &mut self.axes {
            run.first.constant = run.first.constant.checked_sub(run.first.coefficient(counter))?;
        }
        // What doesn't move stays written in all later rounds.
        let end = if moves { end.checked_add(1)?.min(extent) } else { extent };
        self.rounds.insert(counter, (first + 1, end));
        (first + 1 < end).then_some(self)
    }

    /// One box that is both: one within the other, side by side along one axis, or the same in rounds side by side.
    fn joined(&self, other: &Self) -> Option<Self> {
        if self.buffer != other.buffer {
            return None;
        }
        if self.rounds != other.rounds {
            return self.joined_rounds(other);
        }
        let mut joined = self.clone();
        let mut differing = 0;
        for ((run, own), others) in joined.axes.iter_mut().zip(&self.axes).zip(&other.axes) {
            if own == others {
                continue;
            }
            differing += 1;
            if own.first.terms != others.first.terms {
                return None;
            }
            let (low, high) = if own.first.constant <= others.first.constant { (own, others) } else { (others, own) };
            let apart = high.first.constant.checked_sub(low.first.constant)?;
            if apart > low.count {
                return None;
            }
            *run = Run { first: low.first.clone(), count: low.count.max(apart.checked_add(high.count)?) };
        }
        let is_one = |whole: &Self| joined == *whole;
        (differing <= 1 || is_one(self) || is_one(other)).then_some(joined)
    }

    fn joined_rounds(&self, other: &Self) -> Option<Self> {
        if self.axes != other.axes || !self.rounds.keys().eq(other.rounds.keys()) {
            return None;
        }
        let mut differing = self.rounds.iter().filter(|(counter, rounds)| other.rounds.get(counter) != Some(rounds));
        let ((&counter, &own), None) = (differing.next()?, differing.next()) else { return None };
        let others = other.rounds[&counter];
        if own.0.max(others.0) > own.1.min(others.1) {
            return None;
        }
        let mut joined = self.clone();
        joined.rounds.insert(counter, (own.0.min(others.0), own.1.max(others.1)));
        Some(joined)
    }
}
