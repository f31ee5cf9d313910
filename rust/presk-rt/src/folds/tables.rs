//! Every routine compiled for every instruction set, from one source.

use crate::folds::Table;
use crate::isa::Isa;

/// A routine, compiled with the features named.
macro_rules! routine {
    ($real:ty, $program:path, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(
            rows: *const *const $real,
            values: *mut $real,
            centres: *const $real,
            number: usize,
            count: usize,
        ) {
            // SAFETY: the caller keeps the contract of `Routine`.
            unsafe { $program(rows, values, centres, number, count) }
        }
        routine
    }};
}

/// The routines of both types.
macro_rules! tables {
    ($isa:ident, $sums:path, $feature:tt) => {
        mod $isa {
            use super::Table;
            use crate::folds::{extremes, sums::sums};

            pub static SINGLE: Table<f32> = Table([
                routine!(f32, sums::<f32, $sums, false>, $feature),
                routine!(f32, sums::<f32, $sums, true>, $feature),
                routine!(f32, extremes::single::max::<$sums>, $feature),
                routine!(f32, extremes::single::min::<$sums>, $feature),
            ]);
            pub static DOUBLE: Table<f64> = Table([
                routine!(f64, sums::<f64, $sums, false>, $feature),
                routine!(f64, sums::<f64, $sums, true>, $feature),
                routine!(f64, extremes::double::max::<$sums>, $feature),
                routine!(f64, extremes::double::min::<$sums>, $feature),
            ]);
        }
    };
}

tables!(baseline, crate::folds::sums::Plain, []);
#[cfg(target_arch = "x86_64")]
tables!(avx2, crate::folds::x86::Avx, [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]]);
#[cfg(target_arch = "x86_64")]
tables!(avx512, crate::folds::x86::Avx, [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]]);

/// The routines of f32.
pub fn single(isa: Isa) -> &'static Table<f32> {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => &avx512::SINGLE,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => &avx2::SINGLE,
        _ => &baseline::SINGLE,
    }
}

/// The routines of f64.
pub fn double(isa: Isa) -> &'static Table<f64> {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => &avx512::DOUBLE,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => &avx2::DOUBLE,
        _ => &baseline::DOUBLE,
    }
}
