//! Generated kernels: machine code and interpreter agree on whatever the grammar allows.
//!
//! A kernel is a function of its number, so a failure names what to run again. PRESK_GENERATED=100000 runs that many.

mod common;

use common::{Random, assert_same, check, execute, interpret, random_arguments, targets};
use presk_cranelift::{Options, Target, compile};
use presk_kernel::ir::Kernel;
use presk_kernel::parallel::{is_parallel, perfect_nest};
use presk_kernel::{parse, verify};

/// Builds the text of one kernel.
struct Writer {
    random: Random,
    text: String,
    /// Loops around, with their extents.
    loops: Vec<(usize, u64)>,
    next_loop: usize,
    /// Sizes of the axes of %0 (reals), %1 (reals, narrower or quantised), %2 (indices), %3 (truth values), then of the
    /// output %4 and the scratch t0.
    sizes: [Vec<u64>; 6],
    reals: Vec<usize>,
    wholes: Vec<usize>,
    is_double: bool,
}

const EXTENTS: [u64; 8] = [1, 2, 3, 4, 7, 8, 13, 16];

impl Writer {
    fn pick<'t>(&mut self, words: &[&'t str]) -> &'t str {
        words[self.random.below(words.len() as u64) as usize]
    }

    /// An integer; in `depth` levels at most.
    fn int(&mut self, depth: u64) -> String {
        match self.random.below(if depth == 0 { 3 } else { 10 }) {
            0 => (self.random.below(20) as i64 - 5).to_string(),
            1 | 2 if !self.loops.is_empty() => {
                let at = self.random.below(self.loops.len() as u64) as usize;
                format!("i{}", self.loops[at].0)
            }
            3 if !self.wholes.is_empty() => {
                let at = self.random.below(self.wholes.len() as u64) as usize;
                format!("n{}", self.wholes[at])
            }
            4 => {
                let divisor = self.pick(&["1", "2", "3", "7", "8", "12", "1000003"]);
                let operator = self.pick(&["//", "%"]);
                format!("({} {operator} {divisor})", self.int(depth - 1))
            }
            5 => format!("%2[{}]", self.index(2, depth - 1)),
            6 => format!("select({}, {}, {})", self.truth(depth - 1), self.int(depth - 1), self.int(depth - 1)),
            7 => {
                let function = self.pick(&["max", "min"]);
                format!("{function}({}, {})", self.int(depth - 1), self.int(depth - 1))
            }
            8 => {
                let function = self.pick(&["abs(", "(-"]);
                format!("{function}{})", self.int(depth - 1))
            }
            _ if depth > 0 => {
                let operator = self.pick(&["+", "-", "*"]);
                format!("({} {operator} {})", self.int(depth - 1), self.int(depth - 1))
            }
            _ => "1".to_owned(),
        }
    }

    /// Indices of a buffer that stay inside: counters where they fit, plus what is left; else whatever, clamped.
    fn index(&mut self, buffer: usize, depth: u64) -> String {
        let sizes = self.sizes[buffer].clone();
        let one = |size: u64| {
            let fitting: Vec<(usize, u64)> = self.loops.iter().copied().filter(|&(_, extent)| extent <= size).collect();
            if fitting.is_empty() || self.random.below(5) == 0 {
                return if self.random.below(2) == 0 {
                    self.random.below(size).to_string()
                } else {
                    format!("max(0, min({}, {}))", self.int(depth.min(2)), size - 1)
                };
            }
            let (number, extent) = fitting[self.random.below(fitting.len() as u64) as usize];
            let most = (size - 1) / extent.max(2).saturating_sub(1).max(1);
            match self.random.below(4) {
                0 => format!("(i{number} + {})", self.random.below(size - extent + 1)),
                1 => format!("({} - i{number})", size - 1),
                2 if most > 1 => format!("(i{number} * {})", 1 + self.random.below(most)),
                _ => format!("i{number}"),
            }
        };
        sizes.into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn real(&mut self, depth: u64) -> String {
        match self.random.below(if depth == 0 { 4 } else { 16 }) {
            0 => self.pick(&["0", "-0.0", "1.5", "-2", "0.1", "inf", "nan", "1e-4"]).to_owned(),
            1 if !self.reals.is_empty() => {
                let at = self.random.below(self.reals.len() as u64) as usize;
                format!("s{}", self.reals[at])
            }
            1 | 2 => format!("%0[{}]", self.index(0, depth)),
            3 => format!("%1[{}]", self.index(1, depth)),
            4 => format!("%4[{}]", self.index(4, depth)),
            5 => format!("t0[{}]", self.index(5, depth)),
            6 => {
                let function = self.pick(&[
                    "abs",
                    "floor",
                    "sqrt",
                    "exp",
                    "expm1",
                    "log",
                    "log1p",
                    "tanh",
                    "sin",
                    "cos",
                    "erf",
                    "erfc",
                    "gaussian",
                    "gelu",
                    "silu_slope",
                ]);
                format!("{function}({})", self.real(depth - 1))
            }
            7 => format!("(-{})", self.real(depth - 1)),
            8 => format!("select({}, {}, {})", self.truth(depth - 1), self.real(depth - 1), self.real(depth - 1)),
            9 => {
                let float = self.pick(if self.is_double { &["f64", "f32", "bf16"] } else { &["f32", "bf16"] });
                let operand = if self.random.below(2) == 0 { self.int(depth - 1) } else { self.real(depth - 1) };
                format!("{float}({operand})")
            }
            10 => format!("fma({}, {}, {})", self.real(depth - 1), self.real(depth - 1), self.real(depth - 1)),
            11 | 12 => {
                let function = self.pick(&["max", "min", "max", "min", "pow"]);
                format!("{function}({}, {})", self.real(depth - 1), self.real(depth - 1))
            }
            _ => {
                let operator = self.pick(&["+", "-", "*", "/"]);
                format!("({} {operator} {})", self.real(depth - 1), self.real(depth - 1))
            }
        }
    }

    fn truth(&mut self, depth: u64) -> String {
        match self.random.below(if depth == 0 { 2 } else { 5 }) {
            0 => format!("%3[{}]", self.index(3, 0)),
            1 | 2 => {
                let operator = self.pick(&["<", "<=", "==", "!=", ">=", ">"]);
                format!("({} {operator} {})", self.real(depth / 2), self.real(depth / 2))
            }
            3 => format!("(not {})", self.truth(depth - 1)),
            _ => {
                let operator = self.pick(&["and", "or"]);
                format!("({} {operator} {})", self.truth(depth - 1), self.truth(depth - 1))
            }
        }
    }

    fn statements(&mut self, budget: u64) {
        let (reals, wholes) = (self.reals.len(), self.wholes.len());
        for _ in 0..1 + self.random.below(3) {
            self.statement(budget);
        }
        self.reals.truncate(reals);
        self.wholes.truncate(wholes);
    }

    fn statement(&mut self, budget: u64) {
        match self.random.below(9) {
            0 | 1 => {
                let (value, number) = (self.real(3), self.random.below(6) as usize);
                self.text += &format!("s{number} = {value}\n");
                self.reals.push(number);
            }
            2 => {
                let (value, number) = (self.int(2), self.random.below(40) as usize);
                self.text += &format!("n{number} = {value}\n");
                self.wholes.push(number);
            }
            3 | 4 if budget > 0 => {
                let extent = EXTENTS[self.random.below(EXTENTS.len() as u64) as usize];
                let number = self.next_loop;
                self.next_loop += 1;
                self.text += &format!("for i{number} in 0..{extent} {{\n");
                self.loops.push((number, extent));
                self.statements(budget - 1);
                self.loops.pop();
                self.text += "}\n";
            }
            5 if budget > 0 => {
                let condition = self.truth(1);
                self.text += &format!("if {condition} {{\n");
                self.statements(budget - 1);
                self.text += "}\n";
            }
            6 => {
                let (index, value) = (self.index(5, 1), self.real(2));
                self.text += &format!("t0[{index}] = {value}\n");
            }
            7 => {
                let index = self.index(4, 1);
                let value = self.real(2);
                self.text += &format!("%4[{index}] = (%4[{index}] + {value})\n");
            }
            _ => {
                let (index, value) = (self.index(4, 1), self.real(3));
                self.text += &format!("%4[{index}] = {value}\n");
            }
        }
    }
}

