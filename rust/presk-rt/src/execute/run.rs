//! One call: the steps in order, on one call's memory.

use std::time::Instant;

use super::link::LinkedStep;
use super::{Executable, Leased, Profile, Settings};
use crate::error::Error;
use crate::interrupt::{LOOK, STEP, Watch};
use crate::numbers::convert;
use crate::pool::Lease;

/// A call while it runs.
pub struct Run<'c> {
    pub executable: &'c Executable,
    pub settings: Settings,
    pub leased: &'c mut Leased,
    /// The worker pool, where this call has it.
    pub pool: Option<Lease>,
    pub profile: Option<&'c mut Profile>,
    pub watch: &'c Watch<'c>,
    /// Weighted operations until the watch is looked at.
    pub patience: u64,
}

impl<'c> Run<'c> {
    /// Runs all steps.
    pub fn all(mut self) -> Result<(), Error> {
        let executable = self.executable;
        self.steps(&executable.steps)
    }

    fn steps(&mut self, steps: &'c [LinkedStep]) -> Result<(), Error> {
        for step in steps {
            if let LinkedStep::Loop { counter, trips, reversed, steps } = step {
                for round in 0..*trips {
                    self.leased.memory.counters[*counter as usize] = if *reversed { trips - 1 - round } else { round };
                    self.pass(STEP)?;
                    self.steps(steps)?;
                }
                continue;
            }
            self.pass(step.work())?;
            let begun = self.profile.is_some().then(Instant::now);
            let number = self.step(step)?;
            if let (Some(begun), Some(profile)) = (begun, &mut self.profile) {
                profile.record(number, begun.elapsed());
            }
        }
        Ok(())
    }

    /// Looks at the watch where enough work lies behind; in front of as much as was looked at already.
    fn pass(&mut self, work: u64) -> Result<(), Error> {
        match self.patience.checked_sub(work) {
            Some(left) => {
                self.patience = left;
                Ok(())
            }
            None => {
                self.patience = LOOK;
                self.watch.look()
            }
        }
    }

    /// Runs a step that is no loop; its number.
    fn step(&mut self, step: &'c LinkedStep) -> Result<usize, Error> {
        let memory = &mut self.leased.memory;
        match step {
            LinkedStep::Launch(launch) => {
                let code = &*self.executable.codes[launch.code];
                self.leased.launcher.launch(launch, code, memory, self.pool.as_mut(), self.watch)?;
                Ok(launch.number)
            }
            LinkedStep::Convert { number, from, to, source, target } => {
                memory.between(source, target, |source, target| convert(*from, source, *to, target));
                Ok(*number)
            }
            LinkedStep::Copy { number, source, target } => {
                memory.between(source, target, |source, target| target.copy_from_slice(source));
                Ok(*number)
            }
            LinkedStep::Count { number, counter, start, target } => {
                let value = memory.counters[*counter as usize] + start;
                memory.cells(target).set_int(0, value.cast_signed());
                Ok(*number)
            }
            LinkedStep::Swap { number, first, second } => {
                memory.swap(*first, *second);
                Ok(*number)
            }
            LinkedStep::Draw(draw) => {
                self.draw(draw)?;
                Ok(draw.number)
            }
            LinkedStep::Sample(sample) => {
                self.sample(sample)?;
                Ok(sample.number)
            }
            LinkedStep::Loop { .. } => unreachable!("loops are run by `steps`"),
        }
    }
}
