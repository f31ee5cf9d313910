//! Where a call's time goes, step by step.

use std::time::Duration;

use crate::schedule::{Schedule, Step, StepKind};

/// One step's share.
#[derive(Clone, Debug)]
pub struct Timing {
    /// What the step is: a launch's kernel and site, or its word.
    pub label: String,
    /// How often it ran.
    pub runs: u64,
    /// How long, all runs together, as the calling thread saw it.
    pub time: Duration,
}

/// The timings of a schedule's steps in the order of the text, loops themselves left out.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// One for each step.
    pub timings: Vec<Timing>,
}

impl Profile {
    /// A profile in which nothing has run.
    pub fn of(schedule: &Schedule) -> Self {
        let mut profile = Self::default();
        profile.add(&schedule.steps);
        profile
    }

    fn add(&mut self, steps: &[Step]) {
        for step in steps {
            let label = match &step.kind {
                StepKind::Loop(each) => {
                    self.add(&each.steps);
                    continue;
                }
                StepKind::Launch(launch) => format!("{} {}", launch.name, launch.site),
                StepKind::Convert(_) => "convert".into(),
                StepKind::Copy(_) => "copy".into(),
                StepKind::Count { .. } => "count".into(),
                StepKind::Swap(..) => "swap".into(),
                StepKind::Draw { key, .. } | StepKind::Mask { key, .. } => format!("{} {}", key.stream, key.path),
                StepKind::Sample(sample) => format!("sample {}", sample.key.path),
            };
            self.timings.push(Timing { label, runs: 0, time: Duration::ZERO });
        }
    }

    /// Adds one run of a step.
    pub fn record(&mut self, step: usize, time: Duration) {
        let timing = &mut self.timings[step];
        timing.runs += 1;
        timing.time += time;
    }
}