fn kernel(number: u64) -> Option<Kernel> {
    let mut random = Random(number);
    let mut axes = |rank: u64| (0..rank).map(|_| EXTENTS[3 + random.below(5) as usize]).collect::<Vec<u64>>();
    let sizes = [axes(2), axes(2), axes(1), axes(1), axes(2), axes(1)];
    let is_double = random.below(2) == 0;
    let real = if is_double { "f64" } else { "f32" };
    let narrow = ["f32", "bf16", "int8/0", "int8/1", "int8/0..2", "int4/0", "int4/1", "int4/0..2"];
    let narrow = narrow[random.below(8) as usize];
    let stored = [real, real, "bf16", "f32"][random.below(4) as usize];
    let list = |sizes: &[u64]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let states = if (stored == "f64") == is_double { String::new() } else { format!("in {real} ") };
    let text = format!(
        "kernel generated {states}(%0 : {real}[{}], %1 : {narrow}[{}], %2 : i64[{}], %3 : bool[{}]) -> %4 : {stored}[{}] {{\nt0 : {real}[{}]\n",
        list(&sizes[0]),
        list(&sizes[1]),
        list(&sizes[2]),
        list(&sizes[3]),
        list(&sizes[4]),
        list(&sizes[5]),
    );
    let fill = format!("for i90 in 0..{} {{\nt0[i90] = i90\n}}\n", sizes[5][0]);
    let fill = fill.replace("= i90", &format!("= {real}(i90)"));
    let (reals, wholes) = (Vec::new(), Vec::new());
    let mut writer = Writer { random, text, loops: Vec::new(), next_loop: 0, sizes, reals, wholes, is_double };
    // Half of them are one nest, which may have a loop to divide.
    if writer.random.below(2) == 0 {
        writer.text += &fill;
        writer.statements(3);
        writer.statements(3);
    } else {
        for depth in 0..2 {
            let extent = writer.sizes[4][depth];
            writer.text += &format!("for i{depth} in 0..{extent} {{\n");
            writer.loops.push((depth, extent));
        }
        writer.next_loop = 2;
        writer.text += &fill;
        let value = writer.real(3);
        writer.text += &format!("s9 = {value}\n");
        writer.reals.push(9);
        if writer.random.below(2) == 0 {
            let extent = EXTENTS[writer.random.below(8) as usize];
            writer.loops.push((2, extent));
            let term = writer.real(2);
            writer.loops.pop();
            writer.text += &format!("for i2 in 0..{extent} {{\ns9 = (s9 + {term})\n}}\n");
        }
        let value = writer.real(3);
        writer.text += &format!("%4[i0, i1] = (s9 + {value})\n}}\n}}\n");
    }
    let kernel = parse(&(writer.text + "}\n")).ok()?;
    verify(&kernel).is_ok().then_some(kernel)
}

