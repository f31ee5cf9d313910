//! GFLOP/s of register tiles of a product of two 1024 × 1024 matrices, on one thread: what the code generator makes of the
//! layout space's points, in the kernel text the lowering prints for them.
//!
//! `cargo run --release --example contraction [PROGRAM]`: PROGRAM, if given, is run before and after and prints what the
//! machine reaches in C, since clocks drift.

#![allow(unsafe_code, reason = "compiled kernels are run")]

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Instant;

use presk_cranelift::{Options, Target, compile};
use presk_kernel::parse;
use presk_rt::code::KernelCode;
use presk_rt::interrupt::Watch;

const SIZE: usize = 1024;

/// A point: rows and columns of the register tile, terms of a block of the sum, rows of a block.
#[derive(Clone, Copy)]
struct Point {
    rows: usize,
    columns: usize,
    terms: usize,
    block: usize,
}

/// The product over a packed right operand, (J / n, K, n): blocks of rows, then of terms, then tiles.
fn text(point: Point, element: &str, lanes: usize, fma: bool) -> String {
    let Point { rows, columns, terms, block } = point;
    let (panels, vectors) = (SIZE / columns, columns / lanes);
    let mut text = format!(
        "kernel dot (%0 : {element}[{SIZE}, {SIZE}], %1 : {element}[{panels}, {SIZE}, {columns}]) -> %2 : {element}[{SIZE}, {SIZE}] {{\n"
    );
    let _ = writeln!(
        text,
        "for i0 in 0..{} {{ for i1 in 0..{} {{ for i2 in 0..{panels} {{ for i3 in 0..{} {{",
        SIZE / block,
        SIZE / terms,
        block / rows
    );
    let row = |r: usize| format!("(((i0 * {block}) + (i3 * {rows})) + {r})");
    let column = |v: usize| format!("((i2 * {columns}) + {})", v * lanes);
    let sums = (0..rows).flat_map(|r| (0..vectors).map(move |v| (r, v)));
    for (r, v) in sums.clone() {
        let _ = writeln!(text, "v{} = splat(0)", r * vectors + v);
    }
    text.push_str("if i1 {\n");
    for (r, v) in sums.clone() {
        let _ = writeln!(text, "v{} = %2[{}, {}]<v>", r * vectors + v, row(r), column(v));
    }
    let _ = writeln!(text, "}}\nfor i4 in 0..{terms} {{");
    let term = format!("((i1 * {terms}) + i4)");
    for r in 0..rows {
        let _ = writeln!(text, "s{r} = %0[{}, {term}]", row(r));
    }
    for v in 0..vectors {
        let _ = writeln!(text, "v{} = %1[i2, {term}, {}]<v>", 100 + v, v * lanes);
    }
    for (r, v) in sums.clone() {
        let (sum, right) = (r * vectors + v, 100 + v);
        let _ = if fma {
            writeln!(text, "v{sum} = fma(splat(s{r}), v{right}, v{sum})<v>")
        } else {
            writeln!(text, "v{sum} = (v{sum} + (splat(s{r}) * v{right})<v>)<v>")
        };
    }
    text.push_str("}\n");
    for (r, v) in sums {
        let _ = writeln!(text, "%2[{}, {}] <v= v{}", row(r), column(v), r * vectors + v);
    }
    text + "} } } } }\n"
}

/// The same in wide tiles of vectors of 64 bytes, where the machine has them.
fn wide(point: Point, element: &str, lanes: usize, fma: bool) -> String {
    let Point { rows, columns, terms, block } = point;
    let panels = SIZE / columns;
    let row = format!("(((i0 * {block}) + (i3 * {rows})) + i4)");
    let term = format!("((i1 * {terms}) + i6)");
    let [open, middle] = if fma { ["fma(", ", "] } else { ["(", " * "] };
    let tile = |sign: &str| {
        format!(
            "tile<{lanes}> i4 in 0..{rows}, i5 in 0..{columns}, i6 in 0..{terms} {{\n\
             %2[{row}, ((i2 * {columns}) + i5)] {sign} {open}%0[{row}, {term}]{middle}%1[i2, {term}, i5])\n}}\n"
        )
    };
    format!(
        "kernel dot (%0 : {element}[{SIZE}, {SIZE}], %1 : {element}[{panels}, {SIZE}, {columns}]) -> %2 : {element}[{SIZE}, {SIZE}] {{\n\
         for i0 in 0..{} {{ for i1 in 0..{} {{ for i2 in 0..{panels} {{ for i3 in 0..{} {{\n\
         if (i1 == 0) {{ {} }}\nif i1 {{ {} }}\n}} }} }} }} }}\n",
        SIZE / block,
        SIZE / terms,
        block / rows,
        tile("="),
        tile("+=")
    )
}

