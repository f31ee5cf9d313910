//! Hand-made schedules: what each step does, and that the verifier refuses what isn't safe.

mod support;

use presk_rt::draw::Uniform;
use presk_rt::error::ErrorKind;
use presk_rt::execute::Settings;
use presk_rt::schedule::read;
use presk_rt::verify::verify;
use support::{as_f32s, as_f64s, as_i64s, call, executable, f32s, i64s, one_thread};

const ADD: &str = "kernel add (%0 : f32[4], %1 : f32[4]) -> %2 : f32[4] {
  for i0 in 0..4 {
    %2[i0] = (%0[i0] + %1[i0])
  }
}
";
const IN_PLACE: &str = "kernel grow (%0 : f32[4], %1 : f32[4]) -> %2 in %0 : f32[4] {
  for i0 in 0..4 {
    %2[i0] = (%0[i0] + %1[i0])
  }
}
";

fn schedule(body: &str, kernels: &str) -> String {
    format!("schedule \"t\" realized \"f32\" {{\n{body}\n}}\n{kernels}")
}

/// The error that a schedule's text ends in.
fn refused(body: &str, kernels: &str) -> ErrorKind {
    let text = schedule(body, kernels);
    let error = read(&text).and_then(|schedule| verify(&schedule)).expect_err("it is refused");
    assert!(error.line > 0, "{error}");
    error.kind
}

#[test]
fn a_straight_line() {
    let text = schedule(
        "  input h0 : f32[4] \"x\"
  output o0 : f32[4] \"\"
  constant c0 : f32 = 1e-05
  arena 64 bytes
  buffer a0 : f32[4] at 0
  launch k0 add (h0, h0) -> (a0) \"f/%1\"
  launch k0 add (a0, h0) -> (o0) whole \"f/%2\"",
        ADD,
    );
    let executable = executable(&text).unwrap();
    let result = call(&executable, &[f32s(&[1.0, 2.0, 3.0, 4.0])], one_thread()).unwrap();
    assert_eq!(as_f32s(&result[0]), [3.0, 6.0, 9.0, 12.0]);
    assert_eq!((executable.arena_bytes(), executable.free_arenas()), (64, 1));
}

#[test]
fn loops_move_views_forward_and_backward() {
    // The state is doubled by adding a layer's slice each round; the stack is written backward.
    let text = schedule(
        "  input h0 : f32[3, 4] \"w\"
  output o0 : f32[3, 4] \"\"
  output o1 : f32[3, 4] \"\"
  arena 128 bytes
  buffer a0 : f32[4] at 0
  buffer a1 : f32[4] at 64
  copy 4 f32 (h0) -> (a0)
  loop l0 in 0..3 {
    launch k0 add (a0, h0 + 4*l0) -> (o0 + 4*l0) \"f/%1\"
    copy 4 f32 (o0 + 4*l0) -> (a0)
  }
  copy 4 f32 (h0 + 4) -> (a1)
  loop l1 in 0..3 reversed {
    launch k0 add (a1, h0 + 4*l1) -> (o1 + 4*l1) \"f/%2\"
    copy 4 f32 (o1 + 4*l1) -> (a1)
  }",
        ADD,
    );
    let rows: Vec<f32> = (0..12u8).map(f32::from).collect();
    let result = call(&executable(&text).unwrap(), &[f32s(&rows)], one_thread()).unwrap();
    let row = |at: usize| &rows[4 * at..][..4];
    let add = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f32>>();
    let first = add(row(0), row(0));
    let second = add(&first, row(1));
    assert_eq!(as_f32s(&result[0]), [first, second.clone(), add(&second, row(2))].concat());
    let last = add(row(1), row(2));
    let middle = add(&last, row(1));
    assert_eq!(as_f32s(&result[1]), [add(&middle, row(0)), middle, last].concat());
}

