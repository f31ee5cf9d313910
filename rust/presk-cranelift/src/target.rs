//! Machines that code is generated for: the one at hand, at its own or a lower instruction set, or another.

use std::sync::Arc;

use cranelift_codegen::isa::{self, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};

use presk_rt::isa::Isa;

use crate::error::Error;

/// x86-64 instruction sets by name, each with the flags that make it; every one holds those before it.
const X86_LEVELS: [(&str, &[&str]); 5] = [
    ("sse2", &[]),
    ("sse4.2", &["has_cmpxchg16b", "has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"]),
    ("avx", &["has_avx"]),
    ("avx2", &["has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt"]),
    ("avx512", &["has_avx512f", "has_avx512dq", "has_avx512vl"]),
];

/// A machine, and how to generate code for it.
#[derive(Clone)]
pub struct Target {
    isa: OwnedTargetIsa,
    is_host: bool,
    name: String,
}

impl Target {
    /// The machine at hand with all it has.
    ///
    /// # Errors
    /// [`Error::Target`] where it is neither x86-64 nor AArch64.
    pub fn host() -> Result<Self, Error> {
        Self::named("host")
    }

    /// A machine by name: `host`; `baseline`, the least of the host's kind; `sse2`, `sse4.2`, `avx`, `avx2` (with fma) or
    /// `avx512` for an x86-64 that has that and no more; `aarch64`.
    ///
    /// # Errors
    /// [`Error::Target`] for any other name.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::with(name, cfg!(debug_assertions))
    }

    fn with(name: &str, is_checked: bool) -> Result<Self, Error> {
        let fault = |what: String| Error::Target(format!("no code for `{name}`: {what}"));
        let builder = match name {
            "host" => cranelift_native::builder().map_err(|message| fault(message.to_owned()))?,
            "baseline" => lookup(&target_lexicon::Triple::host().to_string()).map_err(fault)?,
            "aarch64" => lookup("aarch64-unknown-linux-gnu").map_err(fault)?,
            _ => x86(name).map_err(fault)?,
        };
        let isa = builder.finish(flags(is_checked)).map_err(|error| fault(error.to_string()))?;
        let is_of_here = matches!(name, "host" | "baseline");
        let runs_here = is_of_here
            || (cfg!(target_arch = "aarch64") && name == "aarch64")
            || (cfg!(target_arch = "x86_64") && is_x86(&*isa) && host_has(name));
        Ok(Self { isa, is_host: runs_here, name: name.to_owned() })
    }

    /// The name it was made by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its code runs on the machine at hand.
    #[must_use]
    pub fn runs_here(&self) -> bool {
        self.is_host
    }

    pub(crate) fn isa(&self) -> &dyn TargetIsa {
        &*self.isa
    }

    pub(crate) fn shared_isa(&self) -> OwnedTargetIsa {
        Arc::clone(&self.isa)
    }

    /// The instruction set whose routines its code calls.
    #[must_use]
    pub fn routines(&self) -> Isa {
        match self.name.as_str() {
            "host" => Isa::best(),
            "avx2" => Isa::Avx2,
            "avx512" => Isa::Avx512,
            _ => Isa::Baseline,
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        let is_x86 = is_x86(self.isa());
        let has_avx = self.isa.isa_flags().iter().any(|flag| flag.name == "has_avx" && flag.as_bool() == Some(true));
        Facts {
            is_x86,
            vector_registers: if is_x86 { 16 } else { 32 },
            has_fma: !is_x86 || self.isa.has_native_fma(),
            aligns_operands: is_x86 && !has_avx,
        }
    }
}

/// What the code generator decides by.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    pub is_x86: bool,
    /// Registers for floats and vectors.
    pub vector_registers: usize,
    pub has_fma: bool,
    /// Whether an instruction's vector operand in memory must be aligned, which no buffer is.
    pub aligns_operands: bool,
}

fn is_x86(isa: &dyn TargetIsa) -> bool {
    matches!(isa.triple().architecture, target_lexicon::Architecture::X86_64)
}

fn lookup(triple: &str) -> Result<isa::Builder, String> {
    let triple = triple.parse::<target_lexicon::Triple>().map_err(|error| error.to_string())?;
    isa::lookup(triple).map_err(|error| error.to_string())
}

fn x86(name: &str) -> Result<isa::Builder, String> {
    let Some(level) = X86_LEVELS.iter().position(|(level, _)| *level == name) else {
        return Err("known are host, baseline, sse2, sse4.2, avx, avx2, avx512 and aarch64".to_owned());
    };
    let mut builder = lookup("x86_64-unknown-linux-gnu")?;
    for flag in X86_LEVELS[..=level].iter().flat_map(|(_, flags)| *flags) {
        builder.enable(flag).map_err(|error| error.to_string())?;
    }
    Ok(builder)
}

/// Whether the processor at hand has an instruction set of [`X86_LEVELS`].
fn host_has(level: &str) -> bool {
    #[cfg(target_arch = "x86_64")]
    return match level {
        "sse2" => true,
        "sse4.2" => std::arch::is_x86_feature_detected!("sse4.2"),
        "avx" => std::arch::is_x86_feature_detected!("avx"),
        "avx2" => Isa::Avx2.is_available(),
        "avx512" => Isa::Avx512.is_available(),
        _ => false,
    };
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// Settings that no machine changes. The verifier and the register allocator's checker run where assertions do.
fn flags(is_checked: bool) -> settings::Flags {
    let mut builder = settings::builder();
    let checked = if is_checked { "true" } else { "false" };
    let all = [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("unwind_info", "false"),
        // Where blocks begin, for telling code from the constants behind it.
        ("machine_code_cfg_info", "true"),
        ("enable_verifier", checked),
        ("regalloc_checker", checked),
    ];
    for (name, value) in all {
        builder.set(name, value).expect("a setting this version of Cranelift has");
    }
    settings::Flags::new(builder)
}
