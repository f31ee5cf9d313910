//! What a kernel may read unwritten: proven of the forms that lowering makes, and of nothing that reads too early.

use presk_kernel::parse;
use presk_kernel::written::{Unwritten, unwritten};

fn of(head: &str, body: &str, divided: Option<usize>) -> Unwritten {
    let kernel = parse(&format!("kernel k {head} {{\n{body}\n}}\n")).unwrap_or_else(|error| panic!("{error}\n{body}"));
    presk_kernel::verify(&kernel).unwrap_or_else(|error| panic!("{error}\n{body}"));
    unwritten(&kernel, divided)
}

const SIMPLE: &str = "(%0 : f32[8, 8]) -> %1 : f32[8, 8]";
const SCRATCH: &str = "(%0 : f32[8, 8]) -> %1 : f32[8]";

#[test]
fn what_lowering_writes_is_proven() {
    let proven = [
        (SIMPLE, "for i0 in 0..8 {\nfor i1 in 0..8 {\n%1[i0, i1] = %0[i0, i1]\n}\n}"),
        // Sums kept in the output.
        (
            SIMPLE,
            "for i0 in 0..8 {\nfor i1 in 0..8 {\n%1[i0, i1] = 0\n}\nfor i2 in 0..8 {\nfor i1 in 0..8 {\n%1[i0, i1] = (%1[i0, i1] + %0[i2, i1])\n}\n}\n}",
        ),
        // Blocks and what is left of them.
        (
            SIMPLE,
            "for i0 in 0..8 {\nfor i1 in 0..2 {\nfor i2 in 0..3 {\n%1[i0, ((i1 * 3) + i2)] = 1\n}\n}\nfor i1 in 0..2 {\n%1[i0, (6 + i1)] = 1\n}\n}",
        ),
        // A last block under a condition.
        (
            SIMPLE,
            "for i0 in 0..8 {\nfor i1 in 0..3 {\nif (i1 < 2) {\nfor i2 in 0..3 {\n%1[i0, ((i1 * 3) + i2)] = 1\n}\n}\nif (i1 == 2) {\nfor i2 in 0..2 {\n%1[i0, ((i1 * 3) + i2)] = 1\n}\n}\n}\n}",
        ),
        // Sums that go on from block to block.
        (
            SIMPLE,
            "for i0 in 0..4 {\nfor i1 in 0..8 {\nfor i2 in 0..8 {\ns0 = 0\nif i0 {\ns0 = %1[i1, i2]\n}\n%1[i1, i2] = (s0 + %0[i1, i2])\n}\n}\n}",
        ),
        (
            SIMPLE,
            "for i0 in 0..2 {\nfor i1 in 0..3 {\nif ((i0 + i1) == 0) {\nfor i2 in 0..8 {\nfor i3 in 0..8 {\n%1[i2, i3] = 1\n}\n}\n}\nif (i0 + i1) {\nfor i2 in 0..8 {\nfor i3 in 0..8 {\n%1[i2, i3] = (%1[i2, i3] + 1)\n}\n}\n}\n}\n}",
        ),
        // Flipped, and two to a round.
        (
            SIMPLE,
            "for i0 in 0..8 {\nfor i1 in 0..4 {\n%1[(7 - i0), (i1 * 2)] = 1\n%1[(7 - i0), ((i1 * 2) + 1)] = 2\n}\n}",
        ),
        // Lanes.
        (SIMPLE, "for i0 in 0..8 {\nfor i1 in 0..2 {\n%1[i0, (i1 * 4)] <v= %0[i0, (i1 * 4)]<v>\n}\n}"),
        // A row kept in scratch, and read where data says.
        (
            SCRATCH,
            "t0 : f32[8]\nfor i0 in 0..8 {\nfor i1 in 0..8 {\nt0[i1] = %0[i0, i1]\n}\ns0 = 0\nfor i1 in 0..8 {\ns0 = (s0 + t0[i1])\n}\n%1[i0] = s0\n}",
        ),
        (
            "(%0 : i64<8[4]) -> %1 : f32[4]",
            "t0 : f32[8]\nfor i0 in 0..8 {\nt0[i0] = 1\n}\nfor i0 in 0..4 {\n%1[i0] = t0[%0[i0]]\n}",
        ),
        // Nothing is read, nothing is there.
        ("(%0 : f32[0]) -> %1 : f32[0]", "for i0 in 0..0 {\n%1[i0] = %1[i0]\n}"),
        (SIMPLE, "for i0 in 0..8 {\napply exp(%0[i0, 0]) to %1[i0, 0] over 8\n}"),
        // A place that an input gives is written from the start.
        ("(%0 : f32[8]) -> %1 in %0 : f32[8]", "%1[3] = 1"),
    ];
    for (head, body) in proven {
        assert_eq!(of(head, body, None), Unwritten::default(), "{body}");
    }
}

