//! Ending a call early: whoever runs for long asks, and what asked leaves with an error.
//!
//! A call has one [`Watch`]. The executor asks it between steps, launches between pieces of their loops, the interpreter and
//! long loops of machine code between rounds, so that no thread goes on for more than some tenths of a second. Asking is a
//! look at a flag on workers; on the thread that called it is a look at the clock, and ten times a second a question to
//! the caller, who alone knows of signals.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::Instant;

use crate::error::{Error, ErrorKind};

/// Milliseconds between two questions to the caller.
const EVERY: u64 = 100;

/// Weighted operations (`work`) between two looks at a watch: at most some milliseconds of machine code.
pub const LOOK: u64 = 1 << 22;

/// Weighted operations from which on a launch looks at the watch while it runs: less take no second, even where each waits
/// for memory.
pub const LONG: u64 = 1 << 25;

/// What a step that is no launch weighs at least, and what is added to a launch's work.
pub const STEP: u64 = 1 << 8;

/// What a caller is asked: whether the call is to end.
pub type Question<'c> = dyn Fn() -> bool + Sync + 'c;

/// Whether one call is to end.
pub struct Watch<'c> {
    question: Option<&'c Question<'c>>,
    caller: ThreadId,
    begun: Instant,
    /// Milliseconds from the beginning until the caller is asked again.
    next: AtomicU64,
    is_over: AtomicBool,
}

impl<'c> Watch<'c> {
    /// A watch of the call that the current thread begins.
    #[must_use]
    pub fn new(question: Option<&'c Question<'c>>) -> Self {
        Self {
            question,
            caller: thread::current().id(),
            begun: Instant::now(),
            next: AtomicU64::new(EVERY),
            is_over: AtomicBool::new(false),
        }
    }

    /// Whether the call is to end. Once it is, it stays so.
    #[must_use]
    pub fn is_over(&self) -> bool {
        if self.is_over.load(Ordering::Relaxed) {
            return true;
        }
        let Some(question) = self.question else { return false };
        if thread::current().id() != self.caller {
            return false;
        }
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now < self.next.load(Ordering::Relaxed) {
            return false;
        }
        self.next.store(now + EVERY, Ordering::Relaxed);
        if !question() {
            return false;
        }
        self.is_over.store(true, Ordering::Relaxed);
        true
    }

    /// The error that ends the call, where it is to end.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`].
    pub fn look(&self) -> Result<(), Error> {
        if self.is_over() { Err(ErrorKind::Interrupted.anywhere()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_caller_is_asked_on_its_own_thread_and_not_at_once() {
        let asked = AtomicUsize::new(0);
        let question = || asked.fetch_add(1, Ordering::Relaxed) > 0;
        let watch = Watch::new(Some(&question));
        assert!(!watch.is_over());
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        thread::sleep(Duration::from_millis(EVERY + 1));
        thread::scope(|scope| {
            scope.spawn(|| assert!(!watch.is_over()));
        });
        assert!(!watch.is_over());
        assert!(!watch.is_over());
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        thread::sleep(Duration::from_millis(EVERY + 1));
        assert!(watch.is_over());
        thread::scope(|scope| {
            scope.spawn(|| assert!(watch.look().is_err()));
        });
        assert!(!Watch::new(None).is_over());
    }
}
