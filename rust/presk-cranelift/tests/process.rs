//! What compiling leaves in the process: one code for each key however many ask for it, its pages given back, threads.
//!
//! Pages and threads are those Linux tells of; an emulator tells of its own, so of x86-64 alone.

use std::sync::{Arc, Barrier, Mutex, PoisonError};

use presk_cranelift::{Code, Options, Target, compile, compile_all};
use presk_kernel::{Kernel, parse};

/// Tests of one process's memory and threads: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A kernel of its own for each number.
fn kernel(number: usize) -> Kernel {
    let lines: String = (0..40).map(|at| format!("    s{at} = (%0[i0] * {}.5)\n", at + 40 * number)).collect();
    let sum: String = (1..40).map(|at| format!("    s0 = (s0 + s{at})\n")).collect();
    parse(&format!(
        "kernel f (%0 : f32[64]) -> %1 : f32[64] {{\n  for i0 in 0..64 {{\n{lines}{sum}    %1[i0] = s0\n  }}\n}}\n"
    ))
    .unwrap()
}

#[test]
fn one_code_is_made_for_all_who_want_it_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Target::host().unwrap();
    for round in 1000..1010 {
        let wanted = kernel(round);
        let all = compile_all(&[(&wanted, Options::default()); 4], &target).unwrap();
        assert!(all.iter().all(|each| Arc::ptr_eq(each, &all[0])), "asked for at once in one call");
        let other = kernel(2 * round);
        let (barrier, found) = (Barrier::new(4), Mutex::new(Vec::<Arc<Code>>::new()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    let code = compile(&other, Options::default(), &target).unwrap();
                    found.lock().unwrap().push(code);
                });
            }
        });
        let found = found.into_inner().unwrap();
        assert!(found.iter().all(|each| Arc::ptr_eq(each, &found[0])), "asked for at once by several threads");
    }
}

/// Bytes of executable pages that are of no file.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn executable_bytes() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let code = maps.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (start, end) = words[0].split_once('-')?;
        let length = u64::from_str_radix(end, 16).ok()? - u64::from_str_radix(start, 16).ok()?;
        (words[1].contains('x') && words.len() == 5).then_some(length)
    });
    code.sum()
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn pages_are_given_back_when_the_last_user_goes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Target::host().unwrap();
    let before = executable_bytes();
    let codes: Vec<_> = (0..20).map(|number| compile(&kernel(number), Options::default(), &target).unwrap()).collect();
    let within = executable_bytes();
    assert!(within >= before + 20 * 4096, "each has a page at least: {before}, {within}");
    drop(codes);
    assert_eq!(executable_bytes(), before);
}

/// Nanoseconds that each thread that compiles has run.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn compiling() -> Vec<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let own = tasks.filter(|task| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("presk-compile"))
    });
    own.filter_map(|task| {
        std::fs::read_to_string(task.path().join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    })
    .collect()
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn kernels_of_a_call_are_compiled_on_threads_of_their_own() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Target::host().unwrap();
    let kernels: Vec<Kernel> = (3000..3024).map(kernel).collect();
    let requests: Vec<_> = kernels.iter().map(|kernel| (kernel, Options::default())).collect();
    let before: u64 = compiling().iter().sum();
    let own = thread_time();
    compile_all(&requests, &target).unwrap();
    let (own, after) = (thread_time() - own, compiling());
    assert_eq!(after.len(), std::thread::available_parallelism().unwrap().get());
    assert!(after.iter().sum::<u64>() - before > 2 * own, "the work is theirs: {own} ns here, {after:?} there");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn thread_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}
