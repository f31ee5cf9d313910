"""Real literals of kernel text: the shortest decimal that reads back, and reading it.

The digits are laid out as on the Rust side: positional for magnitudes 1e-4 up to 1e16, `d.ddde±x` beyond; integral
values without a point unless asked for one. Called by the kernel printer and reader.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal

from presk.kernel.nodes import Arithmetic

_MOST_DIGITS = 17
"""Decimal digits that tell any two f64 values apart."""

_POSITIONAL = range(-4, 16)
"""Decimal exponents that are printed as positions."""


def print_real(value: float, arithmetic: Arithmetic, *, pointed: bool) -> str:
    """The literal of a value of that arithmetic. `pointed` keeps integral values apart from integers."""
    if math.isnan(value):
        return "nan"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}inf"
    digits, exponent = _shortest(abs(value), arithmetic)
    return sign + _lay_out(digits, exponent, pointed)


def read_real(text: str, arithmetic: Arithmetic) -> float | None:
    """The value of an unsigned literal, rounded once to that arithmetic; None where it overflows."""
    value = float(text)
    if arithmetic == "f32":
        value = _round_to_f32(text, value)
    return value if math.isfinite(value) else None


def is_plain(text: str) -> bool:
    """Whether a literal is digits alone, so that it may be an integer or a real."""
    return text.isdigit()


def _shortest(value: float, arithmetic: Arithmetic) -> tuple[str, int]:
    """The fewest digits that read back as a finite value ≥ 0, and the exponent of the first of them.

    Of several numbers of that many digits the nearest, of two equally near the greater.
    """
    if value == 0:
        return "0", 0
    exponent = Decimal(value).adjusted()
    fewest = 1 if arithmetic == "f32" else len(Decimal(repr(value)).normalize().as_tuple().digits)
    for count in range(fewest, _MOST_DIGITS + 1):
        units = _nearest_units(value, exponent - count + 1, arithmetic)
        if units is not None:
            digits = str(units)
            return digits.rstrip("0"), exponent + len(digits) - count
    raise AssertionError(f"{value!r} has no literal of {arithmetic}")


def _nearest_units(value: float, exponent: int, arithmetic: Arithmetic) -> int | None:
    """The nearest multiple of 10^exponent that reads back as the value, in units of it."""
    numerator, denominator = value.as_integer_ratio()
    if exponent < 0:
        numerator *= 10**-exponent
    else:
        denominator *= 10**exponent
    below, rest = divmod(numerator, denominator)
    order = (below, below + 1) if 2 * rest < denominator else (below + 1, below)
    return next((units for units in order if read_real(f"{units}e{exponent}", arithmetic) == value), None)


def _lay_out(digits: str, exponent: int, pointed: bool) -> str:
    if exponent not in _POSITIONAL:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{rest}e{exponent}"
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits)) + (".0" if pointed else "")
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def _round_to_f32(text: str, value: float) -> float:
    """The f32 nearest the decimal. By way of the f64 nearest it, unless that lies midway between two f32."""
    try:
        nearest: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf
    if nearest == value or math.isinf(value):
        return nearest
    other = _neighbour(nearest, upward=value > nearest)
    if abs(value - nearest) != abs(other - value):
        return nearest
    exact = Decimal(text)
    if exact == Decimal(value):
        return nearest
    low, high = sorted((nearest, other))
    return high if exact > Decimal(value) else low


def _neighbour(value: float, *, upward: bool) -> float:
    """The next f32 above or below a finite f32 ≥ 0, 2^128 being the one above the largest."""
    bits: int = struct.unpack("I", struct.pack("f", value))[0] + (1 if upward else -1)
    above: float = struct.unpack("f", struct.pack("I", bits))[0]
    return 2.0**128 if math.isinf(above) else above
