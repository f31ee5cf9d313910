//! The worker pool: pieces of one launch on several threads, without an allocation or a system call a launch.
//!
//! There is one pool for each process and number of threads, shared by all executables and never freed; after a fork the
//! child makes pools of its own. A call leases the whole pool; a second call at the same time finds it taken and runs
//! unsplit. A leased pool runs piece 0 on the caller and piece t on worker t, and waits for them all. A worker that has
//! nothing to do spins for a while, then parks. Workers hold the standard floating-point mode for life. A panic in a
//! piece is an error of the call.

#![allow(unsafe_code, reason = "workers borrow a launch's closure for as long as the caller waits, which no type says")]

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind};
use crate::float_mode::FloatMode;
use crate::interrupt::Watch;

/// Most threads of one pool.
pub const MOST_THREADS: usize = 1024;

/// How long an idle worker spins before it parks: as long as OpenMP's runtimes do, so that the launches of one call find
/// it awake.
const SPIN: Duration = Duration::from_millis(2);

/// The same where the process's workers outnumber its cores and whoever spins keeps another from working.
const SPIN_CROWDED: Duration = Duration::from_micros(5);

/// How long a call waits for its workers before it lets others run: longer than pieces of one launch differ.
const PATIENCE: Duration = Duration::from_millis(1);

/// How many times as long as its own piece a call waits for pieces of equal work that are really being worked on.
const STARVED: u32 = 3;

/// Milliseconds without splits after a worker was kept from its core.
const REST: u64 = 20;

/// Looks at the flag between two looks at the clock.
const LOOKS: u32 = 64;

/// What runs a piece, by its number.
type Piece<'a> = dyn Fn(usize) -> Result<(), Error> + Sync + 'a;

/// The threads that share launches.
pub struct Pool {
    process: u32,
    threads: usize,
    taken: AtomicBool,
    /// Whether the workers have been started, and how many could be.
    started: OnceLock<usize>,
    workers: Box<[Worker]>,
    job: JobCell,
    /// Pieces of the current launch that workers have not finished.
    remaining: Remaining,
    fault: Mutex<Option<Error>>,
    /// Until when, in milliseconds of [`milliseconds`], workers are taken to be kept from their cores; 0 for no time.
    starved_until: AtomicU64,
    next: AtomicPtr<Pool>,
}

/// On a cache line of its own: every worker writes it.
#[repr(align(128))]
struct Remaining(AtomicUsize);

/// What one worker looks at, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Worker {
    /// Counts the pieces posted to this worker.
    posted: AtomicU32,
    parked: AtomicBool,
    thread: OnceLock<Thread>,
}

