"""Core text: exact forms, the round trip on everything there is, and hostile text."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.unit.core.generate import programs, random_program

from presk.check.program import Checked, load
from presk.core.bind import bind
from presk.core.nodes import Function, Program
from presk.core.printer import bodies, print_program
from presk.core.reader import read_program
from presk.core.simplify import simplify
from presk.core.verify import verify
from presk.text.diagnostics import PreskError

SCORES = """\
fn scores(%0 : real[batch: 1, heads: 2, seq: 4, hd: 4], %1 : real[batch: 1, heads: 2, seq: 4, hd: 4])
    -> real[batch: 1, heads: 2, seq: 4, seq2: 4] {
  %2 = ein[batch, heads, seq, seq2](%0, %1[batch, heads, seq2, hd])
  %2
}
"""

EVERYTHING = """\
module nn.Linear{3, 2} { w: real[3, 2]; b: real[2] }
module Long{0.5, (1 / 3)} {
  first: nn.Linear{3, 2} * 2
  second: {k: real[batch: 4, seq: 1000, heads: 12], v: (real, nat[n: 4] < 7)}
}
module Empty {}

fn nn.Linear{3, 2}.apply(%0 : nn.Linear{3, 2}, %1 : real[batch: 4, 3]) -> real[batch: 4, 2] {
  %2 = dot(%1, %0.w)
  %3 y = add(%2, %0.b)
  %3
}

fn all@T=1,..=2x3(
    %0 : nn.Linear{3, 2} * 5,
    %1 : real[batch: 4, 3],
    %2 : nat[n: 4] < 3,
    %3 : real[t: 5],
    %4 : Long{0.5, (1 / 3)},
    %5 : bool,
    %6 : Empty
) -> (real[batch: 4, 3], real[t: 5, batch: 4, 2]) {
  %7 loop = scan %8 s : real[batch: 4, 3] = %1
      over %9 l : nn.Linear{3, 2} in %0,
           %10 : nat < 7 in 2..7,
           %11 : real in %3[t] along t reversed {
    %12 y = call nn.Linear{3, 2}.apply(%9, %8) @blocks.step~1
    %13 = mul(%8, real(%10))
    %14 = normal[3](std = 0.02, draw = 0)
    %15 = add(%13, (1 / 3))
    %16 = add(%15, %14)
    %17 = (%16, %12)
    %17
  }
  %18 = fold %19 : real = 0.5 over %20 : nat < 2 in 0..2 {
    %21 = mul(%19, (-sqrt(2)))
    %21
  }
  %22 = map %23 p : real[..] in %0, %24 g : real[..] in %0 {
    %25 = sum(%23)
    %26 = mul(%25, %24)
    %27 = (%26, %23)
    %27
  }
  %28 = transpose(%1, order = (1, batch))
  %29 = {a = %28, b = nat(3), c = true, d = -2}
  %30 = {%29 with .a = %28}
  %31 = {%4 with .second.v.0 = 1e-25}
  %32 = softmax(%1, %5, axis = batch)
  %33 = split[a: 2, 2](%1, axis = batch)
  %34 = rename(%33, a = z)
  %35 = top_k(%1, k = 2, axis = 1, ties = first)
  %36 = (%35.0,)
  %37 = ()
  %39 = ein[](%3, %3)
  %40 = merge[4](%34, axes = (z, 1))
  %41 = mean(%1, axis = (batch, 1))
  %7
}
"""


def test_the_scores_of_the_tutorial_print_as_the_design_shows(examples: Path) -> None:
    program = bind(load(examples / "tutorial" / "03_attention.psk"), "scores", dims={"B": 1, "T": 4})
    assert print_program(program) == SCORES


def test_every_form_reads_back_and_prints_the_same() -> None:
    program = read_program(EVERYTHING)
    assert print_program(program) == EVERYTHING
    assert read_program(print_program(program)) == program


def test_a_module_is_made_of_its_fields() -> None:
    text = "module M { w: real[3] }\n\nfn f(%0 : real[a: 3]) -> M {\n  %1 = make M {w = %0}\n  %1\n}\n"
    assert print_program(read_program(text)) == text


def test_names_of_lets_states_and_elements_are_read() -> None:
    loop = read_program(EVERYTHING).entry.body.lets[0]
    assert loop.name == "loop"
    assert [each.name for each in loop.value.elements] == ["l", None, None]  # type: ignore[union-attr]


def test_comments_and_layout_do_not_matter() -> None:
    text = "-- as dumped\nfn f(%0:real)->real{%1=add(%0,1) -- one more\n%1}"
    assert print_program(read_program(text)) == "fn f(%0 : real) -> real {\n  %1 = add(%0, 1)\n  %1\n}\n"


TAKING_FUNCTIONS = ("rk4", "newton")
"""Functions with a parameter that is a function can't be entries."""