#[test]
fn swaps_change_what_names_mean() {
    let text = schedule(
        "  input h0 : f32[4] \"x\"
  output o0 : f32[4] \"\"
  arena 128 bytes
  buffer a0 : f32[4] at 0
  buffer a1 : f32[4] at 64
  copy 4 f32 (h0) -> (a0)
  loop l0 in 0..5 {
    launch k0 add (a0, h0) -> (a1) \"f/%1\"
    swap a0 a1
  }
  copy 4 f32 (a0) -> (o0)",
        ADD,
    );
    let executable = executable(&text).unwrap();
    for _ in 0..2 {
        let result = call(&executable, &[f32s(&[1.0, 2.0, 0.0, -1.0])], one_thread()).unwrap();
        assert_eq!(as_f32s(&result[0]), [6.0, 12.0, 0.0, -6.0]);
    }
}

#[test]
fn donated_inputs_are_written_and_given_back() {
    let text = schedule(
        "  input h0 : f32[4] \"x\" donated
  input h1 : f32[4] \"y\"
  output o0 in h0 : f32[4] \"\"
  arena 0 bytes
  launch k0 grow (h0, h1) -> (h0) \"f/%1\"
  launch k0 grow (o0, h1) -> (o0) \"f/%2\"",
        IN_PLACE,
    );
    let inputs = [f32s(&[1.0, 2.0, 3.0, 4.0]), f32s(&[10.0; 4])];
    let result = call(&executable(&text).unwrap(), &inputs, one_thread()).unwrap();
    assert_eq!(as_f32s(&result[0]), [21.0, 22.0, 23.0, 24.0]);
}

#[test]
fn counts_conversions_and_constants() {
    let text = schedule(
        "  output o0 : i64[4] \"n\"
  output o1 : bf16[1] \"c\"
  output o2 : i64<3>[1] \"k\"
  constant c0 : f64 = -0.1
  constant c1 : i64 = 2
  constant c2 : bf16 = inf
  constant c3 : bool = 1
  arena 8 bytes
  buffer a0 : f32[1] at 4
  loop l0 in 0..4 reversed {
    count l0 from 10 -> (o0 + 1*l0)
  }
  loop l1 in 0..0 {
    count l1 from 0 -> (o0 + 100*l1 + 77)
  }
  convert 1 f64 to f32 (c0) -> (a0)
  convert 1 f32 to bf16 (a0) -> (o1)
  copy 1 i64 (c1) -> (o2)",
        "",
    );
    let result = call(&executable(&text).unwrap(), &[], one_thread()).unwrap();
    assert_eq!(as_i64s(&result[0]), [10, 11, 12, 13]);
    assert_eq!(result[1], 0xbdcdu16.to_ne_bytes());
    assert_eq!(as_i64s(&result[2]), [2]);
}

#[test]
fn indices_in_the_arena_are_checked_when_they_are_used() {
    let gather = "kernel gather (%0 : f32[3], %1 : i64<3[2]) -> %2 : f32[2] {
  for i0 in 0..2 {
    n0 = %1[i0]
    %2[i0] = %0[n0]
  }
}
";
    let text = schedule(
        "  input h0 : f32[3] \"x\"
  input h1 : i64[2] \"at\"
  output o0 : f32[2] \"\"
  arena 16 bytes
  buffer a0 : i64[2] at 0
  copy 2 i64 (h1) -> (a0)
  launch k0 gather (h0, a0) -> (o0) \"f/%1\"",
        gather,
    );
    let executable = executable(&text).unwrap();
    let x = f32s(&[5.0, 6.0, 7.0]);
    let result = call(&executable, &[x.clone(), i64s(&[2, 0])], one_thread()).unwrap();
    assert_eq!(as_f32s(&result[0]), [7.0, 5.0]);
    for wrong in [[0, 3], [-1, 0]] {
        let error = call(&executable, &[x.clone(), i64s(&wrong)], one_thread()).unwrap_err();
        assert_eq!(error.kind.code(), "E9209", "{error}");
    }
}

