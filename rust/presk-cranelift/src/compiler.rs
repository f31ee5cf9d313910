//! Compiling many kernels, side by side and each only once.
//!
//! Code is remembered by what it was made of (the kernel's text, how it is compiled, and the machine) for as long as
//! somebody uses it. What is remembered and the threads that compile belong to a process: after a fork the child begins
//! anew, so that a lock or a thread the parent had is never waited for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use presk_kernel::Kernel;
use presk_rt::code::{self, Job, KernelCode};
use presk_rt::float_mode::FloatMode;
use rayon::prelude::*;

use crate::error::Error;
use crate::jit::Code;
use crate::prepare::Options;
use crate::target::Target;

/// The code generator as the executor of schedules calls it.
#[derive(Clone)]
pub struct Native {
    target: Target,
    lanes: bool,
}

impl Native {
    /// Code for a target that runs here, with lanes or without.
    #[must_use]
    pub fn new(target: Target, lanes: bool) -> Self {
        Self { target, lanes }
    }
}

impl code::Compiler for Native {
    fn compile(&self, jobs: &[Job<'_>]) -> Result<Vec<Arc<dyn KernelCode>>, presk_rt::error::Error> {
        let requests: Vec<(&Kernel, Options)> =
            jobs.iter().map(|job| (job.kernel, Options { depth: job.depth, lanes: self.lanes })).collect();
        let codes = compile_all(&requests, &self.target)?;
        Ok(codes.into_iter().map(|code| code as Arc<dyn KernelCode>).collect())
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    text: String,
    options: Options,
    target: String,
}

/// Where the code of one key is, locked while it is made: who wants it meanwhile waits for it.
type Place = Arc<Mutex<Weak<Code>>>;

/// What one process remembers.
struct Process {
    id: u32,
    codes: Mutex<HashMap<Key, Place>>,
    threads: OnceLock<Option<rayon::ThreadPool>>,
    /// That of a process forked from this one.
    next: OnceLock<Box<Process>>,
}

static FIRST: OnceLock<Box<Process>> = OnceLock::new();

fn here() -> &'static Process {
    let id = std::process::id();
    let mut place = &FIRST;
    loop {
        let process = place.get_or_init(|| {
            let codes = Mutex::new(HashMap::new());
            Box::new(Process { id, codes, threads: OnceLock::new(), next: OnceLock::new() })
        });
        if process.id == id {
            return process;
        }
        place = &process.next;
    }
}

impl Process {
    /// The place of a key; a new one where there is none. Places that nobody looks at and whose code is gone are dropped.
    fn place(&self, key: &Key) -> Place {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = codes.get(key) {
            return Arc::clone(place);
        }
        codes.retain(|_, place| {
            let is_free = place.try_lock().is_ok_and(|code| code.strong_count() == 0);
            !is_free || Arc::strong_count(place) > 1
        });
        Arc::clone(codes.entry(key.clone()).or_default())
    }

    /// The threads that compile; none where the system refuses some.
    fn threads(&self) -> Option<&rayon::ThreadPool> {
        let start = || {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|number| format!("presk-compile-{number}"))
                // A thread begins in its maker's mode, and constants are computed when code is made.
                .start_handler(|_| std::mem::forget(FloatMode::standard()))
                .build()
                .ok()
        };
        self.threads.get_or_init(start).as_ref()
    }
}

/// The code of a kernel; that of an earlier call while somebody still uses it.
///
/// # Errors
/// Where the kernel isn't proven, is too large, or the target doesn't run here.
pub fn compile(kernel: &Kernel, options: Options, target: &Target) -> Result<Arc<Code>, Error> {
    let key = Key { text: kernel.to_string(), options, target: target.name().to_owned() };
    let process = here();
    let place = process.place(&key);
    let mut found = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(code) = found.upgrade() {
        return Ok(code);
    }
    let _mode = FloatMode::standard();
    let code = Arc::new(Code::new(kernel, options, target)?);
    *found = Arc::downgrade(&code);
    Ok(code)
}

/// The code of each kernel, compiled side by side where there are several.
///
/// # Errors
/// The first kernel's that has none.
pub fn compile_all(requests: &[(&Kernel, Options)], target: &Target) -> Result<Vec<Arc<Code>>, Error> {
    let one = |&(kernel, options): &(&Kernel, Options)| compile(kernel, options, target);
    match here().threads().filter(|_| requests.len() > 1) {
        Some(threads) => threads.install(|| requests.par_iter().map(one).collect()),
        None => requests.iter().map(one).collect(),
    }
}
