//! The seam between the executor of schedules and whatever computes a kernel: the interpreter, or generated code.
//!
//! A [`Compiler`] is given all kernels of a schedule at once, so that it may compile them side by side; each becomes a
//! [`KernelCode`], which the executor calls with pointers it has proven to lie in their buffers.

use std::ops::Range;
use std::sync::Arc;

use presk_kernel::Kernel;

use crate::error::Error;
use crate::interrupt::Watch;

/// One kernel to be compiled, verified before.
#[derive(Clone, Copy, Debug)]
pub struct Job<'k> {
    /// The kernel.
    pub kernel: &'k Kernel,
    /// The loop, by its depth in the perfect nest, that a run may be asked to execute a range of. It is parallel in the
    /// sense of [`presk_kernel::parallel::is_parallel`].
    pub depth: Option<usize>,
}

/// What makes code of kernels.
pub trait Compiler {
    /// The code of each job, in their order.
    ///
    /// # Errors
    /// Where a kernel can't be compiled: too large, or of a form this compiler doesn't have.
    fn compile(&self, jobs: &[Job<'_>]) -> Result<Vec<Arc<dyn KernelCode>>, Error>;
}

/// A compiled kernel. It holds no state of a run: any number of threads may run it at once.
pub trait KernelCode: Send + Sync {
    /// Bytes of scratch a run needs for itself, aligned to 64.
    fn scratch_bytes(&self) -> usize {
        0
    }

    /// Whether a run may be given a range of the loop it was compiled for. Code that says no is always run whole.
    fn divides(&self) -> bool {
        false
    }

    /// Runs the kernel once, in the floating-point mode of the calling thread, which is the standard one.
    ///
    /// `buffers` are the first bytes of the kernel's inputs in order, a quantised one being followed by its f32 scales,
    /// then of its outputs. An input whose buffer an output shares has that output's pointer. `rounds` is the range of
    /// the loop at the job's depth that this run executes, with the loops around it in full; none means all of it, and
    /// is all that is given to code that doesn't divide. Who runs for long asks `watch` whether to go on.
    ///
    /// # Errors
    /// What was found at run time, and [`crate::error::ErrorKind::Interrupted`]; outputs may be partly written then.
    ///
    /// # Safety
    /// For the whole run: each pointer is that of as many bytes as the kernel declares for its buffer, aligned to the
    /// buffer's element; nobody else writes to an input but callers of the whole schedule, who may spoil floats and
    /// nothing else; nobody else reads or writes an output, but for runs of other, disjoint ranges of the same job;
    /// no output overlaps another buffer, except as sharing says; elements of `i64<V` inputs are 0 … V − 1.
    /// `scratch` is that of [`Self::scratch_bytes`] bytes which this run alone uses. What
    /// [`presk_kernel::written::unwritten`] says may be read unwritten, of scratch or of outputs, is zero at first.
    #[allow(unsafe_code, reason = "the contract of compiled code can't be expressed in types")]
    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        scratch: *mut u8,
        rounds: Option<Range<u64>>,
        watch: &Watch<'_>,
    ) -> Result<(), Error>;
}