/// The piece being run.
struct JobCell(UnsafeCell<Option<*const Piece<'static>>>);

// SAFETY: the cell is written by the lease's holder alone, before it posts pieces (a release store to `posted`), and read
// by workers between seeing that (an acquire load) and counting down `remaining` (a release), for which the holder waits
// (an acquire load) before it writes again. The pointer's target is Sync, and outlives that wait.
unsafe impl Sync for JobCell {}
// SAFETY: as above; nothing in the cell belongs to a thread.
unsafe impl Send for JobCell {}

/// All pools of this process and, after a fork, of its ancestors: a list that only grows.
static POOLS: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// Whether the workers of this process outnumber its cores.
static CROWDED: AtomicBool = AtomicBool::new(false);

impl Pool {
    /// The pool of that many threads (1 … [`MOST_THREADS`]), the caller's included.
    #[must_use]
    pub fn of(threads: usize) -> &'static Self {
        let threads = threads.clamp(1, MOST_THREADS);
        let process = std::process::id();
        if let Some(found) = find(process, threads) {
            return found;
        }
        let pool = Box::into_raw(Box::new(Self::new(process, threads)));
        loop {
            let first = POOLS.load(Ordering::Acquire);
            // SAFETY: `pool` comes of `Box::into_raw` and nobody else has seen it yet.
            unsafe { (*pool).next.store(first, Ordering::Relaxed) };
            if POOLS.compare_exchange(first, pool, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                // SAFETY: a listed pool is never freed.
                return unsafe { &*pool };
            }
            if let Some(found) = find(process, threads) {
                // SAFETY: the exchange failed, so the pool was never listed and is this function's alone.
                drop(unsafe { Box::from_raw(pool) });
                return found;
            }
        }
    }

    fn new(process: u32, threads: usize) -> Self {
        Self {
            process,
            threads,
            taken: AtomicBool::new(false),
            started: OnceLock::new(),
            workers: (1..threads).map(|_| Worker::default()).collect(),
            job: JobCell(UnsafeCell::new(None)),
            remaining: Remaining(AtomicUsize::new(0)),
            fault: Mutex::new(None),
            starved_until: AtomicU64::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The pool for one call; none while another call has it.
    pub fn lease(&'static self) -> Option<Lease> {
        if self.threads == 1 || self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return None;
        }
        let threads = 1 + *self.started.get_or_init(|| self.start());
        Some(Lease { pool: self, threads })
    }

    /// Starts the workers; how many there are, fewer where the system refuses more.
    fn start(&'static self) -> usize {
        CROWDED.store(workers_of(self.process) + 1 > cores(), Ordering::Relaxed);
        for (number, worker) in (1..).zip(&self.workers) {
            let name = format!("presk-{number}");
            let Ok(handle) = thread::Builder::new().name(name).spawn(move || self.serve(worker, number)) else {
                return number - 1;
            };
            let _ = worker.thread.set(handle.thread().clone());
        }
        self.workers.len()
    }

    fn serve(&'static self, worker: &'static Worker, number: usize) {
        let _mode = FloatMode::standard();
        let mut seen = 0;
        loop {
            seen = worker.wait(seen);
            // SAFETY: a piece has been posted, so the cell holds the launch's job, which lives and stays in the cell until
            // `remaining` is counted down.
            let job = unsafe { (*self.job.0.get()).map(|job| &*job) };
            if let Some(job) = job {
                self.run_piece(job, number);
            }
            self.remaining.0.fetch_sub(1, Ordering::Release);
        }
    }

    fn run_piece(&self, job: &Piece<'_>, number: usize) {
        let outcome = catch_unwind(AssertUnwindSafe(|| job(number)));
        let error = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(payload) => panicked(payload.as_ref()),
        };
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A pool that one call has to itself.
pub struct Lease {
    pool: &'static Pool,
    threads: usize,
}

impl Lease {
    /// How many pieces run at once.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Whether other processes were just seen to keep the workers from their cores: whoever can then runs unsplit, to the
    /// same bits, rather than wait for a worker that waits for a core.
    #[must_use]
    pub fn is_starved(&self) -> bool {
        let until = self.pool.starved_until.load(Ordering::Relaxed);
        until != 0 && milliseconds() < until
    }

    /// Runs pieces 0 … `pieces` − 1, at most [`Self::threads`] of them, each on a thread of its own. Who waits for the others
    /// goes on asking the watch, which tells them.
    ///
    /// # Errors
    /// One piece's error. All pieces have ended when this returns.
    pub fn run(&mut self, pieces: usize, piece: &Piece<'_>, watch: &Watch<'_>) -> Result<(), Error> {
        assert!((1..=self.threads).contains(&pieces), "{pieces} pieces on {} threads", self.threads);
        let pool = self.pool;
        // SAFETY: only the lifetime changes. Workers use the closure before they count `remaining` down to 0, for which
        // this function waits on every path: pieces don't unwind.
        let job = unsafe { std::mem::transmute::<*const Piece<'_>, *const Piece<'static>>(ptr::from_ref(piece)) };
        // SAFETY: the lease is held mutably and no piece is running, so nobody else touches the cell.
        unsafe { *pool.job.0.get() = Some(job) };
        pool.remaining.0.store(pieces - 1, Ordering::Relaxed);
        for worker in &pool.workers[..pieces - 1] {
            worker.post();
        }
        let begun = Instant::now();
        pool.run_piece(piece, 0);
        let own = begun.elapsed();
        pool.wait(watch);
        if begun.elapsed() > own + PATIENCE.max(own * STARVED) {
            pool.starved_until.store(milliseconds() + REST, Ordering::Relaxed);
        }
        match pool.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.taken.store(false, Ordering::Release);
    }
}

impl Pool {
    /// Waits for the workers' pieces. Who has waited for long lets others run: the worker may be waiting for this very
    /// core, which other processes can fill however few workers this one has.
    fn wait(&self, watch: &Watch<'_>) {
        let mut looks = 0u32;
        let mut begun = None;
        while self.remaining.0.load(Ordering::Acquire) != 0 {
            looks = looks.wrapping_add(1);
            if !looks.is_multiple_of(100 * LOOKS) {
                std::hint::spin_loop();
                continue;
            }
            let _ = watch.is_over();
            if CROWDED.load(Ordering::Relaxed) || begun.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                thread::yield_now();
            }
        }
    }
}

impl Worker {
    /// Hands the worker the piece in the cell.
    fn post(&self) {
        self.posted.fetch_add(1, Ordering::SeqCst);
        // Either this sees that the worker has said it parks, or the worker, having said so, sees the new count.
        if self.parked.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Waits for a count other than the one seen; that count.
    fn wait(&self, seen: u32) -> u32 {
        let begun = Instant::now();
        loop {
            for _ in 0..LOOKS {
                let posted = self.posted.load(Ordering::Acquire);
                if posted != seen {
                    return posted;
                }
                std::hint::spin_loop();
            }
            let patience = if CROWDED.load(Ordering::Relaxed) { SPIN_CROWDED } else { SPIN };
            if begun.elapsed() >= patience {
                break;
            }
        }
        self.parked.store(true, Ordering::SeqCst);
        let posted = loop {
            let posted = self.posted.load(Ordering::SeqCst);
            if posted != seen {
                break posted;
            }
            // A worker's handle is set just after it starts; until then nobody can unpark it.
            if self.thread.get().is_some() { thread::park() } else { thread::yield_now() }
        };
        self.parked.store(false, Ordering::Relaxed);
        posted
    }
}

fn listed() -> impl Iterator<Item = &'static Pool> {
    let mut at = POOLS.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: the list's pointers are null or of pools, which are never freed once listed; the acquire load of the
        // head makes all that was written before they were listed visible, `next` included.
        let pool = unsafe { at.as_ref() }?;
        at = pool.next.load(Ordering::Acquire);
        Some(pool)
    })
}

