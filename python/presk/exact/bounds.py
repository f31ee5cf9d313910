"""The machine numbers that lie in [lo, hi), for exact bounds: what a uniform draw is kept within as it is stored.

The f64 that is drawn is narrowed to the stored type afterwards. Rounding to nearest is monotone and keeps a type's own
numbers, so a draw kept within the outermost ones of the type before it is narrowed lies in [lo, hi) as it is stored.
Called by the reference's draws, the recorder and the initializers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from presk.exact.constants import MOST_BITS, ball_of_constant, round_constant
from presk.exact.rounding import FORMATS
from presk.shapes.constants import Constant, Rational, show
from presk.text.diagnostics import PreskError, fail


def drawn_within(lo: Constant, hi: Constant, type: str) -> tuple[float, float] | None:
    """The smallest and the largest finite number of `type` in [lo, hi); None where there is none."""
    scalar = FORMATS[type].scalar
    least, most = (_finite(round_constant(each, type)) for each in (lo, hi))
    if _compare(lo, least) > 0:
        least = np.nextafter(least, scalar(np.inf))
    if _compare(hi, most) <= 0:
        most = np.nextafter(most, scalar(-np.inf))
    if not (np.isfinite(least) and np.isfinite(most)) or least > most:
        return None
    return float(least), float(most)


def no_number(site: str, lo: Constant, hi: Constant, type: str) -> PreskError:
    """E7004: no number of the type lies in the bounds of a draw."""
    sentence = f"`uniform` at {site}: no {type} lies from {show(lo)} up to, not including, {show(hi)}"
    return fail("E7004", sentence, hint="wider bounds, or a wider type at this place (`storage`, `params`)")


def _finite(rounded: Any) -> Any:
    """What overflowed, as the largest number of its sign."""
    if np.isfinite(rounded):
        return rounded
    return np.nextafter(rounded, type(rounded)(0))


def _compare(constant: Constant, machine: Any) -> int:
    """The sign of a constant less a machine number; 0 too where MOST_BITS bits don't tell them apart."""
    exact = arb(float(machine))
    if isinstance(constant, Rational):
        numerator, denominator = float(machine).as_integer_ratio()
        difference = constant.value.numerator * denominator - numerator * constant.value.denominator
        return (difference > 0) - (difference < 0)
    bits = 128
    while bits <= MOST_BITS:
        ball = ball_of_constant(constant, bits)
        if ball > exact:
            return 1
        if ball < exact:
            return -1
        bits *= 4
    return 0
