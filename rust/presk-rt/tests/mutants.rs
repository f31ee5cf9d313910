//! Hostile text: mutants of schedules end in a schedule or an error, and one that passes the verifier and is small runs to
//! an end without leaving its buffers, which the interpreter checks and the memory around them shows.
//!
//! `cargo test` runs a sample; PRESK_MUTANTS=100000 (in `make fuzz`) the full number. Mutants are a function of their
//! number alone, so a failure names what to run again.

mod support;

use presk_kernel::ir::StatementKind;
use presk_kernel::walk;
use presk_rt::execute::Settings;
use presk_rt::schedule::{Schedule, Step, StepKind, read};
use presk_rt::verify::verify;
use support::{call, executable};

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

const WORDS: [&str; 45] = [
    "schedule",
    "realized",
    "input",
    "output",
    "constant",
    "arena",
    "buffer",
    "launch",
    "loop",
    "convert",
    "copy",
    "count",
    "swap",
    "normal",
    "uniform",
    "within",
    "mask",
    "sample",
    "key",
    "rows",
    "axis",
    "split",
    "whole",
    "reversed",
    "donated",
    "in",
    "h0",
    "h1",
    "o0",
    "o1",
    "a0",
    "a1",
    "a2",
    "c0",
    "l0",
    "l1",
    "k0",
    "f32",
    "bf16",
    "i64",
    "0",
    "1",
    "4",
    "18446744073709551615",
    "281474976710656",
];

const SEED: &str = "schedule \"MiniGPT.apply\" realized \"f32\" {
  input h0 : f32[4] \"x\"
  input h1 : i64<3>[2] \"t\"
  input h2 : int8/1[3, 4] \"w\"
  input h3 : f32[4] \"w.scale\"
  input h4 : f32[2, 4] \"m\" donated
  output o0 : f32[4] \"\"
  output o1 : i64<4>[2] \"\"
  output o2 in h4 : f32[2, 4] \"\"
  constant c0 : f32 = 0.25
  constant c1 : f32 = -1e-05
  arena 512 bytes
  buffer a0 : f32[4] at 0
  buffer a1 : f32[4] at 64
  buffer a2 : f32[2, 4] at 128
  buffer a3 : i64[1] at 192
  buffer a4 : bf16[8] at 256
  buffer a5 : f32[8] at 128
  copy 4 f32 (h0) -> (a0)
  loop l0 in 0..2 {
    count l0 from 0 -> (a3)
    launch k1 embed (h2, h3, a3) -> (a1) \"f/%1\"
    launch k0 add (a1, a0) -> (a1) split at 0 over 2 \"f/%2\"
    launch k0 add (h4 + 4*l0, a0) -> (h4 + 4*l0) whole \"f/%3\"
    loop l1 in 0..3 reversed {
      launch k0 add (a1, a0) -> (a1) \"f/%4\"
      normal 1.0 0.0 [2, 4] rows 0 f32 key \"normal\" \"f#0\" [l0, l1] -> (a5)
    }
    swap a0 a1
  }
  mask f32 (c0) [8] bf16 key \"dropout\" \"f#1\" [] -> (a4)
  convert 8 bf16 to f32 (a4) -> (a5)
  sample f32 (a5) f32 (c0, c0) [2] rows 0 axis 1 of 4 top 3 key \"sample\" \"f#2\" [] -> (o1)
  copy 4 f32 (a0) -> (o0)
}
kernel add (%0 : f32[4], %1 : f32[4]) -> %2 in %0 : f32[4] {
  for i0 in 0..4 {
    %2[i0] = (%0[i0] + %1[i0])
  }
}
kernel embed (%0 : int8/1[3, 4], %1 : i64<3[1]) -> %2 : f32[4] {
  for i0 in 0..4 {
    n0 = %1[0]
    %2[i0] = %0[n0, i0]
  }
}
";

fn seed() -> String {
    SEED.replace("f32[2, 4] at 128", "f32[8] at 128")
}

