//! Machine code as it is shown: lines, ranges, bytes, and errors of kernels that have none.

mod common;

use common::kernels;
use presk_cranelift::{Error, MOST_NODES, Options, Target, bytes, compile, compile_all, machine_code};
use presk_kernel::parse;

const TARGETS: [&str; 6] = ["sse2", "sse4.2", "avx", "avx2", "avx512", "aarch64"];

#[test]
fn bytes_are_the_same_with_and_without_lines() {
    for name in TARGETS {
        let target = Target::named(name).unwrap();
        for (file, kernel) in kernels() {
            let listing = machine_code(&kernel, Options::default(), &target).unwrap();
            assert_eq!(listing.bytes, bytes(&kernel, Options::default(), &target).unwrap(), "{file} on {name}");
        }
    }
}

#[test]
fn instructions_cover_the_code_and_name_lines_of_the_text() {
    for name in TARGETS {
        let target = Target::named(name).unwrap();
        for (file, kernel) in kernels() {
            let listing = machine_code(&kernel, Options::default(), &target).unwrap();
            let lines = listing.kernel.lines().count();
            let mut at = 0;
            for each in &listing.instructions {
                assert_eq!(each.start, at, "{file} on {name}: no gaps");
                assert!(each.line as usize <= lines && !each.text.is_empty());
                at = each.end;
            }
            assert!(at <= listing.bytes.len());
            let last = &listing.instructions.last().unwrap().text;
            assert!(["ret", "jmp", "b "].iter().any(|leave| last.starts_with(leave)), "{file} on {name}: {last}");
        }
    }
}

#[test]
fn a_store_is_found_under_its_line() {
    let kernel =
        parse("kernel f (%0 : f64[3]) -> %1 : f64[3] {\n  for i0 in 0..3 {\n    %1[i0] = (%0[i0] + 1)\n  }\n}\n");
    let kernel = kernel.unwrap();
    for (name, store) in [("avx2", "vmovsd"), ("aarch64", "str")] {
        let listing = machine_code(&kernel, Options::default(), &Target::named(name).unwrap()).unwrap();
        let of_line: Vec<_> = listing.instructions.iter().filter(|each| each.line == 3).collect();
        assert!(of_line.iter().any(|each| each.text.starts_with(store)), "{of_line:#?}");
    }
}

#[test]
fn code_is_remembered_while_it_is_used() {
    let kernel =
        parse("kernel f (%0 : f32[2]) -> %1 : f32[2] {\n  for i0 in 0..2 {\n    %1[i0] = %0[i0]\n  }\n}\n").unwrap();
    let target = Target::host().unwrap();
    let first = compile(&kernel, Options::default(), &target).unwrap();
    let again = compile_all(&[(&kernel, Options::default()), (&kernel, Options::default())], &target).unwrap();
    assert!(again.iter().all(|each| std::sync::Arc::ptr_eq(each, &first)));
    let other = compile(&kernel, Options { depth: Some(0), lanes: true }, &target).unwrap();
    assert!(!std::sync::Arc::ptr_eq(&first, &other), "a kernel to be divided is other code");
    let memory = std::sync::Arc::downgrade(&first);
    drop((first, again));
    assert!(memory.upgrade().is_none(), "nobody uses it any more");
}

#[test]
fn what_has_no_code_is_an_error() {
    let target = Target::host().unwrap();
    let mut text = String::from("kernel big () -> %0 : f32[1] {\n  s0 = 0\n");
    (0..MOST_NODES / 3).for_each(|_| text.push_str("  s0 = (s0 + 1)\n"));
    let big = parse(&(text + "  %0[0] = s0\n}\n")).unwrap();
    assert!(matches!(compile(&big, Options::default(), &target), Err(Error::TooLarge { .. })));
    let small = parse("kernel f () -> %0 : f32[1] {\n  %0[0] = 1\n}\n").unwrap();
    assert!(matches!(compile(&small, Options { depth: Some(0), lanes: true }, &target), Err(Error::Depth { .. })));
    assert!(matches!(Target::named("mmx"), Err(Error::Target(_))));
    let foreign = Target::named(if cfg!(target_arch = "x86_64") { "aarch64" } else { "avx2" }).unwrap();
    assert!(matches!(compile(&small, Options::default(), &foreign), Err(Error::Target(_))));
}
