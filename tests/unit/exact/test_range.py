"""No hole in the range: functions have their value, with a small radius, at every machine number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.unit.exact.building import Given, exact, run

from presk.text.diagnostics import PreskError

PLACES = [0.0, 5e-324, 2e-310, 1.4e-45, 1e-30, 0.3, 1e5, 1e15, 3e20, 1e31, 3.4e38, 1e300, 1.7976931348623157e308]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x)) if x >= 0 else mp.exp(x) / (1 + mp.exp(x))


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


FORMULAS: dict[str, Callable[[Any], Any]] = {
    "exp": mp.exp,
    "expm1": mp.expm1,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "silu": lambda x: x * sigmoid(x),
    "gelu_tanh": lambda x: x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mpf(44715) / 1000000 * x**3)),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("certify", [True, False])
def test_functions_have_their_value_at_every_machine_number(name: str, certify: bool) -> None:
    x = np.array([*PLACES, *(-each for each in PLACES)])
    found = exact(name, Given(x), bits=64, certify=certify)
    with mp.workprec(5000):
        for at, (value, mid) in enumerate(zip(x.tolist(), found.mid.tolist(), strict=True)):
            true = FORMULAS[name](mpf(value))
            assert abs(mid - true) <= abs(true) * mpf(2) ** -55
            if certify:
                assert abs(mid - true) <= found.radius[at] <= abs(true) * mpf(2) ** -50


@pytest.mark.parametrize("base", [2.0, 1.5, 1e-300, 0.9999999999999999])
@pytest.mark.parametrize("exponent", [1e300, -1e300, 0.3e20, 4.5, 1e17, -1e19])
def test_powers_have_their_value(base: float, exponent: float) -> None:
    found = exact("pow", Given(np.array(base)), Given(np.array(exponent)), bits=64, certify=True)
    with mp.workprec(8000):
        true = mp.exp(mpf(exponent) * mp.log(mpf(base)))
        assert abs(found.mid[()] - true) <= found.radius[()] + abs(true) * mpf(2) ** -6000
        assert found.radius[()] <= abs(true) * mpf(2) ** -50


def test_a_negative_base_has_the_sign_of_its_power() -> None:
    for exponent, sign in ((2.0**70, 1), (2.0**53 - 1, -1)):
        assert sign * exact("pow", Given(np.array(-1.5)), Given(np.array(exponent)), certify=True).mid[()] > 0


def test_the_logarithm_of_a_sigmoid() -> None:
    for x in PLACES:
        for value in (x, -x):
            found = run("fn f(x: real) -> real { log(sigmoid(x)) }", value, certify=True, bits=128)
            with mp.workprec(5000):
                assert abs(found.mid[()] + softplus(-mpf(value))) <= found.radius[()] <= 1e-30 * max(1, abs(value))


ROWS = [[0.0, 200.0], [-3.0, 1e31], [1e300, -1e300, 1e300], [0.0, -1e5, -3e38], [1.0, 2.0, 3.0], [5e-324, 0.0], [7.0]]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("certify", [True, False])
def test_rows_keep_what_is_far_below_their_largest(row: list[float], certify: bool) -> None:
    text = "fn f(x: real[n]) { (log_softmax(x, axis = n), softmax(x, axis = n), logsumexp(x, axis = n)) }"
    logs, shares, whole = run(text, row, dims={"n": len(row)}, certify=certify, bits=256)
    with mp.workprec(5000):
        most = max(row)
        others = sorted(row)[:-1]
        excess = mp.log1p(sum((mp.exp(mpf(x) - most) for x in others), mpf(0)))
        for at, x in enumerate(row):
            log = mpf(x) - most - excess
            assert abs(logs.mid[at] - log) <= abs(log) * mpf(2) ** -55
            assert abs(shares.mid[at] - mp.exp(log)) <= mp.exp(log) * mpf(2) ** -55
            found = run(
                "fn f(x: real[n], t: nat < n) { cross_entropy(x, t) }",
                row,
                np.asarray(at),
                dims={"n": len(row)},
                certify=certify,
            )
            assert abs(found.mid[()] + log) <= abs(log) * mpf(2) ** -55
        assert abs(whole.mid[()] - (most + excess)) <= abs(most + excess) * mpf(2) ** -55


def test_what_is_beyond_is_refused_or_0_to_within_a_radius() -> None:
    deep = "fn f(x: real) -> real { %s(-exp(exp(x))) }"
    found = run(deep % "sigmoid", 10.0, certify=True)
    assert abs(found.mid[()]) <= found.radius[()] < mpf(2) ** -10000
    assert float(run("fn f(x: real) -> real { sigmoid(exp(exp(x))) }", 10.0)) == 1
    for name in ("exp", "sigmoid", "silu"):
        with pytest.raises(PreskError) as caught:
            run(deep % name, 10.0)
        assert caught.value.code == "E6006"
    with pytest.raises(PreskError) as caught:
        run("fn f(x: real) -> real { exp(exp(exp(x))) }", 100.0, certify=True)
    assert caught.value.code == "E6006"
