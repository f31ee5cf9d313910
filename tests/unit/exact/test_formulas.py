"""Every real function of one or two numbers against a formula written in mpmath, to nearly the whole precision."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp
from tests.unit.exact.building import Given, exact

from presk.exact.rules.functions import ARITHMETIC, FUNCTIONS
from presk.exact.values import ExactArray

BITS = 200
LOST = 24
"""Bits that the formulas below, or the reference, may lose."""

REAL = [-700.25, -30.5, -8.125, -3.0, -1.0, -0.5, -1e-3, -1e-20, 0.0, 1e-20, 1e-3, 0.75, 1.0, 2.5, 8.0, 40.0, 650.0]
POSITIVE = [x for x in REAL if x > 0] + [1e-300, 1e300]
ABOVE_MINUS_ONE = [x for x in REAL if x > -1]
NONZERO = [x for x in REAL if x]


def _gelu_tanh_slope(x: Any) -> Any:
    """(1 + tanh u)/2 + x·u′/(2·cosh² u)"""
    factor, cubic = mp.sqrt(2 / mp.pi), mp.mpf("0.044715")
    u, slope = factor * (x + cubic * x**3), factor * (1 + 3 * cubic * x**2)
    return (1 + mpmath.tanh(u)) / 2 + x * slope * mpmath.sech(u) ** 2 / 2


UNARY: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "neg": (lambda x: 0 - x, REAL),
    "square": (lambda x: x**2, REAL),
    "abs": (mpmath.fabs, REAL),
    "sqrt": (lambda x: mp.root(x, 2), [0.0, *POSITIVE]),
    "rsqrt": (lambda x: 1 / mp.root(x, 2), POSITIVE),
    "recip": (lambda x: mp.mpf(1) / x, NONZERO),
    "exp": (lambda x: mp.e**x, REAL),
    "expm1": (mpmath.expm1, REAL),
    "log": (mpmath.ln, POSITIVE),
    "log1p": (mpmath.log1p, ABOVE_MINUS_ONE),
    "tanh": (lambda x: mpmath.expm1(2 * x) / (mpmath.expm1(2 * x) + 2), REAL),
    "sin": (mpmath.sin, REAL),
    "cos": (mpmath.cos, REAL),
    "erf": (lambda x: 2 * x / mp.sqrt(mp.pi) * mp.hyp1f1(0.5, 1.5, -x * x) if abs(x) < 9 else mpmath.erf(x), REAL),
    "erfc": (mpmath.erfc, REAL),
    "gaussian": (lambda x: mp.e ** -(x * x), REAL),
    "gelu_slope": (lambda x: mpmath.ncdf(x) + x * mpmath.npdf(x), REAL),
    "silu_slope": (lambda x: (1 + mp.e**-x * (1 + x)) / (1 + mp.e**-x) ** 2, REAL),
    "gelu_tanh_slope": (lambda x: _gelu_tanh_slope(x), [x for x in REAL if x > -9]),
    "sigmoid": (lambda x: mp.e**x / (mp.e**x + 1), REAL),
    "softplus": (lambda x: mpmath.log1p(mp.e**x), REAL),
    "relu": (lambda x: (x + abs(x)) / 2, REAL),
    "gelu": (lambda x: x * mpmath.ncdf(x), REAL),
    "gelu_tanh": (
        lambda x: x * (1 + mpmath.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))) / 2,
        [x for x in REAL if x > -9],
    ),
    "silu": (lambda x: x / (1 + mp.e**-x), REAL),
    "sign": (mpmath.sign, REAL),
    "floor": (mpmath.floor, REAL),
}


def test_every_function_of_one_number_has_a_formula() -> None:
    assert set(UNARY) == {*ARITHMETIC, *FUNCTIONS}


def agree(found: ExactArray, wanted: list[Any]) -> None:
    """Holds results to BITS − LOST bits of the formulas', which were computed at twice the bits."""
    for got, formula in zip(found.mid.reshape(-1), wanted, strict=True):
        assert abs(got - formula) <= abs(formula) * mp.mpf(2) ** (LOST - BITS), (got, formula)


@pytest.mark.parametrize("certify", [False, True])
@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_number_is_its_formula(name: str, certify: bool) -> None:
    formula, domain = UNARY[name]
    source = random.Random(name)
    numbers = domain + [x * source.uniform(0.5, 1.0) for x in domain]
    found = exact(name, Given(np.array(numbers)), bits=BITS, certify=certify)
    with mp.workprec(2 * BITS + 1200):
        agree(found, [formula(mp.mpf(x)) for x in numbers])
        if certify:
            for got, radius, x in zip(found.mid, found.radius, numbers, strict=True):
                assert abs(got - formula(mp.mpf(x))) <= radius


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: y + x,
    "sub": lambda x, y: -(y - x),
    "mul": lambda x, y: y * x,
    "div": lambda x, y: x * (1 / y),
    "maximum": lambda x, y: (x + y + abs(x - y)) / 2,
    "minimum": lambda x, y: (x + y - abs(x - y)) / 2,
}


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_numbers_is_its_formula(name: str) -> None:
    pairs = [(x, y) for x in REAL for y in NONZERO]
    left, right = (np.array(each) for each in zip(*pairs, strict=True))
    found = exact(name, Given(left), Given(right), bits=BITS)
    with mp.workprec(2 * BITS + 1200):
        agree(found, [BINARY[name](mp.mpf(x), mp.mpf(y)) for x, y in pairs])


def test_pow_is_its_formula() -> None:
    pairs = [(x, y) for x in POSITIVE[:9] for y in (-3.0, -0.5, 0.0, 0.25, 1.0, 2.0, 7.5, 40.0)]
    pairs += [(-2.0, 3.0), (-2.0, -4.0), (-0.5, 1.0), (0.0, 2.0), (0.0, 0.5), (0.0, 0.0), (-7.0, 0.0)]
    left, right = (np.array(each) for each in zip(*pairs, strict=True))
    found = exact("pow", Given(left), Given(right), bits=BITS)
    with mp.workprec(4 * BITS):
        agree(found, [mp.mpf(x) ** mp.mpf(y) for x, y in pairs])


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("certify", [False, True])
def test_comparisons_of_exact_numbers(name: str, certify: bool) -> None:
    pairs = [(x, y) for x in REAL for y in REAL]
    left, right = (np.array(each) for each in zip(*pairs, strict=True))
    found = exact(name, Given(left), Given(right), certify=certify)
    wanted = {"eq": left == right, "ne": left != right, "lt": left < right, "le": left <= right, "gt": left > right}
    np.testing.assert_array_equal(found, wanted.get(name, left >= right))
