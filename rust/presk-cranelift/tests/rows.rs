//! Loops that become calls over rows (sums and extremes of several, differences and quotients of one) give the interpreter's
//! bits, and those that look like them but aren't as well.

mod common;

use std::fmt::Write as _;

use common::{check, targets};
use presk_cranelift::{Options, Target, clif};

/// Statements of a fold of `rows` rows, side by side.
fn fold(kind: &str, rows: usize) -> String {
    let mut text = String::new();
    for row in 0..rows {
        let element = format!("%0[((i0 * {rows}) + {row}), i1]");
        let (sum, difference, centre) = (row, 100 + row, 200 + row);
        let _ = match kind {
            "sum" => writeln!(text, "s{sum} = (s{sum} + {element})"),
            "spread" => {
                writeln!(
                    text,
                    "s{difference} = ({element} - s{centre})\ns{sum} = (s{sum} + (s{difference} * s{difference}))"
                )
            }
            other => writeln!(text, "s{sum} = {other}(s{sum}, {element})"),
        };
    }
    text
}

/// A kernel that folds blocks of rows and stores each result, and what its loop leaves in the variables of differences.
fn folds(kind: &str, real: &str, rows: usize, columns: usize) -> String {
    let mut text = format!(
        "kernel k (%0 : {real}[{}, {columns}], %1 : {real}[{}]) -> %2 : {real}[{}], %3 : {real}[{}] {{\nfor i0 in 0..2 {{\n",
        2 * rows,
        2 * rows,
        2 * rows,
        2 * rows
    );
    for row in 0..rows {
        let first = format!("%1[((i0 * {rows}) + {row})]");
        let _ = writeln!(text, "s{row} = {first}\ns{} = {first}\ns{} = {first}", 100 + row, 200 + row);
    }
    let _ = writeln!(text, "for i1 in 0..{columns} {{\n{}}}", fold(kind, rows));
    for row in 0..rows {
        let place = format!("((i0 * {rows}) + {row})");
        let _ = writeln!(text, "%2[{place}] = s{row}\n%3[{place}] = s{}", 100 + row);
    }
    text + "} }\n"
}

/// A kernel whose rows less or divided by a number each go to other memory, or in place after that.
fn maps(operation: &str, real: &str, columns: usize, number: &str) -> String {
    format!(
        "kernel k (%0 : {real}[3, {columns}], %1 : {real}[3]) -> %2 : {real}[3, {columns}] {{\nt0 : {real}[{columns}]\n\
         for i0 in 0..3 {{\ns0 = %1[i0]\n\
         for i1 in 0..{columns} {{\nt0[i1] = (%0[i0, i1] {operation} {number})\n}}\n\
         for i1 in 0..{columns} {{\ns1 = t0[i1]\n%2[i0, i1] = (s1 {operation} s0)\n}}\n\
         for i1 in 0..{columns} {{\n%2[i0, i1] = (%2[i0, i1] {operation} {number})\n}}\n}} }}\n"
    )
}

fn same(text: &str) {
    let kernel = presk_kernel::parse(text).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    presk_kernel::verify(&kernel).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    for target in targets() {
        (0..3).for_each(|seed| check(&kernel, seed, &target, text));
    }
}

/// The CLIF of a kernel for the machine at hand.
fn code(text: &str) -> String {
    clif(&presk_kernel::parse(text).unwrap(), Options::default(), &Target::host().unwrap()).unwrap()
}

#[test]
fn folds_of_rows() {
    for real in ["f32", "f64"] {
        for kind in ["sum", "spread", "max", "min"] {
            for (rows, columns) in [(8, 32), (8, 37), (16, 130), (3, 64), (1, 200), (8, 31)] {
                same(&folds(kind, real, rows, columns));
            }
        }
    }
}

#[test]
fn differences_and_quotients() {
    for real in ["f32", "f64"] {
        for operation in ["-", "/"] {
            for columns in [32, 64, 256, 320] {
                for number in ["s0", "1.5", "4", "-0.25", "0", "1e-40"] {
                    if real == "f64" || number != "1e-40" {
                        same(&maps(operation, real, columns, number));
                    }
                }
            }
        }
    }
}

/// A kernel whose rows become a value of their elements x, two numbers, and the elements of two runs, one by one.
fn chains(value: &str, real: &str, columns: usize) -> String {
    let value = value.replace('a', "s0").replace('b', "s1").replace('g', "%2[i1]").replace('h', "%3[i0, i1]");
    format!(
        "kernel k (%0 : {real}[3, {columns}], %1 : {real}[3], %2 : {real}[{columns}], %3 : {real}[3, {columns}]) -> \
         %4 : {real}[3, {columns}], %5 in %3 : {real}[3, {columns}] {{\nt0 : {real}[{columns}]\n\
         for i0 in 0..3 {{\ns0 = %1[i0]\ns1 = (s0 + 0.3)\n\
         for i1 in 0..{columns} {{\n%4[i0, i1] = {}\n}}\n\
         for i1 in 0..{columns} {{\nt0[i1] = %0[i0, i1]\n}}\n\
         for i1 in 0..{columns} {{\nt0[i1] = {}\n}}\n\
         for i1 in 0..{columns} {{\n%5[i0, i1] = {}\n}}\n\
         for i1 in 0..{columns} {{\ns2 = %4[i0, i1]\n%4[i0, i1] = {}\n}}\n}} }}\n",
        value.replace('x', "%0[i0, i1]"),
        value.replace('x', "t0[i1]"),
        value.replace('x', "t0[i1]"),
        value.replace('x', "s2").replace("%3[i0, i1]", "t0[i1]"),
    )
}

