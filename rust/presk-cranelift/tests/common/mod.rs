//! Running a kernel twice, by the interpreter and as machine code, on the same bytes.

#![allow(dead_code, reason = "every test takes what it needs of these")]

use std::path::PathBuf;

use presk_cranelift::{Code, Options, Target, compile};
use presk_kernel::ir::{Element, Kernel};
use presk_kernel::{Program, parse, verify};
use presk_rt::code::KernelCode;
use presk_rt::interrupt::Watch;

/// SplitMix64: inputs are a function of a seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Mostly ordinary numbers; now and then zeros of both signs, infinities, NaNs, subnormals.
    pub fn real(&mut self) -> f64 {
        match self.below(24) {
            0 => 0.0,
            1 => -0.0,
            2 => f64::INFINITY,
            3 => f64::NEG_INFINITY,
            4 => f64::NAN,
            5 => 1e-40,
            6 => -3.0,
            7 => 0.5,
            _ => (self.next() >> 11) as f64 / (1u64 << 51) as f64 - 2.0,
        }
    }
}

/// Bytes of that many elements.
pub fn random_bytes(element: Element, count: u64, bytes: u64, random: &mut Random) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..count {
        match element {
            Element::F64 => all.extend(random.real().to_ne_bytes()),
            Element::F32 => all.extend((random.real() as f32).to_ne_bytes()),
            Element::Bf16 => all.extend((((random.real() as f32).to_bits() >> 16) as u16).to_ne_bytes()),
            Element::I64 => all.extend((random.next() as i64 >> random.below(64)).to_ne_bytes()),
            Element::Index(bound) => all.extend(random.below(bound).to_ne_bytes()),
            Element::Bool | Element::Int8(_) => all.push(random.next() as u8),
            Element::Int4(_) => {}
        }
    }
    if matches!(element, Element::Int4(_)) {
        all.extend((0..bytes).map(|_| random.next() as u8));
    }
    all
}

/// Inputs, a quantised one's scales after it and an empty one where an output shares it, and outputs as they are at first.
pub struct Arguments {
    pub inputs: Vec<Vec<u8>>,
    pub outputs: Vec<Vec<u8>>,
}

pub fn random_arguments(kernel: &Kernel, seed: u64) -> Arguments {
    let mut random = Random(seed);
    let mut inputs = Vec::new();
    for (number, buffer) in kernel.inputs.iter().enumerate() {
        let shared = kernel.outputs.iter().any(|output| output.shares == u32::try_from(number).ok());
        let (count, bytes) = (buffer.elements().unwrap(), buffer.bytes().unwrap());
        inputs.push(if shared { Vec::new() } else { random_bytes(buffer.element, count, bytes, &mut random) });
        if let Some((count, _)) = buffer.scales() {
            inputs.push(random_bytes(Element::F32, count, 0, &mut random));
        }
    }
    let outputs = kernel.outputs.iter().map(|output| {
        let (count, bytes) = (output.buffer.elements().unwrap(), output.buffer.bytes().unwrap());
        random_bytes(output.buffer.element, count, bytes, &mut random)
    });
    Arguments { outputs: outputs.collect(), inputs }
}

/// The outputs the interpreter writes; none where it finds a value out of its bound.
pub fn interpret(kernel: &Kernel, arguments: &Arguments) -> Option<Vec<Vec<u8>>> {
    let mut outputs = arguments.outputs.clone();
    let inputs: Vec<&[u8]> = arguments.inputs.iter().map(Vec::as_slice).collect();
    let mut written: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    Program::compile(kernel).unwrap().run(&inputs, &mut written, presk_kernel::Options::default()).ok()?;
    Some(outputs)
}

