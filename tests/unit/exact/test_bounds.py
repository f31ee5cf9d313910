"""Lower bounds beside balls: what a guard keeps from being negative isn't negative, so that its root certifies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.exact.building import run

from presk.exact.intervals import Interval, between, clipped, ends, hull_of, magnitude, square, whole_power
from presk.text.diagnostics import PreskError

HIDDEN = "let d = sin(x) - sin(x + 1 - 1)"
"""Exactly 0, which no precision sees."""

ROOTS = [
    "sqrt(maximum(d, 0))",
    "sqrt(maximum(0, d))",
    "sqrt(relu(d))",
    "sqrt(abs(d))",
    "sqrt(square(d))",
    "sqrt(d * d)",
    "sqrt(d ** 2)",
    "maximum(d, 0) ** 0.5",
    "maximum(d, 0) ** 0.3",
    "sqrt(maximum(d, 0) + 3 * relu(d) + abs(d) / 7)",
    "sqrt(sqrt(abs(d)))",
    "sqrt(1 - minimum(1, 1 + d))",
    "sqrt(maximum(1 + d, 1) - 1)",
    "sqrt(-minimum(d, 0))",
    "sqrt(exp(relu(d)) - 1)",
    "sqrt(expm1(relu(d)))",
    "log1p(relu(d))",
    "sqrt(relu(d) * abs(d))",
    "fold z = d over i in 0..3 { sqrt(relu(z)) }",
]


@pytest.mark.parametrize("root", ROOTS)
def test_the_root_of_what_is_not_negative_certifies(root: str) -> None:
    for bits in (64, 256):
        found = run(f"fn f(x: real) -> real {{ {HIDDEN}; {root} }}", 1.0, certify=True, bits=bits)
        assert found.bits == bits
        assert abs(found.mid[()]) <= found.radius[()] < 2.0 ** (-bits / 9)


SUMS = [
    "sqrt(sum(square(r)))",
    "sqrt(mean(square(r)))",
    "sqrt(dot(r, r))",
    "sqrt(ein[](r[n], r[n]))",
    "sqrt(sum(r * r))",
    "sqrt(dot(relu(r), abs(r)))",
    "sqrt(dot(square(r), ones[n: 3]))",
    "sqrt(max(abs(r), axis = n))",
    "sqrt(prod(abs(r), axis = n))",
    "sum(sqrt(cumsum(relu(r), axis = n)))",
    "sqrt(total((r * r, abs(r))))",
    "sqrt(sum(square(r - mean(r))))",
    "(sum(abs(r) ** 3)) ** (1 / 3)",
    "sqrt(sum(relu(1 - (1 + r))))",
    "sqrt(sum((x - (x + r)) * (x - (x + r))))",
    "sum(log(maximum(1 + r, 1) + sqrt(square(maximum(1 + r, 1)) - 1)))",
    "sum(where(abs(r) < 1, square(r) / 2, abs(r) - 0.5))",
    "sum(where(r > 0, r / (1 + sqrt(r)), 0))",
]


@pytest.mark.parametrize("norm", SUMS)
def test_norms_of_what_is_exactly_0_and_not_seen_to_be_certify(norm: str) -> None:
    text = f"fn f(x: real[n: 3]) -> real {{ let r = sin(x) - sin(x + 1 - 1); {norm} }}"
    found = run(text, [0.25, 0.7, 1.5], certify=True, bits=128)
    assert found.bits == 128
    assert abs(found.mid[()]) <= found.radius[()] < 1e-12


def test_the_diagonal_of_a_gram_matrix_is_not_negative() -> None:
    text = "fn f(x: real[n: 2, k: 3]) { let r = sin(x) - sin(x + 1 - 1); sqrt(abs(ein[n, m](r, r[m, k]))) }"
    found = run(text, np.arange(6.0).reshape(2, 3), certify=True)
    assert found.bits == 128
    text = "fn f(x: real[n: 2, k: 3]) { let r = sin(x) - sin(x + 1 - 1); sqrt(ein[n](r[n, k], r[n, k])) }"
    assert run(text, np.arange(6.0).reshape(2, 3), certify=True).bits == 128


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("log(maximum(d, 1e-30))", -69.0775527898),
        ("1 / maximum(d, 1e-30)", 1e30),
        ("rsqrt(maximum(d, 1e-30))", 1e15),
        ("where(relu(d) >= 0, 1, 2)", 1),
        ("where(-abs(d) <= 0, 1, 2)", 1),
        ("log(1 + abs(d))", 0),
    ],
)
def test_a_bound_decides_what_its_ball_cannot(body: str, value: float) -> None:
    found = run(f"fn f(x: real) -> real {{ {HIDDEN}; {body} }}", 1.0, certify=True, bits=64)
    assert found.bits == 64
    assert abs(float(found) - value) <= max(float(found.radius[()]), 1e-10 * abs(value))


@pytest.mark.parametrize(
    "body", ["sqrt(d)", "log(relu(d))", "1 / relu(d)", "sign(relu(d))", "sqrt(maximum(d, 0) - abs(d))"]
)
def test_what_has_no_bound_is_refused(body: str) -> None:
    with pytest.raises(PreskError) as caught:
        run(f"fn f(x: real) -> real {{ {HIDDEN}; {body} }}", 1.0, certify=True, bits=64)
    assert caught.value.code == "E6005"


@pytest.mark.parametrize("guard", ["maximum(d, 0)", "relu(d)", "abs(d)", "square(d)"])
def test_a_derivative_without_a_bound_ends_with_its_code(guard: str) -> None:
    text = f"fn g(x: real) -> real {{ {HIDDEN}; sqrt({guard}) }}\nfn f(x: real) -> real {{ grad(g)(x) }}"
    with pytest.raises(PreskError) as caught:
        run(text, 1.0, certify=True, bits=64)
    assert caught.value.code == "E6005"


def test_midpoints_know_no_bounds() -> None:
    assert float(run(f"fn f(x: real) -> real {{ {HIDDEN}; sqrt(relu(d)) }}", 1.0)) == pytest.approx(0, abs=1e-18)


# Intervals by themselves

numbers = st.floats(-8, 8).map(lambda x: arb(x))
elements = st.tuples(numbers, numbers).map(lambda pair: between(min(pair), max(pair)))
fractions = st.floats(0, 1)


def inside(x: Any, share: float) -> arb:
    low, high = ends(x)
    return min(max((low + (high - low) * arb(share)).mid(), low), high)


@given(elements, elements, fractions, fractions)
def test_operations_hold_the_results_on_all_numbers_within(x: Any, y: Any, s: float, t: float) -> None:
    before, ctx.prec = ctx.prec, 64
    try:
        a, b = inside(x, s), inside(y, t)
        pairs = [(x + y, a + b), (x - y, a - b), (x * y, a * b), (square(x), a * a), (magnitude(x), abs(a))]
        pairs += [(-x, -a), (whole_power(x, 4), a**4), (hull_of(x, y), a), (x.exp(), a.exp()), (x.tanh(), a.tanh())]
        pairs += [(x.erfc(), a.erfc()), (x.floor(), a.floor()), (x**3 if isinstance(x, Interval) else x * x * x, a**3)]
        if y != 0:
            pairs.append((x / y, a / b))
        if x > arb(0):
            pairs += [(x.sqrt(), a.sqrt()), (x.rsqrt(), a.rsqrt()), (x.log(), a.log())]
        for found, point in pairs:
            low, high = ends(found)
            assert not point < low
            assert not point > high
    finally:
        ctx.prec = before


@given(elements, numbers, fractions)
def test_a_part_holds_what_lies_in_it(x: Any, bound: arb, share: float) -> None:
    a = inside(x, share)
    above, below = clipped(x, bound, None), clipped(x, None, bound)
    if a >= bound:
        assert not a < ends(above)[0]
    if a <= bound:
        assert not a > ends(below)[1]
    assert ends(above)[0] >= bound or ends(x)[1] < bound
