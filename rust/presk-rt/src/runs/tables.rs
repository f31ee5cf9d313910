//! Every routine compiled for every instruction set, from one source.

use crate::isa::Isa;
use crate::runs::Table;
use crate::runs::block::{run, run_of_two};
use crate::runs::{double, single};

/// A routine over one run, compiled with the features named.
macro_rules! unary {
    ($real:ty, $program:path, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(source: *const $real, target: *mut $real, count: usize) {
            // SAFETY: the caller keeps the contract of `Unary`.
            unsafe { run(source, target, count, $program) }
        }
        routine
    }};
}

/// A routine over two runs.
macro_rules! binary {
    ($real:ty, $program:path, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(left: *const $real, right: *const $real, target: *mut $real, count: usize) {
            // SAFETY: the caller keeps the contract of `Binary`.
            unsafe { run_of_two(left, right, target, count, $program) }
        }
        routine
    }};
}

/// The routines of one type, in the order of `Function::ALL`.
macro_rules! table {
    ($real:ty, $programs:ident, $feature:tt) => {
        Table {
            functions: [
                unary!($real, $programs::exp, $feature),
                unary!($real, $programs::expm1, $feature),
                unary!($real, $programs::log, $feature),
                unary!($real, $programs::log1p, $feature),
                unary!($real, $programs::tanh, $feature),
                unary!($real, $programs::sin, $feature),
                unary!($real, $programs::cos, $feature),
                unary!($real, $programs::erf, $feature),
            ],
            power: binary!($real, $programs::pow, $feature),
        }
    };
}

/// The routines of both types.
macro_rules! tables {
    ($isa:ident, $feature:tt) => {
        mod $isa {
            use super::{Table, double, run, run_of_two, single};

            pub static SINGLE: Table<f32> = table!(f32, single, $feature);
            pub static DOUBLE: Table<f64> = table!(f64, double, $feature);
        }
    };
}

tables!(baseline, []);
#[cfg(target_arch = "x86_64")]
tables!(avx2, [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt")]]);
#[cfg(target_arch = "x86_64")]
tables!(avx512, [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]]);

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
