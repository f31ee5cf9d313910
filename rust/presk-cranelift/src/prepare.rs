//! What is done to a kernel before code is generated: proofs, the lane rewrite, and the loop a launch divides.

use cranelift_codegen::ir::Function;
use presk_kernel::ir::Kernel;
use presk_kernel::{lanes, parallel, verify, walk};

use crate::error::Error;
use crate::generator::{Request, generate};
use crate::target::Target;

/// Nodes of a kernel's statements and values. Cranelift's time grows faster than its input: this many take seconds.
pub const MOST_NODES: usize = 1 << 15;

/// Instructions handed to Cranelift, unrolled copies included.
const MOST_INSTRUCTIONS: usize = 1 << 18;

/// How a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The loop, by its depth in the perfect nest, of which a run may be given a range.
    pub depth: Option<usize>,
    /// Whether loops are rewritten to vectors where they can be.
    pub lanes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { depth: None, lanes: true }
    }
}

/// A kernel ready for the code generator.
pub(crate) struct Prepared {
    kernel: Kernel,
    /// The kernel with the divided loop in lanes too, where it can be.
    in_lanes: Option<Kernel>,
    depth: Option<usize>,
    lanes: bool,
}

impl Prepared {
    pub fn new(kernel: &Kernel, options: Options) -> Result<Self, Error> {
        verify(kernel)?;
        let mut nodes = 0;
        walk::statements(&kernel.body, &mut |statement| {
            nodes += 1;
            statement.kind.values(&mut |value| value.visit(&mut |_| nodes += 1));
        });
        if nodes > MOST_NODES {
            return Err(too_large(kernel, format!("{nodes} nodes, and {MOST_NODES} are the limit")));
        }
        if let Some(depth) = options.depth.filter(|&depth| !parallel::is_parallel(kernel, depth)) {
            return Err(Error::Depth { name: kernel.name.clone(), depth });
        }
        if !options.lanes {
            return Ok(Self { kernel: kernel.clone(), in_lanes: None, depth: options.depth, lanes: false });
        }
        let rewritten = lanes::rewrite(kernel, options.depth);
        let in_lanes = options.depth.and_then(|depth| lanes::rewrite_divided(kernel, depth));
        Ok(Self { kernel: rewritten, in_lanes, depth: options.depth, lanes: true })
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Rounds of the divided loop.
    pub fn rounds(&self) -> Option<u64> {
        self.depth.and_then(|depth| extent(&self.kernel, depth))
    }

    /// The kernel's CLIF.
    pub fn function(&self, target: &Target, has_lines: bool) -> Result<Function, Error> {
        let loop_of = |kernel| self.depth.map(|depth| parallel::perfect_nest(kernel)[depth]);
        let request = Request {
            kernel: &self.kernel,
            divided: loop_of(&self.kernel),
            divided_in_lanes: self.in_lanes.as_ref().and_then(loop_of),
            has_lines,
            calls_rows: self.lanes,
        };
        let function = generate(request, target);
        let instructions = function.dfg.num_insts();
        if instructions > MOST_INSTRUCTIONS {
            let what = format!("{instructions} instructions, and {MOST_INSTRUCTIONS} are the limit");
            return Err(too_large(&self.kernel, what));
        }
        Ok(function)
    }
}

pub(crate) fn too_large(kernel: &Kernel, what: String) -> Error {
    Error::TooLarge { name: kernel.name.clone(), what }
}

fn extent(kernel: &Kernel, depth: usize) -> Option<u64> {
    parallel::perfect_nest(kernel).get(depth).map(|each| each.extent)
}
