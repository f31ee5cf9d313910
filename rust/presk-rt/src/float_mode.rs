//! The processor's floating-point mode: to nearest even, subnormals kept, nothing trapped.
//!
//! Bits must not depend on the thread that computes them, and a thread may arrive with another mode (a library that
//! flushes subnormals to zero, a caller that rounds upward). Whoever computes values that count holds a [`FloatMode`].

use std::marker::PhantomData;

/// The standard mode, held on this thread until dropped; then the mode found before is set again.
pub struct FloatMode {
    found: Register,
    /// The mode is the thread's own: a guard dropped on another one would set that one's.
    not_send: PhantomData<*const ()>,
}

impl FloatMode {
    /// Sets the standard mode on this thread.
    pub fn standard() -> Self {
        let found = read();
        if found != STANDARD {
            write(STANDARD);
        }
        Self { found, not_send: PhantomData }
    }
}

impl Drop for FloatMode {
    fn drop(&mut self) {
        if self.found != STANDARD {
            write(self.found);
        }
    }
}

#[cfg(target_arch = "x86_64")]
type Register = u32;

/// MXCSR after reset: every exception masked, rounding to nearest even, neither FTZ nor DAZ, no flag raised.
#[cfg(target_arch = "x86_64")]
const STANDARD: Register = 0x1f80;

#[cfg(target_arch = "aarch64")]
type Register = u64;

/// FPCR after reset: no trap, rounding to nearest even, neither FZ nor DN nor AH.
#[cfg(target_arch = "aarch64")]
const STANDARD: Register = 0;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("presk knows the floating-point mode of x86-64 and AArch64 only");

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the mode's register has no safe interface")]
fn read() -> Register {
    let mut register: Register = 0;
    // SAFETY: stmxcsr stores the four bytes of MXCSR at the address given, which is `register`, and changes nothing else.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags)) };
    // The flags of exceptions raised so far are no part of the mode.
    register & !0x3f
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the mode's register has no safe interface")]
fn write(register: Register) {
    // SAFETY: ldmxcsr loads MXCSR from the four bytes of `register`. Its value is STANDARD, under which Rust's arithmetic
    // is defined, or one that `read` found on this thread, put back for whoever set it; no reserved bit is set in either.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const register, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code, reason = "the mode's register has no safe interface")]
fn read() -> Register {
    let register: Register;
    // SAFETY: reading FPCR changes nothing.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) register, options(nomem, nostack, preserves_flags)) };
    register
}

#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code, reason = "the mode's register has no safe interface")]
fn write(register: Register) {
    // SAFETY: the value is STANDARD, under which Rust's arithmetic is defined, or one that `read` found on this thread.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) register, options(nostack, preserves_flags)) };
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::hint::black_box;

    /// Flush to zero and denormals are zero (x86-64); flush to zero (AArch64).
    pub(crate) const FLUSHING: Register = if cfg!(target_arch = "x86_64") { 0x9fc0 } else { 1 << 24 };
    /// Rounding toward +∞.
    pub(crate) const UPWARD: Register = if cfg!(target_arch = "x86_64") { 0x5f80 } else { 1 << 22 };

    /// What a call gives in another mode.
    pub(crate) fn within<T>(mode: Register, call: impl FnOnce() -> T) -> T {
        let found = read();
        write(mode);
        let made = call();
        write(found);
        made
    }

    #[test]
    fn the_standard_mode_holds_within_and_the_callers_after() {
        for mode in [FLUSHING, UPWARD] {
            write(mode);
            {
                let _mode = FloatMode::standard();
                assert_eq!(read(), STANDARD);
                assert!(black_box(f64::MIN_POSITIVE) / black_box(2.0) > 0.0);
                assert_eq!(black_box(1.0) + black_box(1e-30), 1.0);
            }
            let after = read();
            write(STANDARD);
            assert_eq!(after, mode);
        }
    }

    #[test]
    fn guards_nest() {
        write(UPWARD);
        {
            let _outer = FloatMode::standard();
            drop(FloatMode::standard());
            assert_eq!(read(), STANDARD);
        }
        let after = read();
        write(STANDARD);
        assert_eq!(after, UPWARD);
    }
}
