"""Exact constants, and correct rounding of constants, fractions, numbers and balls."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from tests.unit.exact.building import run

from presk.exact.constants import BINARY, UNARY, ball_of_constant, round_constant
from presk.exact.precision import working
from presk.exact.rounding import FORMATS, round_ball, round_dyadic, round_fraction, round_points
from presk.exact.values import to_mpf
from presk.shapes import constants
from presk.shapes.constants import Constant, apply, rational
from presk.text.diagnostics import PreskError

EXAMPLES = settings(max_examples=400)
TYPES = ["f64", "f32", "bf16"]
fractions = st.fractions() | st.builds(
    lambda n, d, e: Fraction(n, d) * Fraction(2) ** e,
    st.integers(-(2**60), 2**60),
    st.integers(1, 99),
    st.integers(-1200, 1100),
)


def nearest(value: Fraction, type: str) -> Any:
    """The nearest number of a type, ties to even: Python's division for f64, the best of three neighbours for f32."""
    infinity = -math.inf if value < 0 else math.inf
    try:
        double = float(value)
    except OverflowError:
        double = infinity
    if type == "f64":
        return np.float64(double)
    if type == "bf16":
        return ml_dtypes.bfloat16(nearest(value, "f32"))
    if abs(value) >= Fraction(2) ** 128 - Fraction(2) ** 103:
        return np.float32(infinity)
    largest = np.finfo(np.float32).max
    guess = np.float32(np.clip(double, -float(largest), float(largest)))
    near = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    finite = [each for each in near if np.isfinite(each)]
    return min(finite, key=lambda each: (abs(Fraction(float(each)) - value), int(each.view(np.uint32)) & 1))


@pytest.mark.parametrize("type", TYPES)
@EXAMPLES
@given(fractions)
def test_fractions_round_to_nearest_even(type: str, value: Fraction) -> None:
    found = round_fraction(value, type)
    assert found.dtype == np.dtype(FORMATS[type].scalar)
    assert found == nearest(value, type)


@pytest.mark.parametrize("type", TYPES)
@EXAMPLES
@given(st.integers(-(2**70), 2**70), st.integers(-1200, 1100))
def test_points_round_to_nearest_even(type: str, mantissa: int, exponent: int) -> None:
    wanted = nearest(Fraction(mantissa) * Fraction(2) ** exponent, type)
    assert round_dyadic(mantissa, exponent, type) == wanted
    assert round_points([arb((mantissa, exponent))], type)[0] == wanted


@pytest.mark.parametrize("type", TYPES)
def test_ties_and_edges(type: str) -> None:
    digits = FORMATS[type].digits
    one = 1 << (digits - 1)
    if type != "bf16":
        assert round_dyadic((2 * one + 1) * 2 + 1, 0, type) == (2 * one + 2) * 2
    assert round_dyadic((one << 1) | 1, -1, type) == one
    assert round_dyadic(((one + 1) << 1) | 1, -1, type) == one + 2
    ties = [(one << 1) | 1, ((one + 1) << 1) | 1, -((one << 1) | 1)]
    if type != "bf16":
        assert round_points([arb((tie, -1)) for tie in ties], type).tolist() == [one, one + 2, -one]
    assert round_dyadic(1, 10**9, type) == np.inf
    assert round_dyadic(-1, 10**9, type) == -np.inf
    assert round_dyadic(1, -(10**6), type) == 0
    assert np.signbit(round_dyadic(-1, -(10**6), type))
    assert round_points([arb((1, 10**30)), arb((-1, -(10**30)))], type).tolist() == [np.inf, 0]


def test_bf16_is_reached_through_f32() -> None:
    just_above_a_tie = 1 + Fraction(1, 256) + Fraction(1, 2**40)
    assert float(round_fraction(just_above_a_tie, "bf16")) == 1.0


