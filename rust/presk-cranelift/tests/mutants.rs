//! Hostile text, run: mutants of schedules (tests/schedule) that the verifier takes compute the same bits, or end in the same
//! error, in the interpreter and in machine code, on one thread and on several, in memory that others have written before,
//! and leave the bytes around their arrays alone.
//!
//! `cargo test` runs a sample; PRESK_MUTANTS=100000 (in `make fuzz`) a third of that number. Mutants are a function of their
//! number alone, so a failure names what to run again: PRESK_MUTANT=1234 runs that one.

#![allow(unsafe_code, reason = "a call takes pointers; these are of vectors that live as long as it")]

use presk_cranelift::{Native, Target};
use presk_kernel::ir::Element;
use presk_rt::code::Compiler;
use presk_rt::error::Error;
use presk_rt::execute::{Executable, Leaf, Settings};
use presk_rt::interpret::Interpreter;
use presk_rt::memory::Block;
use presk_rt::schedule::{Schedule, Step, StepKind, read};
use presk_rt::verify::verify;
use presk_rt::work::all_operations;

/// SplitMix64: enough for choosing what to break.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("below a usize")
    }
}

/// The schedules of tests/schedule.
fn seeds() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/schedule");
    let entries = std::fs::read_dir(folder).expect("the folder of schedules");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.into_iter().map(|path| std::fs::read_to_string(path).expect("a file")).collect()
}

/// Words and single characters of a text, with the spaces between.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for letter in text.chars() {
        let is_word = letter.is_ascii_alphanumeric() || letter == '_' || letter == '%';
        match tokens.last_mut() {
            Some(last) if is_word && in_word => last.push(letter),
            _ => tokens.push(letter.to_string()),
        }
        in_word = is_word;
    }
    tokens
}

/// What a word can be replaced by: its letter, or that it is a number or a type.
fn kind(token: &str) -> Option<&str> {
    let types = ["f64", "f32", "bf16", "i64", "bool"];
    if types.contains(&token) {
        return Some("type");
    }
    let first = token.find(|letter: char| letter.is_ascii_digit())?;
    token[first..].bytes().all(|byte| byte.is_ascii_digit()).then_some(&token[..first])
}

/// Breaks a few places: numbers, names and types mostly, as most others leave nothing to run; and whole lines.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        if random.below(6) == 0 {
            let mut lines: Vec<&str> = text.lines().collect();
            let (at, to) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(3) {
                0 => drop(lines.remove(at)),
                1 => lines.swap(at, to),
                _ => lines.insert(to, lines[at]),
            }
            text = lines.join("\n") + "\n";
            continue;
        }
        let mut tokens = tokens(&text);
        let places: Vec<usize> = (0..tokens.len()).filter(|&at| kind(&tokens[at]).is_some()).collect();
        let at = places[random.below(places.len())];
        let own = kind(&tokens[at]).expect("chosen for it").to_owned();
        let others: Vec<&String> = tokens.iter().filter(|token| kind(token) == Some(&own)).collect();
        tokens[at] = match own.as_str() {
            "" if random.below(2) == 0 => {
                let number: u64 = tokens[at].parse().unwrap_or(0);
                [number.saturating_add(1), number.saturating_sub(1), 0, 1, number.saturating_mul(2)][random.below(5)]
                    .to_string()
            }
            "type" if random.below(2) == 0 => {
                ["f64", "f32", "bf16", "i64", "i64<3", "bool"][random.below(6)].to_owned()
            }
            _ => others[random.below(others.len())].clone(),
        };
        text = tokens.concat();
    }
    text
}