#[test]
fn quantised_inputs_and_layers_of_them() {
    let kernel = "kernel widen (%0 : int4/1[2, 3]) -> %1 : f32[2, 3] {
  for i0 in 0..2 {
    for i1 in 0..3 {
      %1[i0, i1] = %0[i0, i1]
    }
  }
}
";
    let body = |scales: &str| {
        format!(
            "  input h0 : int4/1[2, 2, 3] \"w\"
  input h1 : f32[2, 3] \"w.scale\"
  output o0 : f32[2, 2, 3] \"\"
  arena 0 bytes
  loop l0 in 0..2 {{
    launch k0 widen (h0 + 6*l0, h1{scales}) -> (o0 + 6*l0) \"f/%1\"
  }}"
        )
    };
    let executable = executable(&schedule(&body(" + 3*l0"), kernel)).unwrap();
    let bytes = vec![0x21, 0x03, 0xfe, 0x0d, 0x00, 0x07, 0x11, 0x01];
    let result = call(&executable, &[bytes, f32s(&[1.0, 10.0, 100.0, 0.5, 0.5, 2.0])], one_thread()).unwrap();
    let expected = [1.0, 20.0, 300.0, -2.0, -10.0, -300.0, 0.0, 0.0, 14.0, 0.5, 0.5, 2.0];
    assert_eq!(as_f32s(&result[0]), expected);
    assert!(matches!(refused(&body(" + 4*l0"), kernel), ErrorKind::Bounds(_)));
    let ragged = "  input h0 : int4/1[2, 2, 3] \"w\"\n  input h1 : f32[2, 3] \"s\"\n  output o0 : f32[2, 3] \"\"\n  arena 0 bytes
  launch k0 widen (h0 + 1, h1) -> (o0) \"s\"";
    assert!(matches!(refused(ragged, kernel), ErrorKind::Type(_)));
}

#[test]
fn draws_are_the_streams_numbers_at_any_number_of_threads() {
    let text = schedule(
        "  output o0 : f64[3, 2, 70000] \"\"
  output o1 : f32[3, 2, 70000] \"\"
  output o2 : f64[2] \"\"
  constant c0 : f32 = 0.25
  arena 0 bytes
  normal 2.0 1.0 [3, 2, 70000] rows 1 f64 key \"normal\" \"f#0\" [] -> (o0)
  mask f32 (c0) [3, 2, 70000] rows 1 f32 key \"dropout\" \"f#0\" [] -> (o1)
  loop l0 in 0..2 {
    uniform 0.0 1.0 within 0.0 0.9999999999999999 [] f64 key \"uniform\" \"f#1\" [l0] -> (o2 + 1*l0)
  }",
        "",
    );
    let executable = executable(&text).unwrap();
    let settings = |threads| Settings { seed: 7, step: 5, row_offset: 3, threads };
    let first = call(&executable, &[], settings(1)).unwrap();
    for threads in [2, 3, 7] {
        assert_eq!(call(&executable, &[], settings(threads)).unwrap(), first);
    }
    let key = |stream: &str, path: &str, rounds: &[u32]| {
        presk_rt::key::derive(7, stream.as_bytes(), path.as_bytes(), rounds).unwrap()
    };
    let (normals, row) = (as_f64s(&first[0]), 3 * 70000);
    let mut expected = vec![0.0; 2 * row];
    presk_rt::draw::fill_normal(&key("normal", "f#0", &[]), 5, 3 * row as u64, 2.0, 1.0, &mut expected);
    let mut uniforms = vec![0.0; 2 * row];
    presk_rt::draw::fill_uniform(&key("dropout", "f#0", &[]), 5, 3 * row as u64, Uniform::UNIT, &mut uniforms);
    let mask = as_f32s(&first[1]);
    for (number, (&expected, &uniform)) in expected.iter().zip(&uniforms).enumerate() {
        let (b, o, i) = (number / row, number % row / 70000, number % 70000);
        let place = (o * 2 + b) * 70000 + i;
        assert_eq!(normals[place], expected);
        assert_eq!(mask[place], if uniform < 0.25 { 0.0 } else { (1.0f64 / 0.75) as f32 });
    }
    for round in 0..2u32 {
        let mut expected = [0.0];
        presk_rt::draw::fill_uniform(&key("uniform", "f#1", &[round]), 5, 0, Uniform::UNIT, &mut expected);
        assert_eq!(as_f64s(&first[2])[round as usize], expected[0]);
    }
    let beyond = Settings { row_offset: u64::MAX, ..settings(1) };
    assert_eq!(call(&executable, &[], beyond).unwrap_err().kind.code(), "E6020");
}

