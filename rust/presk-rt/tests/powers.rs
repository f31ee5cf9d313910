//! Powers over runs are the bits of the libm crate's, on every instruction set there is here.
//!
//! `cargo test` takes 10⁶ pairs of each type, all edges crossed with all, and 2¹⁶ numbers of f32 in each sweep;
//! PRESK_FUNCTIONS=all (`make test-functions`) 10⁸ pairs, and sweeps over every f32 there is; PRESK_FUNCTIONS=few (`make
//! test-aarch64`, under emulation) 10⁵, and 2¹². NaNs count as NaNs.

mod numbers;

use numbers::{Bits, CHUNK, Random, chunks, wanted};
use presk_rt::isa::Isa;
use presk_rt::runs;

fn check<T: Bits>(bases: &[T], exponents: &[T]) {
    let pairs = || bases.iter().zip(exponents);
    let wanted: Vec<u64> = pairs().map(|(&base, &exponent)| T::power(base, exponent).bits()).collect();
    let mut found = vec![T::default(); bases.len()];
    for isa in Isa::available() {
        runs::power(isa, bases, exponents, &mut found);
        for (((base, exponent), &wanted), &found) in pairs().zip(&wanted).zip(&found) {
            let (base, exponent, isa) = (base.bits(), exponent.bits(), isa.name());
            assert_eq!(found.bits(), wanted, "{base:x} to the power of {exponent:x}, {isa}");
        }
    }
}

/// Pairs of every kind: all bits; sizes that people compute with; whole exponents; powers around the largest and the least
/// numbers, of which `most` and `least` are the logarithms to base 2.
fn sample<T: Bits>(count: u64, least: f64, most: f64, of: impl Fn(f64) -> T + Sync) {
    chunks(count / CHUNK as u64 + 1, |chunk| {
        let mut random = Random(chunk << 32);
        let pairs = (0..CHUNK).map(|at| {
            let (bits, part) = (random.next(), random.part());
            let base = random.part() * 8.0;
            let logarithm = match at % 2 {
                0 => most + part * 4.0 - 2.0,
                _ => least - 1.0 + part * 54.0,
            };
            match at % 8 {
                0 => (T::of(bits), T::of(random.next())),
                1 => (T::of(bits), of(part * 40.0 - 20.0)),
                2 => (of(base), of(part * 40.0 - 20.0)),
                3 => (of(base - 4.0), of((part * 60.0).floor() - 30.0)),
                4 => (of(1.0 + (part - 0.5) / 1024.0), T::of(bits)),
                5 => (of(base), T::of(bits)),
                _ => (of(base), of(logarithm / base.log2())),
            }
        });
        let (bases, exponents): (Vec<T>, Vec<T>) = pairs.unzip();
        check(&bases, &exponents);
    });
}

#[test]
#[allow(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
fn pairs_of_every_kind() {
    let count = wanted(100_000, 1_000_000, 100_000_000);
    sample::<f64>(count, -1074.0, 1024.0, |x| x);
    sample::<f32>(count, -149.0, 128.0, |x| x as f32);
}

/// Numbers at which programs change, and some beside each, of both signs.
fn edges<T: Bits>(of: impl Fn(f64) -> T) -> Vec<T> {
    let mut edges = vec![0.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 1e300, f64::from(f32::MAX)];
    edges.extend([f64::from(f32::MIN_POSITIVE), 1.0 / 3.0, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0, 17.0]);
    edges.extend([1.5f64.sqrt(), 3f64.sqrt(), 0.75f64.sqrt(), 127.0, 128.0, 149.0, 150.0, 151.0, 1023.0, 1024.0]);
    edges.extend([1074.0, 1075.0, 1076.0, 1e9]);
    edges.extend([23, 24, 27, 28, 31, 32, 52, 53, 54, 63, 64, 65].map(|power| 2f64.powi(power)));
    let beside = edges.into_iter().flat_map(|edge| (0..5).map(move |beside| (edge, beside)));
    beside
        .flat_map(|(edge, beside)| {
            let near = of(edge).raw().wrapping_add(beside).wrapping_sub(2);
            [T::of(near), T::of(near ^ T::SIGN)]
        })
        .collect()
}

#[test]
#[allow(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
fn edges_crossed_with_edges() {
    fn crossed<T: Bits>(edges: &[T]) {
        for &exponent in edges {
            // Alone, so that a block has no other exponent, and beside all others.
            check(edges, &vec![exponent; edges.len()]);
        }
        for shift in 0..edges.len() {
            let exponents: Vec<T> = (0..edges.len()).map(|at| edges[(at + shift) % edges.len()]).collect();
            check(edges, &exponents);
        }
    }
    crossed(&edges(|x| x));
    crossed(&edges(|x| x as f32));
}

/// Every f32, or one of each so many.
fn sweep(pair: impl Fn(f32) -> (f32, f32) + Sync) {
    let stride = wanted(1 << 20, 1 << 16, 1);
    let count = ((1u64 << 32) / stride).div_ceil(CHUNK as u64);
    chunks(count, |chunk| {
        let number = |at: u64| f32::of((chunk * CHUNK as u64 + at) * stride + chunk % stride);
        let (bases, exponents): (Vec<f32>, Vec<f32>) = (0..CHUNK as u64).map(|at| pair(number(at))).unzip();
        check(&bases, &exponents);
    });
}

#[test]
fn bases_of_every_size() {
    for exponent in [3.0, -2.5, 1.0 / 3.0, 41.0] {
        sweep(|base| (base, exponent));
    }
}

#[test]
fn exponents_of_every_size() {
    for base in [10.0, 0.7, -3.0, 1.000_001] {
        sweep(|exponent| (base, exponent));
    }
}

/// Every length up to two blocks and a rest.
#[test]
fn runs_of_every_length() {
    let bases: Vec<f64> = (0..200u16).map(|at| f64::from(at) / 40.0 + 0.1).collect();
    let exponents: Vec<f64> = bases.iter().rev().map(|&each| each - 2.0).collect();
    for isa in Isa::available() {
        for length in 0..bases.len() {
            let mut found = vec![f64::INFINITY; bases.len()];
            runs::power(isa, &bases[..length], &exponents[..length], &mut found[..length]);
            for (at, &found) in found.iter().enumerate() {
                let wanted = if at < length { libm::pow(bases[at], exponents[at]) } else { f64::INFINITY };
                assert_eq!(found.bits(), wanted.bits(), "at {at} of {length}, {}", isa.name());
            }
        }
    }
}
