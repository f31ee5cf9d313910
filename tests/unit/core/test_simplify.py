"""Simplification: what goes, what stays, and that the exact meaning never changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.unit.core.generate import TOTAL, arguments_of, programs, random_program

from presk.core.identities import IDENTITIES
from presk.core.nodes import Program
from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.core.simplify import simplify
from presk.core.verify import verify
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.primitives.all import TABLE
from presk.text.diagnostics import PreskError

HEAD = "fn f(%0 : real[a: 4, b: 3], %1 : nat < 3, %2 : bool[a: 4, b: 3]) -> "


def left_of(result: str, lets: str) -> str:
    """The body of `f` after simplification, one let a line."""
    program = read_program(f"{HEAD}{result} {{ {lets} }}")
    simplified = simplify(program)
    verify(simplified)
    assert simplify(simplified) == simplified
    text = print_program(simplified)
    return text[text.index("{\n") + 2 : -2].replace("  ", "").strip()


SAME = "real[a: 4, b: 3]"


@pytest.mark.parametrize(
    "value",
    [
        "mul(%0, 1)",
        "mul(1, %0)",
        "div(%0, 1)",
        "sub(%0, 0)",
        "maximum(%0, %0)",
        "where(%2, %0, %0)",
        "where(true, %0, 2)",
        "where(false, 2, %0)",
        "transpose(%0, order = (a, b))",
        "slice(%0, axis = a, start = 0, stop = 4)",
        "pad(%0, axis = a)",
        "concat(%0, axis = a)",
        "broadcast_to[a: 4, b: 3](%0)",
        "rename(%0, a = a)",
        "split[a: 4](%0, axis = a)",
        "merge[a: 4](%0, axes = a)",
    ],
)
def test_what_changes_nothing_goes(value: str) -> None:
    assert left_of(SAME, f"%3 = {value} %4 = exp(%3) %4") == "%4 = exp(%0)\n%4"


@pytest.mark.parametrize(
    "value",
    [
        "add(%0, 0)",
        "mul(%0, 0)",
        "mul(%0, 2)",
        "div(1, %0)",
        "sub(0, %0)",
        "where(%2, %0, 0)",
        "stop_gradient(%0)",
        "flip(%0, axis = a)",
        "pow(%0, 2)",
    ],
)
def test_what_changes_a_bit_or_a_meaning_stays(value: str) -> None:
    assert left_of(SAME, f"%3 = {value} %3") == f"%3 = {value}\n%3"


def test_a_zero_keeps_its_sign() -> None:
    """−0 + 0 is 0, and −(x − y) differs from y − x where they are equal."""
    assert left_of(SAME, "%3 = sub(%0, 2) %4 = neg(%3) %4") == "%3 = sub(%0, 2)\n%4 = neg(%3)\n%4"


@pytest.mark.parametrize(
    ("lets", "left"),
    [
        ("%3 = neg(%0) %4 = neg(%3) %5 = exp(%4) %5", "%5 = exp(%0)\n%5"),
        ("%3 = neg(%0) %4 = add(%0, %3) %4", "%4 = sub(%0, %0)\n%4"),
        ("%3 = neg(%0) %4 = sub(%0, %3) %4", "%4 = add(%0, %0)\n%4"),
        ("%3 = neg(%0) %4 = mul(%3, %3) %4", "%4 = mul(%0, %0)\n%4"),
        ("%3 = neg(%0) %4 = square(%3) %4", "%4 = square(%0)\n%4"),
        ("%3 = abs(%0) %4 = abs(%3) %4", "%3 = abs(%0)\n%3"),
        ("%3 = relu(%0) %4 = relu(%3) %4", "%3 = relu(%0)\n%3"),
        ("%3 = flip(%0, axis = a) %4 = flip(%3, axis = a) %5 = exp(%4) %5", "%5 = exp(%0)\n%5"),
        ("%3 = transpose(%0, order = (1, 0)) %4 = transpose(%3, order = (1, 0)) %5 = exp(%4) %5", "%5 = exp(%0)\n%5"),
        ("%3 = rename(%0, a = z) %4 = rename(%3, z = a) %5 = exp(%4) %5", "%5 = exp(%0)\n%5"),
        ("%3 = rename(%0, a = b, b = a) %4 = rename(%3, a = b, b = a) %5 = exp(%4) %5", "%5 = exp(%0)\n%5"),
        ("%3 = split[2, 2](%0, axis = a) %4 = merge[a: 4](%3, axes = (0, 1)) %5 = exp(%4) %5", "%5 = exp(%0)\n%5"),
        ("%3 = exp(%0) %4 = exp(%0) %5 = mul(%3, %4) %5", "%3 = exp(%0)\n%5 = mul(%3, %3)\n%5"),
        ("%3 = exp(%0) %4 out = exp(%0) %5 = mul(%3, %4) %5", "%3 out = exp(%0)\n%5 = mul(%3, %3)\n%5"),
        ("%3 = exp(%0) %4 = neg(%0) %4", "%4 = neg(%0)\n%4"),
        ("%3 = (%0, %1) %4 = exp(%3.0) %4", "%4 = exp(%0)\n%4"),
        ("%3 = {x = %0, n = nat(2)} %4 = mul(%3.x, real(%3.n)) %4", "%4 = mul(%0, 2)\n%4"),
        ("%3 = {x = %0, y = 1} %4 = {%3 with .y = %1} %5 = exp(%4.x) %5", None),
        ("%3 = {x = %0, y = 1} %4 = {%3 with .x = %0} %5 = mul(%4.x, %4.y) %5", "%0"),
    ],
)
def test_lets_are_simplified(lets: str, left: str | None) -> None:
    if left is None:
        with pytest.raises(PreskError):
            left_of(SAME, lets)
    else:
        assert left_of(SAME, lets) == left


def test_merging_axes_of_another_split_is_no_identity() -> None:
    lets = "%3 = split[2, 2](%0, axis = a) %4 = merge[6](%3, axes = (1, b)) %4"
    assert left_of("real[2, 6]", lets).count("=") == 4


def test_draws_are_not_shared_and_dead_ones_go() -> None:
    lets = "%3 = normal[2](draw = 0) %4 = normal[2](draw = 1) %5 = normal[2](draw = 2) %6 = add(%3, %4) %6"
    left = left_of("real[2]", lets)
    assert left == "%3 = normal[2](draw = 0)\n%4 = normal[2](draw = 1)\n%6 = add(%3, %4)\n%6"


def test_calls_are_shared_unless_they_draw() -> None:
    text = """
    fn pure(%0 : real) -> real { %1 = exp(%0) %1 }
    fn noise(%0 : real) -> real { %1 = normal[](draw = 0) %2 = add(%0, %1) %2 }
    fn more(%0 : real) -> real { %1 = call noise(%0) @a %1 }
    fn f(%0 : real) -> (real, real, real, real) {
      %1 = call pure(%0) @x
      %2 = call pure(%0) @y
      %3 = call more(%0) @x
      %4 = call more(%0) @y
      %5 = (%1, %2, %3, %4)
      %5
    }"""
    left = simplify(read_program(text)).entry
    assert [let.number for let in left.body.lets] == [1, 3, 4, 5]


def test_functions_that_nothing_calls_go() -> None:
    text = """
    fn a(%0 : real) -> real { %1 = exp(%0) %1 }
    fn b(%0 : real) -> real { %1 = call a(%0) %1 }
    fn c(%0 : real) -> real { %1 = call a(%0) %1 }
    fn f(%0 : real) -> real { %1 = call b(%0) %2 = call c(%0) %2 }"""
    assert [function.name for function in simplify(read_program(text)).functions] == ["a", "c", "f"]


def test_loops_and_maps_are_simplified_inside() -> None:
    text = """
    fn f(%0 : real, %1 : {w: real[3]}) -> (real, {w: real[3]}) {
      %2 = fold %3 : real = %0 over %4 : nat < 3 in 0..3 {
        %5 = mul(%3, 1)
        %6 = exp(%5)
        %7 = exp(%5)
        %8 = add(%6, %7)
        %8
      }
      %9 = map %10 : real[..] in %1 { %11 = neg(%10) %12 = neg(%11) %13 = exp(%12) %13 }
      %14 = (%2, %9)
      %14
    }"""
    assert "{\n    %6 = exp(%3)\n    %8 = add(%6, %6)\n    %8\n  }" in print_program(simplify(read_program(text)))
    assert "{\n    %13 = exp(%10)\n    %13\n  }" in print_program(simplify(read_program(text)))


def test_a_component_whose_names_a_tree_changed_is_not_seen_through() -> None:
    text = "module M { w: real[n: 3] } fn f(%0 : real[3]) -> real[n: 3] { %1 = make M {w = %0} %2 = exp(%1.w) %2 }"
    assert len(simplify(read_program(text)).entry.body.lets) == 2


def test_identities_are_of_primitives() -> None:
    assert IDENTITIES.keys() <= TABLE.keys()


def shown(value: Any) -> Any:
    """A tree of results that can be compared."""
    if isinstance(value, dict):
        return {name: shown(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(shown(each) for each in value)
    if isinstance(value, ExactArray):
        return [str(each) for each in value.mid.reshape(-1)]
    return np.asarray(value).tolist()


def meaning(program: Program, arguments: list[Any]) -> Any:
    """What the reference says, or the code with which it refuses."""
    try:
        return shown(evaluate(program, arguments, bits=64, seed=3))
    except PreskError as error:
        return error.code


@pytest.mark.parametrize("seed", range(150))
def test_the_exact_meaning_is_unchanged(seed: int) -> None:
    program = random_program(seed, TOTAL)
    arguments = arguments_of(program, seed)
    assert meaning(simplify(program), arguments) == meaning(program, arguments)


@settings(max_examples=60)
@given(programs())
def test_twice_is_once(program: Program) -> None:
    simplified = simplify(program)
    verify(simplified)
    assert simplify(simplified) == simplified
    numbers = {let.number for let in program.entry.body.lets}
    assert {let.number for let in simplified.entry.body.lets} <= numbers