fn mutate(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(9) {
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
            5 | 6 => change_digit(&mut bytes, at, random),
            _ => replace_word(&mut bytes, at, random),
        }
        if bytes.is_empty() {
            bytes.push(b's');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Changes the next digit: what most often leaves a schedule readable and its views elsewhere.
fn change_digit(bytes: &mut [u8], at: usize, random: &mut Random) {
    if let Some(digit) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
        *digit = b'0' + u8::try_from(random.below(10)).expect("a digit");
    }
}

/// Replaces the word around a place by another.
fn replace_word(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
    let start = bytes[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |place| place + 1);
    let end = bytes[at..].iter().position(|byte| !is_word(byte)).map_or(bytes.len(), |place| at + place);
    drop(bytes.splice(start..end.max(start), WORDS[random.below(WORDS.len())].bytes()));
}

/// Rounds of all loops of a schedule and its kernels, and bytes of what it holds: whether it can be run by the thousand.
fn is_small(schedule: &Schedule) -> bool {
    fn rounds(steps: &[Step]) -> u64 {
        steps.iter().fold(1, |sum: u64, step| match &step.kind {
            StepKind::Loop(each) => sum.saturating_add(each.trips.saturating_mul(rounds(&each.steps))),
            StepKind::Draw { shape, .. } | StepKind::Mask { shape, .. } => {
                sum.saturating_add(shape.sizes.iter().fold(1, |a: u64, &b| a.saturating_mul(b)))
            }
            _ => sum.saturating_add(1),
        })
    }
    let mut inner = 1u64;
    for kernel in &schedule.kernels {
        walk::statements(&kernel.body, &mut |statement| {
            if let StatementKind::For(each) = &statement.kind {
                inner = inner.saturating_mul(each.extent.max(1));
            }
        });
    }
    let sizes = schedule.inputs.iter().map(|each| &each.sizes).chain(schedule.outputs.iter().map(|each| &each.sizes));
    let elements = |sizes: &Vec<u64>| sizes.iter().fold(1, |a: u64, &b| a.saturating_mul(b));
    let samples = schedule.regions.iter().map(|each| each.count).fold(0, u64::saturating_add);
    rounds(&schedule.steps).saturating_mul(inner) < 1 << 16
        && schedule.arena < 1 << 16
        && samples < 1 << 16
        && sizes.map(elements).fold(0, u64::saturating_add) < 1 << 16
}

#[test]
fn mutants_end_in_schedules_or_errors() {
    let count = std::env::var("PRESK_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(4000);
    let seed = seed();
    verify(&read(&seed).unwrap()).unwrap_or_else(|error| panic!("the seed: {error}"));
    let (mut verified, mut ran) = (0, 0);
    for number in 0..count {
        let mut random = Random(number);
        let text = mutate(&seed, &mut random);
        let Ok(schedule) = read(&text) else { continue };
        if verify(&schedule).is_err() {
            continue;
        }
        verified += 1;
        if !is_small(&schedule) {
            continue;
        }
        // A sample larger than memory is refused when the executable is made.
        let Ok(executable) = executable(&text) else { continue };
        ran += 1;
        for fill in [0, 1] {
            let inputs: Vec<Vec<u8>> = executable.inputs().iter().map(|leaf| vec![fill; leaf.bytes]).collect();
            if let Err(error) = call(&executable, &inputs, Settings { threads: 2, ..Settings::default() }) {
                let expected = ["E9208", "E9209", "E6020"];
                assert!(expected.contains(&error.kind.code()), "mutant {number}: {error}\n{text}");
            }
        }
    }
    assert!(ran * 20 > count && verified >= ran, "mutants reach past the verifier: {verified} and {ran} of {count}");
}

/// A pass that takes the square of their length would not end in minutes.
#[test]
fn long_texts_are_read_and_proven() {
    let many = "copy 1 f32 (a0) -> (a1)\n".repeat(100_000);
    let buffers: String = (2..20_000).map(|n| format!("buffer a{n} : f32[1] at 0\n")).collect();
    let nested: String = (0..50).map(|n| format!("loop l{n} in 0..1 {{\n{many}", many = &many[..24_000])).collect();
    for body in [many.clone(), format!("{buffers}{many}"), format!("{nested}{}", "}".repeat(50))] {
        let text = format!(
            "schedule \"x\" realized \"f32\" {{\narena 64 bytes\nbuffer a0 : f32[1] at 0\nbuffer a1 : f32[1] at 4\n{body}}}\n"
        );
        verify(&read(&text).expect("it reads")).expect("it is proven");
    }
}
