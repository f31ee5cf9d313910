"""Balls in decimal digits, as many as their radii prove and no more.

`0.7707592716 ± 3e-11`: every digit is proven, that is, the exact number is within a unit of the last one, and the
stated distance holds the whole ball and the rounding of the decimal. `0 ± 4e-77` where no digit is. An exact number
has no distance. FLINT's own conversion gives the digits, which this module makes readable. Called by `ExactArray`, the
command line and `choose.measure`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

PRINTED = re.compile(r"\[(?:(?P<middle>\S+) )?\+/- (?P<radius>\S+)\]")
"""What FLINT prints for a ball that isn't exactly the decimal it gives."""

DECIMAL = re.compile(r"(?P<whole>\d+)(?:\.(?P<part>\d+))?(?:e(?P<exponent>[+-]\d+))?")

DIGITS_PER_BIT = math.log10(2)

LONGEST_WHOLE = 4096
"""Bits of the largest whole number that is shown to its last digit where it stands alone."""

LONGEST_WHOLE_IN_ARRAY = 64
"""The same in an array."""

PLAIN = range(-4, 4)
"""Decimal exponents of distances that are written without one."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A ball in decimals: `middle`, of `digits` significant digits, and the distance that holds it (None: exact)."""

    middle: str
    distance: str | None
    digits: int

    def __str__(self) -> str:
        return self.middle if self.distance is None else f"{self.middle} ± {self.distance}"


def digits_of(bits: int) -> int:
    """How many decimal digits a number of so many bits has."""
    return math.ceil(bits * DIGITS_PER_BIT) + 1


def show(ball: arb, most: int) -> Shown:
    """A finite ball to at most so many digits, at least one. Whole numbers known exactly have all of theirs."""
    whole = _whole(ball, LONGEST_WHOLE)
    return _rounded(ball, most) if whole is None else Shown(whole, None, most)


def show_element(ball: arb, most: int) -> str:
    """An element of an array: the distance is stated where the radius, and not `most`, has ended its digits."""
    whole = _whole(ball, LONGEST_WHOLE_IN_ARRAY)
    if whole is not None:
        return whole
    shown = _rounded(ball, most)
    return shown.middle if shown.digits >= most else str(shown)


def show_midpoint(point: arb, most: int) -> str:
    """A number that nothing is proven of, to so many digits: those that are 0 at its end are left out."""
    return _tidy(_rounded(point.mid(), most).middle, exact=True)


def rounded_up(distance: str) -> str:
    """A printed distance to one digit, rounded up: what holds a ball still does."""
    found = DECIMAL.fullmatch(distance)
    if found is None:
        return distance
    digits = found["whole"] + (found["part"] or "")
    exponent = int(found["exponent"] or 0) + len(found["whole"]) - 1
    bare = digits.lstrip("0")
    exponent -= len(digits) - len(bare)
    first = int(bare[0]) + any(digit != "0" for digit in bare[1:])
    if first == 10:
        first, exponent = 1, exponent + 1
    if exponent not in PLAIN:
        return f"{first}e{exponent:+d}"
    return str(first * 10**exponent) if exponent >= 0 else f"0.{'0' * (-exponent - 1)}{first}"


def value_of(decimal: str) -> Fraction:
    """A printed decimal as the number it states. For tests, and for readers of what is printed."""
    return Fraction(decimal)


def _rounded(ball: arb, most: int) -> Shown:
    """As `show`, without the rule for whole numbers."""
    printed = ball.str(most, more=False)
    found = PRINTED.fullmatch(printed)
    if found is None:
        return Shown(_tidy(printed, exact=True), None, most)
    middle, distance = found["middle"], rounded_up(found["radius"])
    if middle is None:
        return Shown("0", distance, 0)
    return Shown(_tidy(middle, exact=False), distance, _count(middle))


def _whole(ball: arb, most: int) -> str | None:
    """An exact whole number of no more than so many bits, else None."""
    if not ball.is_exact() or not ball.is_integer():
        return None
    mantissa, exponent = ball.man_exp()
    if abs(int(mantissa)).bit_length() + int(exponent) > most:
        return None
    return f"{int(mantissa) << int(exponent)}.0"


def _tidy(decimal: str, *, exact: bool) -> str:
    """FLINT's decimal without an exponent of 0; where it is exact, without the zeros at its end."""
    mantissa, mark, exponent = decimal.partition("e")
    if mark and int(exponent) == 0:
        mark = exponent = ""
    if exact:
        mantissa = mantissa.rstrip("0") if "." in mantissa else mantissa + "." * (not mark)
        mantissa = mantissa + "0" if mantissa.endswith(".") else mantissa
    return mantissa + mark + exponent


def _count(decimal: str) -> int:
    """The significant digits of a printed decimal that isn't 0."""
    return len(decimal.partition("e")[0].lstrip("-").replace(".", "").lstrip("0"))
