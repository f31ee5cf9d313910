"""Kernel text in Python: printing and reading are inverse, on generated kernels and on whatever else comes."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presk.kernel import limits, native
from presk.kernel.literal import print_real, read_real
from presk.kernel.nodes import (
    Access,
    Arithmetic,
    Assign,
    Axis,
    Binary,
    Buffer,
    BufferType,
    Call,
    Constant,
    Element,
    Expression,
    For,
    If,
    Integer,
    Kernel,
    Load,
    Output,
    Splat,
    Statement,
    Store,
    Truth,
    Unary,
    Variable,
)
from presk.kernel.printer import print_kernel, print_kernels
from presk.kernel.reader import read_kernel, read_kernels
from presk.text.diagnostics import PreskError

SIZE = 8
LANES = {"f32": 4, "f64": 2}
GOLDEN = sorted((Path(__file__).parents[2] / "kernel" / "golden").glob("*.txt"))
KIR = sorted((Path(__file__).parents[2] / "kernel").glob("*.kir"))


def axes(*sizes: int) -> tuple[Axis, ...]:
    return tuple(Axis(None if number else "rows", size) for number, size in enumerate(sizes))


@cache
def reals(arithmetic: Arithmetic) -> st.SearchStrategy[float]:
    return st.floats(width=32 if arithmetic == "f32" else 64).map(lambda value: math.nan if value != value else value)


@cache
@st.composite
def integers(draw: st.DrawFn, depth: int) -> Expression:
    """An integer expression over the counters i0 and i1, below SIZE each."""
    if depth == 0:
        leaf = st.one_of(st.integers(-(1 << 63), (1 << 63) - 1).map(Integer), st.integers(0, 1).map(counter))
        return draw(leaf | st.just(Variable("n", 0)) | index_load(depth))
    inner = integers(depth - 1)
    operators = st.sampled_from(("+", "-", "*"))
    functions = st.sampled_from(("max", "min"))
    divisors = st.integers(1, 1 << 40).map(Integer)
    return draw(
        st.one_of(
            st.builds(Binary, operators, inner, inner),
            st.builds(Binary, st.sampled_from(("//", "%")), inner, divisors),
            st.builds(Unary, st.just("-"), inner),
            st.builds(Call, functions, st.tuples(inner, inner)),
            st.builds(Call, st.just("abs"), st.tuples(inner)),
            st.builds(Call, st.just("select"), st.tuples(truths(depth - 1, "f32"), inner, inner)),
        )
    )


def counter(number: int) -> Expression:
    return Variable("i", number)


def clamped(value: Expression, last: int = SIZE - 1) -> Expression:
    return Call("max", (Integer(0), Call("min", (value, Integer(last)))))


def index_load(depth: int) -> st.SearchStrategy[Expression]:
    return st.just(Load(Access(Buffer("%", 2), (Variable("i", 0),))))


@cache
def index(depth: int, last: int = SIZE - 1) -> st.SearchStrategy[Expression]:
    """An index that is provably inside."""
    plain = st.integers(0, last).map(Integer)
    return st.one_of(plain, integers(min(depth, 1)).map(lambda value: clamped(value, last)))


@cache
@st.composite
def truths(draw: st.DrawFn, depth: int, arithmetic: Arithmetic) -> Expression:
    if depth == 0:
        masked = st.builds(lambda at: Load(Access(Buffer("%", 3), (at,))), index(0))
        return draw(st.one_of(st.booleans().map(Truth), masked, st.just(Variable("b", 0))))
    inner = truths(depth - 1, arithmetic)
    comparisons = st.sampled_from(("<", "<=", "==", "!=", ">=", ">"))
    return draw(
        st.one_of(
            st.builds(Unary, st.just("not"), inner),
            st.builds(Binary, st.sampled_from(("and", "or")), inner, inner),
            st.builds(Binary, comparisons, integers(depth - 1), integers(depth - 1)),
            st.builds(Binary, comparisons, values(depth - 1, arithmetic), values(depth - 1, arithmetic)),
        )
    )


@cache
@st.composite
def values(draw: st.DrawFn, depth: int, arithmetic: Arithmetic) -> Expression:
    """A real expression."""
    if depth == 0:
        loads = st.builds(
            lambda at, buffer: Load(Access(Buffer("%", buffer), (at,))), index(1), st.sampled_from((0, 1))
        )
        whole = st.integers(-3, 3).map(lambda value: Constant(float(value)))
        return draw(st.one_of(reals(arithmetic).map(Constant), whole, loads, st.just(Variable("s", 0))))
    inner = values(depth - 1, arithmetic)
    two = st.tuples(inner, inner)
    types = ("bf16", "f32", "f64") if arithmetic == "f64" else ("bf16", "f32")
    conversions = st.sampled_from(types)
    unary = st.sampled_from(
        ("abs", "floor", "sqrt", "exp", "expm1", "log", "log1p", "tanh", "sin", "cos", "erf", "erfc", "gelu_slope")
    )
    return draw(
        st.one_of(
            st.builds(Binary, st.sampled_from(("+", "-", "*", "/")), inner, inner),
            st.builds(Unary, st.just("-"), inner),
            st.builds(Call, st.sampled_from(("max", "min", "pow")), two),
            st.builds(Call, unary, st.tuples(inner)),
            st.builds(Call, st.just("fma"), st.tuples(inner, inner, inner)),
            st.builds(Call, st.just("select"), st.tuples(truths(depth - 1, arithmetic), inner, inner)),
            st.builds(Call, conversions, st.tuples(inner)),
            st.builds(Call, conversions, st.tuples(integers(depth - 1))),
        )
    )


@cache
@st.composite
def vectors(draw: st.DrawFn, depth: int, arithmetic: Arithmetic) -> Expression:
    if depth == 0:
        last = SIZE - LANES[arithmetic]
        loads = st.builds(lambda at: Load(Access(Buffer("%", 0), (at,)), vector=True), index(1, last))
        return draw(st.one_of(st.builds(Splat, values(1, arithmetic)), loads, st.just(Variable("v", 0))))
    inner = vectors(depth - 1, arithmetic)
    marked = st.just(True)
    narrow = ("bf16", "f32")
    whole = (*narrow, "f64") if arithmetic == "f64" else narrow
    return draw(
        st.one_of(
            st.builds(Binary, st.sampled_from(("+", "-", "*", "/")), inner, inner, marked),
            st.builds(Unary, st.just("-"), inner, marked),
            st.builds(Call, st.sampled_from(("max", "min")), st.tuples(inner, inner), marked),
            st.builds(Call, st.sampled_from(("abs", "floor", "sqrt")), st.tuples(inner), marked),
            st.builds(Call, st.just("fma"), st.tuples(inner, inner, inner), marked),
            st.builds(Call, st.just("select"), st.tuples(masks(depth - 1, arithmetic), inner, inner), marked),
            st.builds(Call, st.sampled_from(narrow), st.tuples(inner), marked),
            st.builds(Call, st.sampled_from(whole), st.tuples(wholes(arithmetic)), marked),
        )
    )


@cache
@st.composite
def masks(draw: st.DrawFn, depth: int, arithmetic: Arithmetic) -> Expression:
    """Truth values in lanes."""
    if depth == 0:
        last = SIZE - LANES[arithmetic]
        loads = st.builds(lambda at: Load(Access(Buffer("%", 3), (at,)), vector=True), index(1, last))
        return draw(st.one_of(st.builds(Splat, truths(1, arithmetic)), loads, st.just(Variable("m", 0))))
    inner = masks(depth - 1, arithmetic)
    comparisons = st.sampled_from(("<", "<=", "==", "!=", ">=", ">"))
    marked, whole = st.just(True), wholes(arithmetic)
    return draw(
        st.one_of(
            st.builds(Unary, st.just("not"), inner, marked),
            st.builds(Binary, st.sampled_from(("and", "or")), inner, inner, marked),
            st.builds(Binary, comparisons, whole, whole, marked),
            st.builds(Binary, comparisons, vectors(depth - 1, arithmetic), vectors(depth - 1, arithmetic), marked),
        )
    )


@cache
@st.composite
def wholes(draw: st.DrawFn, arithmetic: Arithmetic) -> Expression:
    """Integers in lanes."""
    last = SIZE - LANES[arithmetic]
    loads = st.builds(lambda at: Load(Access(Buffer("%", 2), (at,)), vector=True), index(1, last))
    steps = st.integers(-(1 << 63), (1 << 63) - 1).map(Integer)
    ramps = st.builds(lambda first, step: Call("ramp", (first, step)), integers(1), steps)
    return draw(st.one_of(st.builds(Splat, integers(1)), ramps, loads))


@cache
@st.composite
def statements(draw: st.DrawFn, arithmetic: Arithmetic) -> Statement:
    row, output, scratch = Integer(draw(st.integers(0, 1))), Buffer("%", 4), Buffer("t", 0)
    vector_at = Access(output, (row, draw(index(1, SIZE - LANES[arithmetic]))))
    return draw(
        st.one_of(
            st.builds(Assign, st.just(Variable("s", 0)), values(2, arithmetic)),
            st.builds(Assign, st.just(Variable("n", 0)), integers(2)),
            st.builds(Assign, st.just(Variable("b", 0)), truths(2, arithmetic)),
            st.builds(Assign, st.just(Variable("v", 0)), vectors(2, arithmetic)),
            st.builds(Assign, st.just(Variable("m", 0)), masks(2, arithmetic)),
            st.builds(Store, st.just(Access(output, (row, counter(1)))), values(3, arithmetic)),
            st.builds(Store, st.just(vector_at), vectors(2, arithmetic), st.just(True)),
            st.builds(lambda at, value: Store(Access(scratch, (at,)), clamped(value)), index(1), integers(2)),
            st.builds(lambda c, inner: If(c, (inner,)), truths(2, arithmetic) | integers(1), set_real(arithmetic)),
            st.builds(lambda inner: For(2, 2, (inner,)), set_real(arithmetic)),
        )
    )


@cache
def set_real(arithmetic: Arithmetic) -> st.SearchStrategy[Statement]:
    return st.builds(Assign, st.just(Variable("s", 0)), values(1, arithmetic))


@cache
@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    """A kernel that the verifier proves, of every kind of statement and expression."""
    arithmetic: Arithmetic = draw(st.sampled_from(("f32", "f64")))
    narrow = draw(st.sampled_from(("bf16", "f32")))
    real = Element(arithmetic)
    inputs = (
        BufferType(real, axes(SIZE)),
        BufferType(draw(st.sampled_from((Element(narrow), Element("int4", scales=(0, 1))))), axes(SIZE)),
        BufferType(Element("i64", bound=SIZE), axes(SIZE)),
        BufferType(Element("bool"), axes(SIZE)),
    )
    body = draw(st.lists(statements(arithmetic), min_size=1, max_size=4))
    first: tuple[Statement, ...] = (
        Assign(Variable("s", 0), Constant(draw(reals(arithmetic)))),
        Assign(Variable("n", 0), Integer(3)),
        Assign(Variable("b", 0), Truth(False)),
        Assign(Variable("v", 0), Splat(Constant(0.0))),
        Assign(Variable("m", 0), Splat(Truth(True))),
    )
    columns = For(1, SIZE, (*body, Store(Access(Buffer("%", 4), (Integer(0), counter(1))), Variable("s", 0))))
    return Kernel(
        draw(st.sampled_from(("add", "ein[batch, heads]", "split[heads: 2, hd]"))),
        arithmetic,
        inputs,
        (Output(BufferType(real, axes(2, SIZE))),),
        (BufferType(Element("i64", bound=SIZE), axes(SIZE)),),
        (*first, For(0, 2, (columns,))),
    )


def run(text: str, kernel: Kernel) -> bytes:
    real = np.float32 if kernel.arithmetic == "f32" else np.float64
    second = kernel.inputs[1].element.kind
    arrays: list[np.ndarray] = [np.linspace(-2, 2, SIZE, dtype=real)]
    if second == "int4":
        arrays += [np.array([0x21, 0x43, 0x9A, 0xF0], np.uint8), np.linspace(0.5, 2, SIZE, dtype=np.float32)]
    else:
        singles = np.linspace(-1, 3, SIZE, dtype=np.float32)
        arrays.append(singles if second == "f32" else (singles.view(np.uint32) >> 16).astype(np.uint16))
    arrays += [np.arange(SIZE)[::-1].copy(), np.arange(SIZE, dtype=np.uint8) % 2]
    output = np.zeros((2, SIZE), real)
    native.Program(text).run(arrays, [output])
    output[np.isnan(output)] = np.nan
    return output.tobytes()


@settings(max_examples=50)
@given(kernels())
def test_generated_kernels_read_back_on_both_sides_and_keep_their_bits_in_lanes(kernel: Kernel) -> None:
    text = print_kernel(kernel)
    assert read_kernel(text) == kernel
    assert native.verify(text) == text
    lanes = native.rewrite_lanes(text)
    assert print_kernel(read_kernel(lanes)) == lanes
    assert run(lanes, kernel) == run(text, kernel)


@pytest.mark.slow
@settings(max_examples=5000)
@given(kernels())
def test_many_generated_kernels(kernel: Kernel) -> None:
    text = print_kernel(kernel)
    assert read_kernel(text) == kernel
    assert native.verify(text) == text


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_kernels_read_back_character_for_character(path: Path) -> None:
    text = path.read_text("utf-8")
    bare = "".join(line for line in text.splitlines(True) if not line.startswith("--"))
    assert print_kernels(read_kernels(text)) == native.verify(text) == bare


@settings(max_examples=150)
@given(st.floats(min_value=0, allow_infinity=False), st.sampled_from(("f32", "f64")), st.booleans())
def test_literals_are_read_as_they_were_printed(value: float, arithmetic: Arithmetic, pointed: bool) -> None:
    if arithmetic == "f32":
        value = float(np.float32(min(value, 3e38)))
    text = print_real(value, arithmetic, pointed=pointed)
    assert read_real(text, arithmetic) == value
    assert not pointed or not text.isdigit()


@settings(max_examples=150)
@given(st.integers(0, 0x7F7FFFFF))
def test_f32_literals_are_numpys_shortest(bits: int) -> None:
    value = struct.unpack("f", struct.pack("I", bits))[0]
    text = print_real(value, "f32", pointed=False)
    digits = len(text.partition("e")[0].replace(".", "").strip("0"))
    shortest = np.format_float_scientific(np.float32(value), unique=True, trim="-").partition("e")[0]
    assert digits == len(shortest.replace(".", "").strip("0"))


def test_decimals_between_two_f32_round_once() -> None:
    # The midpoint of 1 and the next f32, and a decimal above it that has the same nearest f64.
    assert read_real("1.000000059604644775390625", "f32") == 1.0
    assert read_real("1.0000000596046447753906251", "f32") == 1 + 2**-23
    assert read_real("3.4028235677973366e38", "f32") is None


@pytest.mark.parametrize("path", KIR, ids=lambda path: path.stem)
def test_python_refuses_what_rust_refuses_to_read(path: Path) -> None:
    """Both readers know one grammar and one set of types: they agree on the code and on where it points."""
    text = path.read_text("utf-8").split("\n== ")[0]
    found = outcome(lambda: print_kernels(read_kernels(text)))
    expected = outcome(lambda: native.verify(text))
    proven = ("E9203", "E9204", "E9205", "E9206", "E9209", "E9219")
    knows_both = not str(expected).startswith(proven) and expected != "E9202"
    assert found == expected if knows_both else not str(found).startswith(("E9201", "E9202"))


def outcome(call: Callable[[], object]) -> object:
    """What a call gives, or its diagnostic's code and place."""
    try:
        return call()
    except PreskError as error:
        if error.span is None:
            return error.code
        return "{} {}:{}".format(error.code, *error.span.source.position(error.span.start))