SQRT_HALF = apply("sqrt", rational(Fraction(1, 2)))
CONSTANTS: list[tuple[Constant, Any]] = [
    (rational(Fraction(1, 3)), lambda: mp.mpf(1) / 3),
    (SQRT_HALF, lambda: mp.sqrt(0.5)),
    (apply("div", rational(1), apply("sqrt", rational(768))), lambda: 1 / mp.sqrt(768)),
    (apply("exp", rational(1)), lambda: mp.e),
    (apply("neg", apply("log", rational(10))), lambda: -mp.log(10)),
    (apply("gelu", rational(-3)), lambda: -3 * mp.ncdf(-3)),
    (apply("sigmoid", rational(5)), lambda: 1 / (1 + mp.exp(-5))),
    (apply("pow", rational(2), rational(Fraction(1, 3))), lambda: mp.cbrt(2)),
    (apply("tanh", apply("mul", SQRT_HALF, rational(40))), lambda: mp.tanh(40 / mp.sqrt(2))),
]


@pytest.mark.parametrize(("constant", "formula"), CONSTANTS)
def test_a_constant_is_its_formula(constant: Constant, formula: Any) -> None:
    ball = ball_of_constant(constant, 300)
    with mp.workprec(400):
        assert abs(to_mpf(ball.mid()) - formula()) <= abs(formula()) * mp.mpf(2) ** -295
        assert abs(to_mpf(ball.mid()) - formula()) <= to_mpf(ball.rad()) + abs(formula()) * mp.mpf(2) ** -390
        for type, digits in (("f64", 53), ("f32", 24)):
            rounded = round_constant(constant, type)
            assert abs(mp.mpf(float(rounded)) - formula()) <= abs(formula()) * mp.mpf(2) ** -digits


def test_a_constant_next_to_a_boundary_takes_more_bits() -> None:
    tie = 1 + Fraction(1, 2**53)
    near = apply("add", rational(tie), apply("exp", rational(-300)))
    assert round_constant(near, "f64") == 1 + 2.0**-52
    below = apply("sub", rational(tie), apply("exp", rational(-300)))
    assert round_constant(below, "f64") == 1.0


def test_a_constant_on_a_boundary_that_can_not_be_seen_is_refused() -> None:
    one = apply("exp", apply("log", apply("add", rational(1), rational(Fraction(1, 2**53)))))
    with pytest.raises(PreskError) as caught:
        round_constant(one, "f64")
    assert caught.value.code == "E6005"


def test_a_constant_that_may_be_undefined_is_refused() -> None:
    zero = apply("sub", apply("sqrt", rational(2)), apply("exp", apply("div", apply("log", rational(2)), rational(2))))
    with pytest.raises(PreskError) as caught:
        ball_of_constant(apply("log", zero), 128)
    assert caught.value.code == "E6005"


def test_constants_cover_the_functions_a_program_may_apply_to_them() -> None:
    third = rational(Fraction(1, 3))
    for name in UNARY:
        assert ball_of_constant(constants.Apply(name, (third,)), 64).is_finite()
    for name in BINARY:
        assert ball_of_constant(constants.Apply(name, (third, third)), 64).is_finite()


def test_constants_are_exact_in_a_program() -> None:
    found = run("fn f(x: real) -> real { x * (1 / sqrt(3)) - x / sqrt(3) }", 0.7, bits=300)
    assert abs(found.mid[()]) < mp.mpf(2) ** -298
    third = run("const third = 1 / 3\nfn f(x: real) -> real { x + third }", 0.0, bits=300, certify=True)
    with mp.workprec(400):
        assert abs(third.mid[()] - mp.mpf(1) / 3) <= third.radius[()] < mp.mpf(2) ** -299


def test_balls_round_where_all_of_them_do() -> None:
    with working(128):
        third = arb(1) / 3
        assert round_ball(third, "f64") == 1 / 3
        assert round_ball(third, "f32") == np.float32(1 / 3)
        assert round_ball(arb(1, 0.5), "bf16") is None
        tie = arb(1) + arb((1, -53))
        assert round_ball(tie + (arb(1) / 3 - arb(1) / 3), "f64") is None
        assert round_ball(tie, "f64") == 1.0
        assert round_ball(arb("nan"), "f64") is None