#[test]
fn samples_take_an_axis_wherever_it_stands() {
    let body = |temperature: &str| {
        format!(
            "  input h0 : f32[2, 3, 2] \"x\"
  output o0 : i64<3>[2, 2] \"\"
  constant c0 : f32 = {temperature}
  constant c1 : f32 = 1.0
  arena 0 bytes
  sample f32 (h0) f32 (c0, c1) [2, 2] rows 0 axis 1 of 3 top 0 key \"sample\" \"f#0\" [] -> (o0)"
        )
    };
    let x = f32s(&[1.0, 9.0, 5.0, 2.0, 3.0, 9.0, -1.0, 0.0, -2.0, 7.0, -3.0, 1.0]);
    let greedy = executable(&schedule(&body("0"), "")).unwrap();
    assert_eq!(as_i64s(&call(&greedy, std::slice::from_ref(&x), one_thread()).unwrap()[0]), [1, 2, 0, 1]);
    let drawn = executable(&schedule(&body("1"), "")).unwrap();
    let mut counts = [0; 3];
    for step in 0..200 {
        let result = call(&drawn, std::slice::from_ref(&x), Settings { step, ..one_thread() }).unwrap();
        counts[usize::try_from(as_i64s(&result[0])[0]).unwrap()] += 1;
    }
    // e^1, e^5, e^3 over their sum: 0.016, 0.867, 0.117.
    assert!(counts[1] > 150 && counts[2] > 8 && counts[0] < 15, "{counts:?}");
}

#[test]
fn what_leaves_its_buffer_is_refused() {
    let arena = |step: &str| {
        format!(
            "  input h0 : f32[8] \"x\"\n  arena 64 bytes\n  buffer a0 : f32[8] at 0\n  buffer a1 : f32[4] at 32\n{step}"
        )
    };
    for step in [
        "launch k0 add (h0 + 5, h0) -> (a1) \"s\"",
        "launch k0 add (h0, h0) -> (a0 + 5) \"s\"",
        "loop l0 in 0..3 { launch k0 add (h0 + 4*l0, h0) -> (a1) \"s\" }",
        "loop l0 in 0..18446744073709551615 { launch k0 add (h0 + 1*l0, h0) -> (a1) \"s\" }",
        "copy 5 f32 (h0) -> (a1)",
        "copy 18446744073709551615 f32 (h0) -> (a1)",
        "copy 4 f32 (h0 + 18446744073709551615) -> (a1)",
    ] {
        let kind = refused(&arena(step), ADD);
        assert!(matches!(kind, ErrorKind::Bounds(_) | ErrorKind::Limit { .. }), "{step}: {kind}");
    }
    for buffer in ["f32[9] at 32", "f32[1] at 2", "f32[4] at 18446744073709551612", "f64[281474976710657] at 0"] {
        let body = format!("  arena 64 bytes\n  buffer a0 : {buffer}");
        let kind = refused(&body, "");
        assert!(matches!(kind, ErrorKind::Bounds(_) | ErrorKind::Limit { .. }), "{buffer}: {kind}");
    }
    // In a loop without rounds nothing is read.
    let text = schedule(&arena("loop l0 in 0..0 { launch k0 add (h0 + 7 + 4*l0, h0) -> (a1) \"s\" }"), ADD);
    assert!(read(&text).is_err(), "the start comes last");
    let text = schedule(&arena("loop l0 in 0..0 { launch k0 add (h0 + 4*l0 + 7, h0) -> (a1) \"s\" }"), ADD);
    verify(&read(&text).unwrap()).unwrap();
}

