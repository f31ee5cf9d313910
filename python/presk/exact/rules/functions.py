"""Real functions of one element: lists of points to lists of elements, undefined where a function is.

Each is an identity over the reals that loses nothing to cancellation: Φ is half an erfc. Where a ball reaches over the
edge of a function's domain, the element is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import neg
from typing import Any

from flint import arb

from presk.exact.context import Run
from presk.exact.elements import Depends, Element, Site, Undefined, enclosure_of, through
from presk.exact.intervals import ZERO, ends, magnitude, nonnegative, square
from presk.exact.layouts import Flat
from presk.exact.normal_tables import distributions, gelu
from presk.exact.rounding import edges
from presk.exact.rules import exponentials, slopes
from presk.exact.rules.exponentials import OUT_OF_RANGE, everywhere_above, floor_of_point

Function = Callable[[Run, Site, Flat], Flat]

MINUS_ONE = arb(-1)


def _partial(
    name: str, bound: arb, apply: Callable[[Element], Element], words: str, *, closed: bool = False
) -> Function:
    """A function defined above `bound`, and at it where `closed`."""

    def one(site: Site, at: int, x: Element) -> Element:
        if isinstance(x, Undefined):
            return x
        found = enclosure_of(x)
        if found > bound or (closed and found >= bound):
            return apply(x)
        if found < bound or (found <= bound and not closed):
            return Undefined(site, words, at)
        return Undefined(site, f"may be outside the domain of {name}", at, undecided=True)

    def function(run: Run, site: Site, flat: Flat) -> Flat:
        if everywhere_above(flat, bound):
            return [apply(x) for x in flat]
        return [one(site, at, x) for at, x in enumerate(flat)]

    return function


def _everywhere(apply: Callable[[Element], Element]) -> Function:
    """A function defined everywhere."""

    def function(run: Run, site: Site, flat: Flat) -> Flat:
        return [apply(x) for x in flat]

    return function


def reciprocal(run: Run, site: Site, flat: Flat) -> Flat:
    """1 / x"""
    return quotients(run, site, [arb(1)] * len(flat), flat)


def quotients(run: Run, site: Site, above: Flat, below: Flat) -> Flat:
    """x / y; undefined where y is 0."""
    if not run.certify:
        try:
            if ZERO not in below:
                return [x / y for x, y in zip(above, below, strict=True)]
        except Depends:
            pass
    return [_quotient(site, at, x, y) for at, (x, y) in enumerate(zip(above, below, strict=True))]


def _quotient(site: Site, at: int, x: Element, y: Element) -> Element:
    if isinstance(y, Undefined):
        return y
    divisor = enclosure_of(y)
    if divisor == ZERO:
        return Undefined(site, "divides by zero", at)
    if not divisor != ZERO:
        return Undefined(site, "may divide by zero", at, undecided=True)
    return x / y


def _gelu(run: Run, site: Site, flat: Flat) -> Flat:
    """x·Φ(x)."""
    if not run.certify:
        found = gelu(flat, run.bits)
        if found is not None:
            return found
    return [x * y for x, y in zip(flat, distributions(flat), strict=True)]


def _sign(run: Run, site: Site, flat: Flat) -> Flat:
    out: Flat = []
    for at, x in enumerate(flat):
        if isinstance(x, Undefined):
            out.append(x)
            continue
        found = enclosure_of(x)
        if found > ZERO or found < ZERO or found == ZERO:
            out.append(arb(int(found > ZERO) - int(found < ZERO)))
        else:
            out.append(Undefined(site, "has a sign that can't be told", at, undecided=True))
    return out


def _floor(run: Run, site: Site, flat: Flat) -> Flat:
    return [_floor_of(site, at, x) for at, x in enumerate(flat)]


def _floor_of(site: Site, at: int, x: Element) -> Element:
    if isinstance(x, Undefined):
        return x
    found = enclosure_of(x)
    if not found.is_finite():
        return Undefined(site, OUT_OF_RANGE, at, code="E6008", undecided=True)
    if isinstance(found, arb):
        bounds = (found, found) if found.is_exact() else edges(found)
    else:
        bounds = ends(found)
    low, high = (floor_of_point(edge) for edge in bounds)
    if low == high:
        return low
    return Undefined(site, "is so near a whole number that its floor can't be told", at, undecided=True)


def _relu(run: Run, site: Site, flat: Flat) -> Flat:
    if run.certify:
        return flat if everywhere_above(flat, ZERO) else [through(nonnegative, x, "relu") for x in flat]
    out: Flat = []
    for x in flat:
        above = x > ZERO
        out.append(above if isinstance(above, Undefined) else x if above else ZERO)
    return out


def _abs(run: Run, site: Site, flat: Flat) -> Flat:
    return [through(magnitude, x, "abs") for x in flat] if run.certify else [abs(x) for x in flat]


def squares(flat: Flat) -> Flat:
    """x² of enclosures, with their lower bounds."""
    if flat and isinstance(flat[0], arb):
        found = [x * x for x in flat]
        if everywhere_above(found, ZERO):
            return found
    return [through(square, x, "square") for x in flat]


ARITHMETIC: dict[str, Callable[[Any], Any]] = {"neg": neg, "square": lambda x: x * x}
"""Functions whose midpoints don't depend on radii: these may be left to grow."""

FUNCTIONS: dict[str, Function] = {
    **exponentials.FUNCTIONS,
    **slopes.FUNCTIONS,
    "abs": _abs,
    "sqrt": _partial("sqrt", ZERO, lambda x: x.sqrt(), "is the square root of a negative number", closed=True),
    "rsqrt": _partial("rsqrt", ZERO, lambda x: x.rsqrt(), "is the inverse root of a number that isn't positive"),
    "recip": reciprocal,
    "log": _partial("log", ZERO, lambda x: x.log(), "is the logarithm of a number that isn't positive"),
    "log1p": _partial("log1p", MINUS_ONE, lambda x: x.log1p(), "is log1p of a number that isn't above −1"),
    "tanh": _everywhere(lambda x: x.tanh()),
    "sin": _everywhere(lambda x: x.sin()),
    "cos": _everywhere(lambda x: x.cos()),
    "erf": _everywhere(lambda x: x.erf()),
    "erfc": _everywhere(lambda x: x.erfc()),
    "relu": _relu,
    "gelu": _gelu,
    "sign": _sign,
    "floor": _floor,
}
"""Functions of points."""