/// Values that are maps of x.
const CHAINS: [&str; 12] = [
    "((((x - a) * b) * g) + h)",
    "((((x - a) / b) * g) + h)",
    "((x - a) * b)",
    "((x - a) / b)",
    "((x * b) * g)",
    "(g * (b * x))",
    "(h + (g * (b * (x - a))))",
    "((x * g) + h)",
    "((x - a) + h)",
    "((x - a) * g)",
    "((x / 4) + g)",
    "((x / b) * g)",
];

#[test]
fn maps_of_several_runs() {
    for real in ["f32", "f64"] {
        for columns in [64, 128, 132, 320] {
            for value in CHAINS {
                same(&chains(value, real, columns));
            }
            // Alike, but in another order, or with other operations.
            for value in
                ["((x * g) * b)", "((x + h) - a)", "((a - x) * b)", "((a / x) + h)", "((x * g) - h)", "(x * (g + h))"]
            {
                same(&chains(value, real, columns));
            }
        }
    }
}

/// A run that the loop writes elsewhere than it reads it: what a round reads, an earlier one may have written.
#[test]
fn runs_that_overlap_stay_loops() {
    let text = "kernel k (%0 : f32[257], %1 : f32[1]) -> %2 : f32[257] {\ns0 = %1[0]\n\
                for i0 in 0..257 {\n%2[i0] = %0[i0]\n}\n\
                for i0 in 0..256 {\n%2[i0] = ((%0[i0] * s0) + %2[(i0 + 1)])\n}\n}\n";
    assert_eq!(code(text).matches("call fn").count(), 0, "{text}");
    same(text);
}

/// That the calls are there, so that the tests above test them.
#[test]
fn calls_are_made() {
    let calls = |text: &str| code(text).matches("call fn").count();
    for kind in ["sum", "spread", "max", "min"] {
        assert_eq!(calls(&folds(kind, "f32", 8, 64)), 1, "{kind}");
    }
    assert_eq!(calls(&folds("sum", "f32", 7, 64)), 0, "sums of rows that don't fill the vectors");
    assert_eq!(calls(&maps("/", "f32", 256, "s0")), 3);
    assert_eq!(calls(&maps("/", "f32", 256, "4")), 1, "a fourth is a factor");
    for value in CHAINS {
        assert_eq!(calls(&chains(value, "f32", 128)), 4, "{value}");
        assert_eq!(calls(&chains(value, "f32", 32)), 0, "{value} of few elements");
    }
    assert_eq!(calls(&chains("(x * g)", "f32", 320)), 0, "one operation of two runs");
    assert_eq!(calls(&chains("((x * g) * b)", "f32", 320)), 0, "another order");
}

/// Alike, but a round reads what another one does, or rows aren't along memory, or the elements are narrower.
#[test]
fn others_stay_loops() {
    let sums = |body: &str| {
        format!(
            "kernel k (%0 : f32[8, 64], %1 : bf16[8, 64], %2 : f32[64, 8]) -> %3 : f32[8] {{\n{}\nfor i0 in 0..64 {{\n{body}}}\n{}}}\n",
            (0..8).map(|row| format!("s{row} = 0\n")).collect::<String>(),
            (0..8).map(|row| format!("%3[{row}] = s{row}\n")).collect::<String>()
        )
    };
    let each = |of: &dyn Fn(usize) -> String| (0..8).map(of).collect::<String>();
    for body in [
        each(&|row| format!("s{row} = (s{} + %0[{row}, i0])\n", (row + 1) % 8)),
        each(&|row| format!("s{row} = (s{row} + %1[{row}, i0])\n")),
        each(&|row| format!("s{row} = (s{row} + %2[i0, {row}])\n")),
        each(&|row| format!("s{row} = (s{row} + %0[{row}, max(0, min(63, (i0 * 2)))])\n")),
        each(&|row| format!("s9 = (%0[{row}, i0] - s{row})\ns{row} = (s{row} + (s9 * s9))\n")),
        each(&|row| {
            if row == 3 { "s3 = max(s3, %0[3, i0])\n".into() } else { format!("s{row} = (s{row} + %0[{row}, i0])\n") }
        }),
    ] {
        let text = sums(&body);
        assert_eq!(code(&text).matches("call fn").count(), 0, "{text}");
        same(&text);
    }
}