def code(call: Callable[[], object]) -> str | None:
    """The code of the diagnostic a call ends in, None where it succeeds."""
    try:
        call()
    except PreskError as error:
        return error.code
    return None


SIDES = (read_kernels, native.verify)

WORDS = """kernel a in f32 f64 ( ) -> %0 %1 : f32[2] i64<3[2] { } for i0 0..2 if s0 n0 b0 v0 m0 t0 = <v= <v> [ ] , + -
 // % (-1 nan 1e400 select splat ramp max( -- .. é 99999999999999999999999""".split()

FRAGMENTS = st.lists(st.sampled_from([*WORDS, "\n", "\x00"]), max_size=60).map(" ".join)

HEAD = "kernel a (%0 : f32[4]) -> %1 : f32[4] {\n  for i0 in 0..4 {\n    %1[i0] = "


@settings(max_examples=200)
@given(st.one_of(st.text(max_size=200), FRAGMENTS, FRAGMENTS.map(lambda words: HEAD + words)))
def test_any_text_ends_in_kernels_or_a_diagnostic(text: str) -> None:
    codes = {code(lambda side=side: side(text)) for side in SIDES}
    assert all(each is None or each.startswith("E92") for each in codes)


@pytest.mark.parametrize(
    ("opening", "closing"), [("(", ")"), ("(-", ")"), ("exp(", ")"), ("%0[", "]"), ("max(1, ", ")"), ("(1 + ", ")")]
)
def test_nesting_past_the_limit_is_a_diagnostic(opening: str, closing: str) -> None:
    def text(depth: int) -> str:
        return HEAD + opening * depth + "1" + closing * depth + "\n  }\n}\n"

    for side in SIDES:
        assert code(lambda side=side: side(text(limits.NESTING - 4))) != "E9206"
        assert code(lambda side=side: side(text(limits.NESTING))) == "E9206"
        assert code(lambda side=side: side(text(50_000))) == "E9206"