#[test]
fn what_may_be_read_too_early_is_found() {
    let (scratch, output) =
        (Unwritten { scratch: true, outputs: vec![] }, Unwritten { scratch: false, outputs: vec![0] });
    let found = [
        (SCRATCH, "t0 : i64<8[8]\nfor i0 in 0..8 {\n%1[t0[i0]] = 1\n}\nfor i0 in 0..8 {\n%1[i0] = 1\n}", &scratch),
        (SCRATCH, "t0 : f32[8]\nt0[0] = 1\nfor i0 in 0..8 {\n%1[i0] = t0[i0]\n}", &scratch),
        // Written later in the round, or by a later one.
        (SCRATCH, "t0 : f32[8]\nfor i0 in 0..8 {\n%1[i0] = t0[i0]\nt0[i0] = 1\n}", &scratch),
        (SCRATCH, "t0 : f32[9]\nfor i0 in 0..8 {\nt0[i0] = 1\n%1[i0] = t0[(i0 + 1)]\n}", &scratch),
        // Under a condition that may not hold, or in rounds that it leaves out.
        (SCRATCH, "t0 : f32[1]\nif (%0[0, 0] > 0) {\nt0[0] = 1\n}\nfor i0 in 0..8 {\n%1[i0] = t0[0]\n}", &scratch),
        (SCRATCH, "t0 : f32[1]\nfor i0 in 0..8 {\nif (i0 > 1) {\nt0[0] = 1\n}\n%1[i0] = t0[0]\n}", &scratch),
        (
            SCRATCH,
            "t0 : f32[1]\nfor i0 in 0..8 {\nif (i0 == 1) {\nt0[0] = 1\n}\nif i0 {\n%1[i0] = t0[0]\n}\nif (i0 < 1) {\n%1[i0] = t0[0]\n}\n}",
            &scratch,
        ),
        // No round.
        (SCRATCH, "t0 : f32[1]\nfor i0 in 0..0 {\nt0[0] = 1\n}\nfor i0 in 0..8 {\n%1[i0] = t0[0]\n}", &scratch),
        // A diagonal, and every other element.
        (SIMPLE, "for i0 in 0..8 {\n%1[i0, i0] = 1\n}", &output),
        (SIMPLE, "for i0 in 0..8 {\nfor i1 in 0..4 {\n%1[i0, (i1 * 2)] = 1\n}\n}", &output),
        // Where data says.
        ("(%0 : i64<8[8]) -> %1 : f32[8]", "for i0 in 0..8 {\n%1[%0[i0]] = 1\n}", &output),
        ("(%0 : i64<8[8]) -> %1 : f32[8]", "for i0 in 0..8 {\n%1[%0[i0]] = (%1[%0[i0]] + 1)\n}", &output),
        // A row is left out.
        (SIMPLE, "for i0 in 0..7 {\nfor i1 in 0..8 {\n%1[i0, i1] = %0[i0, i1]\n}\n}", &output),
        (
            SIMPLE,
            "for i0 in 0..8 {\nfor i1 in 0..3 {\nif (i1 < 2) {\nfor i2 in 0..3 {\n%1[i0, ((i1 * 3) + i2)] = 1\n}\n}\nif (i1 == 2) {\n%1[i0, (i1 * 3)] = 1\n}\n}\n}",
            &output,
        ),
        // Lanes reach beyond what is written.
        (
            SCRATCH,
            "t0 : f32[16]\nfor i0 in 0..8 {\nt0[i0] = 1\n}\nfor i0 in 0..2 {\n%1[(i0 * 4)] <v= t0[((i0 * 4) + 1)]<v>\n}",
            &scratch,
        ),
        // A tile goes on from sums nobody began.
        (
            "(%0 : f32[1, 4], %1 : f32[4, 8]) -> %2 : f32[1, 8]",
            "tile<8> i0 in 0..1, i1 in 0..8, i2 in 0..4 {\n%2[i0, i1] += (%0[i0, i2] * %1[i2, i1])\n}",
            &output,
        ),
    ];
    for (head, body, expected) in found {
        assert_eq!(&of(head, body, None), expected, "{body}");
    }
}

/// What another worker's round has written isn't known to be there yet.
#[test]
fn rounds_that_are_divided_know_nothing_of_each_other() {
    let body = "for i0 in 0..2 {\nfor i1 in 0..8 {\nif i0 {\n%1[((i0 * 4) + 0), i1] = %1[((i0 * 4) + 0), i1]\n}\n}\nfor i1 in 0..8 {\nfor i2 in 0..4 {\n%1[((i0 * 4) + i2), i1] = 1\n}\n}\n}";
    assert_eq!(of(SIMPLE, body, None).outputs, [0]);
    let body = "t0 : f32[1]\nfor i0 in 0..8 {\ns0 = 0\nif i0 {\ns0 = t0[0]\n}\nt0[0] = 1\nfor i1 in 0..8 {\n%1[i0, i1] = s0\n}\n}";
    assert!(of(SIMPLE, body, None).is_nothing());
    assert!(of(SIMPLE, body, Some(0)).scratch);
}

/// A proof that takes the square of a text's length, or doubles with each loop, would not end in minutes.
#[test]
fn long_and_deep_texts_are_looked_at_in_time() {
    let many = "  %0[0] = %0[0]\n".repeat(60_000);
    let cases = format!("{}s0 = %0[0]\n{}", "if (i0 + i1) {\n".repeat(60), "}\n".repeat(60));
    let nested: String = (2..58).map(|n| format!("for i{n} in 0..2 {{\nt0[0] = 1\n")).collect();
    let nested = format!("t0 : f32[1]\n{nested}%0[0] = t0[0]\n{}", "}\n".repeat(56));
    for body in [many, format!("for i0 in 0..2 {{\nfor i1 in 0..2 {{\n{cases}}}\n}}"), nested] {
        let kernel = parse(&format!("kernel long () -> %0 : f32[1] {{\n{body}}}\n")).expect("it reads");
        let _ = unwritten(&kernel, None);
    }
}
