//! The code generator's rules, each read in the CLIF or the machine code it makes, for x86-64 and for AArch64.

use presk_cranelift::{Options, Target, clif, machine_code, optimised_clif};
use presk_kernel::parse;

fn target(name: &str) -> Target {
    Target::named(name).unwrap()
}

fn generated(text: &str, name: &str) -> String {
    clif(&parse(text).unwrap(), Options::default(), &target(name)).unwrap()
}

fn optimised(text: &str, name: &str) -> String {
    optimised_clif(&parse(text).unwrap(), Options::default(), &target(name)).unwrap()
}

fn instructions(text: &str, name: &str) -> Vec<String> {
    let listing = machine_code(&parse(text).unwrap(), Options::default(), &target(name)).unwrap();
    listing.instructions.into_iter().map(|each| each.text).collect()
}

/// A block's text, by what it holds.
fn block_with<'t>(text: &'t str, what: &str) -> &'t str {
    text.split("\n\nblock").find(|block| block.contains(what)).unwrap_or_else(|| panic!("no {what} in\n{text}"))
}

const COLUMN_SUMS: &str = "kernel sum_to (%0 : f32[64, 3]) -> %1 : f32[3] {
  for i0 in 0..3 {
    %1[i0] = 0
    for i1 in 0..64 {
      %1[i0] = (%1[i0] + %0[i1, i0])
    }
  }
}
";

/// A register tile of rows by columns in vectors of four, over 64 terms, its right operand packed.
fn tile(rows: usize, columns: usize) -> String {
    let vectors = columns / 4;
    let mut text =
        format!("kernel dot (%0 : f32[{rows}, 64], %1 : f32[64, {columns}]) -> %2 : f32[{rows}, {columns}] {{\n");
    let sums = || (0..rows).flat_map(|row| (0..vectors).map(move |vector| (row, vector)));
    sums().for_each(|(r, v)| text += &format!("v{} = splat(0)\n", r * vectors + v));
    text += "for i0 in 0..64 {\n";
    (0..rows).for_each(|r| text += &format!("s{r} = %0[{r}, i0]\n"));
    (0..vectors).for_each(|v| text += &format!("v{} = %1[i0, {}]<v>\n", 100 + v, v * 4));
    for (r, v) in sums() {
        let (sum, right) = (r * vectors + v, 100 + v);
        text += &format!("v{sum} = (v{sum} + (splat(s{r}) * v{right})<v>)<v>\n");
    }
    text += "}\n";
    sums().for_each(|(r, v)| text += &format!("%2[{r}, {}] <v= v{}\n", v * 4, r * vectors + v));
    text + "}\n"
}

#[test]
fn outputs_a_loop_does_not_move_are_held() {
    for name in ["avx2", "aarch64"] {
        let text = generated(COLUMN_SUMS, name);
        assert!(!block_with(&text, "fadd").contains("store"), "{text}");
        // Sums stored as bf16 round at every step, so every step stores.
        let rounded = generated(&COLUMN_SUMS.replace("%1 : f32[3]", "%1 : bf16[3]"), name);
        assert!(block_with(&rounded, "fadd").contains("store"), "{rounded}");
    }
}

#[test]
fn what_an_inner_loop_keeps_of_an_address_is_one_value_for_all_of_it() {
    let text = "kernel add (%0 : f64[8, 9, 34], %1 : f64[34]) -> %2 : f64[8, 9, 34] {
  for i0 in 0..8 {
    for i1 in 0..9 {
      for i2 in 0..34 {
        %2[i0, i1, i2] = exp((%0[i0, i1, i2] + %1[i2]))
      }
    }
  }
}
";
    for name in ["avx2", "aarch64"] {
        let optimised = optimised(text, name);
        let body = block_with(&optimised, "call ");
        // Byte strides: 8 · 34 for i1, which is multiplied out before the loop; 8 for i2, a shift the address mode takes.
        assert!(!body.contains("imul"), "{optimised}");
        assert_eq!(body.matches("ishl").count(), 1, "{optimised}");
        assert_eq!(body.matches("call ").count(), 1, "a loop that calls is not unrolled: {optimised}");
        // One sum for each of three addresses, and the counter's: what the outer loops add is in the first already.
        assert_eq!(body.matches("iadd").count(), 4, "{optimised}");
    }
}

