//! Prints what each elementary function over runs costs: nanoseconds an element, on every instruction set there is here.
//!
//! `cargo run --release --package presk-rt --example functions [FUNCTION [ISA]]`: the best of many calls on runs of 512 elements, of
//! normally distributed numbers twice as wide (their sizes for log), so that every range of a function has its share.

use std::time::Instant;

use presk_kernel::ir::Function;
use presk_rt::isa::Isa;
use presk_rt::runs::{self, Real};

/// Elements of a run: what a kernel gives a routine at once.
const RUN: usize = 512;

/// Runs of one measurement, each of other numbers, so that no branch is learnt by heart.
const RUNS: usize = 64;

/// Measurements, of which the best counts.
const TURNS: usize = 1000;

fn main() {
    let wanted = std::env::args().nth(1);
    let numbers = normal(RUN * RUNS);
    let single: Vec<f32> = numbers.iter().map(|&each| each as f32).collect();
    let exponents: Vec<f64> = numbers.iter().rev().copied().collect();
    let single_exponents: Vec<f32> = exponents.iter().map(|&each| each as f32).collect();
    let isas = std::env::args().nth(2);
    for isa in Isa::available().filter(|isa| isas.as_ref().is_none_or(|name| name == isa.name())) {
        for function in Function::ALL {
            if wanted.as_ref().is_none_or(|name| name == function.name()) {
                let (f32, f64) = (unary(isa, function, &single), unary(isa, function, &numbers));
                println!("{:8} {:6} f32 {f32:7.3} f64 {f64:7.3}", isa.name(), function.name());
            }
        }
        if wanted.as_ref().is_none_or(|name| name == "pow") {
            let f32 = power(isa, &single, &single_exponents);
            let f64 = power(isa, &numbers, &exponents);
            println!("{:8} pow    f32 {f32:7.3} f64 {f64:7.3}", isa.name());
        }
    }
}

/// Numbers around 0, of standard deviation 2: sums of twelve uniform ones.
fn normal(count: usize) -> Vec<f64> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| 2.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).collect()
}

/// The best time of some, by element.
fn best(mut call: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..TURNS {
        let begin = Instant::now();
        call();
        least = least.min(begin.elapsed().as_secs_f64());
    }
    least * 1e9 / (RUN * RUNS) as f64
}

fn sizes<T: Real + PartialOrd + Default + std::ops::Neg<Output = T>>(function: Function, numbers: &[T]) -> Vec<T> {
    let is_log = function.name().starts_with("log");
    numbers.iter().map(|&each| if is_log && each < T::default() { -each } else { each }).collect()
}

fn unary<T: Real + PartialOrd + Default + std::ops::Neg<Output = T>>(
    isa: Isa,
    function: Function,
    numbers: &[T],
) -> f64 {
    let numbers = sizes(function, numbers);
    let mut found = vec![T::default(); RUN];
    best(|| numbers.chunks_exact(RUN).for_each(|run| runs::apply(isa, function, run, &mut found)))
}

fn power<T: Real + PartialOrd + Default + std::ops::Neg<Output = T>>(isa: Isa, bases: &[T], exponents: &[T]) -> f64 {
    let bases = sizes(Function::Log, bases);
    let mut found = vec![T::default(); RUN];
    let runs = bases.chunks_exact(RUN).zip(exponents.chunks_exact(RUN)).collect::<Vec<_>>();
    best(|| runs.iter().for_each(|(bases, exponents)| runs::power(isa, bases, exponents, &mut found)))
}
