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
