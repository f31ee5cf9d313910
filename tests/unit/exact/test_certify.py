"""Certified evaluations: radii are proven, hulls never decide, decisions are taken on balls or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from tests.unit.exact.building import Given, bound, exact, run

from presk.exact.evaluate import DOUBLINGS, evaluate
from presk.exact.values import ExactArray
from presk.text.diagnostics import PreskError

NORM = "centred * rsqrt(mean(square(centred), axis = k) + 1e-5)"


def softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "layer norm": (f"let centred = x - mean(x, axis = k); {NORM}", lambda x, y: norm(x)),
    "attention": (
        "let a = softmax(ein[n, m](x, y[m, k]) / sqrt(4), axis = m); ein[n, k](a, y[m, k])",
        lambda x, y: softmax(x @ y.T / 2) @ y,
    ),
    "relu of a contraction": ("relu(ein[n, m](x, y[m, k]))", lambda x, y: np.maximum(x @ y.T, 0)),
    "hulls": (
        "maximum(minimum(exp(x), y), abs(x * y) - broadcast_to[n: 3, k: 4](max(x - y, axis = k)))",
        lambda x, y: np.maximum(np.minimum(np.exp(x), y), abs(x * y) - (x - y).max(axis=1)[:, None]),
    ),
    "entropies": ("logsumexp(x * y, axis = k)", lambda x, y: np.log(np.exp(x * y).sum(axis=1))),
    "a loop": (
        "fold z = x over i in 0..5 { tanh(z + y * i) }",
        lambda x, y: np.tanh(np.tanh(np.tanh(np.tanh(np.tanh(x) + y) + 2 * y) + 3 * y) + 4 * y),
    ),
    "powers": ("(x * x + 1) ** 0.3 / (y ** 4 + 2)", lambda x, y: (x * x + 1) ** 0.3 / (y**4 + 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(24, 100))
def test_the_true_value_lies_within_the_radius(name: str, seed: int, bits: int) -> None:
    body, formula = FUNCTIONS[name]
    source = np.random.default_rng(seed)
    x, y = source.normal(size=(3, 4)), source.normal(size=(3, 4))
    program = bound(f"fn f(x: real[n: 3, k: 4], y: real[n: 3, k: 4]) {{ {body} }}")
    found = evaluate(program, [x, y], bits=bits, certify=True)
    better = evaluate(program, [x, y], bits=2 * bits + 64, certify=True)
    dropped = evaluate(program, [x, y], bits=2 * bits + 64)
    machine = formula(x, y)
    with mp.workprec(1000):
        for mid, radius, mid2, radius2, point, number in zip(
            *(each.reshape(-1) for each in (found.mid, found.radius, better.mid, better.radius, dropped.mid, machine)),
            strict=True,
        ):
            assert abs(mid - mid2) <= radius + radius2
            assert abs(mid - point) <= radius + radius2
            assert abs(mid - number) <= radius + 1e-12 * (1 + abs(number))
            assert radius2 < radius + mp.mpf(2) ** -bits


def test_radii_are_small_at_many_bits_and_grow_with_a_loop() -> None:
    text = "fn f(x: real) -> real { fold z = x over i in 0..N { 3.9 * z * (1 - z) } }\nconst N = "
    few, many = (run(text + count, 0.5, certify=True, bits=128) for count in ("2", "40"))
    assert few.certified
    assert 0 < few.radius[()] < mp.mpf(2) ** -120
    assert few.radius[()] < many.radius[()] < mp.mpf(2) ** -40


def test_exact_results_have_radius_zero() -> None:
    found = exact("mul", Given(np.array([3.0, 0.5])), Given(np.array([7.0, 0.25])), certify=True)
    assert found.radius.tolist() == [0, 0]


def test_without_certify_there_is_no_radius() -> None:
    with pytest.raises(PreskError) as caught:
        _ = exact("exp", Given(np.array(1.0))).radius
    assert caught.value.code == "E6013"


# Decisions

TIES = [
    ("sort(exp(x))", lambda x: np.sort(np.exp(x))),
    ("argmax(exp(x), axis = n)", lambda x: len(x) - 1 - np.argmax(x[::-1])),
    ("argmin(sin(x) * 3, axis = n, ties = first)", lambda x: np.argmin(np.sin(x))),
    ("exp(x) <= exp(x)", lambda x: x == x),
    ("exp(flip(flip(x, axis = n), axis = n)) == exp(x)", lambda x: x == x),
    ("exp(x) < broadcast_to[n: 4](exp(x)[n = 3])", lambda x: x < x[3]),
    ("max(exp(x), axis = n) == exp(x)", lambda x: x == x.max()),
    ("top_k(exp(x), 3, axis = n).1", lambda x: [3, 1, 2]),
    ("dot(log1p(x), ones[n: 4, m: 2]) == dot(log1p(x), ones[n: 4, m: 2])", lambda x: [True, True]),
]


@pytest.mark.parametrize(("expression", "formula"), TIES)
def test_identical_expressions_are_ties(expression: str, formula: Callable[[Any], Any]) -> None:
    x = np.array([0.25, 0.75, 0.5, 0.75])
    found = run(f"fn f(x: real[n: 4]) {{ {expression} }}", x, certify=True)
    np.testing.assert_allclose(np.asarray(found), formula(x), rtol=1e-15)


def test_exact_numbers_are_ties_without_tracking() -> None:
    found = run("fn f(x: real[n: 3]) { argmax(x * 2 + 1, axis = n) }", [1.0, 5.0, 5.0], certify=True)
    assert found.tolist() == 2


@pytest.mark.parametrize("decision", ["a < b", "floor(a * 1e30 / b - 1e30) < -0.5", "sign(a - b) < 0"])
def test_more_bits_decide(decision: str) -> None:
    text = f"fn f(x: real) -> bool {{ let a = exp(x); let b = exp(x + 1e-30); {decision} }}"
    assert run(text, 0.3, bits=64, certify=True).tolist() is True


def test_a_retry_computes_everything_at_the_precision_that_decided() -> None:
    text = "fn f(x: real) -> (real, bool) { (exp(x), exp(x) < exp(x + 1e-30)) }"
    found, decided = run(text, 0.3, bits=64, certify=True)
    assert decided
    assert found.bits == 128
    assert found.radius[()] < mp.mpf(2) ** -120


@pytest.mark.parametrize("decision", ["exp(log(x)) < x", "exp(log(x)) == x", "sign(exp(log(x)) - x) < 1"])
def test_what_no_precision_decides_is_refused(decision: str) -> None:
    text = f"fn f(x: real) -> bool {{ {decision} }}"
    with pytest.raises(PreskError) as caught:
        run(text, 0.3, bits=32, certify=True)
    assert caught.value.code == "E6005"
    assert str(32 << DOUBLINGS) in str(caught.value)


def test_midpoints_decide_where_nothing_is_certified() -> None:
    assert run("fn f(x: real) -> bool { abs(exp(log(x)) - x) < 1e-30 }", 0.3).tolist() is True


def test_an_undecided_choice_that_nothing_depends_on_is_none() -> None:
    text = "fn f(x: real) -> real { where(x > 5, where(exp(log(x)) < x, 1, 2), 3) }"
    assert float(run(text, 0.3, bits=32, certify=True)) == 3
    with pytest.raises(PreskError):
        run(text, 6.3, bits=32, certify=True)


def test_domains_are_decided_on_balls() -> None:
    text = "fn f(x: real) -> real { log(exp(x) - exp(x + 1e-30 * s)) }\nconst s = "
    assert float(run(text + "-1", 0.3, bits=64, certify=True)) == pytest.approx(np.log(1e-30 * np.exp(0.3)))
    with pytest.raises(PreskError) as caught:
        run(text + "1", 0.3, bits=64, certify=True)
    assert caught.value.code == "E6003"
    with pytest.raises(PreskError) as caught:
        run("fn f(x: real) -> real { 1 / (exp(log(x)) - x) }", 0.3, bits=64, certify=True)
    assert caught.value.code == "E6005"


def test_a_hull_is_no_decision() -> None:
    text = "fn f(x: real) -> real { maximum(exp(log(x)), x) + relu(exp(log(x)) - x) + abs(exp(log(x)) - x) }"
    found = run(text, 0.3, bits=64, certify=True)
    assert float(found) == pytest.approx(0.3)
    assert 0 < found.radius[()] < mp.mpf(2) ** -55


def test_a_zero_head_gives_equal_logits() -> None:
    text = "fn f(x: real[n: 3], w: real[n: 3, m: 4]) { argmax(dot(exp(x), w) / 3, axis = m) }"
    assert run(text, [0.1, 0.2, 0.3], np.zeros((3, 4)), certify=True).tolist() == 3


def test_certified_values_go_in_as_balls() -> None:
    ball = run("fn f(x: real) -> real { exp(x) }", 0.3, bits=64, certify=True)
    assert isinstance(ball, ExactArray)
    again = run("fn f(x: real) -> real { log(x) }", ball, bits=200, certify=True)
    assert mp.mpf(2) ** -70 < again.radius[()] < mp.mpf(2) ** -55
    assert abs(again.mid[()] - mp.mpf(0.3)) <= again.radius[()]