#[test]
fn what_may_overlap_is_refused() {
    let arena = |step: &str| {
        format!(
            "  input h0 : f32[16] \"x\" donated
  output o0 in h0 : f32[16] \"\"
  arena 256 bytes
  buffer a0 : f32[4] at 0
  buffer a1 : f32[4] at 8
  buffer a2 : f32[4] at 64
  buffer a3 : f32[4] at 128
  buffer a4 : f32[16] at 192
{step}"
        )
    };
    for step in [
        "launch k0 add (a0, h0) -> (a1) \"s\"",
        "launch k0 add (a0, a2) -> (a2) \"s\"",
        "launch k0 add (h0, a2) -> (o0 + 3) \"s\"",
        "loop l0 in 0..4 { launch k0 add (a4 + 4*l0, a2) -> (a4 + 8) \"s\" }",
        "loop l0 in 0..4 { copy 4 f32 (a4 + 3*l0) -> (a4 + 3*l0 + 3) }",
        "copy 4 f32 (a0) -> (a1)",
        "swap a0 a1",
        "swap a2 a3 copy 4 f32 (a0) -> (a2) swap a3 a1",
    ] {
        let kind = refused(&arena(step), ADD);
        assert!(matches!(kind, ErrorKind::Overlap(_)), "{step}: {kind}");
    }
    for step in [
        "loop l0 in 0..3 { copy 4 f32 (a4 + 4*l0) -> (a4 + 4*l0 + 4) }",
        "swap a2 a3 copy 4 f32 (a2) -> (a3)",
        "copy 0 f32 (a0) -> (a1)",
        "launch k0 add (h0, h0) -> (o0 + 4) \"s\"",
    ] {
        verify(&read(&schedule(&arena(step), ADD)).unwrap()).unwrap_or_else(|error| panic!("{step}: {error}"));
    }
    // After a swap the third buffer may lie where the second was.
    let body = "  arena 256 bytes
  buffer a0 : f32[4] at 0
  buffer a1 : f32[4] at 64
  buffer a2 : f32[4] at 64
  swap a0 a1
  copy 4 f32 (a0) -> (a2)";
    assert!(matches!(refused(body, ""), ErrorKind::Overlap(_)));
}