/// The outputs the code writes, run over each of the ranges in turn.
pub fn execute(
    kernel: &Kernel,
    code: &Code,
    arguments: &Arguments,
    ranges: &[Option<std::ops::Range<u64>>],
) -> Vec<Vec<u8>> {
    let mut inputs = arguments.inputs.clone();
    let mut outputs = arguments.outputs.clone();
    let mut pointers = Vec::new();
    let mut slot = 0;
    for (number, buffer) in kernel.inputs.iter().enumerate() {
        let output = kernel.outputs.iter().position(|output| output.shares == u32::try_from(number).ok());
        pointers.push(match output {
            Some(output) => outputs[output].as_mut_ptr(),
            None => inputs[slot].as_mut_ptr(),
        });
        slot += 1;
        if buffer.scales().is_some() {
            pointers.push(inputs[slot].as_mut_ptr());
            slot += 1;
        }
    }
    pointers.extend(outputs.iter_mut().map(|bytes| bytes.as_mut_ptr()));
    // Scratch holds NaNs at first: what is read before it is written shows.
    let mut scratch = vec![0xffu8; code.scratch_bytes() + 64];
    let start = scratch.as_mut_ptr().wrapping_add(scratch.as_ptr().align_offset(64));
    for range in ranges {
        // SAFETY: the pointers are those of buffers of the kernel's own sizes, in its order; they live here.
        unsafe { code.run(&pointers, start, range.clone(), &Watch::new(None)) }.unwrap();
    }
    outputs
}

/// NaNs made one, so that bytes compare.
pub fn canonical(bytes: &[u8], element: Element) -> Vec<u8> {
    match element {
        Element::F64 => bytes
            .chunks(8)
            .map(|each| f64::from_ne_bytes(each.try_into().unwrap()))
            .flat_map(|each| if each.is_nan() { f64::NAN } else { each }.to_ne_bytes())
            .collect(),
        Element::F32 => bytes
            .chunks(4)
            .map(|each| f32::from_ne_bytes(each.try_into().unwrap()))
            .flat_map(|each| if each.is_nan() { f32::NAN } else { each }.to_ne_bytes())
            .collect(),
        Element::Bf16 => bytes
            .chunks(2)
            .map(|each| u16::from_ne_bytes(each.try_into().unwrap()))
            .flat_map(|each| if each & 0x7fff > 0x7f80 { 0x7fc0 } else { each }.to_ne_bytes())
            .collect(),
        _ => bytes.to_vec(),
    }
}

pub fn assert_same(kernel: &Kernel, wanted: &[Vec<u8>], found: &[Vec<u8>], what: &str) {
    for (number, output) in kernel.outputs.iter().enumerate() {
        let element = output.buffer.element;
        let (wanted, found) = (canonical(&wanted[number], element), canonical(&found[number], element));
        if let Some(at) = wanted.iter().zip(&found).position(|(a, b)| a != b) {
            panic!("{what}: output {number} differs at byte {at}\n{kernel}");
        }
    }
}

/// Every instruction set that runs here.
pub fn targets() -> Vec<Target> {
    let names = ["host", "baseline", "sse2", "sse4.2", "avx", "avx2", "avx512"];
    names.iter().filter_map(|name| Target::named(name).ok()).filter(Target::runs_here).collect()
}

/// Checks machine code against the interpreter on one kernel and seed, with lanes and without, on a target.
pub fn check(kernel: &Kernel, seed: u64, target: &Target, what: &str) {
    let arguments = random_arguments(kernel, seed);
    let Some(wanted) = interpret(kernel, &arguments) else { return };
    for lanes in [true, false] {
        let code = compile(kernel, Options { depth: None, lanes }, target)
            .unwrap_or_else(|error| panic!("{what}: {error}\n{kernel}"));
        let found = execute(kernel, &code, &arguments, &[None]);
        assert_same(kernel, &wanted, &found, &format!("{what}, {}, lanes {lanes}, seed {seed}", target.name()));
    }
}

/// The valid kernels of tests/kernel, with their file's name.
pub fn kernels() -> Vec<(String, Kernel)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernel");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "kir"));
    paths.sort();
    let read = |path: &PathBuf| {
        let file = std::fs::read_to_string(path).unwrap();
        let text = file.split("\n== ").next().unwrap().trim().to_owned() + "\n";
        let kernel = parse(&text).ok().filter(|kernel| verify(kernel).is_ok())?;
        // Kernels that read what was never written have no bits to compare.
        let is_defined = !file.contains("== error");
        is_defined.then(|| (path.file_name().unwrap().to_string_lossy().into_owned(), kernel))
    };
    paths.iter().filter_map(read).collect()
}
