"""Learning rates against formulas in exact and long arithmetic, and against the library's own."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from tests.unit.train.programs import linear

import presk
from presk.check.program import loads
from presk.check.recipes import Recipe
from presk.shapes.constants import Rational
from presk.train.rates import Rate, depends_on_length, read_rate


def rate(text: str, steps: int) -> Rate:
    program = linear().files.main.source.text.replace("lr = constant(peak = 0.05, warmup = 5)", f"lr = {text}")
    return read_rate(loads(f"const P = 0.1\n{program}").trains["fit"].rate, steps)


def test_the_warmup_ends_at_the_peak() -> None:
    found = rate("constant(peak = 3e-4, warmup = 2000)", 10_000)
    assert found(1) == 3e-4 / 2000
    assert found(100) == 3e-4 * 100 / 2000
    assert found(1999) < found(2000) == found(9000) == 3e-4


def test_a_number_is_a_constant_rate() -> None:
    found = rate("P", 10)
    assert [found(step) for step in (1, 5, 100)] == [0.1] * 3


def test_a_line_falls_to_its_floor_and_stays() -> None:
    found = rate("linear(peak = 1, warmup = 10, floor = 0.25)", 110)
    assert found(10) == 1.0
    for step in range(10, 111, 7):
        exact = 1 - Fraction(3, 4) * (step - 10) / 100
        assert abs(Fraction(found(step)) - exact) < Fraction(1, 1 << 52)
    assert found(110) == found(500) == 0.25


def test_a_cosine_is_half_a_wave() -> None:
    found = rate("cosine(peak = 3e-4, warmup = 20, floor = 3e-5)", 220)
    for step in range(20, 221, 9):
        exact = mpmath.mpf("3e-5") + mpmath.mpf("2.7e-4") * (1 + mpmath.cospi(mpmath.mpf(step - 20) / 200)) / 2
        assert abs(found(step) - exact) < 1e-19
    assert found(220) == found(1000) == 3e-5


def test_without_a_warmup_the_first_step_is_on_its_way() -> None:
    assert rate("linear(peak = 1)", 4)(1) == 0.75
    assert rate("linear(peak = 1)", 4)(4) == 0.0


def test_a_warmup_longer_than_the_training_only_rises() -> None:
    found = rate("cosine(peak = 1, warmup = 100, floor = 0)", 10)
    assert [found(step) for step in (1, 10)] == [0.01, 0.1]


@pytest.mark.parametrize("shape", ["constant", "linear", "cosine"])
def test_the_library_has_the_same_shapes(shape: str) -> None:
    floor = "" if shape == "constant" else ", floor = 0.125"
    steps = "" if shape == "constant" else ", 50"
    text = f"import rates\nfn f(t: real) -> real {{ rates.{shape}_rate(t{steps}, 0.5, 8{floor}) }}\n"
    exact = presk.compile(presk.loads(text)["f"], backend="interp")
    found = rate(f"{shape}(peak = 0.5, warmup = 8{floor})", 50)
    for step in (1, 7, 8, 9, 20, 49, 50, 60):
        assert found(step) == pytest.approx(float(exact(float(step))), rel=1e-15, abs=1e-17)


def test_a_fall_may_have_a_length_of_its_own() -> None:
    for shape in ("linear", "cosine"):
        stated = rate(f"{shape}(peak = 1, warmup = 10, floor = 0.25, steps = 110)", 7)
        told = rate(f"{shape}(peak = 1, warmup = 10, floor = 0.25)", 110)
        assert [stated(step) for step in range(1, 130)] == [told(step) for step in range(1, 130)]


def test_a_fall_that_never_ends_stays_at_its_peak() -> None:
    assert rate("cosine(peak = 1, steps = 1e400)", 3)(1000) == 1.0


def test_a_constant_rate_and_one_with_steps_are_the_same_at_any_length() -> None:
    assert not depends_on_length(Recipe("constant", {}))
    assert depends_on_length(Recipe("cosine", {}))
    assert not depends_on_length(Recipe("cosine", {"steps": Rational(Fraction(9))}))
