//! Machine code to be read: each instruction with its bytes, its words and the line of the kernel's text it comes from.

use cranelift_codegen::CompiledCode;
use presk_kernel::{Kernel, parse};
use yaxpeax_arch::{Decoder, LengthedInstruction, U8Reader};

use crate::error::Error;
use crate::jit::compile_function;
use crate::prepare::{Options, Prepared};
use crate::target::Target;

/// A kernel's machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The kernel's text, whose lines are counted.
    pub kernel: String,
    /// All bytes: instructions, then the constants they load. Addresses of functions they call are still 0.
    pub bytes: Vec<u8>,
    /// The instructions in their order.
    pub instructions: Vec<Instruction>,
    /// Cranelift's own text, in virtual instructions.
    pub text: String,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The first byte's position.
    pub start: usize,
    /// One past the last's.
    pub end: usize,
    /// The line of the kernel's text, from 1; 0 for what belongs to none (entering, leaving, spilling).
    pub line: u32,
    /// The instruction in words.
    pub text: String,
}

/// The machine code of a kernel, for any target.
///
/// # Errors
/// As for compiling it.
pub fn machine_code(kernel: &Kernel, options: Options, target: &Target) -> Result<Listing, Error> {
    let text = kernel.to_string();
    // Places are those of the printed text, whatever the kernel was made from; the lane rewrite keeps them.
    let prepared = Prepared::new(&parse(&text)?, options)?;
    let function = prepared.function(target, true)?;
    let (_, compiled) = compile_function(prepared.kernel(), function, target, true)?;
    let bytes = compiled.code_buffer().to_vec();
    let last = compiled.get_code_bb_layout().0.last().copied().unwrap_or(0);
    let decoded = if target.facts().is_x86 { decode_x86(&bytes, last) } else { decode_arm(&bytes, last) };
    let lines = Lines::new(&compiled);
    let instructions =
        decoded.into_iter().map(|(start, end, text)| Instruction { start, end, line: lines.at(start), text }).collect();
    Ok(Listing { kernel: text, bytes, instructions, text: compiled.vcode.unwrap_or_default() })
}

/// The bytes a run of the kernel would execute, compiled without lines.
///
/// # Errors
/// As for compiling it.
pub fn bytes(kernel: &Kernel, options: Options, target: &Target) -> Result<Vec<u8>, Error> {
    let prepared = Prepared::new(kernel, options)?;
    let function = prepared.function(target, false)?;
    let (_, compiled) = compile_function(prepared.kernel(), function, target, false)?;
    Ok(compiled.code_buffer().to_vec())
}

/// The kernel's CLIF, as generated.
///
/// # Errors
/// As for compiling it.
pub fn clif(kernel: &Kernel, options: Options, target: &Target) -> Result<String, Error> {
    Ok(Prepared::new(kernel, options)?.function(target, false)?.display().to_string())
}

/// The kernel's CLIF once Cranelift has simplified it and moved what can leave a loop.
///
/// # Errors
/// As for compiling it.
pub fn optimised_clif(kernel: &Kernel, options: Options, target: &Target) -> Result<String, Error> {
    let function = Prepared::new(kernel, options)?.function(target, false)?;
    let mut context = cranelift_codegen::Context::for_function(function);
    let outcome = context.optimize(target.isa(), &mut cranelift_codegen::control::ControlPlane::default());
    outcome.map_err(|error| Error::Internal { name: kernel.name.clone(), what: error.to_string() })?;
    Ok(context.func.display().to_string())
}

/// Lines by ranges of bytes.
struct Lines(Vec<(usize, usize, u32)>);

impl Lines {
    fn new(compiled: &CompiledCode) -> Self {
        let ranges = compiled.buffer.get_srclocs_sorted().iter().filter(|each| !each.loc.is_default());
        Self(ranges.map(|each| (each.start as usize, each.end as usize, each.loc.bits())).collect())
    }

    fn at(&self, position: usize) -> u32 {
        let found = self.0.iter().find(|(start, end, _)| (*start..*end).contains(&position));
        found.map_or(0, |&(_, _, line)| line)
    }
}

/// Instructions up to the one that leaves the last block, which begins at `last`; constants follow.
fn decode_x86(bytes: &[u8], last: usize) -> Vec<(usize, usize, String)> {
    let decoder = yaxpeax_x86::amd64::InstDecoder::default();
    let (mut all, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let Ok(instruction) = decoder.decode_slice(&bytes[at..]) else { break };
        let end = at + usize::try_from(instruction.len().to_const()).unwrap_or(1);
        let text = instruction.to_string();
        let leaves = text.starts_with("ret") || text.starts_with("jmp");
        all.push((at, end, text));
        if at >= last && leaves {
            break;
        }
        at = end;
    }
    all
}

fn decode_arm(bytes: &[u8], last: usize) -> Vec<(usize, usize, String)> {
    let decoder = yaxpeax_arm::armv8::a64::InstDecoder::default();
    let mut all = Vec::new();
    for (number, word) in bytes.chunks_exact(4).enumerate() {
        let text = decoder.decode(&mut U8Reader::new(word)).map_or_else(
            |_| format!(".word 0x{:02x}{:02x}{:02x}{:02x}", word[3], word[2], word[1], word[0]),
            |each| each.to_string(),
        );
        let leaves = text.starts_with("ret") || text.starts_with("b ");
        all.push((number * 4, number * 4 + 4, text));
        if number * 4 >= last && leaves {
            break;
        }
    }
    all
}