#[test]
fn what_doesnt_fit_is_refused() {
    let arena = |step: &str| {
        format!(
            "  input h0 : f32[4] \"x\"
  input h1 : f64[4] \"y\"
  constant c0 : f32 = 1.5
  arena 256 bytes
  buffer a0 : f32[4] at 0
  buffer a1 : f64[4] at 64
  buffer a2 : i64<3>[4] at 128
{step}"
        )
    };
    for step in [
        "launch k1 add (h0, h0) -> (a0) \"s\"",
        "launch k0 sub (h0, h0) -> (a0) \"s\"",
        "launch k0 add (h0, h1) -> (a0) \"s\"",
        "launch k0 add (h0) -> (a0) \"s\"",
        "launch k0 add (h0, h0, h0) -> (a0) \"s\"",
        "launch k0 add (h0, h0) -> (a0, a1) \"s\"",
        "launch k0 add (h0, h0) -> (a1) \"s\"",
        "launch k0 add (h0, a0) -> (h0) \"s\"",
        "launch k0 add (h0, h0) -> (a0) split at 1 \"s\"",
        "launch k0 add (h0, h7) -> (a0) \"s\"",
        "launch k0 add (h0, h0 + 1*l0) -> (a0) \"s\"",
        "loop l0 in 0..2 { loop l0 in 0..2 { } }",
        "copy 1 f32 (h0) -> (c0)",
        "copy 1 f32 (h0) -> (a1)",
        "convert 1 i64<3> to f32 (a2) -> (a0)",
        "count l3 from 0 -> (a2)",
        "swap a0 a1",
        "swap a0 a0",
        "swap a0 a9",
        "normal 0.0 1.0 [4] rows 1 f32 key \"normal\" \"\" [] -> (a0)",
        "normal 0.0 1.0 [3] f32 key \"normal\" \"\" [l0] -> (a0)",
        "uniform 0.0 1.0 within 0.0 0.5 [3] bool key \"uniform\" \"\" [] -> (a0)",
        "sample f32 (h0) f32 (c0, c0) [] axis 1 of 4 top 0 key \"sample\" \"\" [] -> (a2)",
        "sample f32 (h0) f32 (c0, c0) [] axis 0 of 0 top 0 key \"sample\" \"\" [] -> (a2)",
    ] {
        let kind = refused(&arena(step), ADD);
        assert!(matches!(kind, ErrorKind::Type(_)), "{step}: {kind}");
    }
}

#[test]
fn declarations_that_dont_fit_are_refused() {
    for declared in [
        "constant c0 : i64<3> = 3",
        "constant c0 : i64 = 1.5",
        "constant c0 : bool = 2",
        "constant c0 : int8/0 = 2",
        "input h0 : int8/1[4] \"x\"\n  input h1 : f32[4] \"s\"",
        "input h0 : int8/0[4] \"x\"",
        "input h0 : int8/0[4] \"x\"\n  input h1 : f64[4] \"s\"",
        "output o0 in h0 : f32[4] \"\"",
        "input h0 : f32[4] \"x\"\n  output o0 in h0 : f32[4] \"\"",
        "input h0 : f32[4] \"x\" donated\n  output o0 in h0 : f32[5] \"\"",
        "input h0 : f32[4] \"x\" donated\n  output o0 in h0 : f32[4] \"\"\n  output o1 in h0 : f32[4] \"\"",
        "output o0 : int8/0[4] \"\"",
        "buffer a0 : int8/0[4] at 0",
    ] {
        let kind = refused(&format!("  {declared}"), "");
        assert!(matches!(kind, ErrorKind::Type(_)), "{declared}: {kind}");
    }
}

#[test]
fn faults_of_the_text_have_their_place() {
    for (text, line, column) in [
        ("", 1, 1),
        ("schedule x", 1, 10),
        ("schedule \"x\" realized \"f32\" {\n  input h1", 2, 9),
        ("schedule \"x\" realized \"f32\" {\n  arena 0 bytes\n  jump\n}", 3, 3),
        ("schedule \"x\" realized \"f32\" {\n  input h0 : f32[2] \"é\" € \n}", 2, 25),
        ("schedule \"x\" realized \"f32\" {\n  input h0 : f16[2] \"x\"\n}", 2, 14),
        ("schedule \"x\" realized \"f32\" {\n}\n\nkernel add", 4, 11),
        ("schedule \"x\" realized \"f32\" {\n} kernel ?", 2, 10),
        ("schedule \"x", 1, 10),
        ("schedule \"\\ud800\"", 1, 10),
        ("schedule \"\\x\"", 1, 10),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
    }
    let name = read("schedule \"\\\"\\u00e9\\ud83d\\ude00\\n/\" realized \"\" {}").unwrap().name;
    assert_eq!(name, "\"é😀\n/");
    let deep = format!(
        "schedule \"x\" realized \"f32\" {{ {}",
        (0..100).map(|n| format!("loop l{n} in 0..2 {{ ")).collect::<String>()
    );
    assert!(matches!(read(&deep).unwrap_err().kind, ErrorKind::Limit { .. }));
}
