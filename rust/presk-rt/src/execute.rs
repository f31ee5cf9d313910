//! Executables: a verified schedule with the code of its kernels, and calls of it.
//!
//! [`Executable::new`] verifies, links views to buffers by number and compiles; [`Executable::call`] runs the whole
//! schedule on the caller's buffers. Calls may be made from any number of threads: each leases an arena and everything
//! else it writes, so that a launch allocates nothing. One call at a time has the worker pool; others run unsplit, to the
//! same bits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use presk_kernel::ir::Element;

use crate::code::{Compiler, KernelCode};
use crate::error::{Error, ErrorKind};
use crate::float_mode::FloatMode;
use crate::interrupt::{LOOK, Question, Watch};
use crate::memory::{Block, FreeList, Memory};
use crate::pool::{Pool, panicked};
use crate::schedule::{Input, Output, Schedule};
use crate::verify::{Storage, extent_of, verify};
use launch::Launcher;
use link::LinkedStep;
pub use profile::{Profile, Timing};
use run::Run;

mod launch;
mod link;
mod profile;
mod random;
mod run;
mod sample;

/// An argument's leaf, or the result's, as a call's caller sees it.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its path.
    pub path: String,
    /// What an element is.
    pub element: Element,
    /// Sizes of its axes.
    pub sizes: Vec<u64>,
    /// Its bytes.
    pub bytes: usize,
    /// Of an input: whether it may be overwritten.
    pub donated: bool,
    /// Of an output: the input whose buffer it is.
    pub shares: Option<usize>,
}

/// What decides a call's draws, and how many threads it may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The seed of every draw.
    pub seed: u64,
    /// The nonce of every draw.
    pub step: u64,
    /// The number of the first row.
    pub row_offset: u64,
    /// Threads, the caller's included; at least 1.
    pub threads: usize,
}

/// A schedule ready to be called.
pub struct Executable {
    inputs: Vec<Leaf>,
    outputs: Vec<Leaf>,
    /// Constants, each at a multiple of 8 bytes, in the order of their numbers.
    constants: Block,
    constant_count: usize,
    arena_bytes: usize,
    /// First byte of each buffer of the arena.
    regions: Vec<usize>,
    /// Whether elements of the arena may be read that nobody has written: they are 0.
    begins_with_zeros: bool,
    loops: usize,
    steps: Vec<LinkedStep>,
    codes: Vec<Arc<dyn KernelCode>>,
    scratch_bytes: usize,
    sample_size: usize,
    launch_buffers: usize,
    /// Whether any step can be divided: other schedules leave the pool to others, and start no worker.
    divides: bool,
    profile: Profile,
    poison: bool,
    free: FreeList<Leased>,
}

/// What one call writes besides its outputs.
struct Leased {
    arena: Block,
    memory: Memory,
    launcher: Launcher,
    weights: Vec<f64>,
    order: Vec<u32>,
}

impl Executable {
    /// Verifies a schedule and compiles its kernels. `poison` fills arena and scratch with NaN before each call, as
    /// builds with assertions always do: a value that is read before it is written shows, where it was proven to be written.
    ///
    /// # Errors
    /// What the verifier or the compiler finds.
    pub fn new(schedule: &Schedule, compiler: &dyn Compiler, poison: bool) -> Result<Self, Error> {
        // Constants may be computed when code is made.
        let _mode = FloatMode::standard();
        let verified = verify(schedule)?;
        let linked = link::link(schedule);
        let codes = compiler.compile(&linked.jobs)?;
        let (regions, bytes) = link::places(schedule, verified.writes_before_it_reads)?;
        Ok(Self {
            inputs: schedule.inputs.iter().map(input_leaf).collect::<Result<_, _>>()?,
            outputs: schedule.outputs.iter().map(output_leaf).collect::<Result<_, _>>()?,
            constants: link::constants(schedule)?,
            constant_count: schedule.constants.len(),
            arena_bytes: bytes,
            regions,
            begins_with_zeros: !verified.writes_before_it_reads,
            loops: linked.loops,
            steps: linked.steps,
            divides: linked.divides_draws || linked.divides_launches && codes.iter().any(|code| code.divides()),
            scratch_bytes: codes.iter().map(|code| code.scratch_bytes()).max().unwrap_or(0),
            codes,
            sample_size: linked.sample_size,
            launch_buffers: linked.launch_buffers,
            profile: Profile::of(schedule),
            poison: poison || cfg!(debug_assertions),
            free: FreeList::default(),
        })
    }

    /// The arguments' leaves in order.
    #[must_use]
    pub fn inputs(&self) -> &[Leaf] {
        &self.inputs
    }

    /// The result's leaves in order.
    #[must_use]
    pub fn outputs(&self) -> &[Leaf] {
        &self.outputs
    }

    /// Bytes of one call's arena: the peak memory beside arguments and results.
    #[must_use]
    pub fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    /// How many arenas calls have given back.
    #[must_use]
    pub fn free_arenas(&self) -> usize {
        self.free.count()
    }

