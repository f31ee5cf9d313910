//! Draws: element i of a stream is a function of its key, its nonce and i alone.
//!
//! A stream is ChaCha20 with a 64-bit block counter from 0 and a 64-bit nonce, low words first; its words 2i and 2i + 1
//! are the low and high half of the u64 of element i. Every function fills a piece of a stream beginning at any element,
//! so pieces drawn by several workers are the bits of the whole. Nothing here depends on a caller's rounding mode.

use std::hint::black_box;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::float_mode::FloatMode;
use crate::key::Key;

/// Words of 32 bits in the u64 of one element.
const WORDS_PER_BITS: u128 = 2;

/// u64 held at a time on the way to floating point: a few blocks of the cipher, well inside the first cache.
const PIECE: usize = 128;

/// The distance of neighbouring uniforms, 2⁻⁵³: every multiple of it below 1 is an f64.
const UNIFORM_STEP: f64 = 1.0 / (1u64 << 53) as f64;

/// Bits of a u64 that a uniform leaves out.
const UNIFORM_SHIFT: u32 = 11;

/// What a uniform draw is of: lo + (hi − lo)·u, kept within `least` … `most`.
///
/// Rounding brings that to hi, or below the exact lo, now and then; `least` and `most` are the outermost numbers of the
/// stored type in [lo, hi). Narrowing is monotone, so that what is kept within them in f64 is so as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    /// From.
    pub lo: f64,
    /// Up to, without it.
    pub hi: f64,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
}

impl Uniform {
    /// u itself, in [0, 1).
    pub const UNIT: Self = Self { lo: 0.0, hi: 1.0, least: 0.0, most: 1.0 - UNIFORM_STEP };

    /// The value of one u in [0, 1). Where hi − lo overflows it is computed at half the size.
    fn at(&self, width: f64, u: f64) -> f64 {
        let value = if width.is_finite() {
            self.lo + width * u
        } else {
            2.0 * (0.5 * self.lo + (0.5 * self.hi - 0.5 * self.lo) * u)
        };
        value.max(self.least).min(self.most)
    }
}

/// Fills `out` with the u64 of the elements from `start` on.
pub fn fill_bits(key: &Key, nonce: u64, start: u64, out: &mut [u64]) {
    let mut stream = Stream::at(key, nonce, u128::from(start));
    stream.fill(out);
}

/// Fills `out` with lo + (hi − lo)·u of the elements from `start` on, u being uniform in [0, 1): (u64 ≫ 11)/2⁵³.
///
/// Each operation is rounded in f64, and the result kept within `of`'s least and most; lo = 0 and hi = 1 give u itself.
pub fn fill_uniform(key: &Key, nonce: u64, start: u64, of: Uniform, out: &mut [f64]) {
    let _mode = FloatMode::standard();
    let width = black_box(of.hi) - of.lo; // opaque, lest it be computed before the mode is set
    let mut stream = Stream::at(key, nonce, u128::from(start));
    let mut bits = [0; PIECE];
    for piece in out.chunks_mut(PIECE) {
        let bits = &mut bits[..piece.len()];
        stream.fill(bits);
        for (value, &bits) in piece.iter_mut().zip(bits.iter()) {
            *value = of.at(width, unit(bits));
        }
    }
}

/// Fills `out` with mean + std·z of the elements from `start` on, z being standard normal by Box and Muller:
/// element i is √(−2·log(1 − u₂ᵢ))·cos(2π·u₂ᵢ₊₁) with the libm crate's functions, each operation rounded in f64.
pub fn fill_normal(key: &Key, nonce: u64, start: u64, std: f64, mean: f64, out: &mut [f64]) {
    let _mode = FloatMode::standard();
    let mut stream = Stream::at(key, nonce, 2 * u128::from(start));
    let mut bits = [0; PIECE];
    for piece in out.chunks_mut(PIECE / 2) {
        let bits = &mut bits[..2 * piece.len()];
        stream.fill(bits);
        for (value, pair) in piece.iter_mut().zip(bits.chunks_exact(2)) {
            *value = mean + std * standard_normal(unit(pair[0]), unit(pair[1]));
        }
    }
}

