//! Generated loops over contiguous elements, of all that has a form in lanes: each is rewritten to lanes, and computes there
//! what the interpreter computes without, on every instruction set.
//!
//! A kernel is a function of its number. PRESK_GENERATED=100000 runs that many.

mod common;

use common::{Random, check, targets};
use presk_cranelift::{Options, Target, machine_code};
use presk_kernel::ir::Kernel;
use presk_kernel::{lanes, parse, verify};

/// Writes the loop's expressions. The loops around are over i0 (two rounds) and i1, which goes along the elements.
struct Writer {
    random: Random,
    is_double: bool,
    /// Variables assigned so far in the round.
    reals: u64,
    truths: u64,
}

impl Writer {
    fn pick<'t>(&mut self, words: &[&'t str]) -> &'t str {
        words[self.random.below(words.len() as u64) as usize]
    }

    fn along(&mut self) -> &'static str {
        self.pick(&["i0, i1", "i0, i1", "0, (i1 + i0)", "1, (i1 + 1)"])
    }

    fn real(&mut self, depth: u64) -> String {
        let choices = if depth == 0 { 7 } else { 15 };
        match self.random.below(choices) {
            0 => self.pick(&["0", "-0.0", "1.5", "-2", "inf", "nan", "s9", "%0[1, i0]"]).to_owned(),
            1 if self.reals > 0 => format!("s{}", self.random.below(self.reals)),
            1..=3 => format!("%0[{}]", self.along()),
            4 | 5 => format!("%1[{}]", self.along()),
            6 => {
                let float = self.pick(if self.is_double { &["f64", "f32", "bf16"] } else { &["f32", "bf16"] });
                format!("{float}({})", self.whole())
            }
            14 => format!("{}{})", self.pick(&["abs(", "floor(", "sqrt(", "(-"]), self.real(depth - 1)),
            7 | 8 => format!("select({}, {}, {})", self.truth(depth - 1), self.real(depth - 1), self.real(depth - 1)),
            9 => {
                let float = self.pick(if self.is_double { &["f64", "f32", "bf16"] } else { &["f32", "bf16"] });
                format!("{float}({})", self.real(depth - 1))
            }
            10 => format!("fma({}, {}, {})", self.real(depth - 1), self.real(depth - 1), self.real(depth - 1)),
            11 => format!("{}({}, {})", self.pick(&["max", "min"]), self.real(depth - 1), self.real(depth - 1)),
            _ => {
                let operator = self.pick(&["+", "-", "*", "/"]);
                format!("({} {operator} {})", self.real(depth - 1), self.real(depth - 1))
            }
        }
    }

    fn whole(&mut self) -> &'static str {
        self.pick(&[
            "i1",
            "i0",
            "3",
            "-1",
            "(7 - i1)",
            "((i1 * 3) + i0)",
            "(-(i1 - 2))",
            "%2[i0, i1]",
            "%2[0, (i1 + 1)]",
        ])
    }

    fn truth(&mut self, depth: u64) -> String {
        let compared = self.pick(&["<", "<=", "==", "!=", ">=", ">"]);
        match self.random.below(if depth == 0 { 6 } else { 9 }) {
            0 | 1 => format!("%3[{}]", self.along()),
            2 if self.truths > 0 => format!("b{}", self.random.below(self.truths)),
            2 | 3 => format!("({} {compared} {})", self.whole(), self.whole()),
            4 | 5 => format!("({} {compared} {})", self.real(depth / 2), self.real(depth / 2)),
            6 => format!("(not {})", self.truth(depth - 1)),
            _ => {
                let operator = self.pick(&["and", "or"]);
                format!("({} {operator} {})", self.truth(depth - 1), self.truth(depth - 1))
            }
        }
    }

    fn body(&mut self) -> String {
        let mut body = String::new();
        for _ in 0..1 + self.random.below(4) {
            if self.random.below(2) == 0 {
                let value = self.real(3);
                body += &format!("s{} = {value}\n", self.reals);
                self.reals += 1;
            } else {
                let value = self.truth(2);
                body += &format!("b{} = {value}\n", self.truths);
                self.truths += 1;
            }
        }
        let (real, truth) = (self.real(3), self.truth(2));
        // The counter in each, so that each moves.
        body + &format!("%4[i0, i1] = ({real} + %0[i0, i1])\n%5[i0, i1] = ({truth} or (i1 < 2))\n")
    }
}

fn kernel(number: u64) -> Kernel {
    let mut random = Random(number);
    let is_double = random.below(2) == 0;
    let real = if is_double { "f64" } else { "f32" };
    let narrow = ["f32", "bf16", "int8/0", "int8/1", "int4/0", "int4/1", real, real][random.below(8) as usize];
    let stored = [real, real, "bf16", "f32"][random.below(4) as usize];
    let extent = 4 * (1 + random.below(12));
    let whole = ["i64", "i64<30", "i64<4294967296"][random.below(3) as usize];
    let states = if (stored == "f64") == is_double { "" } else { "in f64 " };
    let mut writer = Writer { random, is_double, reals: 0, truths: 0 };
    let (body, wide) = (writer.body(), extent + 1);
    let text = format!(
        "kernel lanes {states}(%0 : {real}[2, {wide}], %1 : {narrow}[2, {wide}], %2 : {whole}[2, {wide}], %3 : bool[2, {wide}]) \
         -> %4 : {stored}[2, {extent}], %5 : bool[2, {extent}] {{\nfor i0 in 0..2 {{\ns9 = %0[i0, 0]\n\
         for i1 in 0..{extent} {{\n{body}}}\n}}\n}}\n"
    );
    let kernel = parse(&text).unwrap_or_else(|error| panic!("kernel {number}: {error}\n{text}"));
    verify(&kernel).unwrap_or_else(|error| panic!("kernel {number}: {error}\n{text}"));
    kernel
}

#[test]
fn contiguous_loops_run_in_lanes() {
    let count = std::env::var("PRESK_GENERATED").ok().and_then(|count| count.parse().ok()).unwrap_or(600);
    let (targets, other) = (targets(), Target::named("aarch64").unwrap());
    for number in 0..count {
        let kernel = kernel(number);
        let in_lanes = lanes::rewrite(&kernel, None);
        let text = in_lanes.to_string();
        assert!(text.contains("%4[i0, (i1 * ") && text.matches("<v=").count() == 2, "kernel {number}\n{text}");
        assert_eq!(parse(&text).unwrap(), in_lanes, "kernel {number} reads back\n{text}");
        verify(&in_lanes).unwrap_or_else(|error| panic!("kernel {number}: {error}\n{text}"));
        // Elsewhere it is only compiled.
        machine_code(&kernel, Options::default(), &other).unwrap_or_else(|error| panic!("kernel {number}: {error}"));
        check(&kernel, number, &targets[usize::try_from(number).unwrap() % targets.len()], &format!("kernel {number}"));
    }
}
