"""Balls in decimals: what is printed holds the ball, and no digit claims more than is proven."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from presk.exact.digits import digits_of, rounded_up, show, show_element, show_midpoint, value_of
from presk.exact.precision import working

MANTISSAS = st.integers(-(2**200), 2**200)
EXPONENTS = st.integers(-1500, 1500)
RADII = st.one_of(st.just(0), st.integers(1, 2**30 - 1))
DIGITS = st.integers(1, 90)


def point(mantissa: int, exponent: int) -> Fraction:
    return Fraction(mantissa) * Fraction(2) ** exponent


def unit(decimal: str) -> Fraction:
    """The unit of a printed decimal's last digit."""
    mantissa, _, exponent = decimal.partition("e")
    return Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


@given(MANTISSAS, EXPONENTS, RADII, st.integers(-400, 100), DIGITS)
def test_what_is_printed_holds_the_ball(mantissa: int, exponent: int, radius: int, scale: int, most: int) -> None:
    scale += exponent
    middle, distance = point(mantissa, exponent), point(radius, scale)
    shown = show(arb((mantissa, exponent), (radius, scale)) if radius else arb((mantissa, exponent)), most)
    stated = value_of(shown.distance or "0")
    assert abs(value_of(shown.middle) - middle) + distance <= stated
    if shown.digits and shown.distance is not None:
        assert stated <= unit(shown.middle), "the number is within a unit of the last digit"
        assert len(re.sub(r"e.*|[-.]", "", shown.middle).lstrip("0")) == shown.digits <= most
    if shown.distance is not None and not shown.digits:
        assert shown.middle == "0"
    again = show_element(arb((mantissa, exponent), (radius, scale)) if radius else arb((mantissa, exponent)), most)
    bare, _, beside = again.partition(" ± ")
    assert abs(value_of(bare) - middle) + distance <= (value_of(beside) if beside else unit(bare))


@given(st.integers(1, 999), st.integers(-5000, 5000))
def test_distances_are_rounded_up_to_a_digit(digits: int, exponent: int) -> None:
    given, stated = f"{digits}e{exponent:+d}", rounded_up(f"{digits}e{exponent:+d}")
    assert value_of(given) <= value_of(stated) <= 2 * value_of(given)
    assert len(stated.partition("e")[0].replace(".", "").strip("0")) == 1


@pytest.mark.parametrize(
    ("ball", "shown"),
    [
        (arb("0.77075927163", "1e-11"), "0.7707592716 ± 5e-11"),
        (arb(0), "0.0"),
        (arb(0, 4e-77), "0 ± 5e-77"),
        (arb(1e-300, 3.1), "0 ± 4"),
        (arb(-4.9, 0.11), "-5 ± 0.3"),
        (arb(0.1, 1e-3), "0.10 ± 0.002"),
        (
            arb(2) ** 300,
            "2037035976334486086268445688409378161051468393665936250636140449354381299763336706183397376.0",
        ),
        (arb(-3), "-3.0"),
        (arb(0.25), "0.25"),
        (arb(10**25), "10000000000000000000000000.0"),
        (arb(123456789.0, 1e-3), "123456789.00 ± 0.002"),
    ],
)
def test_as_a_reader_sees_it(ball: arb, shown: str) -> None:
    assert str(show(ball, digits_of(256))) == shown


@pytest.mark.parametrize(
    ("ball", "shown"),
    [
        (arb(0.1), "0.10000000000000001"),
        (arb(3), "3.0"),
        (arb(2) ** 53, "9007199254740992.0"),
        (arb(2) ** 300, "2.0370359763344861e+90"),
        (arb(1, 1e-30), "1.0000000000000000"),
        (arb(1, 1e-10), "1.000000000 ± 2e-10"),
        (arb(0, 1e-77), "0 ± 2e-77"),
        (arb(5e-324), "4.9406564584124654e-324"),
    ],
)
def test_elements_state_a_distance_where_the_radius_ends_them(ball: arb, shown: str) -> None:
    assert show_element(ball, 17) == shown


def test_midpoints_end_where_they_are_zero() -> None:
    assert show_midpoint(arb(0.25, 1), 17) == "0.25"
    assert show_midpoint(arb(0), 17) == "0.0"
    with working(100):
        assert show_midpoint(arb(1) / 3, 10) == "0.3333333333"


def test_exponents_of_thousands_of_bits() -> None:
    tiny = show(arb((1, -(2**4000))), 20)
    exponent, radius = (int(each.partition("e")[2]) for each in (tiny.middle, str(tiny.distance)))
    assert len(str(exponent)) > 1200
    assert exponent - 21 <= radius <= exponent - 19
    assert str(show(arb(0, (1, 2**4000)), 20)).startswith("0 ± ")
