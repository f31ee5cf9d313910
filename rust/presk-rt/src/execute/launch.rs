//! Launching a kernel's code on the views of a step: pointers are laid out in place, nothing is allocated.

#![allow(unsafe_code, reason = "compiled code is called with pointers")]

use std::ops::Range;

use super::link::LaunchStep;
use crate::code::KernelCode;
use crate::error::{Error, ErrorKind};
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
}

// SAFETY: pieces read the pointers themselves; what they do with their targets is the contract of `KernelCode::run`.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    /// Runs one piece.
    ///
    /// # Safety
    /// As for [`KernelCode::run`] with this launch's pointers; no other piece has this number.
    unsafe fn run(&self, code: &dyn KernelCode, piece: usize, rounds: Range<u64>) -> Result<(), Error> {
        // SAFETY: the caller's promise; each piece has scratch of its own.
        unsafe { code.run(self.pointers, self.scratch[piece].start(), Some(rounds)) }
    }
}

impl Launcher {
    /// For launches of at most so many buffers.
    pub fn new(buffers: usize, scratch_bytes: usize) -> Result<Self, Error> {
        let scratch = vec![Block::new(scratch_bytes)?];
        Ok(Self { pointers: Vec::with_capacity(buffers), scratch, scratch_bytes })
    }

    /// Runs a step's code, divided where the step says so, the code can, and this call has the pool with workers that work.
    pub fn launch(
        &mut self,
        step: &LaunchStep,
        code: &dyn KernelCode,
        memory: &Memory,
        pool: Option<&mut Lease>,
    ) -> Result<(), Error> {
        if !code.checks_indices() {
            check_indices(step, memory)?;
        }
        self.pointers.clear();
        self.pointers.extend(step.spots.iter().map(|spot| memory.address(spot)));
        if let (Some((extent, workers)), Some(pool)) = (step.divided, pool)
            && code.divides()
            && !pool.is_starved()
        {
            let most = pool.threads().min(usize::try_from(extent).unwrap_or(usize::MAX));
            let pieces = workers.unwrap_or(most).min(most);
            if pieces > 1 {
                return self.divide(code, pool, pieces, extent);
            }
        }
        // SAFETY: the step is a verified schedule's and its views lie in buffers as `memory`'s invariant says: as many bytes
        // as the kernel declares, aligned, outputs apart from all else. Indices have been checked. Scratch is this call's.
        unsafe { code.run(&self.pointers, self.scratch[0].start(), None) }
    }

    fn divide(&mut self, code: &dyn KernelCode, pool: &mut Lease, pieces: usize, extent: u64) -> Result<(), Error> {
        while self.scratch.len() < pieces {
            self.scratch.push(Block::new(self.scratch_bytes)?);
        }
        let shared = Shared { pointers: &self.pointers, scratch: &self.scratch };
        let bound = |piece: usize| {
            let at = u128::from(extent) * piece as u128 / pieces as u128;
            u64::try_from(at).expect("a part of the extent")
        };
        pool.run(pieces, &|piece| {
            let rounds = bound(piece)..bound(piece + 1);
            // SAFETY: as in `launch`; ranges of pieces are disjoint, and the loop is parallel, which is verified.
            unsafe { shared.run(code, piece, rounds) }
        })
    }
}

/// Code that doesn't check its indices gets none that are out of their bounds.
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
