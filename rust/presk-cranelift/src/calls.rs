//! Functions that generated code calls: the libm crate's, each under a name and a number of its own.
//!
//! The numbers are those under which [`crate::jit`] declares them, so that code can be generated without a module.

use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, InstBuilder, Signature, UserExternalName, Value,
};
use presk_kernel::ir::{Arithmetic, Function};

use crate::generator::Generator;
use crate::types;

/// Number of declared functions: every [`Function`], then pow.
pub(crate) const COUNT: usize = Function::ALL.len() + 1;

const POW: usize = COUNT - 1;

/// Function names by number, as the symbol table has them.
pub(crate) fn names(arithmetic: Arithmetic) -> [String; COUNT] {
    std::array::from_fn(|number| {
        let name = Function::ALL.get(number).map_or("pow", |function| function.name());
        format!("presk_{name}_{}", arithmetic.name())
    })
}

/// Number of arguments of a function by number.
pub(crate) fn arguments(number: usize) -> usize {
    if number == POW { 2 } else { 1 }
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
    pow_f32 = libm::powf: (x, y) f32;
    exp_f64 = libm::exp: (x) f64;
    expm1_f64 = libm::expm1: (x) f64;
    log_f64 = libm::log: (x) f64;
    log1p_f64 = libm::log1p: (x) f64;
    tanh_f64 = libm::tanh: (x) f64;
    sin_f64 = libm::sin: (x) f64;
    cos_f64 = libm::cos: (x) f64;
    erf_f64 = libm::erf: (x) f64;
    pow_f64 = libm::pow: (x, y) f64;
    fma_f32 = libm::fmaf: (x, y, z) f32;
    fma_f64 = libm::fma: (x, y, z) f64;
    floor_f32 = libm::floorf: (x) f32;
    floor_f64 = libm::floor: (x) f64;
}

/// Every symbol generated code may name and the address of its function. The plain names are those Cranelift itself asks
/// for where an instruction set has no such instruction.
pub(crate) fn symbols() -> Vec<(String, *const u8)> {
    let single: [extern "C" fn(f32) -> f32; 8] =
        [exp_f32, expm1_f32, log_f32, log1p_f32, tanh_f32, sin_f32, cos_f32, erf_f32];
    let double: [extern "C" fn(f64) -> f64; 8] =
        [exp_f64, expm1_f64, log_f64, log1p_f64, tanh_f64, sin_f64, cos_f64, erf_f64];
    let singles = single.iter().map(|each| *each as *const u8).chain([pow_f32 as *const u8]);
    let doubles = double.iter().map(|each| *each as *const u8).chain([pow_f64 as *const u8]);
    let mut all: Vec<(String, *const u8)> = names(Arithmetic::F32).into_iter().zip(singles).collect();
    all.extend(names(Arithmetic::F64).into_iter().zip(doubles));
    for (name, address) in [
        ("fmaf", fma_f32 as *const u8),
        ("fma", fma_f64 as *const u8),
        ("floorf", floor_f32 as *const u8),
        ("floor", floor_f64 as *const u8),
    ] {
        all.push((name.to_owned(), address));
    }
    all
}

/// The signature of a function by number.
pub(crate) fn signature(
    number: usize,
    arithmetic: Arithmetic,
    convention: cranelift_codegen::isa::CallConv,
) -> Signature {
    let real = AbiParam::new(types::real(arithmetic));
    let mut signature = Signature::new(convention);
    signature.params.extend(std::iter::repeat_n(real, arguments(number)));
    signature.returns.push(real);
    signature
}

impl Generator<'_, '_> {
    pub(crate) fn call(&mut self, function: Function, argument: Value) -> Value {
        let number = Function::ALL.iter().position(|each| *each == function).expect("every function is listed");
        self.call_number(number, &[argument])
    }

    pub(crate) fn call_pow(&mut self, base: Value, exponent: Value) -> Value {
        self.call_number(POW, &[base, exponent])
    }

    fn call_number(&mut self, number: usize, arguments: &[Value]) -> Value {
        let reference = self.functions[number].unwrap_or_else(|| self.import(number));
        self.functions[number] = Some(reference);
        let call = self.builder.ins().call(reference, arguments);
        self.builder.inst_results(call)[0]
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
