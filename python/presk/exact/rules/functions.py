"""Real functions of one element: lists of points to lists of elements, undefined where a function is.

Each is an identity over the reals that loses nothing to cancellation: sigmoid and softplus take the branch of the sign
of the midpoint, both branches being the same number; Φ is half an erfc. Where a ball reaches over the edge of a
function's domain, the element is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import lt, neg
from typing import Any

from flint import arb, fmpq

from presk.exact.context import Run
from presk.exact.elements import Depends, Element, Site, Undefined, ball_of
from presk.exact.layouts import Flat
from presk.exact.normal_tables import distributions, gelu
from presk.exact.precision import guarded
from presk.exact.rounding import edges

Function = Callable[[Run, Site, Flat], Flat]

ZERO = arb(0)
MINUS_ONE = arb(-1)
LARGEST_EXPONENT = arb(2) ** 100
"""Arguments of exp beyond this leave flint's range of exponents; a result that depends on one is refused."""


FUNCTION_GUARD = 64
"""Extra bits for the steps of a function whose exponential's argument is rounded first: as many as it can be large."""

OUT_OF_RANGE = "leaves the range of numbers that can be held"


def _everywhere_above(flat: Flat, bound: arb) -> bool:
    """Whether all elements are certainly above the bound. False where one is undefined."""
    try:
        return all(map(lt, repeat(bound), flat))
    except Depends:
        return False


def _partial(
    name: str, bound: arb, apply: Callable[[Element], Element], words: str, *, closed: bool = False
) -> Function:
    """A function defined above `bound`, and at it where `closed`."""

    def one(site: Site, at: int, x: Element) -> Element:
        if isinstance(x, Undefined):
            return x
        ball = ball_of(x)
        if ball > bound or (closed and ball == bound):
            return apply(x)
        if ball < bound or (ball == bound and not closed):
            return Undefined(site, words, at)
        return Undefined(site, f"may be outside the domain of {name}", at, undecided=True)

    def function(run: Run, site: Site, flat: Flat) -> Flat:
        if _everywhere_above(flat, bound):
            return [apply(x) for x in flat]
        return [one(site, at, x) for at, x in enumerate(flat)]

    return function


def _bounded(apply: Callable[[Element], Element]) -> Function:
    """A function that grows exponentially: undefined for want of exponents far out."""

    def function(run: Run, site: Site, flat: Flat) -> Flat:
        if _everywhere_above(flat, -LARGEST_EXPONENT) and not _reaches(flat, LARGEST_EXPONENT):
            return [apply(x) for x in flat]
        return [apply(x) if _within(x) else _too_large(site, at, x) for at, x in enumerate(flat)]

    return function


def _reaches(flat: Flat, bound: arb) -> bool:
    return not all(map(lt, flat, repeat(bound)))


def _within(x: Element) -> bool:
    return not isinstance(x, Undefined) and bool(abs(ball_of(x)) < LARGEST_EXPONENT)


def _too_large(site: Site, at: int, x: Element) -> Element:
    if isinstance(x, Undefined):
        return x
    return Undefined(site, OUT_OF_RANGE, at, code="E6006")


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
    ball = ball_of(y)
    if ball == ZERO:
        return Undefined(site, "divides by zero", at)
    if not ball != ZERO:
        return Undefined(site, "may divide by zero", at, undecided=True)
    return x / y


def powers(run: Run, site: Site, bases: Flat, exponents: Flat) -> Flat:
    """x to the power y."""
    with guarded(FUNCTION_GUARD):
        found = [_power(site, at, x, y) for at, (x, y) in enumerate(zip(bases, exponents, strict=True))]
    return [+each for each in found]


def _power(site: Site, at: int, x: Element, y: Element) -> Element:
    for operand in (x, y):
        if isinstance(operand, Undefined):
            return operand
    base, exponent = ball_of(x), ball_of(y)
    if exponent.is_integer() and exponent.is_exact():
        return _whole_power(site, at, x, base, int(exponent.fmpz()))
    if base > ZERO:
        return (y * x.log()).exp()
    if base == ZERO and exponent > ZERO:
        return arb(0)
    surely = base < ZERO or (base == ZERO and exponent < ZERO)
    if surely and (exponent.is_exact() or base == ZERO):
        return Undefined(site, "raises a number to a power that it has not", at)
    return Undefined(site, "may raise a number to a power that it has not", at, undecided=True)


MOST_WHOLE_EXPONENT = 1 << 62
"""Whole exponents are applied by repeated squaring up to here; beyond, no power but of 0, 1 and −1 can be held."""


