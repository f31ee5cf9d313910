//! Launching a kernel's code on the views of a step: pointers are laid out in place, nothing is allocated.

#![allow(unsafe_code, reason = "compiled code is called with pointers")]

use std::ops::Range;

use super::link::LaunchStep;
use crate::code::KernelCode;
use crate::error::{Error, ErrorKind};
use crate::interrupt::{LONG, LOOK, Watch};
use crate::memory::{Block, Memory};
use crate::pool::Lease;

/// What launches of one call use one after the other.
pub struct Launcher {
    pointers: Vec<*mut u8>,
    /// One for each thread that has run a piece.
    scratch: Vec<Block>,
    scratch_bytes: usize,
}

// SAFETY: pointers are laid out anew for each launch; between launches nobody reads them.
unsafe impl Send for Launcher {}

/// What the pieces of one launch share.
struct Shared<'l> {
    pointers: &'l [*mut u8],
    scratch: &'l [Block],
    watch: &'l Watch<'l>,
    /// Rounds after which a piece looks at the watch.
    look: u64,
}

// SAFETY: pieces read the pointers themselves; what they do with their targets is the contract of `KernelCode::run`.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    /// Runs one piece.
    ///
    /// # Safety
    /// As for [`KernelCode::run`] with this launch's pointers; no other piece has this number.
    unsafe fn run(&self, code: &dyn KernelCode, piece: usize, rounds: Range<u64>) -> Result<(), Error> {
        let mut start = rounds.start;
        while start < rounds.end {
            let end = rounds.end.min(start.saturating_add(self.look));
            // SAFETY: the caller's promise; each piece has scratch of its own, and ranges of one piece are disjoint.
            unsafe { code.run(self.pointers, self.scratch[piece].start(), Some(start..end), self.watch)? };
            start = end;
            self.watch.look()?;
        }
        Ok(())
    }
}

impl Launcher {
    /// For launches of at most so many buffers.
    pub fn new(buffers: usize, scratch_bytes: usize) -> Result<Self, Error> {
        let scratch = vec![Block::new(scratch_bytes)?];
        Ok(Self { pointers: Vec::with_capacity(buffers), scratch, scratch_bytes })
    }

    /// Fills scratch with NaN.
    pub fn poison(&mut self) {
        self.scratch.iter_mut().for_each(|scratch| scratch.bytes().fill(0xff));
    }

    /// Runs a step's code, divided where the step says so, the code can, and this call has the pool with workers that work.
    pub fn launch(
        &mut self,
        step: &LaunchStep,
        code: &dyn KernelCode,
        memory: &Memory,
        pool: Option<&mut Lease>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        check_indices(step, memory)?;
        step.clears.iter().for_each(|output| memory.clear(output));
        self.pointers.clear();
        self.pointers.extend(step.spots.iter().map(|spot| memory.address(spot)));
        if let Some((extent, workers)) = step.divided.filter(|_| code.divides()) {
            let pool = pool.filter(|pool| !pool.is_starved());
            let threads = pool.as_ref().map_or(1, |pool| pool.threads());
            let most = threads.min(usize::try_from(extent).unwrap_or(usize::MAX));
            let pieces = workers.unwrap_or(most).min(most);
            if pieces > 1 || step.work > LONG {
                return self.divide(step, code, pool.filter(|_| pieces > 1), pieces.max(1), extent, watch);
            }
        }
        self.clear_scratch(step, code, 1);
        // SAFETY: the step is a verified schedule's and its views lie in buffers as `memory`'s invariant says: as many bytes
        // as the kernel declares, aligned, outputs apart from all else. Indices have been checked, and what may be read unwritten is cleared. Scratch is this
        // call's.
        unsafe { code.run(&self.pointers, self.scratch[0].start(), None, watch) }
    }

    /// Zeros in the scratch of so many pieces where a step may read it unwritten.
    fn clear_scratch(&mut self, step: &LaunchStep, code: &dyn KernelCode, pieces: usize) {
        if step.clears_scratch {
            self.scratch[..pieces].iter_mut().for_each(|scratch| scratch.bytes()[..code.scratch_bytes()].fill(0));
        }
    }

    fn divide(
        &mut self,
        step: &LaunchStep,
        code: &dyn KernelCode,
        pool: Option<&mut Lease>,
        pieces: usize,
        extent: u64,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        while self.scratch.len() < pieces {
            self.scratch.push(Block::new(self.scratch_bytes)?);
        }
        self.clear_scratch(step, code, pieces);
        let look = look(step.work, extent);
        let shared = Shared { pointers: &self.pointers, scratch: &self.scratch, watch, look };
        let bound = |piece: usize| {
            let at = u128::from(extent) * piece as u128 / pieces as u128;
            u64::try_from(at).expect("a part of the extent")
        };
        let run = |piece| {
            let rounds = bound(piece)..bound(piece + 1);
            // SAFETY: as in `launch`; ranges of pieces are disjoint, and the loop is parallel, which is verified.
            unsafe { shared.run(code, piece, rounds) }
        };
        match pool {
            Some(pool) => pool.run(pieces, &run, watch),
            None => run(0),
        }
    }
}

/// How many rounds of a divided loop a piece runs between two looks at the watch: all of them in a launch that is short.
fn look(work: u64, extent: u64) -> u64 {
    if work <= LONG {
        return u64::MAX;
    }
    let rounds = (LOOK * 4 / (work / extent.max(1)).max(1)).max(1);
    // Whole vectors, whatever their lanes.
    if rounds >= 64 { rounds - rounds % 64 } else { rounds }
}

/// Code gets no indices that are out of their bounds, whether or not it loads them.
fn check_indices(step: &LaunchStep, memory: &Memory) -> Result<(), Error> {
    for (spot, bound) in &step.indices {
        let values = memory.read(spot).as_chunks::<8>().0;
        let is_inside = |value: &&[u8; 8]| u64::try_from(i64::from_ne_bytes(**value)).is_ok_and(|value| value < *bound);
        if let Some(value) = values.iter().find(|value| !is_inside(value)) {
            let message = format!("{} is not in 0..{bound}", i64::from_ne_bytes(*value));
            return Err(ErrorKind::Kernel(presk_kernel::ErrorKind::Value(message)).anywhere());
        }
    }
    Ok(())
}
