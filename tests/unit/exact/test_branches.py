"""`where` on balls that straddle its condition: the hull of what the branches give, each where its condition holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.exact.building import bound, run

from presk.exact.evaluate import attempt, evaluate
from presk.exact.precision import working
from presk.exact.values import ExactArray
from presk.text.diagnostics import PreskError

HIDDEN = "let d = sin(x) - sin(x + 1 - 1)"
"""Exactly 0, which no precision sees."""

GUARDS = [
    "where(d > 0, sqrt(d), 0)",
    "where(d >= 0, sqrt(d), 0)",
    "where(0 < d, sqrt(d), 0)",
    "where(d <= 0, 0, sqrt(d))",
    "where(not (d <= 0), sqrt(d), d)",
    "where((d > 0) and (x > 0), sqrt(d) * x, 0)",
    "where((d <= 0) or (x < 0), 0, sqrt(d))",
    "where(d > 0, root(d), 0)",
    "where(d > 0, sqrt(d) + sqrt(d / 3), -d)",
    "where(d > 0, sqrt(2 * d), where(d < 0, sqrt(-d), 0))",
    "where(sin(x) - sin(x + 1 - 1) > 0, sqrt(sin(x) - sin(x + 1 - 1)), 0)",
    "where(sin(x) > d + sin(x), sqrt(sin(x) - (d + sin(x))), 0)",
    "where(sin(x) < d + sin(x), sqrt((d + sin(x)) - sin(x)), 0)",
    "where(1 + d > 1, sqrt(1 + d - 1), 0)",
    "let m = d > 0; let r = root(d); where(m, r, 0)",
    "fold z = d over i in 0..2 { where(z > 0, sqrt(z), 0) }",
    "where(d > 0, d ** 0.5, 0)",
    "where(d > 0, (fold z = d over i in 0..2 { z / 2 + sqrt(z) }), 0)",
]


@pytest.mark.parametrize("body", GUARDS)
def test_a_guarded_root_certifies_where_the_guard_cannot_be_told(body: str) -> None:
    text = f"fn root(x: real) -> real {{ sqrt(x) }}\nfn f(x: real) -> real {{ {HIDDEN}; {body} }}"
    found = attempt(bound(text), [np.asarray(1.0)], bits=128)
    assert found.short is None
    assert found.hull is None
    assert abs(found.values.mid[()]) <= found.values.radius[()] < 1e-8


@pytest.mark.parametrize(
    "body",
    [
        "where(d > 0, log(d), 0)",
        "where(d > 0, 1 / d, 0)",
        "where(x > 0, sqrt(d), 0)",
        "where(d > 0, sqrt(-d - 1), 0)",
        "where(d < 0, sqrt(d), 0)",
        "where(1 / d > 0, d, 2 * d)",
        "where((1 / d > 0) or (d > 0), d, 2 * d)",
        "where((d > 0) or (1 / d > 0), d, 2 * d)",
        "where(sqrt(d) >= 0, d, 2 * d)",
    ],
)
def test_a_branch_or_mask_without_a_value_is_no_hull(body: str) -> None:
    text = f"fn f(x: real) -> real {{ {HIDDEN}; {body} }}"
    found = attempt(bound(text), [np.asarray(1.0)], bits=128)
    assert found.short is not None
    assert found.short.undecided


def test_a_derivative_without_a_bound_ends_with_its_code() -> None:
    text = f"fn g(x: real) -> real {{ {HIDDEN}; where(d > 0, sqrt(d), 0) }}\nfn f(x: real) -> real {{ grad(g)(x) }}"
    with pytest.raises(PreskError) as caught:
        run(text, 1.0, certify=True, bits=64)
    assert caught.value.code == "E6005"


def test_branches_that_are_apart_want_more_bits_and_then_give_their_hull() -> None:
    text = f"fn f(x: real) -> real {{ {HIDDEN}; where(d > 0, 1.5 + d, 2 + d) }}"
    found = attempt(bound(text), [np.asarray(1.0)], bits=64)
    assert found.hull is not None
    low, high = found.values.mid[()] - found.values.radius[()], found.values.mid[()] + found.values.radius[()]
    assert 1.49 < low <= 1.5
    assert 2 <= high < 2.01
    assert run(text, 1.0, certify=True, bits=64).bits == 1024
    told = run("fn f(x: real) -> real { where(exp(x) < exp(x + 1e-30), 1.5, 2.5) }", 0.3, certify=True, bits=64)
    assert (float(told), told.bits) == (1.5, 128)


def test_elements_are_clipped_for_themselves_alone() -> None:
    text = (
        "fn f(x: real[n: 3]) -> real[n: 3] { let d = sin(x) - sin(x + 1 - 1) + floor(x); "
        "where(d > 0, sqrt(d) / (1 + sum(abs(d))), 0) }"
    )
    found = run(text, [0.1, 0.2, 1.5], certify=True, bits=128)
    assert found.bits == 128
    assert found.mid[2] == pytest.approx(0.5)
    assert max(found.radius.tolist()) < 1e-8


def test_a_mask_of_rows_and_a_mask_that_is_one_number() -> None:
    rows = (
        "fn f(x: real[n: 2, k: 3]) -> real[n: 2, k: 3] { let s = sum(sin(x) - sin(x + 1 - 1), axis = k); "
        "where(s > 0, sqrt(s) * x, x) }"
    )
    x = np.arange(6.0).reshape(2, 3)
    text = (
        "fn f(x: real[n: 3]) -> real[n: 3] { let s = sum(sin(x) - sin(x + 1 - 1)); where(s > 0, sqrt(s) * x, 0 * x) }"
    )
    for source, given_x in ((rows, x), (text, x[0])):
        found = attempt(bound(source), [given_x], bits=128)
        assert found.short is None
        assert np.all(np.isfinite(np.asarray(found.values)))


# Whatever number of the ball is meant, its result lies within

STRADDLING = [
    "where(x > c, sqrt(x - c), c - x)",
    "where(x > c, x * x, x)",
    "where((x > c) and (x < c + 0.5), sqrt(x - c) * sqrt(c + 0.5 - x), 0)",
    "where(not (x >= c), abs(x - c), sqrt(relu(x - c)))",
    "maximum(x, c) * where(x <= c, x, 1 / (1 + maximum(x, c) - c))",
    "sqrt(maximum(x, c) - c) + (x - c) ** 2 - relu(x) * abs(x)",
    "x * x * x * x - where(x > c, x, c) ** 3",
    "minimum(x, c) / (1 + square(x - c)) + exp(relu(x - c))",
]


@pytest.mark.parametrize("body", STRADDLING)
@settings(max_examples=40, deadline=None)
@given(st.floats(-2, 2), st.floats(0, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_hulls_hold_the_result_of_every_number(body: str, c: float, width: float, s: float, shift: float) -> None:
    program = bound(f"fn f(x: real, c: real) -> real {{ {body} }}")
    ball = ExactArray.from_numbers([arb(c + width * shift, width)], ())
    found = attempt(program, [ball, np.asarray(c)], bits=64)
    assert found.short is None
    with working(3000):  # where sums of f64 numbers are exact
        point = ball.balls()[0].mid() + arb(width) * arb(s)
    value: Any = evaluate(program, [ExactArray.from_numbers([point], ()), np.asarray(c)], bits=3000)
    with working(3000):
        assert found.values.balls()[0].overlaps(value.balls()[0] + arb(0, 1e-400))