def _whole_power(site: Site, at: int, x: Element, base: arb, exponent: int) -> Element:
    if exponent == 0:
        return arb(1)
    if base == ZERO:
        return arb(0) if exponent > 0 else Undefined(site, "raises 0 to a negative power", at)
    if exponent < 0 and not base != ZERO:
        return Undefined(site, "may raise 0 to a negative power", at, undecided=True)
    if abs(exponent) >= MOST_WHOLE_EXPONENT:
        if base != 1 and base != -1:
            return Undefined(site, OUT_OF_RANGE, at, code="E6006")
        return arb(1) if exponent % 2 == 0 else x
    return x**exponent


def _sigmoid(x: Element) -> Element:
    if _surely_negative(x):
        grown = x.exp()
        return grown / (1 + grown)
    return 1 / (1 + (-x).exp())


def _softplus(x: Element) -> Element:
    if _surely_negative(x):
        return x.exp().log1p()
    return x + (-x).exp().log1p()


_bounded_sigmoid = _bounded(_sigmoid)


def _surely_negative(x: Element) -> bool:
    return not isinstance(x, Undefined) and bool(ball_of(x) < ZERO)


def _silu(x: Element) -> Element:
    return x * _sigmoid(x)


def _gelu_tanh(run: Run, site: Site, flat: Flat) -> Flat:
    """x·(1 + tanh u) / 2 = x·sigmoid(2u), u = √(2/π)·(x + 0.044715·x³)."""
    with guarded(FUNCTION_GUARD):
        factor = 2 * (2 / arb.pi()).sqrt()
        cubic = arb(fmpq(44715, 1000000))
        found = _bounded_sigmoid(run, site, [factor * (x + cubic * (x * x * x)) for x in flat])
        found = [x * y for x, y in zip(flat, found, strict=True)]
    return [+each for each in found]


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
        ball = ball_of(x)
        if ball > ZERO or ball < ZERO or ball == ZERO:
            out.append(arb(int(ball > ZERO) - int(ball < ZERO)))
        else:
            out.append(Undefined(site, "has a sign that can't be told", at, undecided=True))
    return out


def _floor(run: Run, site: Site, flat: Flat) -> Flat:
    return [_floor_of(site, at, x) for at, x in enumerate(flat)]


def _floor_of(site: Site, at: int, x: Element) -> Element:
    if isinstance(x, Undefined):
        return x
    ball = ball_of(x)
    if not ball.is_finite():
        return Undefined(site, OUT_OF_RANGE, at, code="E6006")
    low, high = (floor_of_point(edge) for edge in (edges(ball) if not ball.is_exact() else (ball, ball)))
    if low == high:
        return low
    return Undefined(site, "is so near a whole number that its floor can't be told", at, undecided=True)


def floor_of_point(point: arb) -> arb:
    """The floor of an exact ball, exactly: flint's own rounds to the working precision."""
    mantissa, exponent = point.man_exp()
    return point if exponent >= 0 else arb(int(mantissa) >> -int(exponent))


def _relu(run: Run, site: Site, flat: Flat) -> Flat:
    if run.certify:
        return [_relu_ball(x) for x in flat]
    out: Flat = []
    for x in flat:
        above = x > ZERO
        out.append(above if isinstance(above, Undefined) else x if above else ZERO)
    return out


def _relu_ball(x: Element) -> Element:
    if isinstance(x, Undefined) or ball_of(x) > ZERO:
        return x
    ball = ball_of(x)
    return ZERO if ball <= ZERO else ball.max(ZERO)


ARITHMETIC: dict[str, Callable[[Any], Any]] = {"neg": neg, "square": lambda x: x * x}
"""Functions whose midpoints don't depend on radii: these may be left to grow."""

FUNCTIONS: dict[str, Function] = {
    "abs": _everywhere(lambda x: abs(x)),
    "sqrt": _partial("sqrt", ZERO, lambda x: x.sqrt(), "is the square root of a negative number", closed=True),
    "rsqrt": _partial("rsqrt", ZERO, lambda x: x.rsqrt(), "is the inverse root of a number that isn't positive"),
    "recip": reciprocal,
    "exp": _bounded(lambda x: x.exp()),
    "expm1": _bounded(lambda x: x.expm1()),
    "log": _partial("log", ZERO, lambda x: x.log(), "is the logarithm of a number that isn't positive"),
    "log1p": _partial("log1p", MINUS_ONE, lambda x: x.log1p(), "is log1p of a number that isn't above −1"),
    "tanh": _everywhere(lambda x: x.tanh()),
    "sin": _everywhere(lambda x: x.sin()),
    "cos": _everywhere(lambda x: x.cos()),
    "erf": _everywhere(lambda x: x.erf()),
    "sigmoid": _bounded_sigmoid,
    "softplus": _bounded(_softplus),
    "relu": _relu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": _bounded(_silu),
    "sign": _sign,
    "floor": _floor,
}
"""Functions of points."""
