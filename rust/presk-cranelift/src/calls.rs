//! Functions that generated code calls: the libm crate's, each under a name and a number of its own, the routines that give
//! them over runs, that of tiles, those of folds and of maps, and the one that long loops ask whether to go on.
//!
//! The numbers are those under which [`crate::jit`] declares them, so that code can be generated without a module.

use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, Inst, InstBuilder, Signature, UserExternalName, Value, types as clif,
};
use presk_kernel::forms;
use presk_kernel::ir::{Applied, Apply, Arithmetic, Function};
use presk_rt::folds::Fold;
use presk_rt::isa::Isa;
use presk_rt::runs::{Map, Real};
use presk_rt::tile;

use crate::generator::Generator;
use crate::jit::look;
use crate::types;

/// Elementary functions: every [`Function`], then pow.
const FUNCTIONS: usize = Function::ALL.len() + 1;

/// Number of declared functions: the elementary ones of reals, those of runs, the routine of tiles, those of folds,
/// those of maps, the one that says whether to go on.
pub(crate) const COUNT: usize = LOOK + 1;

const TILE: usize = 2 * FUNCTIONS;

const FOLDS: usize = TILE + 1;

const MAPS: usize = FOLDS + Fold::ALL.len();

const LOOK: usize = MAPS + Map::COUNT;

const POW: usize = FUNCTIONS - 1;

/// Function names by number, as the symbol table has them.
pub(crate) fn names(arithmetic: Arithmetic) -> [String; COUNT] {
    std::array::from_fn(|number| {
        if number == TILE {
            return format!("presk_tile_{}", arithmetic.name());
        }
        if number == LOOK {
            return "presk_look".to_owned();
        }
        if let Some(map) = number.checked_sub(MAPS) {
            return format!("presk_map_{map}_{}", arithmetic.name());
        }
        if let Some(fold) = number.checked_sub(FOLDS) {
            return format!("presk_fold_{}_{}", Fold::ALL[fold].name(), arithmetic.name());
        }
        let name = Function::ALL.get(number % FUNCTIONS).map_or("pow", |function| function.name());
        let prefix = if number < FUNCTIONS { "presk" } else { "presk_run" };
        format!("{prefix}_{name}_{}", arithmetic.name())
    })
}

macro_rules! wrap {
    ($($wrapper:ident = $function:path: ($($argument:ident),+) $real:ty;)*) => {
        $(extern "C" fn $wrapper($($argument: $real),+) -> $real {
            $function($($argument),+)
        })*
    };
}

wrap! {
    exp_f32 = libm::expf: (x) f32;
    expm1_f32 = libm::expm1f: (x) f32;
    log_f32 = libm::logf: (x) f32;
    log1p_f32 = libm::log1pf: (x) f32;
    tanh_f32 = libm::tanhf: (x) f32;
    sin_f32 = libm::sinf: (x) f32;
    cos_f32 = libm::cosf: (x) f32;
    erf_f32 = libm::erff: (x) f32;
    erfc_f32 = libm::erfcf: (x) f32;
    gaussian_f32 = forms::gaussian: (x) f32;
    gelu_f32 = forms::gelu: (x) f32;
    gelu_slope_f32 = forms::gelu_slope: (x) f32;
    silu_f32 = forms::silu: (x) f32;
    silu_slope_f32 = forms::silu_slope: (x) f32;
    gelu_tanh_f32 = forms::gelu_tanh: (x) f32;
    gelu_tanh_slope_f32 = forms::gelu_tanh_slope: (x) f32;
    pow_f32 = libm::powf: (x, y) f32;
    exp_f64 = libm::exp: (x) f64;
    expm1_f64 = libm::expm1: (x) f64;
    log_f64 = libm::log: (x) f64;
    log1p_f64 = libm::log1p: (x) f64;
    tanh_f64 = libm::tanh: (x) f64;
    sin_f64 = libm::sin: (x) f64;
    cos_f64 = libm::cos: (x) f64;
    erf_f64 = libm::erf: (x) f64;
    erfc_f64 = libm::erfc: (x) f64;
    gaussian_f64 = forms::gaussian: (x) f64;
    gelu_f64 = forms::gelu: (x) f64;
    gelu_slope_f64 = forms::gelu_slope: (x) f64;
    silu_f64 = forms::silu: (x) f64;
    silu_slope_f64 = forms::silu_slope: (x) f64;
    gelu_tanh_f64 = forms::gelu_tanh: (x) f64;
    gelu_tanh_slope_f64 = forms::gelu_tanh_slope: (x) f64;
    pow_f64 = libm::pow: (x, y) f64;
    fma_f32 = libm::fmaf: (x, y, z) f32;
    fma_f64 = libm::fma: (x, y, z) f64;
    floor_f32 = libm::floorf: (x) f32;
    floor_f64 = libm::floor: (x) f64;
}

