//! Memory that nobody has written: elements of it are 0, whatever was there before, and no index leaves its buffer.

mod support;

use presk_rt::interpret::Interpreter;
use presk_rt::schedule::read;
use presk_rt::verify::verify;
use support::{as_f32s, call, f32s, one_thread, over};

fn runs(text: &str, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let executable = over(text, &Interpreter::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let first = call(&executable, inputs, one_thread()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(call(&executable, inputs, one_thread()).unwrap(), first, "a second call\n{text}");
    first
}

fn schedule(arena: &str, steps: &str, kernels: &str) -> String {
    format!(
        "schedule \"f\" realized \"f32\" {{\ninput h0 : f32[4] \"x\"\noutput o0 : f32[4] \"\"\n{arena}\n{steps}\n}}\n{kernels}"
    )
}

const FILL: &str = "kernel fill (%0 : f32[4]) -> %1 : f32[8] {\nfor i0 in 0..8 {\n%1[i0] = 12345.678\n}\n}\n";
const TAKE: &str =
    "kernel take (%0 : f32[4], %1 : i64<4[4]) -> %2 : f32[4] {\nfor i0 in 0..4 {\n%2[i0] = %0[%1[i0]]\n}\n}\n";

/// Floats lay where indices are read.
#[test]
fn buffers_that_are_read_unwritten_lie_apart_and_hold_zeros() {
    let text = schedule(
        "arena 64 bytes\nbuffer a0 : f32[8] at 0\nbuffer a1 : i64<4>[4] at 0",
        "launch k0 fill (h0) -> (a0) \"f\"\nlaunch k1 take (h0, a1) -> (o0) \"f\"",
        &format!("{FILL}{TAKE}"),
    );
    assert_eq!(as_f32s(&runs(&text, &[f32s(&[7.0, 1.0, 2.0, 3.0])])[0]), [7.0; 4]);
}

#[test]
fn indices_of_outputs_and_of_scratch_are_zeros_until_they_are_written() {
    let kernel = "kernel k (%0 : f32[4]) -> %1 : f32[4], %2 : i64<4[4] {\nt0 : i64<4[4]\nfor i0 in 0..4 {\n%1[i0] = (%0[%2[i0]] + %0[t0[i0]])\n%2[i0] = i0\nt0[i0] = i0\n}\n}\n";
    let text = schedule(
        "arena 64 bytes\nbuffer a0 : f32[8] at 0\nbuffer a1 : i64<4>[4] at 0",
        "launch k0 fill (h0) -> (a0) \"f\"\nlaunch k1 k (h0) -> (o0, a1) \"f\"\nlaunch k1 k (h0) -> (o0, a1) \"f\"",
        &format!("{FILL}{kernel}"),
    );
    assert_eq!(as_f32s(&runs(&text, &[f32s(&[7.0, 1.0, 2.0, 3.0])])[0]), [14.0; 4]);
}

#[test]
fn an_index_that_is_no_index_is_refused_whether_or_not_it_is_loaded() {
    let text = "schedule \"f\" realized \"f32\" {\ninput h0 : f32[4] \"x\"\ninput h1 : i64[4] \"t\"\noutput o0 : f32[4] \"\"\narena 0 bytes\nlaunch k0 none (h0, h1) -> (o0) \"f\"\n}\nkernel none (%0 : f32[4], %1 : i64<4[4]) -> %2 : f32[4] {\nfor i0 in 0..4 {\n%2[i0] = %0[%1[0]]\n}\n}\n";
    let executable = over(text, &Interpreter::default()).unwrap();
    let indices: Vec<u8> = [0i64, 0, 0, 4].iter().flat_map(|each| each.to_ne_bytes()).collect();
    let error = call(&executable, &[f32s(&[1.0; 4]), indices], one_thread()).unwrap_err();
    assert_eq!(error.kind.code(), "E9209");
}

#[test]
fn what_is_written_before_it_is_read_is_proven() {
    let copy = |from: &str, to: &str| format!("copy 4 f32 ({from}) -> ({to})");
    let kernels =
        "kernel add (%0 : f32[4], %1 : f32[4]) -> %2 : f32[4] {\nfor i0 in 0..4 {\n%2[i0] = (%0[i0] + %1[i0])\n}\n}\n";
    let two = "arena 160 bytes\nbuffer a0 : f32[4] at 0\nbuffer a1 : f32[4] at 16\nbuffer a2 : f32[12] at 64\nbuffer a3 : f32[4] at 0";
    let add = |left: &str, right: &str, to: &str| format!("launch k0 add ({left}, {right}) -> ({to}) \"f\"");
    let (in_a0, in_a1) = (copy("h0", "a0"), copy("h0", "a1"));
    let cases = [
        (true, format!("{in_a0}\n{}", copy("a0", "o0"))),
        (false, copy("a0", "o0")),
        // A part of it, and both halves.
        (false, format!("copy 3 f32 (h0) -> (a0)\n{}", copy("a0", "o0"))),
        (true, format!("copy 2 f32 (h0) -> (a0)\ncopy 2 f32 (h0) -> (a0 + 2)\n{}", copy("a0", "o0"))),
        // Another buffer has been written in its place.
        (false, format!("{in_a0}\n{}\n{}", copy("h0", "a3"), copy("a0", "o0"))),
        // Layers of a stack, read backwards; one is left out; they don't touch.
        (
            true,
            format!(
                "loop l0 in 0..3 {{\n{}\n}}\nloop l1 in 0..3 reversed {{\n{}\n}}",
                copy("h0", "a2 + 4*l0"),
                copy("a2 + 4*l1", "o0")
            ),
        ),
        (
            false,
            format!(
                "loop l0 in 0..2 {{\n{}\n}}\nloop l1 in 0..3 reversed {{\n{}\n}}",
                copy("h0", "a2 + 4*l0"),
                copy("a2 + 4*l1", "o0")
            ),
        ),
        (false, format!("loop l0 in 0..3 {{\ncopy 3 f32 (h0) -> (a2 + 4*l0)\n}}\n{}", copy("a2", "o0"))),
        // The layer of this round, and of the next one.
        (true, format!("loop l0 in 0..3 {{\n{}\n{}\n}}", copy("h0", "a2 + 4*l0"), copy("a2 + 4*l0", "o0"))),
        (false, format!("loop l0 in 0..2 {{\n{}\n{}\n}}", copy("h0", "a2 + 4*l0"), copy("a2 + 4*l0 + 4", "o0"))),
        // A loop without rounds writes nothing.
        (false, format!("loop l0 in 0..0 {{\n{in_a0}\n}}\n{}", copy("a0", "o0"))),
        // State that rounds exchange; begun, and not begun.
        (true, format!("{in_a0}\nloop l0 in 0..9 {{\n{}\nswap a0 a1\n}}\n{}", add("a0", "h0", "a1"), copy("a0", "o0"))),
        (false, format!("loop l0 in 0..9 {{\n{}\nswap a0 a1\n}}\n{}", add("a0", "h0", "a1"), copy("a0", "o0"))),
        (false, format!("{in_a0}\nloop l0 in 0..9 {{\nswap a0 a1\n{}\n}}", copy("a0", "o0"))),
        (true, format!("{in_a0}\n{in_a1}\nloop l0 in 0..9 {{\nswap a0 a1\n{}\n}}", copy("a0", "o0"))),
        // A round takes the bytes that the next one reads.
        (false, format!("{in_a0}\nloop l0 in 0..2 {{\n{}\n{}\n}}", copy("a0", "o0"), copy("h0", "a3"))),
        // Written by the first round, read by the others, and by the first one before.
        (false, format!("loop l0 in 0..2 {{\n{}\n{in_a0}\n}}", copy("a0", "o0"))),
    ];
    for (expected, steps) in cases {
        let text = schedule(two, &steps, kernels);
        let schedule = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let verified = verify(&schedule).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(verified.writes_before_it_reads, expected, "{steps}");
        runs(&text, &[f32s(&[1.0, 2.0, 3.0, 4.0])]);
    }
}

#[test]
fn a_state_in_its_stack_is_written_by_the_round_before() {
    let kernel =
        "kernel add (%0 : f32[4], %1 : f32[4]) -> %2 : f32[4] {\nfor i0 in 0..4 {\n%2[i0] = (%0[i0] + %1[i0])\n}\n}\n";
    let copy = |from: &str, to: &str| format!("copy 4 f32 ({from}) -> ({to})");
    let add = |left: &str, right: &str, to: &str| format!("launch k0 add ({left}, {right}) -> ({to}) \"f\"");
    let in_stack = |back: &str, before: &str, round: &str| {
        format!("{before}\nloop l0 in 0..2 {back}{{\n{round}\n}}\n{}", copy("a0 + 4", "o0"))
    };
    let cases = [
        // State in its stack, forward and backward; begun, and not begun; begun at another place.
        (true, in_stack("", &copy("h0", "a0"), &add("a0 + 4*l0", "h0", "a0 + 4*l0 + 4"))),
        (false, in_stack("", "", &add("a0 + 4*l0", "h0", "a0 + 4*l0 + 4"))),
        (false, in_stack("", &copy("h0", "a0 + 4"), &add("a0 + 4*l0", "h0", "a0 + 4*l0 + 4"))),
        (true, in_stack("reversed ", &copy("h0", "a0 + 8"), &add("a0 + 4*l0 + 4", "h0", "a0 + 4*l0"))),
        (false, in_stack("reversed ", &copy("h0", "a0 + 4"), &add("a0 + 4*l0 + 4", "h0", "a0 + 4*l0"))),
        // The state of the round after this one.
        (false, in_stack("reversed ", &copy("h0", "a0"), &add("a0 + 4*l0", "h0", "a0 + 4*l0 + 4"))),
    ];
    for (expected, steps) in cases {
        let schedule = read(&schedule("arena 48 bytes\nbuffer a0 : f32[12] at 0", &steps, kernel)).expect("it reads");
        assert_eq!(verify(&schedule).expect("it is verified").writes_before_it_reads, expected, "{steps}");
    }
}

#[test]
fn a_call_that_takes_absurdly_long_is_refused_before_it_starts() {
    let kernel = "kernel k (%0 : f32[4]) -> %1 : f32[4] {\nfor i0 in 0..4 {\n%1[i0] = %0[i0]\n}\n}\n";
    let launch = "launch k0 k (h0) -> (o0) \"f\"";
    let slow = "kernel k (%0 : f32[4]) -> %1 : f32[4] {\nfor i0 in 0..1073741824 {\nfor i1 in 0..1073741824 {\n}\n}\nfor i0 in 0..4 {\n%1[i0] = %0[i0]\n}\n}\n";
    for (steps, kernel, what) in [
        (format!("loop l0 in 0..281474976710656 {{\n{launch}\n}}"), kernel, "steps"),
        ("loop l0 in 0..281474976710656 {\n}".to_owned(), kernel, "steps"),
        (format!("loop l0 in 0..2000000 {{\nloop l1 in 0..2000000 {{\n{launch}\n}}\n}}"), kernel, "steps"),
        (launch.to_owned(), slow, "operations"),
        (
            "loop l0 in 0..1099511627775 {\nuniform 0.0 1.0 within 0.0 1.0 [4] f32 key \"s\" \"p\" [] -> (o0)\n}"
                .to_owned(),
            kernel,
            "steps",
        ),
    ] {
        let text = schedule("arena 0 bytes", &steps, kernel);
        let error = verify(&read(&text).unwrap()).unwrap_err();
        assert_eq!(error.kind.code(), "E9215", "{steps}");
        assert!(error.kind.to_string().contains(what), "{error}");
    }
    let dead = format!("loop l0 in 0..0 {{\nloop l1 in 0..281474976710656 {{\n{launch}\n}}\n}}");
    verify(&read(&schedule("arena 0 bytes", &dead, kernel)).unwrap()).unwrap();
}

/// What lowering and recording make is proven, so that nothing is cleared where time counts (tests/schedule is of them).
#[test]
fn schedules_as_they_are_recorded_are_proven() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/schedule");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of schedules") {
        let path = entry.expect("an entry").path();
        let schedule = read(&std::fs::read_to_string(&path).expect("a file")).expect("it reads");
        assert!(verify(&schedule).expect("it is safe").writes_before_it_reads, "{}", path.display());
        for kernel in &schedule.kernels {
            assert!(presk_kernel::written::unwritten(kernel, None).is_nothing(), "{}: {}", path.display(), kernel.name);
        }
        count += 1;
    }
    assert!(count > 30, "{count} schedules");
}
