"""A schedule's text: reading is printing's inverse in Python, and Python and Rust read the same texts."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from presk import _native
from presk.check.program import loads
from presk.core.bind import bind
from presk.kernel.nodes import Element
from presk.realization.model import Plan, Realization
from presk.run.record.choices import choices
from presk.run.record.reader import read_schedule
from presk.run.record.recorder import record
from presk.run.record.schedule import (
    Convert,
    Copy,
    Divided,
    Draw,
    Fixed,
    Input,
    Key,
    Launch,
    Mask,
    Name,
    Output,
    Region,
    Repeat,
    Sample,
    Schedule,
    SetCount,
    Swap,
    View,
)
from presk.run.record.text import print_schedule
from presk.text.diagnostics import PreskError

F32, F64, BF16, I64, BOOL = (Element(kind) for kind in ("f32", "f64", "bf16", "i64", "bool"))

SOURCE = """
const D = 3

module Cell {
  w: real[D, D] = normal(std = 1 / 2)

  fn apply(self, x: real[batch, D]) -> real[batch, D] { tanh(dot(x, self.w)) + normal[batch, D]() }
}

module Net {
  cells: Cell * 3

  fn apply(self, x: real[batch, D], t: nat[batch] < D) -> (real[batch, D], nat[batch] < D) {
    let h = fold h = x over cell in self.cells { cell(h) }
    (h, sample(h + one_hot[k: D](t), 1 / 2, top_k = 2))
  }
}
"""


def view(space: str, number: int, start: int = 0, *strides: tuple[int, int]) -> View:
    return View(Name(space, number), start, strides)  # pyright: ignore[reportArgumentType]


@cache
def every_construct() -> Schedule:
    """Each node at least once, with what its text may leave out there and left out."""
    kernel = record_of("fn f(x: real[n: 4], y: real[n: 4]) -> real[n: 4] { x + y }", "f").kernels[0]
    key, looped = Key("normal", 'f"é\n\U0001f600#0', ()), Key("dropout", "", (0, 7))
    a0, a1 = view("a", 0), view("a", 1, 3)
    steps = (
        Launch(0, (a0, view("h", 0, 5, (0, 4), (7, 1))), (a1,), None, "f/%1"),
        Launch(0, (a0, a0), (a1,), "whole", ""),
        Launch(0, (a0, a0), (a1,), Divided(0, None), "s"),
        Launch(0, (), (a1, view("o", 0)), Divided(1, 2), "s"),
        Swap(Name("a", 0), Name("a", 1)),
        Repeat(0, 3, True, (SetCount(0, 2, view("a", 2)), Repeat(7, 0, False, ()))),
        Convert(F64, BF16, 7, a0, a1),
        Copy(Element("i64", 9), 1, view("c", 0), view("o", 1)),
        Draw("normal", 1.0, -0.25, (2, 3), 1, F32, key, a0),
        Draw("uniform", 1e-05, float("inf"), (), None, BF16, key, a0, (1e-05, 2.5)),
        Mask(view("c", 1), F64, (4,), None, F32, looped, a0),
        Sample(F32, (2,), 0, 1, 64, 5, a0, F64, view("c", 0), view("c", 1), looped, view("o", 1)),
    )
    return Schedule(
        'a "name"',
        "f32~1234",
        (
            Input("x", F32, (4,), donated=True),
            Input("w", Element("int4", scales=(0, 2)), (2, 3, 5)),
            Input("w.scale", F32, (6,)),
            Input("k", Element("int8", scales=(1, 2)), (2, 3)),
        ),
        (Output("", F32, (4,), shares=0), Output("1", Element("i64", 64), ())),
        (Fixed(F64, -0.1), Fixed(F32, float("nan")), Fixed(I64, -3), Fixed(BOOL, 1), Fixed(F32, 2.0), Fixed(F32, -0.0)),
        (Region(F32, 8, 0), Region(BF16, 1, 64), Region(I64, 1, 128)),
        192,
        (kernel,),
        steps,
    )


@cache
def record_of(text: str, entry: str, realize: str = "f32", **dims: int) -> Schedule:
    program = bind(loads(text), entry, dims=dims)
    return record(program, choices(Realization(realize), Plan(), program))


@cache
def samples() -> tuple[str, ...]:
    recorded = [record_of(SOURCE, "Net.apply", realize, batch=2) for realize in ("f64", "f32", "bf16")]
    return tuple(print_schedule(each) for each in (every_construct(), *recorded))


def test_every_construct_reads_back() -> None:
    made = every_construct()
    text = print_schedule(made)
    found = read_schedule(text)
    # NaN is not itself.
    plain = replace(made, constants=made.constants[:1] + made.constants[2:])
    assert replace(found, constants=found.constants[:1] + found.constants[2:]) == plain
    assert print_schedule(found) == text


@pytest.mark.parametrize("number", [1, 2, 3])
def test_recorded_schedules_read_back_and_are_accepted(number: int) -> None:
    text = samples()[number]
    assert print_schedule(read_schedule(text)) == text
    _native.Schedule(text, "kernel")


def outcome(text: str) -> tuple[str, Schedule | None]:
    """The code of what is wrong with a text, or what it reads as."""
    try:
        return "", read_schedule(text)
    except PreskError as error:
        return error.code, None


def rust_outcome(text: str) -> str:
    """The same of Rust; its verifier's findings are none of the reader's."""
    try:
        _native.Schedule(text, "kernel")
    except _native.ScheduleError as error:
        code, message, line, _ = error.args
        assert line > 0 or code in ("E9004", "E9206", "E9215"), message
        return "" if code in ("E9004", "E9212", "E9213", "E9214") else code
    return ""


WORDS = [
    "launch",
    "loop",
    "swap",
    "h0",
    "a1",
    "o0",
    "c0",
    "l0",
    "k0",
    "f32",
    "i64<3>",
    "int8/0",
    "0",
    "7",
    "-1",
    '"',
    "{",
]
WORDS += [
    "}",
    "(",
    ")",
    "[",
    "]",
    "->",
    "..",
    "+",
    "*",
    "rows",
    "over",
    "donated",
    "nan",
    "1e400",
    "\\",
    "\ud800",
    "%0",
    "é",
]


def mutate(text: str, choose: random.Random) -> str:
    for _ in range(choose.randint(1, 3)):
        at, length = choose.randrange(len(text)), choose.choice([1, 1, 2, 5, 40])
        piece = choose.choice([choose.choice(WORDS), text[at : at + length], chr(choose.randrange(0x250)), ""])
        where = choose.randrange(len(text))
        text = text[:where] + piece + text[where + choose.choice([0, 0, 1, length]) :] or "s"
    return text


@pytest.mark.parametrize("block", range(2))
def test_hostile_texts_end_in_a_schedule_or_a_diagnostic(block: int) -> None:
    read = 0
    for number in range(200):
        choose = random.Random(1000 * block + number)
        text = mutate(choose.choice(samples()), choose)
        code, found = outcome(text)
        if found is None:
            assert code in ("E9211", "E9215") or code.startswith("E920"), text
            continue
        read += 1
        again = print_schedule(found)
        assert print_schedule(read_schedule(again)) == again
    assert read > 10


def test_python_and_rust_read_the_same_texts() -> None:
    both = 0
    for number in range(300):
        choose = random.Random(number)
        text = mutate(choose.choice(samples()), choose)
        if any("\ud800" <= char < "\ue000" for char in text):
            continue
        code, _ = outcome(text)
        assert (code == "E9211") == (rust_outcome(text) == "E9211"), text
        both += not code
    assert both > 20


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E9211"),
        ('schedule "x" realized "f32" {', "E9211"),
        ('schedule "x" realized "f32" { jump }', "E9211"),
        ('schedule "\\ud800" realized "f32" { }', "E9211"),
        ('schedule "x" realized "f32" { arena 18446744073709551616 bytes }', "E9211"),
        ('schedule "x" realized "f32" { input h1 : f32[] "" }', "E9211"),
        ('schedule "x" realized "f32" { constant c0 : i64 = 9223372036854775808 }', "E9211"),
        ('schedule "x" realized "f32" { loop l0 in 1..2 { } }', "E9211"),
        ('schedule "x" realized "f32" {' + "loop l0 in 0..1 {" * 100, "E9215"),
        ('schedule "x" realized "f32" { }\nkernel ?', "E9201"),
    ],
)
def test_faults_have_their_code_and_place(text: str, code: str) -> None:
    with pytest.raises(PreskError) as caught:
        read_schedule(text)
    assert caught.value.code == code
    assert caught.value.diagnostics[0].span is not None