/// Every symbol generated code may name and the address of its function; of routines, an instruction set's. The plain
/// names are those Cranelift itself asks for where an instruction set has no such instruction.
pub(crate) fn symbols(isa: Isa) -> Vec<(String, *const u8)> {
    let single: [extern "C" fn(f32) -> f32; Function::ALL.len()] = [
        exp_f32,
        expm1_f32,
        log_f32,
        log1p_f32,
        tanh_f32,
        sin_f32,
        cos_f32,
        erf_f32,
        erfc_f32,
        gaussian_f32,
        gelu_f32,
        gelu_slope_f32,
        silu_f32,
        silu_slope_f32,
        gelu_tanh_f32,
        gelu_tanh_slope_f32,
    ];
    let double: [extern "C" fn(f64) -> f64; Function::ALL.len()] = [
        exp_f64,
        expm1_f64,
        log_f64,
        log1p_f64,
        tanh_f64,
        sin_f64,
        cos_f64,
        erf_f64,
        erfc_f64,
        gaussian_f64,
        gelu_f64,
        gelu_slope_f64,
        silu_f64,
        silu_slope_f64,
        gelu_tanh_f64,
        gelu_tanh_slope_f64,
    ];
    let singles = single.iter().map(|each| *each as *const u8).chain([pow_f32 as *const u8]);
    let doubles = double.iter().map(|each| *each as *const u8).chain([pow_f64 as *const u8]);
    let singles =
        singles.chain(routines::<f32>(isa)).chain([tile::routine_f32(isa) as *const u8]).chain(others::<f32>(isa));
    let doubles =
        doubles.chain(routines::<f64>(isa)).chain([tile::routine_f64(isa) as *const u8]).chain(others::<f64>(isa));
    let mut all: Vec<(String, *const u8)> = names(Arithmetic::F32).into_iter().zip(singles).collect();
    all.extend(names(Arithmetic::F64).into_iter().zip(doubles));
    for (name, address) in [
        ("presk_look", look as *const u8),
        ("fmaf", fma_f32 as *const u8),
        ("fma", fma_f64 as *const u8),
        ("floorf", floor_f32 as *const u8),
        ("floor", floor_f64 as *const u8),
    ] {
        all.push((name.to_owned(), address));
    }
    all
}

/// The routines of a type, in the order of their numbers.
fn routines<T: Real>(isa: Isa) -> impl Iterator<Item = *const u8> {
    let table = T::routines(isa);
    let functions = Function::ALL.into_iter().map(|function| table.function(function) as *const u8);
    functions.chain([table.power() as *const u8])
}

/// The routines of folds and maps of a type, in the order of their numbers.
fn others<T: presk_rt::folds::Real + Real>(isa: Isa) -> impl Iterator<Item = *const u8> {
    let (folds, table) = (T::folds(isa), T::routines(isa));
    let folds = Fold::ALL.into_iter().map(|fold| folds.routine(fold) as *const u8);
    folds.chain((0..Map::COUNT).map(|map| table.map(Map::numbered(map)) as *const u8))
}

