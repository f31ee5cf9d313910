//! Outputs that share an input's buffer: proof that the input is read only at the element about to be stored.
//!
//! The proof has two halves. Every load of the input stands, in the same block or deeper in one of its statements,
//! before a store to the output at the same affine index, or before a loop of that block whose stores reach, in one round of
//! what is around it, exactly the elements the loads before it reached: two loops over one run. And no element of the output
//! is stored twice: each store gives its loops' rounds different elements, and two stores have no element in common, the
//! rounds counting that a condition on a counter leaves. So when an element is loaded, nothing has overwritten it. An input
//! that isn't loaded at all needs neither half.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::affine::Affine;
use crate::error::{Error, ErrorKind};
use crate::ir::{Access, Buffer, Kernel, Place, Statement};
use crate::limits;

/// Checks every output that shares an input's buffer.
pub fn check(kernel: &Kernel) -> Result<(), Error> {
    for (output, shared) in kernel.outputs.iter().enumerate().filter_map(|(n, output)| Some((n, output.shares?))) {
        let output = Buffer::Output(u32::try_from(output).unwrap_or(u32::MAX));
        let mut check = Check {
            kernel,
            input: Buffer::Input(shared),
            output,
            loops: Vec::new(),
            conditions: Vec::new(),
            stores: Vec::new(),
            loads: 0,
        };
        let pending = check.block(&kernel.body)?;
        if check.loads == 0 {
            continue;
        }
        if let Some(load) = pending.into_values().flatten().next() {
            return check.fault("is not followed by a store to the same element in its block", load.place);
        }
        check.check_stores()?;
    }
    Ok(())
}

type Index = Vec<Affine>;
/// Loads by index, for which no store has been seen.
type Pending = HashMap<Index, Vec<Load>>;

/// A load of the input: its lanes and the loops around it, outermost first.
struct Load {
    place: Place,
    lanes: u64,
    loops: Vec<(u32, u64)>,
}

/// The elements an access reaches in one round of the loops outside: along each axis, where they begin and how many
/// lie in a row from there.
type Reach = Vec<(Affine, u64)>;

/// A store to the output: its index, its lanes, and which rounds of the loops around it run it.
struct Store {
    index: Index,
    lanes: u64,
    rounds: BTreeMap<u32, Range<u64>>,
    /// The loops with all their rounds, outermost first.
    around: Vec<(u32, u64)>,
    /// How many conditions around it leave a loop some rounds alone.
    conditions: usize,
    place: Place,
}

struct Check<'k> {
    kernel: &'k Kernel,
    input: Buffer,
    output: Buffer,
    loops: Vec<(u32, u64)>,
    /// The counters and rounds of the conditions around what is looked at.
    conditions: Vec<(u32, Range<u64>)>,
    stores: Vec<Store>,
    loads: usize,
}

