//! Kernel texts that other parts print read, verify and print back character for character.

use presk_kernel::{parse_all, verify};

const LINEAR: &str = include_str!("../../../tests/kernel/golden/01_linear.kernel.txt");
const ATTENTION: &str = include_str!("../../../tests/kernel/golden/03_attention.pack.kernel.txt");

fn reads_back(text: &str) {
    let kernels = parse_all(text).expect("a printed kernel reads");
    kernels.iter().for_each(|kernel| verify(kernel).expect("a lowered kernel is proven"));
    let bare: String = text.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
    assert_eq!(kernels.iter().map(ToString::to_string).collect::<String>(), bare);
}

#[test]
fn the_kernels_of_a_linear_layer_read_back() {
    reads_back(LINEAR);
}

#[test]
fn a_packed_contraction_in_lanes_reads_back() {
    reads_back(ATTENTION);
}

#[test]
fn heads_of_dumps_are_comments() {
    assert!(LINEAR.starts_with("--"));
    assert_eq!(parse_all(LINEAR).expect("comments are skipped").len(), 2);
}

#[test]
fn loops_to_split_are_found() {
    use presk_kernel::parallel::{is_parallel, outermost_parallel};
    let kernels = parse_all(ATTENTION).expect("a printed kernel reads");
    let depths = |number: usize| (0..6).filter(|&depth| is_parallel(&kernels[number], depth)).collect::<Vec<_>>();
    assert_eq!(depths(0), [0, 1, 2, 3]);
    // The loops over blocks of rows and columns count; the one over k doesn't begin a perfect nest.
    assert_eq!(depths(1), [0, 1, 2, 3]);
    assert_eq!(outermost_parallel(&kernels[1]), Some(0));
}
