"""A uniform draw keeps its bounds in the type it is stored in: sites, rounded ones too, initializers, the reference."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import presk
from presk.exact.bounds import drawn_within
from presk.shapes import constants
from presk.shapes.constants import Constant, Rational, rational

TINY = Fraction(1, 2**1074)

BOUNDS: list[tuple[str, Fraction | float, Fraction | float]] = [
    ("lo = 0, hi = 1", 0, 1),
    ("lo = -0.1, hi = 0.1", Fraction(-1, 10), Fraction(1, 10)),
    ("lo = 1, hi = 1.0000001", 1, Fraction(10000001, 10**7)),
    ("lo = 1, hi = 1 + 2 ** -52", 1, 1 + Fraction(1, 2**52)),
    ("lo = 0, hi = 5e-324", 0, Fraction(5, 10**324)),
    ("lo = -1e-45, hi = 1e-45", Fraction(-1, 10**45), Fraction(1, 10**45)),
    ("lo = -1.7e308, hi = 1.7e308", Fraction(-17 * 10**307), Fraction(17 * 10**307)),
    ("lo = -1e39, hi = 1e39", -(10**39), 10**39),
    ("lo = 16777216, hi = 16777217", 2**24, 2**24 + 1),
    ("lo = -1 / sqrt(3), hi = 1 / sqrt(3)", -(3**-0.5), 3**-0.5),
    ("lo = 255, hi = 257", 255, 257),
]


@pytest.mark.parametrize("realize", ["f64", "f32", "bf16"])
@pytest.mark.parametrize(("ends", "lo", "hi"), BOUNDS, ids=[ends for ends, _, _ in BOUNDS])
def test_what_a_site_stores_lies_in_its_bounds(ends: str, lo: Any, hi: Any, realize: str) -> None:
    program = presk.loads(f"fn f() -> real[k: 3000] {{ uniform[k: 3000]({ends}) }}")
    found = [np.asarray(presk.compile(program["f"], realize=realize, backend=b)(seed=1)) for b in ("kernel", "native")]
    assert found[0].tobytes() == found[1].tobytes()
    values = [Fraction(float(value)) for value in found[0]]
    assert min(values) >= lo and max(values) < hi


@pytest.mark.parametrize("realize", ["f64", "f32", "bf16"])
@pytest.mark.parametrize(("ends", "lo", "hi"), BOUNDS, ids=[ends for ends, _, _ in BOUNDS])
def test_initial_parameters_lie_in_their_bounds_as_they_are_stored(ends: str, lo: Any, hi: Any, realize: str) -> None:
    text = f"module M {{ w: real[3000] = uniform({ends})\n  fn apply(self) -> real[3000] {{ self.w }} }}"
    apply = presk.compile(presk.loads(text)["M.apply"], realize=realize)
    values = [Fraction(float(value)) for value in np.asarray(apply(apply.init(seed=1)))]
    assert min(values) >= lo and max(values) < hi


@pytest.mark.parametrize("ends", ["lo = 1.001, hi = 1.002", "lo = 1e39, hi = 2e39", "lo = -1e-50, hi = 0"])
def test_bounds_without_a_number_of_the_type_are_refused(ends: str) -> None:
    program = presk.loads(f"fn f() -> real[k: 4] {{ uniform[k: 4]({ends}) }}")
    with pytest.raises(presk.PreskError) as caught:
        presk.compile(program["f"], realize="bf16")()
    assert caught.value.code == "E7004"
    presk.compile(program["f"], realize="f64")()


def test_the_reference_keeps_and_refuses_bounds_in_f64() -> None:
    narrow = presk.loads("fn f() -> real[k: 4] { uniform[k: 4](lo = 1, hi = 1 + 2 ** -60) }")
    assert np.asarray(presk.compile(narrow["f"], backend="interp")()).tolist() == [1.0] * 4
    none = presk.loads("fn f() -> real[k: 4] { uniform[k: 4](lo = 1 + 2 ** -60, hi = 1 + 2 ** -59) }")
    for backend in ("interp", "kernel", "native"):
        with pytest.raises(presk.PreskError) as caught:
            presk.compile(none["f"], backend=backend, realize="f64")()
        assert caught.value.code == "E7004"


@pytest.mark.parametrize("type", ["f64", "f32", "bf16"])
def test_the_outermost_numbers_are_the_ones_next_to_the_bounds(type: str) -> None:
    third: Constant = Rational(Fraction(1, 3))
    root = constants.apply("sqrt", rational(2))
    for lo, hi, value in ((rational(-1), third, Fraction(1, 3)), (rational(0), root, Fraction(math.sqrt(2)))):
        found = drawn_within(lo, hi, type)
        assert found is not None
        assert Fraction(found[1]) < value + TINY
        above = drawn_within(hi, rational(3), type)
        assert above is not None and above[0] > found[1]
        if type == "f64":
            assert math.nextafter(found[1], 3) == above[0]
    assert drawn_within(third, third, type) is None
