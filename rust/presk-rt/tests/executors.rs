//! Executables in use: divided launches, several calls at once, broken kernels, and what a launch costs.

#![allow(unsafe_code, reason = "a test's own code of kernels reads and writes through the pointers it is given")]

mod support;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use presk_rt::code::{Compiler, Job, KernelCode};
use presk_rt::error::{Error, ErrorKind};
use presk_rt::execute::Settings;
use presk_rt::interrupt::Watch;
use support::{as_f32s, call, executable, f32s, over};

const ROWS: usize = 6000;
const COLUMNS: usize = 500;

/// Enough work to be divided without a word.
fn text(split: &str) -> String {
    format!(
        "schedule \"t\" realized \"f32\" {{
  input h0 : f32[{ROWS}, {COLUMNS}] \"x\"
  output o0 : f32[{ROWS}] \"\"
  arena 0 bytes
  launch k0 sum (h0) -> (o0) {split} \"f/%1\"
}}
kernel sum (%0 : f32[{ROWS}, {COLUMNS}]) -> %1 : f32[{ROWS}] {{
  for i0 in 0..{ROWS} {{
    s0 = 0
    for i1 in 0..{COLUMNS} {{
      s0 = (s0 + %0[i0, i1])
    }}
    %1[i0] = s0
  }}
}}
"
    )
}

/// The kernel of [`text`] by hand, dividing its outer loop; it notes on which threads and ranges it ran.
#[derive(Default)]
struct Sum {
    ran: Mutex<Vec<(ThreadId, Range<u64>)>>,
    breaks: AtomicBool,
}

/// Its compiler and its code.
#[derive(Clone, Default)]
struct SumCode(Arc<Sum>);

impl Compiler for SumCode {
    fn compile(&self, jobs: &[Job<'_>]) -> Result<Vec<Arc<dyn KernelCode>>, Error> {
        assert_eq!(jobs.len(), 1);
        Ok(vec![Arc::new(self.clone())])
    }
}

impl KernelCode for SumCode {
    fn scratch_bytes(&self) -> usize {
        4
    }

    fn divides(&self) -> bool {
        true
    }

    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        scratch: *mut u8,
        rounds: Option<Range<u64>>,
        _: &Watch<'_>,
    ) -> Result<(), Error> {
        let rounds = rounds.unwrap_or(0..ROWS as u64);
        self.0.ran.lock().unwrap().push((thread::current().id(), rounds.clone()));
        assert!(!self.0.breaks.load(Ordering::Relaxed) || rounds.start == 0, "broken at {}", rounds.start);
        for row in rounds.start as usize..rounds.end as usize {
            // SAFETY: the executor's pointers are of x, of as many sums, and of four bytes of scratch.
            unsafe {
                let x = std::slice::from_raw_parts(buffers[0].cast::<f32>().add(row * COLUMNS), COLUMNS);
                *scratch.cast::<f32>() = x.iter().fold(0.0, |sum, x| sum + x);
                *buffers[1].cast::<f32>().add(row) = *scratch.cast::<f32>();
            }
        }
        Ok(())
    }
}

fn numbers() -> Vec<u8> {
    f32s(&(0..ROWS * COLUMNS).map(|at| (at % 1013) as f32 / 7.0 - 60.0).collect::<Vec<_>>())
}

fn settings(threads: usize) -> Settings {
    Settings { threads, ..Settings::default() }
}

