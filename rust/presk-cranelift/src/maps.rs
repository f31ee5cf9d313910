//! Loops that make of each element of a run what [`Map`] says (less one number, times or by one, times and plus elements of
//! other runs): calls of the runtime's routines, whose vectors are the processor's widest. A load, and a division, takes as long
//! in a vector of any width.
//!
//! Such a loop is `t0[i1] <v= (%0[i0, i1]<v> / splat(s0))<v>`, as the lane rewrite leaves it, from runs of the arithmetic type
//! to one in other memory or the same run.

use cranelift_codegen::ir::{InstBuilder, Value};
use presk_kernel::ir::{Access, Arithmetic, Loop, Real, RealBinary, StatementKind, Vector};
use presk_rt::runs::{Map, Scale};

use crate::addresses::Linear;
use crate::generator::{Counter, Generator, Position};
use crate::scalars::constant_of;
use crate::types;

/// Rounds of a loop, in vectors of sixteen bytes, worth a routine's call.
const LEAST: u64 = 16;

/// The same where a round reads several runs.
const LEAST_OF_RUNS: u64 = 32;

/// What is read, by what, and what is written.
struct Mapped<'k> {
    chain: Chain<'k>,
    source: &'k Access,
    target: &'k Access,
    /// The variable that each round puts the elements in first.
    through: Option<u32>,
}

/// What is made of the elements.
struct Chain<'k> {
    centre: Option<&'k Real>,
    scale: Option<(Scale, &'k Real)>,
    gain: Option<&'k Access>,
    shift: Option<&'k Access>,
}

impl<'k> Chain<'k> {
    /// The chain that a value is, and what it begins with.
    fn of(value: &'k Vector) -> (Self, &'k Vector) {
        let (shift, value) = run_beside(RealBinary::Add, value);
        let (gain, value) = run_beside(RealBinary::Mul, value);
        let (scale, value) = match value {
            Vector::Binary(RealBinary::Div, rest, number) => {
                number_of(number).map_or((None, value), |number| (Some((Scale::Quotient, number)), &**rest))
            }
            Vector::Binary(RealBinary::Mul, left, right) => match (number_of(left), number_of(right)) {
                (_, Some(number)) => (Some((Scale::Product, number)), &**left),
                (Some(number), None) => (Some((Scale::Product, number)), &**right),
                _ => (None, value),
            },
            _ => (None, value),
        };
        let (centre, value) = match value {
            Vector::Binary(RealBinary::Sub, rest, number) => {
                number_of(number).map_or((None, value), |number| (Some(number), &**rest))
            }
            _ => (None, value),
        };
        (Self { centre, scale, gain, shift }, value)
    }

    fn map(&self) -> Map {
        Map {
            centre: self.centre.is_some(),
            scale: self.scale.map(|(scale, _)| scale),
            gain: self.gain.is_some(),
            shift: self.shift.is_some(),
        }
    }
}

/// A run that stands beside the rest of a value in an operation that commutes, and the rest; of two runs the second.
fn run_beside(operation: RealBinary, value: &Vector) -> (Option<&Access>, &Vector) {
    match value {
        Vector::Binary(found, left, right) if *found == operation => match (&**left, &**right) {
            (_, Vector::Load(run)) => (Some(run), left),
            (Vector::Load(run), Vector::Binary(..)) => (Some(run), right),
            _ => (None, value),
        },
        _ => (None, value),
    }
}

/// A number that is the same in each round and each lane.
fn number_of(value: &Vector) -> Option<&Real> {
    match value {
        Vector::Splat(number) => Some(&**number).filter(|each| matches!(each, Real::Constant(_) | Real::Variable(_))),
        _ => None,
    }
}

