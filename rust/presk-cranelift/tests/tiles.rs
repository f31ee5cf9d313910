//! The statement `tile` as machine code computes the bits of its expansion: every width, height and element, opened and
//! continued, plain and fused, with columns that fill no vector, on every instruction set at hand.

mod common;

use common::{Random, assert_same, check, execute, interpret, random_arguments, targets};
use presk_cranelift::{Options, compile};
use presk_kernel::Kernel;
use presk_kernel::ir::Tile;

/// A contraction that is one tile to a row group, over blocks of k where there are several.
struct Case<'c> {
    rows: u64,
    columns: u64,
    terms: u64,
    /// Columns of the right factor's rows, no fewer than the tile's.
    width: u64,
    blocks: u64,
    lanes: u64,
    fused: bool,
    /// The left factor's, the right one's, the arithmetic's.
    elements: (&'c str, &'c str, &'c str),
    /// Whether the sums are rounded to bf16, of one block then.
    rounds: bool,
}

impl Case<'_> {
    fn kernel(&self) -> Kernel {
        let Self { rows, columns, terms, width, blocks, lanes, fused, elements: (left, right, real), rounds } = *self;
        let depth = terms * blocks;
        // Rows of the result are further apart than the tile is wide, and the tile begins within them.
        let (height, breadth) = (2 * rows, columns + 3);
        let product = if fused { ["fma(", ", "] } else { ["(", " * "] };
        let row = format!("((i0 * {rows}) + i2)");
        let term = format!("((i1 * {terms}) + i4)");
        let factors = format!("{}%0[{row}, {term}]{}%1[{term}, i3])", product[0], product[1]);
        let head = format!("tile<{lanes}> i2 in 0..{rows}, i3 in 0..{columns}, i4 in 0..{terms}");
        let sum = format!("%2[{row}, (i3 + 2)]");
        let stored = if rounds { "bf16" } else { real };
        let goes_on = if rounds { String::new() } else { format!("if i1 {{ {head} {{ {sum} += {factors} }} }}\n") };
        let text = format!(
            "kernel dot in {real} (%0 : {left}[{height}, {depth}], %1 : {right}[{depth}, {width}]) -> %2 : {stored}[{height}, {breadth}] {{\n\
             for i0 in 0..2 {{ for i1 in 0..{blocks} {{\n\
             if (i1 == 0) {{ {head} {{ {sum} = {factors} }} }}\n\
             {goes_on}}} }} }}\n"
        );
        let kernel = presk_kernel::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        presk_kernel::verify(&kernel).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        assert_eq!(presk_kernel::parse(&kernel.to_string()).unwrap(), kernel);
        kernel
    }
}

const ELEMENTS: [(&str, &str, &str); 13] = [
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    ("bf16", "f32", "f32"),
    ("f32", "bf16", "f32"),
    ("f32", "int8/1", "f32"),
    ("f32", "int8/0", "f32"),
    ("f32", "f64", "f64"),
    ("f64", "int8/0..2", "f64"),
    ("bf16", "bf16", "f64"),
    ("bf16", "bf16", "f32"),
    ("f32", "int4/1", "f32"),
    ("f32", "int4/0", "f32"),
    ("f64", "int4/1", "f64"),
];

#[test]
fn every_number_of_rows_and_columns() {
    let targets = targets();
    let mut random = Random(1);
    for rows in 1..=Tile::ROWS {
        for columns in 1..=Tile::COLUMNS {
            let (left, right, real) = ELEMENTS[random.below(2) as usize];
            let case = Case {
                rows,
                columns,
                terms: 1 + random.below(5),
                width: columns + random.below(2) * random.below(17),
                blocks: 1 + random.below(2),
                lanes: if real == "f32" { 8 } else { 4 } << random.below(2),
                fused: random.below(2) == 0,
                elements: (left, right, real),
                rounds: false,
            };
            let (seed, target) = (random.next(), random.below(targets.len() as u64));
            check(&case.kernel(), seed, &targets[target as usize], "a tile");
        }
    }
}

