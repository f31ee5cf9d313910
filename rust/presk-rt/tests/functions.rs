//! The routines over runs give the bits of the libm crate's functions, on every instruction set there is here.
//!
//! `cargo test` takes a sample of 2²⁴ numbers of f32 and 10⁶ of f64, and all edges; PRESK_FUNCTIONS=all (`make
//! test-functions`) every f32 there is, and 10⁸ of f64; PRESK_FUNCTIONS=few (`make test-aarch64`, under emulation) 2¹⁸
//! and 10⁵. NaNs count as NaNs.

mod numbers;

use numbers::{Bits, CHUNK, Random, chunks, wanted};
use presk_kernel::ir::Function;
use presk_rt::isa::Isa;
use presk_rt::runs;

fn check<T: Bits>(function: Function, numbers: &[T]) {
    let scalar = T::function(function);
    let wanted: Vec<T> = numbers.iter().map(|&each| scalar(each)).collect();
    let mut found = vec![T::default(); numbers.len()];
    for isa in Isa::available() {
        runs::apply(isa, function, numbers, &mut found);
        // Without a way out the comparison runs in vectors.
        let differing = wanted.iter().zip(&found).map(|(a, b)| usize::from(a.bits() != b.bits())).sum::<usize>();
        for ((&number, &wanted), &found) in numbers.iter().zip(&wanted).zip(&found) {
            if differing == 0 {
                break;
            }
            let (name, isa) = (function.name(), isa.name());
            assert_eq!(found.bits(), wanted.bits(), "{name} of the number with the bits {:x}, {isa}", number.bits());
        }
    }
}

/// Checks chunks 0 … `count` − 1 of every function.
fn check_chunks<T: Bits>(count: u64, chunk: impl Fn(u64) -> Vec<T> + Sync) {
    chunks(count, |number| {
        let numbers = chunk(number);
        Function::ALL.into_iter().for_each(|function| check(function, &numbers));
    });
}

#[test]
fn f32_of_every_size() {
    let stride = wanted(1 << 14, 256, 1);
    let chunks = (1u64 << 32) / stride / CHUNK as u64;
    // A sample takes other last digits in each chunk.
    let number = |chunk: u64, at: u64| (chunk * CHUNK as u64 + at) * stride + chunk % stride;
    check_chunks(chunks, |chunk| (0..CHUNK as u64).map(|at| f32::of(number(chunk, at))).collect());
}