fn find(process: u32, threads: usize) -> Option<&'static Pool> {
    listed().find(|pool| pool.process == process && pool.threads == threads)
}

/// Workers of all pools of a process that have been or are being started.
fn workers_of(process: u32) -> usize {
    let own = listed().filter(|pool| pool.process == process && pool.taken.load(Ordering::Relaxed));
    let started = listed().filter(|pool| pool.process == process && !pool.taken.load(Ordering::Relaxed));
    let count = |pool: &Pool| pool.started.get().copied().unwrap_or(0);
    own.map(|pool| pool.workers.len()).sum::<usize>() + started.map(count).sum::<usize>()
}

/// Milliseconds since the first call of this function.
fn milliseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Cores this process may run on: its affinity and its container's quota count.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The error that a panic's payload is.
#[must_use]
pub fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    ErrorKind::Panicked(text.unwrap_or_else(|| "without a message".into())).anywhere()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests share the process's pools: each waits until it has its own.
    fn leased(threads: usize) -> Lease {
        loop {
            if let Some(lease) = Pool::of(threads).lease() {
                return lease;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn every_piece_runs_once_on_its_own_thread() {
        let mut lease = leased(3);
        for pieces in [1, 2, 3, 3, 1, 3] {
            let counts: [AtomicUsize; 3] = Default::default();
            let ids = Mutex::new(Vec::new());
            let work = |piece: usize| {
                counts[piece].fetch_add(1, Ordering::Relaxed);
                ids.lock().unwrap().push(thread::current().id());
                Ok(())
            };
            lease.run(pieces, &work, &Watch::new(None)).unwrap();
            assert!(counts.iter().enumerate().all(|(n, c)| c.load(Ordering::Relaxed) == usize::from(n < pieces)));
            let mut ids = ids.into_inner().unwrap();
            assert!(ids.contains(&thread::current().id()));
            ids.sort_by_key(|id| format!("{id:?}"));
            ids.dedup();
            assert_eq!(ids.len(), pieces);
        }
    }

    #[test]
    fn a_parked_worker_wakes() {
        let mut lease = leased(4);
        let done = AtomicUsize::new(0);
        for _ in 0..3 {
            let work = |_| {
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            lease.run(4, &work, &Watch::new(None)).unwrap();
            thread::sleep(4 * SPIN);
        }
        assert_eq!(done.into_inner(), 12);
    }

    #[test]
    fn a_panic_and_an_error_are_the_calls_error_and_the_pool_goes_on() {
        let mut lease = leased(5);
        for culprit in 0..3 {
            let work = |piece| {
                assert!(piece != culprit, "piece {piece} broke");
                Ok(())
            };
            let error = lease.run(3, &work, &Watch::new(None)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Panicked(format!("piece {culprit} broke")));
            let fails = |piece| if piece == culprit { Err(ErrorKind::Memory(7).anywhere()) } else { Ok(()) };
            assert_eq!(lease.run(3, &fails, &Watch::new(None)).unwrap_err().kind, ErrorKind::Memory(7));
            lease.run(3, &|_| Ok(()), &Watch::new(None)).unwrap();
        }
    }

    #[test]
    fn a_second_lease_waits_its_turn() {
        let lease = leased(6);
        assert!(Pool::of(6).lease().is_none());
        drop(lease);
        drop(leased(6));
        assert!(Pool::of(1).lease().is_none(), "one thread has nobody to share with");
        assert!(ptr::eq(Pool::of(6), Pool::of(6)));
    }

    #[test]
    fn a_call_that_waits_for_long_notes_that_workers_are_starved() {
        let mut lease = leased(9);
        assert!(!lease.is_starved());
        lease.run(2, &|_| Ok(()), &Watch::new(None)).unwrap();
        let late = |piece| {
            thread::sleep(PATIENCE * 5 * u32::try_from(piece).unwrap());
            Ok(())
        };
        lease.run(2, &late, &Watch::new(None)).unwrap();
        assert!(lease.is_starved());
        thread::sleep(Duration::from_millis(REST + 1));
        assert!(!lease.is_starved());
    }

    #[test]
    fn workers_are_in_the_standard_mode_whatever_that_of_who_starts_them() {
        use crate::float_mode::tests::{FLUSHING, UPWARD, within};
        for (threads, mode) in [(10, FLUSHING), (11, UPWARD)] {
            let mut lease = within(mode, || leased(threads));
            let checks = |piece| {
                // Piece 0 runs on the caller, whose mode is the call's business.
                if piece > 0 {
                    let (one, three) = (std::hint::black_box(1.0f64), std::hint::black_box(3.0f64));
                    assert!(std::hint::black_box(f64::MIN_POSITIVE) / std::hint::black_box(2.0) > 0.0);
                    assert_eq!((one / three).to_bits(), 0x3fd5_5555_5555_5555);
                    assert_eq!(one + std::hint::black_box(1e-30), one);
                }
                Ok(())
            };
            lease.run(3, &checks, &Watch::new(None)).unwrap();
        }
    }
}