def entries(examples: Path) -> list[tuple[Checked, str, dict[str, int]]]:
    found: list[tuple[Checked, str, dict[str, int]]] = []
    for path in sorted(examples.rglob("*.psk")):
        checked = load(path)
        for info in checked.entries():
            name = re.sub(r"\bI\b", "3", re.sub(r"\bO\b", "2", re.sub(r"\bN\b", "4", info.name)))
            dims = {("batch" if dim == ".." else dim): 3 for dim in info.free_dimensions}
            found.append((checked, name, dims))
    return found


def test_the_core_of_every_example_is_valid_and_reads_back(examples: Path) -> None:
    bound = 0
    for checked, name, dims in entries(examples):
        if name in TAKING_FUNCTIONS:
            continue
        raw = bind(checked, name, dims=dims, simplified=False)
        bound += 1
        for program in (raw, simplify(raw)):
            verify(program)
            assert read_program(print_program(program)) == program, name
        assert simplify(simplify(raw)) == simplify(raw)
    assert bound > 50


@settings(max_examples=60)
@given(programs())
def test_print_then_read_is_the_identity(program: Program) -> None:
    verify(program)
    text = print_program(program)
    assert read_program(text) == program
    assert print_program(read_program(text)) == text


@pytest.mark.parametrize("seed", range(200))
def test_random_programs_read_back(seed: int) -> None:
    program = random_program(seed)
    verify(program)
    assert read_program(print_program(program)) == program


HEAD = "fn f(%0 : real[a: 2, 3], %1 : nat < 3, %2 : {w: real}) -> real { "


@pytest.mark.parametrize(
    ("text", "code", "spanned"),
    [
        ("", "E9101", ""),
        ("fn f(%0 : real) -> real { exp %0 }", "E9101", "%0"),
        ("fn f(%0 : real) -> real { %1 = exp(%0 %1 }", "E9101", "%1"),
        ("fn f(%0 : real) -> real { %1 = exp(%0) }", "E9101", "}"),
        ("fn f(%0 : real) -> real { %0 } $", "E9101", "$"),
        ("fn (%0 : real) -> real { %0 }", "E9101", "("),
        ("fn f(%0 : nat) -> real { 0 }", "E9101", ")"),
        ("fn f(%0 : real * 3) -> real { 0 }", "E9101", "*"),
        ("fn f(%0.w : real) -> real { 0 }", "E9101", "%0.w"),
        ("fn f(%0 : real[-1]) -> real { 0 }", "E9101", "-"),
        ("fn f(%0 : real[99999999999999999999]) -> real { 0 }", "E9101", "99999999999999999999"),
        ("fn f(%99999999999999999999 : real) -> real { 0 }", "E9101", "%99999999999999999999"),
        ("fn f(%0 : real[a: 1, a: 2]) -> real { 0 }", "E3003", "[a: 1, a: 2]"),
        ("fn f(%0 : {x: real, x: real}) -> real { 0 }", "E2002", "x"),
        ("fn f(%0 : M) -> real { 0 }", "E2001", "M"),
        ("module M {} module M {} fn f() -> real { 0 }", "E2002", "M"),
        ("fn f() -> real { 0 } fn f() -> real { 0 }", "E2002", "fn f"),
        ("fn f() -> real { %1 = call g() %1 }", "E2001", "%1 = call g()"),
        (HEAD + "%3 = expo(%0) %3 }", "E2001", "expo"),
        (HEAD + "%3 = exp(%9) %3 }", "E2001", "%9"),
        (HEAD + "%3 = exp(%2) %3 }", "E3001", "%3 = exp(%2)"),
        (HEAD + "%3 = exp(%2.v) %3 }", "E2001", "%2.v"),
        (HEAD + "%3 = exp(%1) %3 }", "E3001", "%3 = exp(%1)"),
        (HEAD + "%3 = exp(%0, %0) %3 }", "E3002", "%3 = exp(%0, %0)"),
        (HEAD + "%3 = exp(%0, axis = a) %3 }", "E3002", "axis"),
        (HEAD + "%3 = sum(%0, axis = b) %3 }", "E3004", "sum(%0, axis = b)"),
        (HEAD + "%3 = sum(%0, axis = 7) %3 }", "E3004", "sum(%0, axis = 7)"),
        (HEAD + "%3 = sum(%0, axis = a, axis = a) %3 }", "E3002", "axis"),
        (HEAD + "%3 = mul(%0, (1 / 0)) %3 }", "E4006", "(1 / 0)"),
        (HEAD + "%3 = mul(%0, 1e-999999999) %3 }", "E4005", "1e-999999999"),
        (HEAD + "%3 = mul(%0, pow(10, 99999)) %3 }", "E4005", "pow(10, 99999)"),
        (HEAD + "%3 = mul(%0, foo(2)) %3 }", "E2001", "foo"),
        (HEAD + "%3 = {%2 with .v = 1} %3 }", "E2001", "%3 = {%2 with .v = 1}"),
        (HEAD + "%3 = fold %4 : real = 0 over %5 : real in %9[a] { %4 } %3 }", "E2001", "%9"),
        (
            HEAD + "%3 = fold %4 : real = 0 over %5 : nat < 2 in 0..2, %6 : nat < 3 in 0..3 { %4 } %3 }",
            "E3003",
            "%4 : real = 0 over %5 : nat < 2 in 0..2, %6 : nat < 3 in 0..3",
        ),
        (HEAD + "%3 = make real {} %3 }", "E9101", "make real"),
        (
            HEAD + "%3 = normal[2](draw = 0) %4 = normal[3](draw = 0) %5 = (%3, %4) 0 }",
            "E9103",
            "%4 = normal[3](draw = 0)",
        ),
        (HEAD + "%3 = exp(%0) %3 = exp(%0) 0 }", "E9103", "%3 = exp(%0)"),
        (HEAD + "%3 = exp(%0) %3 }", "E9103", "fn f"),
        ("fn f(%1 : real) -> real { %1 }", "E9103", "fn f"),
        (f"fn f(%0 : {'(' * 10000}real{')' * 10000}) -> real {{ 0 }}", "E9102", None),
        (f"fn f() -> real {{ {'(' * 10000}1{')' * 10000} }}", "E9102", None),
        ("fn f(" + "{" * 10000, "E9101", None),
        ("fn f() -> real { %1 = {" + "{" * 10000, "E9101", None),
        ("\x00", "E1002", None),
    ],
)
def test_what_is_wrong_is_said_where_it_is(text: str, code: str, spanned: str | None) -> None:
    with pytest.raises(PreskError) as caught:
        read_program(text)
    assert caught.value.code == code, caught.value
    if spanned is not None:
        assert caught.value.span is not None
        assert caught.value.span.text == spanned