#[test]
fn a_stride_that_no_address_mode_multiplies_by_is_kept_beside_the_counter() {
    for name in ["avx2", "aarch64"] {
        // Three f32s a row: twelve bytes.
        let text = optimised(COLUMN_SUMS, name);
        let body = block_with(&text, "fadd");
        assert!(!body.contains("imul") && !body.contains("ishl"), "{text}");
    }
}

#[test]
fn loops_are_tested_at_the_bottom() {
    let text = generated(COLUMN_SUMS, "avx2");
    let body = block_with(&text, "fadd");
    let header: String = body.trim_start_matches("block").chars().take_while(char::is_ascii_digit).collect();
    let branch = body.lines().find(|line| line.contains("brif")).unwrap();
    assert!(branch.contains(&format!("block{header}")), "the loop's block branches to itself: {text}");
}

#[test]
fn a_header_that_tests_names_the_exit_first() {
    for (rows, columns) in [(4, 8), (8, 4)] {
        let text = generated(&tile(rows, columns), "avx2");
        let header = text.split("\n\nblock").find(|block| block.contains("icmp uge")).expect("a header that tests");
        let branch = header.lines().find(|line| line.contains("brif")).unwrap();
        let targets: Vec<&str> = branch.split("block").skip(1).collect();
        let leaves = targets[0].trim_end_matches([',', ' ']);
        let after = text.split("\n\nblock").find(|block| block.starts_with(&format!("{leaves}:"))).unwrap();
        assert!(after.contains("return"), "the first target is where the loop is left: {text}");
    }
}

#[test]
fn a_tile_broadcasts_from_memory_and_spills_nothing() {
    for (rows, columns) in [(2, 16), (4, 8), (4, 4), (8, 4)] {
        let all = instructions(&tile(rows, columns), "avx2");
        assert!(all.iter().all(|each| !each.contains("xmmword [rsp")), "[{rows}, {columns}]: {all:#?}");
        let from_memory =
            all.iter().filter(|each| each.starts_with("vbroadcastss") && each.contains("dword [")).count();
        let from_register = all.iter().filter(|each| each.starts_with("vbroadcastss")).count() - from_memory;
        assert_eq!(from_register, 0, "[{rows}, {columns}]: {all:#?}");
        assert!(from_memory >= rows);
        let products = all.iter().filter(|each| each.starts_with("vmulps")).count();
        // Ahead, the last round stands after the loop; otherwise there is the loop alone.
        let sums = rows * columns / 4;
        assert_eq!(products, if rows == 8 { sums } else { 2 * sums }, "[{rows}, {columns}]");
    }
}

#[test]
fn unrolling_counts_registers() {
    let product = |columns: usize| {
        let mut text = format!("kernel sums (%0 : f64[64, {columns}]) -> %1 : f64[{columns}] {{\n");
        (0..columns).for_each(|c| text += &format!("s{c} = 0\n"));
        text += "for i0 in 0..64 {\n";
        (0..columns).for_each(|c| text += &format!("s{c} = (s{c} + %0[i0, {c}])\n"));
        text += "}\n";
        (0..columns).for_each(|c| text += &format!("%1[{c}] = s{c}\n"));
        text + "}\n"
    };
    // Carried + factor · loads + 4 within 16 registers, or within AArch64's 32.
    for (columns, x86, arm) in [(1, 4, 4), (2, 4, 4), (3, 2, 4), (4, 2, 4), (5, 1, 4), (6, 1, 2), (9, 1, 2), (10, 1, 1)]
    {
        for (name, factor) in [("avx2", x86), ("aarch64", arm)] {
            let text = generated(&product(columns), name);
            assert_eq!(text.matches("fadd").count(), factor * columns, "{columns} sums on {name}: {text}");
        }
    }
}

