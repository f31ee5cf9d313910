"""Bits are raised until digits are proven, and no further than they may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.exact.proving import Precision, Proof, prove, wanted_bits
from presk.exact.values import ExactArray
from presk.text.diagnostics import PreskError

LOGISTIC = "fn f(x: real) -> real { fold x = x over i in 0..400 { 4 * x * (1 - x) } }"
ZERO = "fn f(x: real) -> real { exp(2 * x) - exp(x) * exp(x) }"
CANCELS = "fn f(x: real[n: 3]) -> real[n: 3] { (exp(x) - 1) / x }"


def program_of(text: str) -> Program:
    return bind(loads(text), "f")


def proven(text: str, x: Any, precision: Precision) -> Proof:
    return prove(program_of(text), [np.asarray(x)], precision)


def accurate(proof: Proof, digits: int) -> bool:
    return all(ball.rad() <= arb(10) ** -digits * ball.abs_lower() for ball in proof.values.balls())


@pytest.mark.parametrize(
    ("bits", "digits", "most", "expected"),
    [
        (None, None, None, Precision(256, 15, 4096)),
        (300, None, None, Precision(300, None, 300)),
        (300, 20, None, Precision(300, 20, 4096)),
        (None, 20, None, Precision(256, 20, 4096)),
        (None, 100, None, Precision(364, 100, 4096)),
        (None, 5000, None, Precision(4096, 5000, 4096)),
        (None, None, 100, Precision(100, 15, 100)),
        (64, None, 512, Precision(64, 15, 512)),
        (64, 3, 64, Precision(64, 3, 64)),
    ],
)
def test_what_is_asked_for(bits: int | None, digits: int | None, most: int | None, expected: Precision) -> None:
    assert Precision.chosen(bits, digits, most) == expected


@pytest.mark.parametrize(
    ("asked", "code"), [((1,), "E6012"), ((None, 0), "E6014"), ((None, 10**9), "E6014"), ((8192, 20), "E6014")]
)
def test_what_can_not_be_asked_for(asked: tuple[int | None, ...], code: str) -> None:
    with pytest.raises(PreskError) as caught:
        Precision.chosen(*asked)
    assert caught.value.code == code


@pytest.mark.parametrize(("digits", "bits"), [(1, 1024), (15, 1024), (60, 1024), (80, 2048)])
def test_bits_are_raised_until_the_digits_are_proven(digits: int, bits: int) -> None:
    found = proven(LOGISTIC, 0.3, Precision(256, digits, 4096))
    assert (found.bits, found.short) == (bits, False)
    assert found.evaluations > 1
    assert found.factor > 1
    assert accurate(found, digits)
    assert f"{float(found.values):.10f}" == "0.7707592716"


def test_fixed_bits_are_never_raised() -> None:
    found = proven(CANCELS, [1e-75, 1.0, 2.0], Precision.fixed(256))
    assert (found.bits, found.evaluations, found.short, found.factor) == (256, 1, False, 1.0)
    assert not accurate(found, 15)
    with pytest.raises(PreskError) as caught:
        proven("fn f(x: real) -> bool { exp(x) < exp(x + 1e-30) }", 0.3, Precision.fixed(64))
    assert caught.value.code == "E6005"


def test_the_first_evaluation_suffices_where_it_does() -> None:
    assert proven(CANCELS, [0.5, 1.0, 2.0], Precision()).evaluations == 1
    assert proven(CANCELS, [1e-75, 1.0, 2.0], Precision()).bits == 512
    assert proven(CANCELS, [1e-300, 1.0, 2.0], Precision()).bits == 2048


def test_a_number_that_is_zero_takes_all_bits_and_has_its_radius() -> None:
    found = proven(ZERO, 0.3, Precision(64, 15, 300))
    assert (found.bits, found.evaluations, found.short) == (300, 4, True)
    assert str(found.values).splitlines()[1].startswith("0 ± ")


def test_a_zero_beside_larger_numbers_is_small_enough() -> None:
    text = "fn f(x: real[n: 2]) -> real[n: 2] { exp(2 * x) - where(x > 0.5, 0, exp(x) * exp(x)) }"
    found = proven(text, [0.3, 0.7], Precision())
    assert (found.bits, found.short) == (256, False)


def test_the_rule_to_the_digit() -> None:
    def lacks(*balls: arb) -> bool:
        return wanted_bits(ExactArray(balls, (len(balls),), certified=True), 256, 15) > 256

    assert not lacks(arb(1, 0.99e-15))
    assert lacks(arb(1, 1.01e-15))
    assert not lacks(arb(1), arb(0, 0.99e-15 * 2.0**-64))
    assert lacks(arb(1), arb(0, 1.01e-15 * 2.0**-64))
    assert not lacks(arb(0)), "it is known exactly"
    assert not lacks()


def test_radii_of_the_arguments_are_not_raised_away() -> None:
    argument = ExactArray([arb(1, 1e-5)], (), certified=True)
    found = prove(program_of("fn f(x: real) -> real { exp(x) }"), [argument], Precision())
    assert found.short
    assert found.evaluations == 2