def test_bodies_nested_too_deeply_are_refused() -> None:
    text, close = "fn f() -> real { ", " 0 }"
    for depth in range(200):
        text += f"%{3 * depth} = fold %{3 * depth + 1} : real = 0 over %{3 * depth + 2} : nat < 1 in 0..1 {{ "
        close = f" 0 }} 0 }}{close[4:]}" if depth else close
    with pytest.raises(PreskError) as caught:
        read_program(text + close)
    assert caught.value.code == "E9102"


WORDS = re.compile(r"\s+|%?\w+|.")


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few of its words swapped, dropped, doubled or replaced."""
    words = WORDS.findall(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                del words[at]
            case 1:
                words.insert(at, words[rng.randrange(len(words))])
            case 2:
                words[at] = words[rng.randrange(len(words))]
            case 3:
                words[at] = rng.choice(
                    ["%0", "0", "..", "{", "}", "(", ")", "[", "]", "real", "nat", "1e9", "-", "a", "é"]
                )
            case _:
                other = rng.randrange(len(words))
                words[at], words[other] = words[other], words[at]
        if not words:
            return ""
    return "".join(words)


def read_or_refuse(text: str) -> bool:
    """Whether the text is Core; anything but a diagnostic fails the test."""
    try:
        program = read_program(text)
    except PreskError:
        return False
    assert isinstance(program.entry, Function)
    verify(program)
    assert read_program(print_program(program)) == program
    return True


@pytest.mark.parametrize("seed", range(150))
def test_mutants_are_read_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    text = print_program(random_program(seed)) if seed % 3 else EVERYTHING
    for _ in range(6):
        read_or_refuse(mutated(text, rng))


def test_numbers_survive_the_text() -> None:
    text = "fn f(%0 : real) -> real {\n  %7 = exp(%0)\n  %12 = neg(%7)\n  %12\n}\n"
    assert print_program(read_program(text)) == text
    assert [let.number for body in bodies(read_program(text).entry.body) for let in body.lets] == [7, 12]
