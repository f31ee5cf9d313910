"""Exact constants: arithmetic where it is rational, what stays symbolic, what is refused, and their text."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.shapes import constants
from presk.shapes.constants import (
    BITS_LIMIT,
    Apply,
    Constant,
    ConstantTooLarge,
    ConstantUndefined,
    Rational,
    Symbolic,
    apply,
    as_size,
    from_size,
    rational,
    show,
    substitute,
)
from presk.shapes.poly import maximum, minimum, number, variable

FRACTIONS = st.fractions(max_denominator=10**6).filter(lambda value: abs(value) < 10**9)
D = from_size(variable("D"))


@given(FRACTIONS, FRACTIONS)
def test_field_arithmetic_is_exact(a: Fraction, b: Fraction) -> None:
    x, y = rational(a), rational(b)
    assert apply("add", x, y) == rational(a + b)
    assert apply("sub", x, y) == rational(a - b)
    assert apply("mul", x, y) == rational(a * b)
    assert apply("maximum", x, y) == rational(max(a, b))
    assert apply("floor", x) == rational(a.__floor__())
    assert apply("sign", x) == rational((a > 0) - (a < 0))
    if b:
        assert apply("div", x, y) == rational(a / b)


@given(FRACTIONS, st.integers(-6, 6))
def test_whole_powers_are_exact(base: Fraction, exponent: int) -> None:
    if base == 0 and exponent < 0:
        with pytest.raises(ConstantUndefined):
            apply("pow", rational(base), rational(exponent))
    else:
        assert apply("pow", rational(base), rational(exponent)) == rational(base**exponent)


@given(FRACTIONS)
def test_roots_of_squares_are_rational(value: Fraction) -> None:
    assert apply("sqrt", rational(value * value)) == rational(abs(value))


@given(FRACTIONS)
def test_the_text_of_a_rational_reads_back(value: Fraction) -> None:
    text = show(rational(value))
    inner = text.strip("()")
    parts = inner.split(" / ")
    read = Fraction(parts[0]) / Fraction(parts[1]) if len(parts) == 2 else Fraction(inner)
    assert read == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 2), "0.5"),
        (Fraction(-3, 8), "-0.375"),
        (Fraction(1, 3), "(1 / 3)"),
        (Fraction(1, 10**30), "1e-30"),
        (Fraction(7), "7"),
        (Fraction(1, 100), "0.01"),
    ],
)
def test_the_text_of_a_rational(value: Fraction, text: str) -> None:
    assert show(rational(value)) == text


@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("div", (1, 0)),
        ("recip", (0,)),
        ("sqrt", (-1,)),
        ("rsqrt", (0,)),
        ("log", (0,)),
        ("log1p", (-1,)),
        ("pow", (-2, Fraction(1, 2))),
        ("pow", (0, -1)),
    ],
)
def test_undefined_constants_are_refused(function: str, values: tuple[int | Fraction, ...]) -> None:
    with pytest.raises(ConstantUndefined):
        apply(function, *(rational(value) for value in values))


def test_irrational_constants_stay_applications() -> None:
    assert apply("sqrt", rational(2)) == Apply("sqrt", (rational(2),))
    assert apply("div", rational(1), apply("sqrt", D)) == Apply("div", (rational(1), Apply("sqrt", (D,))))
    assert show(apply("div", rational(1), apply("sqrt", D))) == "(1 / sqrt((D)))"
    assert show(apply("neg", apply("exp", rational(1)))) == "(-exp(1))"


def test_symbolic_sizes_stay_sizes() -> None:
    size = variable("D")
    cases: list[tuple[Constant, object]] = [
        (apply("mul", D, rational(2)), size * number(2)),
        (apply("square", D), size * size),
        (apply("pow", D, rational(3)), size * size * size),
        (apply("recip", D), number(1) / size),
        (apply("abs", D), size),
        (apply("sub", apply("add", D, rational(1)), D), number(1)),
    ]
    for constant, wanted in cases:
        assert as_size(constant) == wanted
    assert as_size(apply("abs", apply("sub", D, rational(5)))) == maximum(size - number(5), number(5) - size)
    assert as_size(apply("minimum", D, rational(3))) == minimum(size, number(3))
    assert isinstance(apply("sign", D), Apply)


def test_substitution_carries_arithmetic_out() -> None:
    constant = apply("div", rational(1), apply("sqrt", D))
    assert substitute(constant, {"D": number(16)}) == rational(Fraction(1, 4))
    assert substitute(apply("add", D, rational(1)), {"D": number(2)}) == rational(3)
    with pytest.raises(ConstantUndefined):
        substitute(constant, {"D": number(0)})


def test_as_size() -> None:
    assert as_size(rational(3)) == number(3)
    assert as_size(rational(Fraction(1, 2))) is None
    assert as_size(apply("sqrt", rational(2))) is None
    assert isinstance(D, Symbolic)
    assert isinstance(from_size(number(3)), Rational)


def test_large_whole_powers_are_refused_and_the_largest_prints() -> None:
    with pytest.raises(ConstantTooLarge):
        apply("pow", rational(2), rational(BITS_LIMIT + 1))
    with pytest.raises(ConstantTooLarge):
        apply("pow", rational(10), rational(10**40))
    largest = apply("pow", rational(2), rational(BITS_LIMIT - 1))
    assert int(show(largest)) == 2 ** (BITS_LIMIT - 1)
    smallest = show(apply("div", rational(1), largest))
    assert smallest == f"(1 / {2 ** (BITS_LIMIT - 1)})"


def test_large_powers_of_reals_stay_powers() -> None:
    base, exponent = rational(Fraction(999, 1000)), rational(100_000)
    assert apply("pow", base, exponent) == Apply("pow", (base, exponent))


def repeated(step: Callable[[Constant], Constant], value: Constant, times: int) -> Constant:
    for _ in range(times):
        value = step(value)
    return value


@pytest.mark.parametrize("start", [rational(3), apply("sqrt", rational(2))])
def test_repeated_squares_end_in_a_diagnostic(start: Constant) -> None:
    with pytest.raises(ConstantTooLarge):
        repeated(lambda value: apply("mul", value, value), start, 64)


def test_long_chains_end_in_a_diagnostic_and_shorter_ones_print() -> None:
    longest = repeated(lambda value: apply("exp", value), rational(1), constants.NODES_LIMIT - 1)
    assert show(longest).count("exp(") == constants.NODES_LIMIT - 1
    assert hash(substitute(longest, {})) == hash(longest)
    with pytest.raises(ConstantTooLarge):
        apply("exp", longest)