#[test]
fn pieces_cover_the_loop_and_give_one_threads_bits() {
    let x = numbers();
    let expected = call(&executable(&text("")).unwrap(), std::slice::from_ref(&x), settings(1)).unwrap();
    for (split, threads, pieces) in [
        ("", 1, 1),
        ("", 2, 2),
        ("", 3, 3),
        ("", 7, 7),
        ("whole", 7, 1),
        ("split at 0", 3, 3),
        ("split at 0 over 2", 3, 2),
        ("split at 0 over 9", 3, 3),
    ] {
        let sum = SumCode::default();
        let executable = over(&text(split), &sum).unwrap();
        // Another test may have the pool just now, and then the call runs unsplit.
        for attempt in 0.. {
            assert_eq!(call(&executable, std::slice::from_ref(&x), settings(threads)).unwrap(), expected, "{split}");
            let mut ran = std::mem::take(&mut *sum.0.ran.lock().unwrap());
            ran.sort_by_key(|(_, rounds)| rounds.start);
            assert_eq!(ran[0].1.start, 0);
            assert!(ran.windows(2).all(|pair| pair[0].1.end == pair[1].1.start));
            assert_eq!(ran.last().unwrap().1.end, ROWS as u64);
            let threads: HashSet<ThreadId> = ran.iter().map(|(thread, _)| *thread).collect();
            assert_eq!(threads.len(), ran.len());
            if ran.len() == pieces {
                break;
            }
            assert!(ran.len() == 1 && attempt < 1000, "{split}: {} pieces", ran.len());
            thread::yield_now();
        }
    }
}

#[test]
fn a_broken_piece_is_the_calls_error_and_the_next_call_is_well() {
    let sum = SumCode::default();
    let executable = over(&text(""), &sum).unwrap();
    let x = numbers();
    sum.0.breaks.store(true, Ordering::Relaxed);
    for attempt in 0.. {
        match call(&executable, std::slice::from_ref(&x), settings(5)) {
            Err(error) => {
                assert!(matches!(&error.kind, ErrorKind::Panicked(text) if text.starts_with("broken at")), "{error}");
                break;
            }
            Ok(_) => assert!(attempt < 1000, "a call that has the pool breaks"),
        }
    }
    sum.0.breaks.store(false, Ordering::Relaxed);
    call(&executable, &[x], settings(5)).unwrap();
}

#[test]
fn a_panic_on_the_callers_thread_is_an_error_too() {
    struct Broken;
    impl KernelCode for Broken {
        unsafe fn run(&self, _: &[*mut u8], _: *mut u8, _: Option<Range<u64>>, _: &Watch<'_>) -> Result<(), Error> {
            panic!("by itself")
        }
    }
    impl Compiler for Broken {
        fn compile(&self, _: &[Job<'_>]) -> Result<Vec<Arc<dyn KernelCode>>, Error> {
            Ok(vec![Arc::new(Broken)])
        }
    }
    let executable = over(&text(""), &Broken).unwrap();
    let error = call(&executable, &[numbers()], settings(1)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Panicked("by itself".into()));
}

#[test]
fn calls_at_once_have_arenas_of_their_own() {
    let text = "schedule \"t\" realized \"f32\" {
  input h0 : f32[64] \"x\"
  output o0 : f32[64] \"\"
  arena 512 bytes
  buffer a0 : f32[64] at 0
  buffer a1 : f32[64] at 256
  copy 64 f32 (h0) -> (a0)
  loop l0 in 0..200 {
    launch k0 add (a0, h0) -> (a1) \"f/%1\"
    swap a0 a1
  }
  copy 64 f32 (a0) -> (o0)
}
kernel add (%0 : f32[64], %1 : f32[64]) -> %2 : f32[64] {
  for i0 in 0..64 {
    %2[i0] = (%0[i0] + %1[i0])
  }
}
";
    let executable = executable(text).unwrap();
    thread::scope(|scope| {
        for caller in 0..6u8 {
            let executable = &executable;
            scope.spawn(move || {
                let x: Vec<f32> = (0..64u8).map(|at| f32::from(at) + f32::from(caller)).collect();
                let expected: Vec<f32> = x.iter().map(|x| x * 201.0).collect();
                for _ in 0..20 {
                    let result = call(executable, &[f32s(&x)], settings(2)).unwrap();
                    assert_eq!(as_f32s(&result[0]), expected);
                }
            });
        }
    });
    assert!((1..=6).contains(&executable.free_arenas()), "{}", executable.free_arenas());
}

#[test]
fn arguments_that_are_too_few_are_refused() {
    let executable = executable(&text("")).unwrap();
    let error = call(&executable, &[], settings(1)).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Arguments(_)));
}