/// Fills `out` with a permutation of 0 … n − 1, n being its length: a training epoch's order.
///
/// Fisher and Yates: from the last place i down to place 1, the value there is exchanged with that at ⌊b·(i + 1)/2⁶⁴⌋,
/// b being the stream's next u64, from element 0 on.
pub fn shuffle(key: &Key, nonce: u64, out: &mut [i64]) {
    for (place, value) in (0..).zip(out.iter_mut()) {
        *value = place;
    }
    let mut stream = Stream::at(key, nonce, 0);
    let mut bits = [0; PIECE];
    let mut at = PIECE;
    for place in (1..out.len()).rev() {
        if at == PIECE {
            stream.fill(&mut bits);
            at = 0;
        }
        let other = (u128::from(bits[at]) * (place as u128 + 1)) >> 64;
        out.swap(place, other as usize);
        at += 1;
    }
}

/// The uniform in [0, 1) of an element's u64.
fn unit(bits: u64) -> f64 {
    (bits >> UNIFORM_SHIFT) as f64 * UNIFORM_STEP
}

/// Box and Muller's standard normal of two uniforms in [0, 1).
fn standard_normal(u: f64, v: f64) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - u)).sqrt();
    radius * libm::cos(std::f64::consts::TAU * v)
}

/// A stream's cipher, at some u64.
struct Stream(ChaCha20Rng);

impl Stream {
    fn at(key: &Key, nonce: u64, start: u128) -> Self {
        let mut cipher = ChaCha20Rng::from_seed(*key);
        cipher.set_stream(nonce);
        cipher.set_word_pos(WORDS_PER_BITS * start);
        Self(cipher)
    }