#[test]
fn every_element_on_every_instruction_set() {
    let mut random = Random(2);
    for target in targets() {
        for elements in ELEMENTS {
            for fused in [false, true] {
                for (rows, columns) in [(1, 64), (1, 24), (1, 33), (3, 16), (6, 32), (8, 32), (12, 9), (7, 33)] {
                    // More terms than are widened at a time.
                    let rounds = random.below(3) == 0;
                    let (terms, blocks) = (1 + random.below(150), if rounds { 1 } else { 1 + random.below(3) });
                    let lanes = if elements.2 == "f32" { 8 } else { 4 } << random.below(2);
                    let width = columns + random.below(2) * 31;
                    let case = Case { rows, columns, terms, width, blocks, lanes, fused, elements, rounds };
                    check(&case.kernel(), random.next(), &target, "a tile");
                }
            }
        }
    }
}

#[test]
fn one_row_of_many_columns() {
    let mut random = Random(3);
    for target in targets() {
        for elements in ELEMENTS {
            for columns in [65, 128, 256, 300, 777, Tile::ROW_COLUMNS] {
                // More terms than are taken at a time, and than a left factor's buffer holds.
                let terms = [7, 8, 40, 800][random.below(4) as usize];
                let (fused, rounds) = (random.below(2) == 0, random.below(2) == 0);
                let blocks = if rounds { 1 } else { 1 + random.below(2) };
                let lanes = if elements.2 == "f32" { 8 } else { 4 } << random.below(2);
                let width = columns + random.below(2) * 31;
                let case = Case { rows: 1, columns, terms, width, blocks, lanes, fused, elements, rounds };
                check(&case.kernel(), random.next(), &target, "a row");
            }
        }
    }
}

/// Scales whose quotients by 2²⁸ are exact, those that are no numbers included, and some whose quotients aren't.
const USUAL: [f32; 9] = [0.0, -0.0, 3.155_443_6e-30, -5.9e-30, 0.013, -7.5, f32::MAX, f32::INFINITY, f32::NAN];
const UNUSUAL: [f32; 4] = [3.155_443_4e-30, -1.2e-35, f32::MIN_POSITIVE, 1e-42];

#[test]
fn one_row_of_integers_with_scales_of_all_sizes() {
    let mut random = Random(4);
    for target in targets() {
        for (element, at) in ELEMENTS.iter().zip(0u64..).filter(|(element, _)| element.1.starts_with("int")) {
            for (columns, has_unusual) in [(64, false), (64, true), (300, false), (300, true)] {
                let lanes = if element.2 == "f32" { 8 } else { 4 };
                let fused = at % 2 == 0;
                let case = Case {
                    rows: 1,
                    columns,
                    terms: 20,
                    width: columns,
                    blocks: 2,
                    lanes,
                    fused,
                    elements: *element,
                    rounds: false,
                };
                let kernel = case.kernel();
                let mut arguments = random_arguments(&kernel, random.next());
                let scales = arguments.inputs[2].as_chunks_mut::<4>().0;
                for scale in scales.iter_mut() {
                    *scale = USUAL[random.below(if has_unusual { 6 } else { 9 }) as usize].to_ne_bytes();
                }
                if has_unusual {
                    let place = random.below(scales.len() as u64) as usize;
                    scales[place] = UNUSUAL[random.below(4) as usize].to_ne_bytes();
                }
                let wanted = interpret(&kernel, &arguments).unwrap();
                let code = compile(&kernel, Options { depth: None, lanes: true }, &target).unwrap();
                let found = execute(&kernel, &code, &arguments, &[None]);
                assert_same(&kernel, &wanted, &found, &format!("{element:?} {columns} {}", target.name()));
            }
        }
    }
}