/// Weighted operations of one call, and bytes of what it holds: whether it can be run by the thousand.
fn is_small(schedule: &Schedule) -> bool {
    fn work(steps: &[Step], kernels: &[u64]) -> u64 {
        steps.iter().fold(0, |sum: u64, step| {
            sum.saturating_add(match &step.kind {
                StepKind::Loop(each) => each.trips.saturating_mul(work(&each.steps, kernels).saturating_add(1)),
                StepKind::Launch(launch) => kernels[launch.kernel as usize],
                StepKind::Convert(each) | StepKind::Copy(each) => each.count,
                StepKind::Draw { shape, .. } | StepKind::Mask { shape, .. } => shape.sizes.iter().product(),
                StepKind::Sample(sample) => sample.shape.sizes.iter().product::<u64>().saturating_mul(sample.size),
                StepKind::Count { .. } | StepKind::Swap(..) => 1,
            })
        })
    }
    let kernels: Vec<u64> = schedule.kernels.iter().map(all_operations).collect();
    let sizes = schedule.inputs.iter().map(|each| &each.sizes).chain(schedule.outputs.iter().map(|each| &each.sizes));
    let elements = |sizes: &Vec<u64>| sizes.iter().fold(1, |a: u64, &b| a.saturating_mul(b));
    let scratch = schedule.kernels.iter().flat_map(|kernel| &kernel.scratch).filter_map(|each| each.bytes());
    work(&schedule.steps, &kernels) < 1 << 18
        && schedule.arena < 1 << 16
        && schedule.regions.iter().map(|each| each.count).fold(0, u64::saturating_add) < 1 << 16
        && sizes.map(elements).fold(0, u64::saturating_add) < 1 << 16
        && scratch.fold(0, u64::saturating_add) < 1 << 16
}

/// Bytes around an array, which nobody may write.
const AROUND: usize = 4096;

/// An array among bytes that are watched.
struct Watched {
    block: Block,
    bytes: usize,
}

impl Watched {
    fn new(bytes: &[u8]) -> Self {
        let mut block = Block::new(bytes.len() + 2 * AROUND).expect("tests are small");
        block.bytes().fill(0xa5);
        block.bytes()[AROUND..][..bytes.len()].copy_from_slice(bytes);
        Self { block, bytes: bytes.len() }
    }

    fn start(&self) -> *mut u8 {
        self.block.start().wrapping_add(AROUND)
    }

    fn read(&mut self) -> Vec<u8> {
        let bytes = self.bytes;
        let all = self.block.bytes();
        assert!(all[..AROUND].iter().chain(&all[AROUND + bytes..]).all(|&byte| byte == 0xa5), "bytes around an array");
        all[AROUND..][..bytes].to_vec()
    }
}

/// An argument that the leaf allows.
fn argument(leaf: &Leaf, random: &mut Random) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..leaf.bytes).map(|_| u8::try_from(random.below(256)).expect("a byte")).collect();
    let fill = |bytes: &mut [u8], width: usize, random: &mut Random, make: &dyn Fn(&mut Random) -> Vec<u8>| {
        bytes.chunks_exact_mut(width).for_each(|element| element.copy_from_slice(&make(random)));
    };
    let real = |random: &mut Random| match random.below(40) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -0.0,
        _ => (random.below(4001) as f64 - 2000.0) / 512.0,
    };
    match leaf.element {
        Element::F64 => fill(&mut bytes, 8, random, &|random| real(random).to_ne_bytes().to_vec()),
        Element::F32 => fill(&mut bytes, 4, random, &|random| (real(random) as f32).to_ne_bytes().to_vec()),
        Element::Bf16 => fill(&mut bytes, 2, random, &|random| {
            ((((real(random) as f32).to_bits()) >> 16) as u16).to_ne_bytes().to_vec()
        }),
        Element::I64 => fill(&mut bytes, 8, random, &|random| (random.below(9) as i64 - 2).to_ne_bytes().to_vec()),
        Element::Index(bound) => fill(&mut bytes, 8, random, &|random| (random.next() % bound).to_ne_bytes().to_vec()),
        Element::Bool => fill(&mut bytes, 1, random, &|random| vec![[0, 1, 1, 0, 128, 2][random.below(6)]]),
        Element::Int8(_) | Element::Int4(_) => {}
    }
    bytes
}

/// The bytes of a result, all NaNs made one: their payloads are no part of the bits.
fn canonical(leaf: &Leaf, mut bytes: Vec<u8>) -> Vec<u8> {
    match leaf.element {
        Element::F64 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|each| {
            if f64::from_ne_bytes(*each).is_nan() {
                *each = f64::NAN.to_ne_bytes();
            }
        }),
        Element::F32 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|each| {
            if f32::from_ne_bytes(*each).is_nan() {
                *each = f32::NAN.to_ne_bytes();
            }
        }),
        Element::Bf16 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|each| {
            if f32::from_bits(u32::from(u16::from_ne_bytes(*each)) << 16).is_nan() {
                *each = 0x7fc0u16.to_ne_bytes();
            }
        }),
        _ => {}
    }
    bytes
}

