//! Running schedules on plain vectors, for the tests of this crate.

#![allow(unsafe_code, reason = "a call takes pointers; these are of vectors that live as long as it")]
#![allow(dead_code, reason = "each test file uses its part")]

use presk_rt::code::Compiler;
use presk_rt::error::Error;
use presk_rt::execute::{Executable, Leaf, Settings};
use presk_rt::interpret::Interpreter;
use presk_rt::memory::Block;
use presk_rt::schedule::read;

/// A schedule over the interpreter, with the map of written elements.
pub fn executable(text: &str) -> Result<Executable, Error> {
    over(text, &Interpreter { shadow: true })
}

/// A schedule over whatever compiles its kernels.
pub fn over(text: &str, compiler: &dyn Compiler) -> Result<Executable, Error> {
    Executable::new(&read(text)?, compiler, true)
}

/// Aligned memory with these bytes.
fn block(bytes: &[u8], leaf: &Leaf) -> Block {
    assert_eq!(bytes.len(), leaf.bytes, "{}", leaf.path);
    let mut block = Block::new(leaf.bytes).expect("tests are small");
    block.bytes()[..leaf.bytes].copy_from_slice(bytes);
    block
}

/// One call on bytes; the outputs' bytes.
pub fn call(executable: &Executable, inputs: &[Vec<u8>], settings: Settings) -> Result<Vec<Vec<u8>>, Error> {
    let mut inputs: Vec<Block> =
        inputs.iter().zip(executable.inputs()).map(|(bytes, leaf)| block(bytes, leaf)).collect();
    let mut own: Vec<Block> =
        executable.outputs().iter().map(|leaf| Block::new(leaf.bytes).expect("tests are small")).collect();
    let given: Vec<*mut u8> = inputs.iter().map(Block::start).collect();
    let written: Vec<*mut u8> = executable
        .outputs()
        .iter()
        .zip(&own)
        .map(|(leaf, own)| leaf.shares.map_or(own.start(), |input| given[input]))
        .collect();
    // SAFETY: each block has as many bytes as its leaf, zero or given, aligned to 64, and is this call's alone.
    unsafe { executable.call(&given, &written, settings, None, None)? };
    Ok(executable
        .outputs()
        .iter()
        .zip(&mut own)
        .map(|(leaf, own)| {
            let block = leaf.shares.map_or(own, |input| &mut inputs[input]);
            block.bytes()[..leaf.bytes].to_vec()
        })
        .collect())
}

pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

pub fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

pub fn as_f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&value| f32::from_ne_bytes(value)).collect()
}

pub fn as_f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|&value| f64::from_ne_bytes(value)).collect()
}

pub fn as_i64s(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().map(|&value| i64::from_ne_bytes(value)).collect()
}

pub fn one_thread() -> Settings {
    Settings { threads: 1, ..Settings::default() }
}