@pytest.mark.parametrize("number", ["9" * 100_000 + ".0", "1e" + "9" * 1000, "1e39", "9" * 100_000])
def test_numbers_beyond_the_range_are_refused(number: str) -> None:
    assert {code(lambda side=side: side(f"{HEAD}{number}\n  }}\n}}\n")) for side in SIDES} == {"E9202"}


def test_numbers_below_the_range_are_zero() -> None:
    text = f"{HEAD}0.{'0' * 5000}1e-99999\n  }}\n}}\n"
    assert print_kernels(read_kernels(text)) == native.verify(text) == f"{HEAD}0\n  }}\n}}\n"


def test_texts_past_the_limit_are_refused() -> None:
    text = " " * (limits.TEXT_BYTES + 1)
    assert [code(lambda side=side: side(text)) for side in SIDES] == ["E9206", "E9206"]


def test_arrays_that_do_not_fit_are_refused() -> None:
    program = native.Program(f"{HEAD}%0[i0]\n  }}\n}}\n")
    four, strided = np.zeros(4, np.float32), np.zeros((4, 2), np.float32)[:, 0]
    readonly = np.zeros(4, np.float32)
    readonly.flags.writeable = False
    misfits = [([], [four]), ([four[:3]], [four.copy()]), ([four], [four]), ([four], [readonly]), ([strided], [four])]
    assert [code(lambda given=given: program.run(*given)) for given in misfits] == ["E9207"] * 5