/// The signature of a function by number: of reals, of pointers to runs and their number of elements, of a tile's form
/// and pointers to its sums, factors and scales, of pointers to a fold's rows and values and their numbers, or of pointers to
/// runs, two reals and their number of elements.
pub(crate) fn signature(
    number: usize,
    arithmetic: Arithmetic,
    convention: cranelift_codegen::isa::CallConv,
) -> Signature {
    let mut signature = Signature::new(convention);
    let arguments = if number % FUNCTIONS == POW { 2 } else { 1 };
    if number == TILE {
        signature.params.extend([AbiParam::new(clif::I64); 5]);
    } else if number == LOOK {
        signature.params.push(AbiParam::new(clif::I64));
        signature.returns.push(AbiParam::new(clif::I64));
    } else if number >= MAPS {
        let whole = AbiParam::new(clif::I64);
        let real = AbiParam::new(types::real(arithmetic));
        signature.params.extend([whole, whole, whole, whole, real, real, whole]);
    } else if number >= FOLDS {
        signature.params.extend([AbiParam::new(clif::I64); 5]);
    } else if number < FUNCTIONS {
        let real = AbiParam::new(types::real(arithmetic));
        signature.params.extend(std::iter::repeat_n(real, arguments));
        signature.returns.push(real);
    } else {
        signature.params.extend(std::iter::repeat_n(AbiParam::new(clif::I64), arguments + 2));
    }
    signature
}

fn number_of(function: Function) -> usize {
    Function::ALL.iter().position(|each| *each == function).expect("every function is listed")
}

impl<'k> Generator<'_, 'k> {
    pub(crate) fn call(&mut self, function: Function, argument: Value) -> Value {
        let call = self.call_number(number_of(function), &[argument]);
        self.builder.inst_results(call)[0]
    }

    pub(crate) fn call_pow(&mut self, base: Value, exponent: Value) -> Value {
        let call = self.call_number(POW, &[base, exponent]);
        self.builder.inst_results(call)[0]
    }

    /// The routine of a function over a run.
    pub(crate) fn apply(&mut self, apply: &'k Apply) {
        let number = match apply.applied {
            Applied::Function(function, _) => number_of(function),
            Applied::Power(..) => POW,
        };
        let mut arguments: Vec<Value> = apply.sources().map(|source| self.place(source)).collect();
        arguments.push(self.place(&apply.target));
        arguments.push(self.whole(apply.count.cast_signed()));
        self.call_number(FUNCTIONS + number, &arguments);
    }

    /// Form, first sum, first factors, first scale.
    pub(crate) fn call_tile(&mut self, arguments: [Value; 5]) {
        self.call_number(TILE, &arguments);
    }

    /// Pointers to rows, values and a spread's numbers, how many, elements of each.
    pub(crate) fn call_fold(&mut self, fold: Fold, arguments: [Value; 5]) {
        self.call_number(FOLDS + fold as usize, &arguments);
    }

    /// Source, target, gains, shifts, centre, scale, elements.
    pub(crate) fn call_map(&mut self, map: Map, arguments: [Value; 7]) {
        self.call_number(MAPS + map.number(), &arguments);
    }

    /// Whether the run is to end: 0 where it isn't.
    pub(crate) fn call_look(&mut self, watch: Value) -> Value {
        let call = self.call_number(LOOK, &[watch]);
        self.builder.inst_results(call)[0]
    }

    fn call_number(&mut self, number: usize, arguments: &[Value]) -> Inst {
        let reference = self.functions[number].unwrap_or_else(|| self.import(number));
        self.functions[number] = Some(reference);
        self.builder.ins().call(reference, arguments)
    }

    fn import(&mut self, number: usize) -> FuncRef {
        let convention = self.builder.func.signature.call_conv;
        let signature = self.builder.import_signature(signature(number, self.kernel.arithmetic, convention));
        let index = u32::try_from(number).expect("a small number");
        let name = self.builder.func.declare_imported_user_function(UserExternalName::new(0, index));
        let name = ExternalName::user(name);
        self.builder.import_function(ExtFuncData { name, signature, colocated: false, patchable: false })
    }
}
