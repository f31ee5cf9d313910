//! Every routine compiled for every instruction set, from one source.

use presk_kernel::forms;

use crate::isa::Isa;
use crate::runs::Table;
use crate::runs::block::{LONG, SHORT, map, run, run_of_two, vectors};
use crate::runs::maps::{self, Map};
use crate::runs::parts::by_size;
use crate::runs::{double, pack, single};

/// A routine over one run, compiled with the features named.
macro_rules! unary {
    ($real:ty, $programs:ident::$function:ident, $pack:ty, $long:expr, $short:expr, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(source: *const $real, target: *mut $real, count: usize) {
            // SAFETY: the caller keeps the contract of `Unary`.
            unsafe { run(source, target, count, $programs::$function::<$pack, $long>, $programs::$function::<$pack, $short>) }
        }
        routine
    }};
}

/// A routine over one run of a function that has a program for each of three ranges of sizes.
macro_rules! by_size {
    ($real:ty, $programs:ident::$function:ident, $pack:ty, $long:expr, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(source: *const $real, target: *mut $real, count: usize) {
            // SAFETY: the caller keeps the contract of `Unary`.
            unsafe { by_size::<$real, $pack, $programs::$function<$pack>, $long>(source, target, count) }
        }
        routine
    }};
}

/// A routine over one run of a form, whose program is the one that all executors have.
macro_rules! form {
    ($real:ty, $form:ident, $long:expr, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(source: *const $real, target: *mut $real, count: usize) {
            // SAFETY: the caller keeps the contract of `Unary`.
            unsafe { run(source, target, count, |x: &[$real; $long], y| map(x, y, forms::$form), |x: &[$real; $long], y| map(x, y, forms::$form)) }
        }
        routine
    }};
}

/// A routine over two runs.
macro_rules! binary {
    ($real:ty, $programs:ident::$function:ident, $pack:ty, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(left: *const $real, right: *const $real, target: *mut $real, count: usize) {
            // SAFETY: the caller keeps the contract of `Binary`.
            unsafe { run_of_two(left, right, target, count, $programs::$function::<$pack, LONG>, $programs::$function::<$pack, SHORT>) }
        }
        routine
    }};
}

/// The routines of maps by their numbers.
macro_rules! maps {
    ($real:ty, $feature:tt, $($number:literal)*) => {
        [$(map!($real, $number, $feature)),*]
    };
}

/// The routine of one map.
macro_rules! map {
    ($real:ty, $number:literal, [$($feature:tt)*]) => {{
        $($feature)*
        unsafe extern "C" fn routine(
            source: *const $real,
            target: *mut $real,
            gains: *const $real,
            shifts: *const $real,
            centre: $real,
            scale: $real,
            count: usize,
        ) {
            const MAP: Map = Map::numbered($number);
            let sources = [source, if MAP.gain { gains } else { source }, if MAP.shift { shifts } else { source }];
            // SAFETY: the caller keeps the contract of `Mapped`.
            unsafe { maps::run::<$real, $number>(sources, target, centre, scale, count) }
        }
        routine
    }};
}

/// The routines of one type, in the order of `Function::ALL`.
macro_rules! table {
    ($real:ty, $programs:ident, $pack:ty, $bytes:literal, $feature:tt) => {{
        const TWO: usize = vectors(2, $bytes, size_of::<$real>());
        const FOUR: usize = vectors(4, $bytes, size_of::<$real>());
        const EIGHT: usize = vectors(8, $bytes, size_of::<$real>());
        Table {
            functions: [
                unary!($real, $programs::exp, $pack, FOUR, TWO, $feature),
                unary!($real, $programs::expm1, $pack, EIGHT, TWO, $feature),
                unary!($real, $programs::log, $pack, LONG, SHORT, $feature),
                unary!($real, $programs::log1p, $pack, LONG, SHORT, $feature),
                unary!($real, $programs::tanh, $pack, EIGHT, TWO, $feature),
                unary!($real, $programs::sin, $pack, LONG, SHORT, $feature),
                unary!($real, $programs::cos, $pack, LONG, SHORT, $feature),
                by_size!($real, $programs::Erf, $pack, FOUR, $feature),
                by_size!($real, $programs::Erfc, $pack, FOUR, $feature),
                form!($real, gaussian, FOUR, $feature),
                form!($real, gelu, FOUR, $feature),
                form!($real, gelu_slope, FOUR, $feature),
                form!($real, silu, FOUR, $feature),
                form!($real, silu_slope, FOUR, $feature),
                form!($real, gelu_tanh, FOUR, $feature),
                form!($real, gelu_tanh_slope, FOUR, $feature),
            ],
            maps: maps!($real, $feature, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23),
            power: binary!($real, $programs::pow, $pack, $feature),
        }
    }};
}

/// The routines of both types.
macro_rules! tables {
    ($isa:ident, $pack:ty, $bytes:literal, $feature:tt) => {
        mod $isa {
            use super::{
                LONG, Map, SHORT, Table, by_size, double, forms, map, maps, pack, run, run_of_two, single, vectors,
            };

            pub static SINGLE: Table<f32> = table!(f32, single, $pack, $bytes, $feature);
            pub static DOUBLE: Table<f64> = table!(f64, double, $pack, $bytes, $feature);
        }
    };
}

tables!(baseline, pack::Plain, 32, []);
#[cfg(target_arch = "x86_64")]
tables!(avx2, pack::Avx2, 32, [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]]);
#[cfg(target_arch = "x86_64")]
tables!(avx512, pack::Avx512, 64, [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]]);

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