def test_scratch_is_unwritten_in_each_piece_of_a_split() -> None:
    text = """kernel carry (%0 : f32[2]) -> %1 : f32[2] {
  t0 : f32[2]
  for i0 in 0..2 {
    t0[i0] = %0[i0]
    %1[i0] = t0[0]
  }
}
"""
    program, data = native.Program(text), np.ones(2, np.float32)
    program.run([data], [np.zeros(2, np.float32)], shadow=True)
    with pytest.raises(PreskError) as caught:
        program.run([data], [np.zeros(2, np.float32)], shadow=True, split=0)
    assert caught.value.code == "E9208"


def test_loops_that_may_be_split() -> None:
    head = "kernel k (%0 : f32[4, 4]) -> %1 : f32[4, 4] {\n"
    rows = "  for i0 in 0..4 {\n    for i1 in 0..4 {\n      %1[i0, i1] = %0[i1, i0]\n    }\n  }\n}\n"
    assert native.parallel_depths(head + rows) == [0, 1]
    total = "  for i0 in 0..4 {\n    for i1 in 0..4 {\n      %1[i0, 0] = %0[i0, i1]\n    }\n  }\n}\n"
    assert native.parallel_depths(head + total) == [0]
    beside = rows.removesuffix("}\n") + "  %1[0, 0] = 0\n}\n"
    assert native.parallel_depths(head + beside) == []