#[test]
fn unrolling_leaves_four_registers_to_work_with() {
    let product = |loads: usize| {
        let terms: String = (1..loads).map(|at| format!(" * %0[i0, {at}])")).collect();
        let open = "(".repeat(loads - 1);
        format!(
            "kernel sum (%0 : f64[64, {loads}]) -> %1 : f64[1] {{\n  s0 = 0\n  for i0 in 0..64 {{\n    \
             s0 = (s0 + {open}%0[i0, 0]{terms})\n  }}\n  %1[0] = s0\n}}\n"
        )
    };
    // One sum; 1 + 4 · 3 + 4 is one more than 16, 1 + 4 · 7 + 4 one more than 32.
    for (name, loads, factor) in [("avx2", 2, 4), ("avx2", 3, 2), ("aarch64", 6, 4), ("aarch64", 7, 2)] {
        let text = generated(&product(loads), name);
        assert_eq!(text.matches("fadd").count(), factor, "{loads} loads on {name}: {text}");
    }
}

#[test]
fn loads_move_only_where_nothing_could_go_wrong() {
    let head = "kernel f (%0 : f32[8], %1 : i64<8[8]) -> %2 : f32[8] {\n";
    let loads = |body: &str| {
        let text = generated(&format!("{head}for i0 in 0..8 {{\n{body}\n}}\n}}\n"), "avx2");
        let line = text.lines().find(|line| line.contains("load.f32")).expect("a load").to_owned();
        line.contains("notrap") && line.contains("readonly") && line.contains("can_move")
    };
    assert!(loads("%2[i0] = exp(%0[i0])"));
    assert!(!loads("%2[i0] = exp(%0[%1[i0]])"), "a loaded index");
    assert!(
        loads("%2[i0] = 0\nif i0 {\n%2[i0] = exp(%0[i0])\n}"),
        "a condition around it, and inside whatever it says"
    );
    assert!(!loads("%2[i0] = 0\nif (i0 < 4) {\n%2[i0] = exp(%0[(i0 * 2)])\n}"), "inside where a condition holds");
    let shared = "kernel f (%0 : f32[8]) -> %1 in %0 : f32[8] {\nfor i0 in 0..8 {\n%1[i0] = exp(%0[i0])\n}\n}\n";
    let text = generated(shared, "avx2");
    let load = text.lines().find(|line| line.contains("load.f32")).unwrap();
    assert!(load.contains("notrap") && !load.contains("can_move"), "an output shares the buffer: {text}");
}

#[test]
fn buffers_have_regions_of_their_own() {
    let text = generated(COLUMN_SUMS, "avx2");
    let region = |line: &str| line.split_whitespace().find(|word| word.starts_with("region")).map(str::to_owned);
    let load = region(text.lines().find(|line| line.contains("can_move region")).unwrap()).unwrap();
    let store = region(text.lines().find(|line| line.contains("store ")).unwrap()).unwrap();
    assert_ne!(load, store, "{text}");
}

#[test]
fn no_vector_loop_calls() {
    let text = "kernel f (%0 : f32[64], %1 : f32[64]) -> %2 : f32[64] {
  for i0 in 0..64 {
    %2[i0] = fma(%0[i0], sqrt(abs(%1[i0])), floor(max(%0[i0], %1[i0])))
  }
}
";
    for (name, call) in [("avx2", "call"), ("aarch64", "bl")] {
        assert!(
            generated(text, name).contains("fma.f32x4") || generated(text, name).contains("fma v"),
            "it runs in lanes"
        );
        let all = instructions(text, name);
        assert!(all.iter().all(|each| !each.starts_with(call)), "{all:#?}");
    }
}