/// Calls in a row, the second in memory that the first has written: the results of each, or the code of its error.
fn outcomes(executable: &Executable, arguments: &[Vec<u8>], threads: usize) -> Vec<Result<Vec<Vec<u8>>, &'static str>> {
    let call = || {
        let mut inputs: Vec<Watched> = arguments.iter().map(|bytes| Watched::new(bytes)).collect();
        let mut own: Vec<Watched> =
            executable.outputs().iter().map(|leaf| Watched::new(&vec![0; leaf.bytes])).collect();
        let given: Vec<*mut u8> = inputs.iter().map(Watched::start).collect();
        let start = |(leaf, own): (&Leaf, &Watched)| leaf.shares.map_or(own.start(), |input| given[input]);
        let written: Vec<*mut u8> = executable.outputs().iter().zip(&own).map(start).collect();
        let settings = Settings { threads, seed: 7, ..Settings::default() };
        // SAFETY: each array has as many bytes as its leaf, aligned to 64, indices below their bounds, and is this call's.
        let done = unsafe { executable.call(&given, &written, settings, None, None) };
        let read: Vec<Vec<u8>> = inputs.iter_mut().map(Watched::read).collect();
        let own: Vec<Vec<u8>> = own.iter_mut().map(Watched::read).collect();
        done.map_err(|error: Error| error.kind.code())?;
        let result = |(leaf, own): (&Leaf, Vec<u8>)| canonical(leaf, leaf.shares.map_or(own, |at| read[at].clone()));
        Ok(executable.outputs().iter().zip(own).map(result).collect())
    };
    (0..2).map(|_| call()).collect()
}

/// Whether a mutant ran; it panics where executors differ.
fn check(number: u64, seeds: &[String]) -> (bool, bool) {
    let mut random = Random(number);
    let text = mutate(&seeds[random.below(seeds.len())], &mut random);
    let Ok(schedule) = read(&text) else { return (false, false) };
    let Ok(verified) = verify(&schedule) else { return (false, false) };
    if !is_small(&schedule) {
        return (true, false);
    }
    let make = |compiler: &dyn Compiler| Executable::new(&schedule, compiler, true);
    let native = Native::new(Target::host().expect("code is made for this machine"), true);
    let (yardstick, native) = match (make(&Interpreter::default()), make(&native)) {
        (Ok(yardstick), Ok(native)) => (yardstick, native),
        // A kernel larger than the code generator takes.
        (Ok(_), Err(error)) if error.kind.code() == "E9218" => return (true, false),
        (Err(one), Err(other)) => {
            assert_eq!(one.kind.code(), other.kind.code(), "mutant {number}:\n{text}");
            return (true, false);
        }
        (one, other) => panic!("mutant {number}: {:?} {:?}\n{text}", one.err(), other.err()),
    };
    let arguments: Vec<Vec<u8>> = yardstick.inputs().iter().map(|leaf| argument(leaf, &mut random)).collect();
    let expected = outcomes(&yardstick, &arguments, 1);
    assert_eq!(expected[0], expected[1], "mutant {number}: a second call differs\n{text}");
    for threads in [1, 3] {
        let found = outcomes(&native, &arguments, threads);
        let apart = verified.writes_before_it_reads;
        assert!(found == expected, "mutant {number}, {threads} threads ({apart}):\n{text}\n{expected:?}\n{found:?}");
    }
    (true, true)
}

#[test]
fn mutants_compute_the_same_bits_everywhere() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = seeds();
    if let Some(one) = number("PRESK_MUTANT") {
        check(one, &seeds);
        return;
    }
    let count = number("PRESK_MUTANTS").map_or(600, |count| count / 3);
    let (mut verified, mut ran) = (0, 0);
    for number in 0..count {
        let (is_verified, has_run) = check(number, &seeds);
        verified += u64::from(is_verified);
        ran += u64::from(has_run);
    }
    println!("{verified} verified, {ran} ran of {count}");
    assert!(ran * 10 > count, "mutants reach past the verifier: {verified} and {ran} of {count}");
}