    /// Runs the schedule once. `profile`, where it is given, gets each step's time added. `question`, where it is given, is
    /// asked on this thread, some times a second, whether the call is to end.
    ///
    /// # Errors
    /// What a kernel, a draw or a worker finds, and [`ErrorKind::Interrupted`]; outputs and donated inputs may be partly
    /// written then.
    ///
    /// # Safety
    /// `inputs` and `outputs` are the first bytes of as many as [`Leaf::bytes`] says of each, initialised and aligned to
    /// their elements, for the whole call. Elements of inputs of `i64<V` are 0 … V − 1 and nobody writes to them;
    /// floats may be written by others, and give unspecified values then. Outputs and donated inputs are this call's alone
    /// and overlap nothing else, except that an output with [`Leaf::shares`] has that input's pointer.
    #[allow(unsafe_code, reason = "the arrays are the caller's")]
    pub unsafe fn call(
        &self,
        inputs: &[*mut u8],
        outputs: &[*mut u8],
        settings: Settings,
        profile: Option<&mut Profile>,
        question: Option<&Question<'_>>,
    ) -> Result<(), Error> {
        if inputs.len() != self.inputs.len() || outputs.len() != self.outputs.len() {
            let (wanted, results) = (self.inputs.len(), self.outputs.len());
            let message = format!("the schedule takes {wanted} arrays and gives {results}");
            return Err(ErrorKind::Arguments(message).anywhere());
        }
        let _mode = FloatMode::standard();
        let mut leased = self.lease()?;
        let arena = leased.arena.start();
        let regions = self.regions.iter().map(|&offset| arena.wrapping_add(offset));
        let constants = (0..self.constant_count).map(|number| self.constants.start().wrapping_add(8 * number));
        let starts = inputs.iter().chain(outputs).copied().chain(regions).chain(constants);
        // SAFETY: the caller's arrays are as declared; the arena has the declared bytes, is aligned to more than any element
        // and regions lie in it, which is verified; constants are eight bytes each, and never written.
        unsafe { leased.memory.enter(starts) };
        let pool = if self.divides { Pool::of(settings.threads).lease() } else { None };
        let watch = Watch::new(question);
        let run = Run { executable: self, settings, leased: &mut leased, pool, profile, watch: &watch, patience: LOOK };
        match catch_unwind(AssertUnwindSafe(|| run.all())) {
            Ok(done) => {
                self.free.give(leased);
                done
            }
            Err(payload) => Err(panicked(payload.as_ref())),
        }
    }

    /// An empty profile of this schedule's steps.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile.clone()
    }

    fn lease(&self) -> Result<Leased, Error> {
        let mut leased = match self.free.take() {
            Some(mut leased) => {
                if self.begins_with_zeros {
                    leased.arena = Block::new(self.arena_bytes)?;
                }
                leased
            }
            None => Leased {
                arena: Block::new(self.arena_bytes)?,
                memory: Memory::with_capacity(
                    self.inputs.len() + self.outputs.len() + self.regions.len() + self.constant_count,
                    self.loops,
                ),
                launcher: Launcher::new(self.launch_buffers, self.scratch_bytes)?,
                weights: zeros(self.sample_size)?,
                order: zeros(self.sample_size)?,
            },
        };
        if self.poison {
            leased.launcher.poison();
            if !self.begins_with_zeros {
                leased.arena.bytes().fill(0xff);
            }
        }
        Ok(leased)
    }
}

/// So many zeros.
fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>, Error> {
    let mut zeros = Vec::new();
    let fault = |_| ErrorKind::Memory((count * size_of::<T>()) as u64).anywhere();
    zeros.try_reserve_exact(count).map_err(fault)?;
    zeros.resize(count, T::default());
    Ok(zeros)
}

/// The bytes of an argument's or a result's leaf.
fn leaf_bytes(element: Element, sizes: &[u64]) -> Result<usize, Error> {
    let row = sizes.last().copied().unwrap_or(1);
    let bytes = Storage::of(element).extent(extent_of(sizes).unwrap_or(0), Some(row));
    usize::try_from(bytes).map_err(|_| ErrorKind::Memory(bytes).anywhere())
}

fn input_leaf(input: &Input) -> Result<Leaf, Error> {
    let bytes = leaf_bytes(input.element, &input.sizes)?;
    let (path, sizes) = (input.path.clone(), input.sizes.clone());
    Ok(Leaf { path, element: input.element, sizes, bytes, donated: input.donated, shares: None })
}

fn output_leaf(output: &Output) -> Result<Leaf, Error> {
    let bytes = leaf_bytes(output.element, &output.sizes)?;
    let (path, sizes) = (output.path.clone(), output.sizes.clone());
    let shares = output.shares.map(|input| input as usize);
    Ok(Leaf { path, element: output.element, sizes, bytes, donated: false, shares })
}