fn measure(point: Point, element: &str, fma: bool, target: &Target, is_wide: bool) -> f64 {
    let bytes = if element == "f32" { 4 } else { 8 };
    let text = if is_wide { wide(point, element, 64 / bytes, fma) } else { text(point, element, 16 / bytes, fma) };
    let kernel = parse(&text).expect("a kernel text");
    let code = compile(&kernel, Options::default(), target).expect("a kernel that compiles");
    // Eight-byte words hold the matrices of either element; their values don't change the time.
    let fill = |seed: u64| (0..SIZE * SIZE * bytes / 8).map(|at| number(seed + at as u64, bytes)).collect::<Vec<u64>>();
    let (mut left, mut right, mut product) = (fill(1), fill(2), vec![0u64; SIZE * SIZE * bytes / 8]);
    let buffers = [left.as_mut_ptr().cast(), right.as_mut_ptr().cast(), product.as_mut_ptr().cast()];
    let once = || {
        let begun = spent();
        // SAFETY: three buffers of 1024 · 1024 elements each, as the kernel declares; it has no scratch.
        unsafe { code.run(&buffers, std::ptr::null_mut(), None, &Watch::new(None)) }
            .expect("compiled code finds no fault");
        spent() - begun
    };
    let best = (0..5).map(|_| once()).fold(f64::INFINITY, f64::min);
    2.0 * (SIZE as f64).powi(3) / best / 1e9
}

/// Seconds this thread has been running: where the system tells, those it waited for a core left out.
fn spent() -> f64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let begun = BEGUN.elapsed().as_secs_f64();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let running = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    running.map_or(begun, |nanoseconds| nanoseconds / 1e9)
}

/// Eight bytes of numbers between 1 and 2.
fn number(seed: u64, bytes: usize) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if bytes == 8 { mixed >> 12 | 0x3ff0 << 48 } else { (mixed & 0x007f_ffff_007f_ffff) | 0x3f80_0000_3f80_0000 }
}

fn main() {
    let target = Target::host().expect("a machine code is generated for");
    let ceiling = std::env::args().nth(1);
    let show = || {
        if let Some(program) = &ceiling {
            let run = std::process::Command::new(program).status();
            run.expect("the program of the ceiling runs");
        }
    };
    show();
    for (element, tiles) in [
        ("f32", [(1, 8), (2, 8), (2, 16), (4, 4), (4, 8), (8, 4), (4, 16)]),
        ("f64", [(1, 4), (2, 4), (2, 8), (4, 2), (4, 4), (8, 2), (4, 8)]),
    ] {
        for (rows, columns) in tiles {
            let point = Point { rows, columns, terms: 256, block: 64 };
            let unfused = measure(point, element, false, &target, false);
            let fused = measure(point, element, true, &target, false);
            println!("{element} [{rows}, {columns}]: {unfused:6.1} GFLOP/s unfused, {fused:6.1} fused");
        }
        for (rows, columns) in [(4, 16), (4, 32), (8, 16), (8, 32), (8, 64)] {
            for (terms, block) in [(256, 64), (256, 128)] {
                let point = Point { rows, columns, terms, block };
                let unfused = measure(point, element, false, &target, true);
                let fused = measure(point, element, true, &target, true);
                println!(
                    "{element} tile [{rows}, {columns}] blocks {block} by {terms}: {unfused:6.1} unfused, {fused:6.1} fused"
                );
            }
        }
    }
    show();
}