impl Check<'_> {
    fn fault<T>(&self, what: &str, place: Place) -> Result<T, Error> {
        let (input, output) = (self.kernel.buffer_name(self.input), self.kernel.buffer_name(self.output));
        Err(ErrorKind::Shared(format!("{output} shares the buffer of {input}, but this access {what}")).at(place))
    }

    /// The loads within that no store of this block follows.
    fn block(&mut self, body: &[Statement]) -> Result<Pending, Error> {
        let mut pending = Pending::new();
        for statement in body {
            self.collect_loads(statement, &mut pending)?;
            if let crate::ir::StatementKind::For(each) = &statement.kind {
                let before = self.stores.len();
                self.loops.push((each.variable, each.extent));
                let inner = self.block(&each.body)?;
                self.loops.pop();
                self.settle(&mut pending, before);
                merge(&mut pending, inner);
            } else if let crate::ir::StatementKind::If(condition, inner) = &statement.kind {
                let before = self.conditions.len();
                self.conditions.extend(condition.rounds());
                let inner = self.block(inner)?;
                self.conditions.truncate(before);
                merge(&mut pending, inner);
            }
            if let Some((access, is_vector)) = statement.kind.stored().filter(|stored| stored.0.buffer == self.output) {
                self.store(access, is_vector, &mut pending)?;
            }
        }
        Ok(pending)
    }

    fn collect_loads(&mut self, statement: &Statement, pending: &mut Pending) -> Result<(), Error> {
        let mut fault = None;
        statement.kind.values(&mut |value| {
            value.visit(&mut |value| {
                let Some(access) = value.load().filter(|access| access.buffer == self.input) else { return };
                self.loads += 1;
                let is_vector = value.is_lanes();
                let lanes = if is_vector { self.kernel.arithmetic.lanes() } else { 1 };
                let load = Load { place: access.place, lanes, loops: self.loops.clone() };
                match self.index(access, is_vector) {
                    Some(index) => pending.entry(index).or_default().push(load),
                    None => fault = fault.or(Some(access.place)),
                }
            });
        });
        match fault {
            Some(place) => self.fault("has an index that is not affine in loop counters", place),
            None => Ok(()),
        }
    }

    /// The affine index; a vector's is told apart by one more component, so that lanes meet the same lanes.
    fn index(&self, access: &Access, is_vector: bool) -> Option<Index> {
        let mut index: Index = access.index.iter().map(Affine::of).collect::<Option<_>>()?;
        if is_vector {
            index.push(Affine::constant(i64::try_from(self.kernel.arithmetic.lanes()).unwrap_or(0)));
        }
        Some(index)
    }

    fn store(&mut self, access: &Access, is_vector: bool, pending: &mut Pending) -> Result<(), Error> {
        if self.stores.len() >= limits::SHARED_STORES {
            let what = "the number of stores to an output that shares an input's buffer".into();
            return Err(ErrorKind::Limit { what, limit: limits::SHARED_STORES as u64 }.at(access.place));
        }
        let index = self.index(access, is_vector);
        if let Some(index) = &index {
            pending.remove(index);
        }
        let lanes = if is_vector { self.kernel.arithmetic.lanes() } else { 1 };
        let index = index.unwrap_or_default();
        self.stores.push(Store {
            index,
            lanes,
            rounds: self.rounds(),
            around: self.loops.clone(),
            conditions: self.conditions.len(),
            place: access.place,
        });
        Ok(())
    }

    /// The rounds of the loops around a statement in which it runs.
    fn rounds(&self) -> BTreeMap<u32, Range<u64>> {
        let mut rounds: BTreeMap<u32, Range<u64>> =
            self.loops.iter().map(|&(counter, extent)| (counter, 0..extent)).collect();
        for (counter, left) in &self.conditions {
            if let Some(of) = rounds.get_mut(counter) {
                *of = of.start.max(left.start)..of.end.min(left.end);
            }
        }
        rounds
    }

    /// Strikes out the loads whose elements are those that the stores of a loop after them, from number `first` on, reach.
    /// A store under a condition within that loop doesn't reach all it seems to.
    fn settle(&self, pending: &mut Pending, first: usize) {
        let depth = self.loops.len();
        let loads: usize = pending.values().map(Vec::len).sum();
        if first == self.stores.len() || loads > limits::SHARED_STORES {
            return;
        }
        let axes = self.kernel.buffer(self.output).axes.len();
        let within = |loops: &[(u32, u64)]| loops[depth..].to_vec();
        let reached: HashSet<Reach> = self.stores[first..]
            .iter()
            .filter(|store| store.conditions == self.conditions.len())
            .filter_map(|store| reach(store.index.get(..axes)?, store.lanes, &within(&store.around)))
            .collect();
        for (index, loads) in pending.iter_mut() {
            loads.retain(|load| {
                !reach(&index[..axes], load.lanes, &within(&load.loops)).is_some_and(|reach| reached.contains(&reach))
            });
        }
        pending.retain(|_, loads| !loads.is_empty());
    }

    fn check_stores(&self) -> Result<(), Error> {
        let axes = self.kernel.buffer(self.output).axes.len();
        for (number, store) in self.stores.iter().enumerate() {
            if store.index.len() < axes {
                return self.fault("has an index that is not affine in loop counters", store.place);
            }
            if !is_injective(store, axes) {
                return self.fault("may store an element twice", store.place);
            }
            if self.stores[..number].iter().any(|other| !are_disjoint(store, other, axes)) {
                return self.fault("may store an element another statement stores too", store.place);
            }
        }
        Ok(())
    }
}

fn merge(into: &mut Pending, from: Pending) {
    for (index, loads) in from {
        into.entry(index).or_default().extend(loads);
    }
}

