//! What the tests of routines over runs share: how many numbers are asked for, how they are compared, and random bits.

#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::atomic::{AtomicU64, Ordering};

use presk_kernel::forms;
use presk_kernel::ir::Function;
use presk_rt::runs::Real;

/// Numbers that are given to a routine at once.
pub const CHUNK: usize = 1 << 14;

/// The one of three numbers that PRESK_FUNCTIONS asks for.
pub fn wanted<T>(few: T, sample: T, all: T) -> T {
    match std::env::var("PRESK_FUNCTIONS").as_deref() {
        Ok("all") => all,
        Ok("few") => few,
        _ => sample,
    }
}

/// A type whose numbers are compared by their bits.
pub trait Bits: Real + Default + Send + Sync {
    /// The sign among the bits.
    const SIGN: u64;
    /// The bits, of every NaN the same.
    fn bits(self) -> u64;
    /// The bits, a NaN's as they are.
    fn raw(self) -> u64;
    fn of(bits: u64) -> Self;
    fn function(function: Function) -> fn(Self) -> Self;
    fn power(base: Self, exponent: Self) -> Self;
}

macro_rules! bits {
    ($real:ty, $word:ty, $power:path, $($function:ident = $path:path),*) => {
        impl Bits for $real {
            const SIGN: u64 = 1 << (<$word>::BITS - 1);

            fn bits(self) -> u64 {
                if self.is_nan() { u64::MAX } else { u64::from(self.to_bits()) }
            }

            fn raw(self) -> u64 {
                u64::from(self.to_bits())
            }

            #[allow(clippy::cast_possible_truncation, reason = "the lower half is what an f32 has")]
            fn of(bits: u64) -> Self {
                Self::from_bits(bits as $word)
            }

            fn function(function: Function) -> fn(Self) -> Self {
                match function {
                    $(Function::$function => $path),*
                }
            }

            fn power(base: Self, exponent: Self) -> Self {
                $power(base, exponent)
            }
        }
    };
}

bits!(
    f32,
    u32,
    libm::powf,
    Exp = libm::expf,
    Expm1 = libm::expm1f,
    Log = libm::logf,
    Log1p = libm::log1pf,
    Tanh = libm::tanhf,
    Sin = libm::sinf,
    Cos = libm::cosf,
    Erf = libm::erff,
    Erfc = libm::erfcf,
    Gaussian = forms::gaussian,
    Gelu = forms::gelu,
    GeluSlope = forms::gelu_slope,
    Silu = forms::silu,
    SiluSlope = forms::silu_slope,
    GeluTanh = forms::gelu_tanh,
    GeluTanhSlope = forms::gelu_tanh_slope
);
bits!(
    f64,
    u64,
    libm::pow,
    Exp = libm::exp,
    Expm1 = libm::expm1,
    Log = libm::log,
    Log1p = libm::log1p,
    Tanh = libm::tanh,
    Sin = libm::sin,
    Cos = libm::cos,
    Erf = libm::erf,
    Erfc = libm::erfc,
    Gaussian = forms::gaussian,
    Gelu = forms::gelu,
    GeluSlope = forms::gelu_slope,
    Silu = forms::silu,
    SiluSlope = forms::silu_slope,
    GeluTanh = forms::gelu_tanh,
    GeluTanhSlope = forms::gelu_tanh_slope
);

/// A stream of bits that a number decides.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Does chunks 0 … `count` − 1 on as many threads as there are cores.
pub fn chunks(count: u64, chunk: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    chunk(number);
                }
            });
        }
    });
}
