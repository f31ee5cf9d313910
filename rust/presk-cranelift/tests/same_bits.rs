//! Machine code computes the interpreter's bits: every kernel of tests/kernel, on every instruction set at hand, with lanes
//! and without, whole and in ranges.

mod common;

use common::{assert_same, check, execute, interpret, kernels, random_arguments, targets};
use presk_cranelift::{Options, compile};
use presk_kernel::parallel::{is_parallel, perfect_nest};

#[test]
fn kernels_of_the_tests() {
    let kernels = kernels();
    assert!(kernels.len() > 50, "the folder of kernels is there: {}", kernels.len());
    for target in targets() {
        for (name, kernel) in &kernels {
            (0..4).for_each(|seed| check(kernel, seed, &target, name));
        }
    }
}

#[test]
fn ranges_make_the_whole() {
    let mut divided = 0;
    for (name, kernel) in kernels() {
        for depth in (0..perfect_nest(&kernel).len()).filter(|&depth| is_parallel(&kernel, depth)) {
            let rounds = perfect_nest(&kernel)[depth].extent;
            let arguments = random_arguments(&kernel, 7);
            let Some(wanted) = interpret(&kernel, &arguments) else { continue };
            for lanes in [true, false] {
                let target = presk_cranelift::Target::host().unwrap();
                let code = compile(&kernel, Options { depth: Some(depth), lanes }, &target).unwrap();
                for pieces in [1, 2, 3, rounds.max(1)] {
                    let cuts: Vec<u64> = (0..=pieces).map(|piece| rounds * piece / pieces).collect();
                    let ranges: Vec<_> = cuts.windows(2).map(|cut| Some(cut[0]..cut[1])).collect();
                    let found = execute(&kernel, &code, &arguments, &ranges);
                    assert_same(&kernel, &wanted, &found, &format!("{name} at {depth} in {pieces}, lanes {lanes}"));
                    divided += 1;
                }
                let found = execute(&kernel, &code, &arguments, &[None]);
                assert_same(&kernel, &wanted, &found, &name);
            }
        }
    }
    assert!(divided > 100, "{divided}");
}

/// A register tile in vectors: its rows' scalars in variables or broadcast where they are loaded.
fn tile(point: (usize, usize, usize), elements: (&str, &str, &str), fma: bool, inline: bool) -> String {
    let ((rows, vectors, terms), (left, right, real)) = (point, elements);
    let lanes = if real == "f64" { 2 } else { 4 };
    let columns = vectors * lanes;
    let mut text = format!(
        "kernel dot (%0 : {left}[{rows}, {terms}], %1 : {right}[{terms}, {columns}]) -> %2 : {real}[{rows}, {columns}] {{\n"
    );
    let sums = || (0..rows).flat_map(|row| (0..vectors).map(move |vector| (row, vector)));
    sums().for_each(|(r, v)| text += &format!("v{} = splat(0)\n", r * vectors + v));
    text += &format!("for i0 in 0..{terms} {{\n");
    if !inline {
        (0..rows).for_each(|r| text += &format!("s{r} = %0[{r}, i0]\n"));
    }
    (0..vectors).for_each(|v| text += &format!("v{} = %1[i0, {}]<v>\n", 200 + v, v * lanes));
    for (r, v) in sums() {
        let (sum, right) = (r * vectors + v, 200 + v);
        let scalar = if inline { format!("%0[{r}, i0]") } else { format!("s{r}") };
        text += &if fma {
            format!("v{sum} = fma(splat({scalar}), v{right}, v{sum})<v>\n")
        } else {
            format!("v{sum} = (v{sum} + (splat({scalar}) * v{right})<v>)<v>\n")
        };
    }
    text += "}\n";
    sums().for_each(|(r, v)| text += &format!("%2[{r}, {}] <v= v{}\n", v * lanes, r * vectors + v));
    text + "}\n"
}

#[test]
fn tiles_of_every_shape() {
    let elements = [
        ("f32", "f32", "f32"),
        ("f64", "f64", "f64"),
        ("bf16", "bf16", "f32"),
        ("f32", "int8/1", "f32"),
        ("f32", "int4/0", "f32"),
        ("f32", "bf16", "f64"),
        ("f64", "int8/0", "f64"),
        ("f64", "int4/1", "f64"),
    ];
    let targets = targets();
    let mut seed = 0;
    for (rows, vectors) in [(1, 1), (1, 2), (2, 4), (4, 1), (4, 2), (4, 4), (8, 1), (8, 2)] {
        for terms in [1, 2, 3, 6] {
            for elements in elements {
                let [fma, inline] = [seed % 2 == 0, seed % 3 == 0];
                let kernel = presk_kernel::parse(&tile((rows, vectors, terms), elements, fma, inline)).unwrap();
                presk_kernel::verify(&kernel).unwrap();
                check(&kernel, seed, &targets[seed as usize % targets.len()], "a tile");
                seed += 1;
            }
        }
    }
}
