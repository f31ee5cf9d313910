//! Instruction sets that routines compiled ahead exist for.
//!
//! One source is compiled for each, so every one of them gives the same bits; they differ in how wide a vector is. What
//! the machine at hand has is asked once. Which one a kernel's routines are of, its target says
//! (`presk_cranelift::Target`, which `PRESK_ISA` names).

use std::sync::OnceLock;

/// An instruction set, each holding those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What every machine of the architecture has: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// x86-64 with AVX2, FMA and what came with them.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL as well.
    Avx512,
}

impl Isa {
    /// Every instruction set, the least first.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// The name in `PRESK_ISA`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether the machine at hand has it.
    #[must_use]
    pub fn is_available(self) -> bool {
        self <= Self::best()
    }

    /// The greatest the machine at hand has.
    #[must_use]
    pub fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// Those the machine at hand has, the least first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|isa| isa.is_available())
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    use std::arch::is_x86_feature_detected as has;
    let has_avx2 = has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt");
    let has_avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
    match (has_avx2, has_avx512) {
        (true, true) => Isa::Avx512,
        (true, false) => Isa::Avx2,
        _ => Isa::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    Isa::Baseline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_and_all_below_it_are_there() {
        let available: Vec<Isa> = Isa::available().collect();
        assert_eq!(available.first(), Some(&Isa::Baseline));
        assert_eq!(available.last(), Some(&Isa::best()));
        assert_eq!(available, Isa::ALL[..available.len()]);
    }
}