def test_assignments_in_front_of_a_loop_leave_it_to_workers() -> None:
    """Each does them for itself: they may read nothing that rounds write, and what rounds assign they begin with."""
    head = "kernel k (%0 : f32[4, 4], %1 : f32[4, 4]) -> %2 in %1 : f32[4, 4] {\n"

    def depths(first: str = "", second: str = "", value: str = "%0[i1, i0]") -> list[int]:
        within = f"    for i1 in 0..4 {{\n      %2[i0, i1] = {value}\n    }}\n"
        return native.parallel_depths(f"{head}{first}  for i0 in 0..4 {{\n{second}{within}  }}\n}}\n")

    one, two = "  s0 = exp(%0[0, 0])\n", "    s1 = %0[i0, 0]\n"
    assert depths(one, two, "((%0[i1, i0] * s0) + s1)") == [0, 1]
    assert depths("  s0 = %2[0, 0]\n", value="s0") == []
    assert depths("", "    s1 = %2[0, 0]\n", "s1") == []
    counts = "s0\n      s0 = (s0 + 1)"
    assert depths("  s0 = 0\n", "", counts) == []
    assert depths("", "    s0 = 0\n", counts) == [0]
    assert depths("  s0 = 0\n", "    s1 = s0\n", "s1\n      s0 = (s1 + 1)") == []
    assert depths("  s0 = 0\n", "    s1 = 2\n", "s1\n      s0 = (s1 + 1)") == [0, 1]