#[test]
fn generated_kernels_keep_their_bits() {
    let count = std::env::var("PRESK_GENERATED").ok().and_then(|count| count.parse().ok()).unwrap_or(1500);
    let (targets, host) = (targets(), Target::host().unwrap());
    let (mut valid, mut divided) = (0, 0);
    for number in 0..count {
        let Some(kernel) = kernel(number) else { continue };
        valid += 1;
        let target = &targets[usize::try_from(number).unwrap() % targets.len()];
        check(&kernel, number, target, &format!("kernel {number}"));
        for depth in (0..perfect_nest(&kernel).len()).filter(|&depth| is_parallel(&kernel, depth)) {
            let arguments = random_arguments(&kernel, number);
            let Some(wanted) = interpret(&kernel, &arguments) else { continue };
            let rounds = perfect_nest(&kernel)[depth].extent;
            let cut = (number / 3) % (rounds + 1);
            let code = compile(&kernel, Options { depth: Some(depth), lanes: true }, &host).unwrap();
            let found = execute(&kernel, &code, &arguments, &[Some(0..cut), Some(cut..rounds)]);
            assert_same(&kernel, &wanted, &found, &format!("kernel {number}, cut at {cut}"));
            divided += 1;
        }
    }
    assert!(valid * 2 > count, "most are valid: {valid} of {count}");
    assert!(divided * 50 > count, "some have a loop to divide: {divided} of {count}");
}