#[test]
fn f64_of_every_size() {
    let chunks = wanted(100_000, 1_000_000, 100_000_000) / CHUNK as u64 + 1;
    check_chunks(chunks, |chunk| {
        let mut random = Random(chunk << 32);
        let numbers = (0..CHUNK).map(|at| {
            let bits = random.next();
            let part = (bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            // Of one kind side by side, or mixed: a block takes other ways where all its elements are of one range.
            match if chunk % 2 == 0 { at % 4 } else { at / (CHUNK / 4) } {
                0 => f64::of(bits),
                1 => part * 20.0,
                2 => part * 1600.0,
                // Of every exponent from 2⁻⁶⁰ to 2²⁰ as many.
                _ => f64::of((bits & 0x800f_ffff_ffff_ffff) | ((0x3ff - 60 + (bits >> 53) % 80) << 52)),
            }
        });
        numbers.collect()
    });
}

/// Numbers around which programs change, and the numbers beside each.
fn edges() -> Vec<f64> {
    let mut edges = vec![0.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE];
    edges.extend([1.0, 10.0, 20.0, 0.25, 0.5, 0.84375, 1.25, 6.0, 1.0 / 0.35, 0.75, 87.0, 88.0, 708.0, 709.0]);
    edges.extend([
        104.0,
        104.5,
        745.5,
        89.0,
        103.972_084,
        87.336_55,
        88.722_839,
        745.133_219_101_941_1,
        708.396_418_532_264_1,
    ]);
    edges.extend([709.782_712_893_384, 18.714_973, 38.816_242, 0.549_306_144_334_05, 0.255_412_811_882_99]);
    edges.extend([
        0.292_893_218_813_45,
        0.414_213_562_373_1,
        std::f64::consts::SQRT_2,
        std::f64::consts::FRAC_1_SQRT_2,
    ]);
    edges.extend((-1080..1024).map(|power| 2f64.powi(power)));
    edges.extend((1..2200).map(|halves| f64::from(halves) * 0.5 * std::f64::consts::LN_2));
    edges.extend((1..2200).map(|eighths| f64::from(eighths) * std::f64::consts::FRAC_PI_4));
    edges.extend((1..64).map(|part| f64::from(part * 26_001) * std::f64::consts::FRAC_PI_2));
    // Where the crate compares the upper half of a number alone.
    let halves = [
        0x3fd6_2e42u64,
        0x3ff0_a2b2,
        0x3c90_0000,
        0x4043_687a,
        0x3fe1_93ea,
        0x4034_0000,
        0x3fd0_58ae,
        0x3e30_0000,
        0x3fda_827a,
        0x3fd2_bec4,
        0x3ca0_0000,
        0x3fe6_a09e,
        0x3fe9_21fb,
        0x3e50_0000,
        0x400f_6a7a,
        0x4002_d97c,
        0x401c_463b,
        0x4015_fdbc,
        0x4012_d97c,
        0x4019_21fb,
        0x4139_21fb,
        0x4086_232b,
        0x4006_db6d,
        0x3ff9_21fb,
        0x4009_21fb,
    ];
    edges.extend(halves.into_iter().flat_map(|half| [f64::of(half << 32), f64::of((half + 1) << 32)]));
    edges
}

#[test]
fn edges_of_both_types() {
    let mut double = Vec::new();
    let mut single = Vec::new();
    for edge in edges() {
        for beside in 0..9 {
            let near = (edge.to_bits() + beside).wrapping_sub(4);
            double.extend([f64::from_bits(near), -f64::from_bits(near)]);
            #[allow(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
            let near = ((edge as f32).to_bits() + beside as u32).wrapping_sub(4);
            single.extend([f32::from_bits(near), -f32::from_bits(near)]);
        }
    }
    for function in Function::ALL {
        check(function, &double);
        check(function, &single);
        // Blocks of the numbers around one edge, of one sign.
        for signs in 0..2 {
            for (double, single) in double.chunks(18).zip(single.chunks(18)) {
                check(function, &one_sign(double, signs));
                check(function, &one_sign(single, signs));
            }
        }
    }
}

/// The numbers of one sign among those that come with either, again and again.
fn one_sign<T: Copy>(numbers: &[T], sign: usize) -> Vec<T> {
    numbers.iter().skip(sign).step_by(2).copied().cycle().take(130).collect()
}

/// Every length up to a block of every kind and a rest, and lengths around twice what the longest take together: no element
/// is left out, none beyond the run is touched.
#[test]
fn runs_of_every_length() {
    let numbers: Vec<f32> = (0..1100u16).map(|at| f32::from(at % 199) / 40.0 - 1.0).collect();
    for isa in Isa::available() {
        for function in Function::ALL {
            for length in (0..200).chain(500..530).chain(1010..1100) {
                let mut found = vec![f32::INFINITY; numbers.len()];
                runs::apply(isa, function, &numbers[..length], &mut found[..length]);
                let mut in_place = numbers.clone();
                runs::apply_in_place(isa, function, &mut in_place[..length]);
                assert!(in_place[..length].iter().zip(&found).all(|(a, b)| a.bits() == b.bits()));
                assert_eq!(in_place[length..], numbers[length..]);
                for (at, (&number, &found)) in numbers.iter().zip(&found).enumerate() {
                    let wanted = if at < length { f32::function(function)(number) } else { f32::INFINITY };
                    assert_eq!(found.bits(), wanted.bits(), "{} at {at} of {length}, {}", function.name(), isa.name());
                }
            }
        }
    }
}