    fn fill(&mut self, out: &mut [u64]) {
        for bits in out {
            *bits = self.0.next_u64();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [7; 32];

    /// ChaCha20 by the book: the yardstick for the cipher crate, on any block.
    fn block(key: &Key, counter: u64, nonce: u64) -> [u32; 16] {
        fn quarter(s: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
            for (x, y, z, bits) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
                s[x] = s[x].wrapping_add(s[y]);
                s[z] = (s[z] ^ s[x]).rotate_left(bits);
            }
        }
        let mut state = [0; 16];
        state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        for (word, bytes) in state[4..12].iter_mut().zip(key.chunks_exact(4)) {
            *word = u32::from_le_bytes(bytes.try_into().unwrap());
        }
        state[12..].copy_from_slice(&[counter as u32, (counter >> 32) as u32, nonce as u32, (nonce >> 32) as u32]);
        let mut mixed = state;
        for _ in 0..10 {
            for (a, b, c, d) in [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)] {
                quarter(&mut mixed, a, b, c, d);
            }
            for (a, b, c, d) in [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)] {
                quarter(&mut mixed, a, b, c, d);
            }
        }
        std::array::from_fn(|i| mixed[i].wrapping_add(state[i]))
    }

    fn bits_by_the_book(key: &Key, nonce: u64, element: u64) -> u64 {
        let words = block(key, element / 8, nonce);
        let at = 2 * (element % 8) as usize;
        u64::from(words[at]) | u64::from(words[at + 1]) << 32
    }

    /// RFC 7539, section 2.3.2, whose 32-bit counter and 96-bit nonce are this state's words 12 to 15.
    #[test]
    fn the_yardstick_gives_the_standards_vector() {
        let key: Key = std::array::from_fn(|i| i as u8);
        let words = block(&key, 0x0900_0000_0000_0001, 0x0000_0000_4a00_0000);
        assert_eq!(words[..4], [0xe4e7_f110, 0x1559_3bd1, 0x1fdd_0f50, 0xc471_20a3]);
        assert_eq!(words[12..], [0xd19c_12b5, 0xb94e_16de, 0xe883_d0cb, 0x4e3c_50a2]);
    }

    #[test]
    fn bits_are_the_ciphers_wherever_a_piece_begins() {
        let across_the_low_counter_word = 8 * (1 << 32) - 100;
        for start in [0, 1, 7, 8, 31, 32, 33, 1_000_003, across_the_low_counter_word, u64::MAX - 1000] {
            let mut out = [0; 300];
            fill_bits(&KEY, 0x8000_0001_0000_0002, start, &mut out);
            for (i, &bits) in (start..).zip(out.iter()) {
                assert_eq!(bits, bits_by_the_book(&KEY, 0x8000_0001_0000_0002, i), "element {i}");
            }
        }
    }

    #[test]
    fn a_piece_is_the_bits_of_the_whole() {
        let fill: [fn(u64, &mut [f64]); 2] = [
            |start, out| fill_uniform(&KEY, 5, start, Uniform { lo: -1.5, hi: 2.0, least: -1.5, most: 1.9 }, out),
            |start, out| fill_normal(&KEY, 5, start, 0.3, 1.0, out),
        ];
        for fill in fill {
            let mut whole = vec![0.0; 1000];
            fill(0, &mut whole);
            for (from, to) in [(0, 0), (0, 1), (1, 500), (63, 65), (64, 200), (127, 999), (999, 1000)] {
                let mut piece = vec![0.0; to - from];
                fill(from as u64, &mut piece);
                assert_eq!(piece, whole[from..to]);
            }
        }
    }

    #[test]
    fn uniforms_are_exact_multiples_below_one() {
        assert_eq!(unit(0), 0.0);
        assert_eq!(unit(u64::MAX), 1.0 - UNIFORM_STEP);
        assert_eq!(unit(1 << UNIFORM_SHIFT), UNIFORM_STEP);
        let mut out = [0.0];
        fill_uniform(&KEY, 0, 3, Uniform::UNIT, &mut out);
        assert_eq!(out[0], unit(bits_by_the_book(&KEY, 0, 3)));
    }

    #[test]
    fn a_uniform_is_kept_within_its_bounds_where_rounding_leaves_them() {
        let last = 1.0 - UNIFORM_STEP;
        let tight = Uniform { lo: 1.0, hi: 1.0 + f64::EPSILON, least: 1.0, most: 1.0 };
        assert_eq!(tight.at(tight.hi - tight.lo, last), 1.0);
        let above = Uniform { lo: 0.1, hi: 0.3, least: 0.11, most: 0.29 };
        assert_eq!((above.at(0.2, 0.0), above.at(0.2, last)), (0.11, 0.29));
        let most = f64::MAX.next_down();
        let widest = Uniform { lo: -f64::MAX, hi: f64::MAX, least: -f64::MAX, most };
        let ends = [0.0, 0.25, 0.5, 1.0].map(|u| widest.at(f64::INFINITY, u));
        assert_eq!(ends, [-f64::MAX, -f64::MAX / 2.0, 0.0, most]);
    }

    #[test]
    fn a_normal_takes_the_elements_own_two_uniforms() {
        let mut out = [0.0; 4];
        fill_normal(&KEY, 9, 40, 2.0, -1.0, &mut out);
        for (i, &value) in (40..).zip(out.iter()) {
            let (u, v) = (unit(bits_by_the_book(&KEY, 9, 2 * i)), unit(bits_by_the_book(&KEY, 9, 2 * i + 1)));
            let z = libm::sqrt(-2.0 * libm::log(1.0 - u)) * libm::cos(2.0 * std::f64::consts::PI * v);
            assert_eq!(value, 2.0 * z + -1.0);
        }
    }

    #[test]
    fn the_extreme_uniforms_give_finite_normals() {
        assert_eq!(standard_normal(0.0, 0.25).abs(), 0.0);
        let farthest = standard_normal(1.0 - UNIFORM_STEP, 0.0);
        assert!(farthest > 8.5 && farthest < 8.6, "{farthest}");
    }

    #[test]
    fn a_shuffle_is_a_permutation_that_its_nonce_decides() {
        for n in [0, 1, 2, 3, 127, 128, 129, 1000] {
            let mut order = vec![-1; n];
            shuffle(&KEY, 1, &mut order);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..n as i64));
            if n > 100 {
                let mut other = vec![-1; n];
                shuffle(&KEY, 2, &mut other);
                assert_ne!(order, other);
            }
        }
    }

    #[test]
    fn a_shuffle_swaps_downward_with_the_streams_bits_in_turn() {
        let n = 300;
        let mut expected: Vec<i64> = (0..n).collect();
        for (element, place) in (0..).zip((1..n as usize).rev()) {
            let scaled = u128::from(bits_by_the_book(&KEY, 4, element)) * (place as u128 + 1);
            expected.swap(place, (scaled >> 64) as usize);
        }
        let mut order = vec![0; n as usize];
        shuffle(&KEY, 4, &mut order);
        assert_eq!(order, expected);
    }
}