/// What an access reaches while the loops within run; none where that isn't a row of elements along each axis.
fn reach(index: &[Affine], lanes: u64, within: &[(u32, u64)]) -> Option<Reach> {
    let last = index.len().checked_sub(1)?;
    let along = |(axis, component): (usize, &Affine)| {
        let mut begin = component.clone();
        let mut steps: Vec<(i64, u64)> = Vec::new();
        for &(counter, extent) in within {
            steps.extend(begin.terms.remove(&counter).map(|step| (step, extent)));
        }
        steps.sort_unstable();
        let mut length = if axis == last { lanes } else { 1 };
        for (step, extent) in steps {
            if u64::try_from(step).ok()? != length {
                return None;
            }
            length = length.checked_mul(extent)?;
        }
        Some((begin, length))
    };
    index.iter().enumerate().map(along).collect()
}

/// Whether different rounds (and lanes) of a store have different elements: each counter with more than one round
/// occurs in exactly one component, where its coefficient exceeds what all smaller ones add up to.
fn is_injective(store: &Store, axes: usize) -> bool {
    let moving: Vec<(u32, u64)> =
        store.rounds.iter().map(|(&counter, rounds)| (counter, length(rounds))).filter(|each| each.1 > 1).collect();
    let occurs_once =
        |counter: u32| store.index[..axes].iter().filter(|each| each.coefficient(counter) != 0).count() == 1;
    if !moving.iter().all(|&(counter, _)| occurs_once(counter)) {
        return false;
    }
    store.index[..axes].iter().enumerate().all(|(axis, component)| {
        let mut steps: Vec<(u64, u64)> = moving
            .iter()
            .map(|&(counter, extent)| (component.coefficient(counter).unsigned_abs(), extent))
            .filter(|step| step.0 != 0)
            .collect();
        if axis + 1 == axes && store.lanes > 1 {
            steps.push((1, store.lanes));
        }
        steps.sort_unstable();
        let mut covered = 0u128;
        steps.into_iter().all(|(coefficient, extent)| {
            let beyond = u128::from(coefficient) > covered;
            covered += u128::from(coefficient) * u128::from(extent - 1);
            beyond
        })
    })
}

/// Whether two stores never meet: in some component their ranges, or their remainders by the common step, are apart.
fn are_disjoint(left: &Store, right: &Store, axes: usize) -> bool {
    (0..axes).any(|axis| {
        let (a, b) = (&left.index[axis], &right.index[axis]);
        let lanes = |store: &Store| if axis + 1 == axes { i128::from(store.lanes) } else { 1 };
        let (Some(first), Some(second)) = (span(a, &left.rounds), span(b, &right.rounds)) else {
            // A counter without a round: one of the stores never runs.
            return true;
        };
        if first.1 + lanes(left) <= second.0 || second.1 + lanes(right) <= first.0 {
            return true;
        }
        let step = a.terms.values().chain(b.terms.values()).fold(0, |step, term| gcd(step, term.unsigned_abs()));
        let step = i128::from(step);
        if step == 0 {
            return false;
        }
        let (r, s) = (i128::from(a.constant).rem_euclid(step), i128::from(b.constant).rem_euclid(step));
        let apart = |low: i128, lanes: i128, high: i128, high_lanes: i128| {
            low + lanes <= high && high + high_lanes <= step + low
        };
        if r <= s { apart(r, lanes(left), s, lanes(right)) } else { apart(s, lanes(right), r, lanes(left)) }
    })
}

/// How many rounds these are.
fn length(rounds: &Range<u64>) -> u64 {
    rounds.end.saturating_sub(rounds.start)
}

/// Least and greatest value of an index in such rounds; none where there are none.
fn span(index: &Affine, rounds: &BTreeMap<u32, Range<u64>>) -> Option<(i128, i128)> {
    let (low, high) = index.range(|counter| rounds.get(&counter).map(length))?;
    let begin = |(counter, &coefficient): (&u32, &i64)| {
        rounds.get(counter).map_or(0, |rounds| i128::from(rounds.start) * i128::from(coefficient))
    };
    let begin: i128 = index.terms.iter().map(begin).sum();
    Some((low + begin, high + begin))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