impl<'k> Generator<'_, 'k> {
    /// Calls a routine for a loop that is such a map; else says that it isn't.
    pub(crate) fn mapped(&mut self, each: &'k Loop) -> bool {
        let Some(Mapped { chain, source, target, through }) = self.map_of(each) else { return false };
        let numbers = [chain.centre, chain.scale.map(|(_, number)| number)];
        let [centre, scale] = numbers.map(|number| self.number_or_zero(number));
        if let Some(variable) = through {
            // What the last round leaves in it, if anybody reads that.
            let last = self.in_round(each, each.extent.cast_signed() - 1, |this| this.load_vector(source));
            self.set('v', variable, last);
        }
        let [source, target, gain, shift] = self.in_round(each, 0, |this| {
            let (source, target) = (this.place(source), this.place(target));
            let [gain, shift] = [chain.gain, chain.shift].map(|run| run.map_or(source, |run| this.place(run)));
            [source, target, gain, shift]
        });
        let count = self.whole((each.extent * self.kernel.arithmetic.lanes()).cast_signed());
        self.call_map(chain.map(), [source, target, gain, shift, centre, scale, count]);
        true
    }

    /// What is generated as in one round of a loop.
    fn in_round<T>(&mut self, each: &Loop, round: i64, generate: impl FnOnce(&mut Self) -> T) -> T {
        self.nest.push(Counter {
            number: each.variable,
            extent: each.extent,
            position: Position::Fixed(round),
            strides: Vec::new(),
        });
        let found = generate(self);
        self.nest.pop();
        found
    }

    fn number_or_zero(&mut self, number: Option<&'k Real>) -> Value {
        match (number, self.kernel.arithmetic) {
            (Some(number), _) => self.real(number),
            (None, Arithmetic::F32) => self.builder.ins().f32const(0.0),
            (None, Arithmetic::F64) => self.builder.ins().f64const(0.0),
        }
    }

    fn map_of(&self, each: &'k Loop) -> Option<Mapped<'k>> {
        let (before, last) = match each.body.as_slice() {
            [last] => (None, last),
            [before, last] => (Some(before), last),
            _ => return None,
        };
        let StatementKind::StoreVector(target, value) = &last.kind else { return None };
        let (chain, begin) = Chain::of(value);
        let (source, through) = match (before.map(|before| &before.kind), begin) {
            (None, Vector::Load(source)) => (source, None),
            (Some(StatementKind::SetVector(set, Vector::Load(source))), Vector::Variable(read)) if set == read => {
                (source, Some(*set))
            }
            _ => return None,
        };
        let least = self.least_for(&chain)?;
        let are_runs = [Some(source), chain.gain, chain.shift].into_iter().flatten().all(|run| {
            let is_apart = self.resolved(run.buffer) != self.resolved(target.buffer) || run.index == target.index;
            is_apart && self.is_run(run, each)
        });
        let is_such = each.extent >= least && are_runs && self.is_run(target, each);
        is_such.then_some(Mapped { chain, source, target, through })
    }

    /// Rounds of a chain worth a call: none of one operation that a loop does as fast.
    fn least_for(&self, chain: &Chain<'k>) -> Option<u64> {
        match chain {
            Chain { centre: None, scale: Some((Scale::Product, _)) | None, gain: None, shift: None } => None,
            Chain { centre: None, scale: Some((Scale::Quotient, number)), gain: None, shift: None } => {
                let is_factor = self.factor_for(RealBinary::Div, constant_of(number)).is_some();
                (!is_factor).then_some(LEAST)
            }
            Chain { gain: None, shift: None, .. } => Some(LEAST),
            Chain { centre: None, scale: None, .. } if chain.gain.is_none() || chain.shift.is_none() => None,
            _ => Some(LEAST_OF_RUNS),
        }
    }

    /// Whether a loop goes along an access's last axis, vector by vector, over elements of the arithmetic type.
    fn is_run(&self, access: &'k Access, each: &Loop) -> bool {
        let buffer = self.kernel.buffer(access.buffer);
        let linear = Linear::element(access, buffer);
        types::is_exact(buffer.element, self.kernel.arithmetic)
            && linear.is_affine()
            && linear.coefficient(each.variable) == self.kernel.arithmetic.lanes().cast_signed()
    }
}
