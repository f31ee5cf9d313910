"""Correct rounding, to nearest even, of exact numbers and of balls to f64, f32 and bf16.

A ball rounds where all of it does to one machine number. bf16 is reached through f32, as everywhere (two roundings).
Subnormals, the largest numbers and infinities follow IEEE 754.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ldexp
from typing import Any

import ml_dtypes
import numpy as np
from flint import arb
from numpy.typing import NDArray

from presk.exact.precision import working


@dataclass(frozen=True, slots=True)
class Format:
    """A machine type: its significand's bits, the exponents of its smallest spacing and of overflow, its scalar."""

    digits: int
    smallest: int
    overflow: int
    scalar: Any


FORMATS = {
    "f64": Format(53, -1074, 1024, np.float64),
    "f32": Format(24, -149, 128, np.float32),
    "bf16": Format(8, -133, 128, ml_dtypes.bfloat16),
}
"""Machine types by presk's names."""


def round_dyadic(mantissa: int, exponent: int, type: str) -> Any:
    """The exact number mantissa · 2^exponent rounded to nearest even, as a NumPy scalar of `type`."""
    if type == "bf16":
        single = round_dyadic(mantissa, exponent, "f32")
        return FORMATS["bf16"].scalar(single)
    spec = FORMATS[type]
    sign, size = (-1.0, -mantissa) if mantissa < 0 else (1.0, mantissa)
    if size == 0:
        return spec.scalar(0.0)
    top = size.bit_length() + exponent
    if top > spec.overflow + 1:
        return spec.scalar(sign * float("inf"))
    spacing = max(top - spec.digits, spec.smallest)
    drop = spacing - exponent
    if drop > 0:
        kept, rest, half = size >> drop, size & ((1 << drop) - 1), 1 << (drop - 1)
        size = kept + (rest > half or (rest == half and kept & 1))
        exponent = spacing
    if size.bit_length() + exponent > spec.overflow:
        return spec.scalar(sign * float("inf"))
    return spec.scalar(sign * ldexp(size, exponent))


def round_fraction(value: Fraction, type: str) -> Any:
    """An exact rational rounded to nearest even, as a NumPy scalar of `type`."""
    numerator, denominator = value.numerator, value.denominator
    shift = max(0, denominator.bit_length() - numerator.bit_length() + FORMATS["f64"].digits + 11)
    quotient, rest = divmod(abs(numerator) << (shift + 1), denominator)
    sticky = quotient << 1 | (rest != 0)
    return round_dyadic(-sticky if numerator < 0 else sticky, -shift - 2, type)


def round_ball(ball: arb, type: str) -> Any | None:
    """What every number of the ball rounds to, as a NumPy scalar of `type`; None where they round differently."""
    if not ball.is_finite():
        return None
    if ball.is_exact():
        return round_point(ball, type)
    low, high = (round_point(edge, type) for edge in edges(ball))
    if low != high or (low == 0 and np.signbit(low) != np.signbit(high)):
        return None
    return low


def edges(ball: arb) -> tuple[arb, arb]:
    """A finite ball's ends as exact balls, hardly rounded outward, whatever the working precision."""
    mantissa, _ = ball.mid().man_exp()
    with working(int(mantissa).bit_length() + EDGE_BITS):
        return ball.lower(), ball.upper()


EDGE_BITS = 64
"""Bits beyond a midpoint's own that its ball's ends are given: twice as many as a radius has."""


def round_point(point: arb, type: str) -> Any:
    """An exact finite ball rounded to nearest even, as a NumPy scalar of `type`."""
    mantissa, exponent = point.man_exp()
    clipped = int(exponent)
    bits = int(mantissa).bit_length()
    if bits and not -8192 < clipped + bits < 8192:
        clipped = -8192 - bits if clipped < 0 else 8192
    return round_dyadic(int(mantissa), clipped, type)


def round_points(points: list[arb], type: str) -> NDArray[Any]:
    """Midpoints rounded to nearest even, as a flat array: the fast way, for exact finite balls."""
    if type != "f64":
        return np.array([round_point(point, type) for point in points], dtype=FORMATS[type].scalar)
    found = np.array(list(map(float, points)), dtype=np.float64)
    for at in np.flatnonzero(~(np.abs(found) >= SMALLEST_NORMAL)).tolist():
        found[at] = round_point(points[at], type)
    return found


SMALLEST_NORMAL = 2.0**-1022
