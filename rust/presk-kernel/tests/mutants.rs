//! Hostile text: mutants of valid kernels end in a kernel or an error, and a kernel that passes the verifier never
//! leaves its buffers, prints back as it was read, and computes in lanes what it computes without.
//!
//! `cargo test` runs a sample; PRESK_MUTANTS=100000 (in `make fuzz`) the full number. Mutants are a function of their
//! number alone, so a failure names what to run again.

use presk_kernel::ir::{Kernel, StatementKind};
use presk_kernel::{Error, ErrorKind, Options, Program, lanes, parallel, parse, walk};

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

const WORDS: [&str; 55] = [
    "kernel",
    "in",
    "for",
    "if",
    "%0",
    "%1",
    "%2",
    "t0",
    "i0",
    "i1",
    "n0",
    "s0",
    "b0",
    "v0",
    "m0",
    "f32",
    "f64",
    "bf16",
    "i64",
    "i64<3",
    "bool",
    "int8/0",
    "int4/0..2",
    "->",
    "<v>",
    "<v=",
    "=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "..",
    "//",
    "%",
    "0",
    "4",
    "-1",
    "18446744073709551615",
    "9223372036854775807",
    "1e400",
    "nan",
    "splat",
    "ramp",
    "select",
    "max",
    "not",
    "tile",
    "+=",
    "<8>",
    "fma",
    "i2",
];

/// The kernel texts of tests/kernel.
fn seeds() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernel");
    let paths =
        std::fs::read_dir(folder).expect("the folder of kernel files").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|extension| extension == "kir")).collect();
    files.sort();
    let head =
        |path| std::fs::read_to_string(path).expect("a file").split("\n== ").next().unwrap_or_default().to_owned();
    files.into_iter().map(head).collect()
}

fn mutate(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => drop(bytes.remove(at)),
            1 => bytes[at] = u8::try_from(random.below(256)).expect("a byte"),
            2 => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
            3 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + random.below(60)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                drop(bytes.splice(to..to, piece));
            }
            _ => replace_word(&mut bytes, at, random),
        }
        if bytes.is_empty() {
            bytes.push(b'k');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Replaces the word around a place by another: what most often leaves a text readable.
fn replace_word(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'%';
    let start = bytes[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |place| place + 1);
    let end = bytes[at..].iter().position(|byte| !is_word(byte)).map_or(bytes.len(), |place| at + place);
    drop(bytes.splice(start..end.max(start), WORDS[random.below(WORDS.len())].bytes()));
}

/// Whether a kernel is small enough to be run by the thousand.
fn is_small(kernel: &Kernel) -> bool {
    let outputs = kernel.outputs.iter().map(|output| &output.buffer);
    let buffers = kernel.inputs.iter().chain(outputs).chain(&kernel.scratch);
    let mut rounds = 1u64;
    walk::statements(&kernel.body, &mut |statement| {
        if let StatementKind::For(each) = &statement.kind {
            rounds = rounds.saturating_mul(each.extent.max(1));
        }
    });
    rounds < 1 << 16 && buffers.into_iter().all(|buffer| buffer.bytes().is_some_and(|bytes| bytes < 1 << 16))
}

fn run(kernel: &Kernel, fill: u8) -> Result<Vec<Vec<u8>>, Error> {
    let program = Program::compile(kernel)?;
    let mut inputs: Vec<Vec<u8>> = Vec::new();
    let size = |bytes: Option<u64>| usize::try_from(bytes.expect("bounded")).expect("small");
    for (number, input) in (0u32..).zip(&kernel.inputs) {
        let is_shared = kernel.outputs.iter().any(|output| output.shares == Some(number));
        inputs.push(vec![fill; if is_shared { 0 } else { size(input.bytes()) }]);
        if let Some((scales, _)) = input.scales() {
            inputs.push([0x3f, 0x80, fill, fill].repeat(size(Some(scales))));
        }
    }
    let mut outputs: Vec<Vec<u8>> =
        kernel.outputs.iter().map(|output| vec![fill; size(output.buffer.bytes())]).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    program.run(&inputs, &mut outputs.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>(), Options::default())?;
    Ok(outputs)
}

/// What must hold of a verified kernel.
fn check(kernel: &Kernel, number: u64) {
    let text = kernel.to_string();
    assert_eq!(parse(&text).as_ref(), Ok(kernel), "mutant {number}:\n{text}");
    let in_lanes = lanes::rewrite(kernel, None);
    presk_kernel::verify(&in_lanes).unwrap_or_else(|error| panic!("mutant {number}: {error}\n{text}"));
    let _ = parallel::outermost_parallel(kernel);
    if !is_small(kernel) {
        return;
    }
    match (run(kernel, 0), run(&in_lanes, 0)) {
        (Ok(before), Ok(after)) => assert_eq!(before, after, "mutant {number}:\n{text}\n{in_lanes}"),
        (Err(Error { kind: ErrorKind::Value(_), .. }), Err(_)) => {}
        (before, after) => panic!("mutant {number}: {before:?} {after:?}\n{text}"),
    }
    match run(kernel, 0x3f) {
        Ok(_) | Err(Error { kind: ErrorKind::Value(_), .. }) => {}
        Err(error) => panic!("mutant {number}: {error}\n{text}"),
    }
}

#[test]
fn mutants_end_in_kernels_or_errors() {
    let count = std::env::var("PRESK_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(4000);
    let seeds = seeds();
    let mut verified = 0;
    for number in 0..count {
        let mut random = Random(number);
        let text = mutate(&seeds[random.below(seeds.len())], &mut random);
        let Ok(kernel) = parse(&text) else { continue };
        if presk_kernel::verify(&kernel).is_ok() {
            verified += 1;
            check(&kernel, number);
        }
    }
    assert!(verified * 50 > count, "mutants reach past the verifier: {verified} of {count}");
}

#[test]
fn nesting_ends_in_an_error() {
    for (open, close) in [("(", ")"), ("(-", ")"), ("%0[", "]"), ("exp(", ")"), ("(not ", ")")] {
        let text =
            format!("kernel deep () -> %0 : f32[1] {{\n %0[0] = {}{}", open.repeat(100_000), close.repeat(100_000));
        assert!(matches!(parse(&text), Err(Error { kind: ErrorKind::Limit { .. }, .. })));
    }
    for open in ["for i0 in 0..1 {", "if true {"] {
        let text = format!("kernel deep () -> %0 : f32[1] {{ {}", open.repeat(100_000));
        assert!(matches!(parse(&text), Err(Error { kind: ErrorKind::Limit { .. }, .. })));
    }
}

/// A pass that takes the square of their length would not end in minutes.
#[test]
fn long_texts_are_read_and_proven() {
    let many = "  if true {\n    s0 = 1\n  }\n".repeat(60_000);
    let chain: String = (0..40_000).rev().map(|n| format!("  n{n} = (n{} + 1)\n", n + 1)).collect();
    let bodies = [many, format!("  n40000 = 1\n{chain}"), "  n0 = 1\n  n0 = (n0 + 1)\n".repeat(60_000)];
    for body in bodies {
        let text = format!("kernel long () -> %0 : f32[1] {{\n{body}  %0[0] = 1\n}}\n");
        let kernel = parse(&text).expect("it reads");
        presk_kernel::verify(&kernel).expect("it is proven");
        Program::compile(&kernel).expect("it compiles");
    }
}