#[test]
fn narrow_elements_are_widened_in_lanes() {
    let text = |element: &str, output: &str| {
        format!(
            "kernel f (%0 : {element}[4, 8]) -> %1 : {output}[4, 8] {{
  for i0 in 0..4 {{
    for i1 in 0..8 {{
      %1[i0, i1] = (%0[i0, i1] * 2)
    }}
  }}
}}
"
        )
    };
    for (element, output, widening) in [
        ("bf16", "f32", "uwiden_low"),
        ("bf16", "f64", "fvpromote_low"),
        ("f32", "f64", "fvpromote_low"),
        ("int8/0", "f32", "fcvt_from_sint.f32x4"),
        ("int8/1", "f64", "fvpromote_low"),
        ("int4/0", "f32", "fcvt_from_sint.f32x4"),
        ("int4/1", "f32", "fcvt_from_sint.f32x4"),
    ] {
        for name in ["avx2", "aarch64"] {
            assert!(generated(&text(element, output), name).contains(widening), "{element} to {output} on {name}");
        }
    }
}

#[test]
fn a_maximum_with_a_constant_is_one_instruction() {
    let text = "kernel relu (%0 : f32[64]) -> %1 : f32[64] {
  for i0 in 0..64 {
    %1[i0] = max(%0[i0], 0)
  }
}
";
    let all = instructions(text, "avx2");
    assert!(all.iter().any(|each| each.starts_with("vmaxps")), "{all:#?}");
    assert!(all.iter().all(|each| !each.starts_with("vcmp") && !each.starts_with("vblend")), "{all:#?}");
    let arm = instructions(text, "aarch64");
    assert!(arm.iter().any(|each| each.starts_with("fmax")), "{arm:#?}");
}

#[test]
fn constants_leave_loops() {
    let text = "kernel f (%0 : f64[65]) -> %1 : f64[65] {
  for i0 in 0..65 {
    %1[i0] = exp((%0[i0] * 0.1))
  }
}
";
    let optimised = optimised(text, "avx2");
    let body = block_with(&optimised, "call ");
    assert!(!body.contains("const.f64") && !body.contains("f64const"), "{optimised}");
}

#[test]
fn divisions_by_constants_do_not_divide() {
    let text = "kernel split (%0 : f32[21]) -> %1 : f32[3, 7] {
  for i0 in 0..21 {
    %1[(i0 // 7), (i0 % 7)] = %0[i0]
  }
}
";
    for name in ["avx2", "aarch64"] {
        let text = generated(text, name);
        assert!(text.contains("umulhi") && !text.contains("div"), "{text}");
    }
}

#[test]
fn choices_in_lanes_have_no_branch_and_no_operand_that_must_be_aligned() {
    let text = "kernel relu (%0 : f32[64], %1 : f32[64]) -> %2 : f32[64] {
  for i0 in 0..64 {
    %2[i0] = select((%0[i0] >= %1[i0]), %0[i0], 1)
  }
}
";
    for name in ["sse2", "sse4.2", "avx2"] {
        let listing = instructions(text, name);
        let compared: Vec<&String> = listing.iter().filter(|each| each.contains("cmpp")).collect();
        assert!(!compared.is_empty(), "{name}: {listing:?}");
        let from_memory = compared.iter().any(|each| each.contains('['));
        assert!(!from_memory || name == "avx2", "{name}: {compared:?}");
    }
    let generated = generated(text, "aarch64");
    assert_eq!(generated.matches("brif").count(), 1, "the loop's own: {generated}");
    assert!(generated.contains("bitselect"), "{generated}");
}

#[test]
fn integers_known_to_be_narrow_are_compared_four_at_a_time() {
    let causal = |index: &str| {
        format!(
            "kernel causal (%0 : f32[64], %1 : {index}[64]) -> %2 : f32[64] {{
  for i0 in 0..64 {{
    %2[i0] = select((i0 <= %1[i0]), %0[i0], -inf)
  }}
}}
"
        )
    };
    let is_wide = |listing: Vec<String>| listing.iter().any(|each| each.contains("pcmpgtq"));
    assert!(!is_wide(instructions(&causal("i64<2147483648"), "avx2")));
    assert!(is_wide(instructions(&causal("i64<2147483650"), "avx2")));
    assert!(is_wide(instructions(&causal("i64"), "avx2")));
}