#[test]
fn a_tile_without_terms_is_zeros() {
    for (rows, columns) in [(2, 5), (2, 16), (1, 300)] {
        let text = format!(
            "kernel dot (%0 : f32[{rows}, 0], %1 : f32[0, {columns}]) -> %2 : f32[{rows}, {columns}] {{\n\
             tile<8> i0 in 0..{rows}, i1 in 0..{columns}, i2 in 0..0 {{ %2[i0, i1] = (%0[i0, i2] * %1[i2, i1]) }}\n}}\n"
        );
        let kernel = presk_kernel::parse(&text).unwrap();
        targets().iter().for_each(|target| check(&kernel, 3, target, "no terms"));
    }
}

#[test]
fn strides_and_places_of_all_kinds() {
    let texts = [
        // The left factor's rows are its last axis, the right one's terms its first; an axis of panels around.
        "kernel ein (%0 : f32[3, 5, 4], %1 : f32[2, 5, 16]) -> %2 : f32[3, 4, 32] {\n\
         for i0 in 0..3 { for i1 in 0..2 {\n\
         tile<8> i2 in 0..4, i3 in 0..16, i4 in 0..5 { %2[i0, i2, ((i1 * 16) + i3)] = (%0[i0, i4, i2] * %1[i1, i4, i3]) }\n\
         } } }\n",
        // Rows of int4 that begin at even columns, and whose last one fills half a byte.
        "kernel dot (%0 : f32[2, 3], %1 : int4/1[3, 71]) -> %2 : f32[2, 71] {\n\
         for i0 in 0..2 {\n\
         for i1 in 0..2 { tile<8> i2 in 0..1, i3 in 0..34, i4 in 0..3 { %2[i0, ((i1 * 34) + i3)] = (%0[i0, i4] * %1[i4, (i3 + (i1 * 34))]) } }\n\
         tile<8> i2 in 0..1, i3 in 0..3, i4 in 0..3 { %2[i0, (68 + i3)] = (%0[i0, i4] * %1[i4, (68 + i3)]) }\n\
         } }\n",
        // The same as layers of a stack, with scales of the terms.
        "kernel dot (%0 : f32[5, 2, 3], %1 : int4/1[5, 3, 18]) -> %2 : f32[5, 2, 16] {\n\
         for i0 in 0..5 {\n\
         tile<16> i2 in 0..2, i3 in 0..16, i4 in 0..3 { %2[i0, i2, i3] = fma(%0[i0, i2, i4], %1[i0, i4, (2 + i3)]) }\n\
         } }\n",
        // Terms backwards, an index looked up, sums in scratch.
        "kernel gather (%0 : f64[6, 7], %1 : f64[7, 9], %2 : i64<5) -> %3 : f64[2, 9] {\n\
         t0 : f64[2, 9]\n\
         n0 = %2[]\n\
         tile<4> i0 in 0..2, i1 in 0..9, i2 in 0..7 { t0[i0, i1] = fma(%0[(i0 + n0), (6 - i2)], %1[(6 - i2), i1]) }\n\
         for i3 in 0..2 { for i4 in 0..9 { %3[i3, i4] = t0[i3, i4] } } }\n",
        // The tile stands beside statements that keep an element of its buffer in a variable elsewhere.
        "kernel both (%0 : f32[4, 3], %1 : f32[3, 8]) -> %2 : f32[4, 8] {\n\
         for i0 in 0..5 {\n\
         %2[0, 0] = (%2[0, 0] + 1)\n\
         tile<8> i1 in 0..4, i2 in 0..8, i3 in 0..3 { %2[i1, i2] += (%0[i1, i3] * %1[i3, i2]) }\n\
         } }\n",
    ];
    for text in texts {
        let kernel = presk_kernel::parse(text).unwrap();
        presk_kernel::verify(&kernel).unwrap();
        for target in targets() {
            (0..4).for_each(|seed| check(&kernel, seed, &target, "strides"));
        }
    }
}
