"""Functions that grow or fall exponentially, and powers: over the whole range of the machine's numbers, and far beyond.

flint's exponential gives up where its argument has more than some hundred bits. Here an argument of any size below
`FARTHEST` is reduced by a multiple of log 2 first, with as many more bits as it is large; further down a value is 0 to
within a radius. sigmoid and softplus take the branch of the sign, both being the same number. What can't be held is
undefined: E6006 where the number is too large or small, E6008 where its ball is too wide to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import lt
from typing import Any

from flint import arb, fmpq

from presk.exact.context import Run
from presk.exact.elements import Depends, Element, Site, Undefined, ball_of, enclosure_of, through
from presk.exact.intervals import ZERO, Enclosure, Interval, between, ends, whole_power
from presk.exact.layouts import Flat
from presk.exact.precision import guarded

NEAR = arb(2) ** 100
"""Arguments below this are flint's own."""

FARTHEST_BITS = 4096
FARTHEST = arb(2) ** FARTHEST_BITS
"""Arguments beyond this have no exponential that can be held: the square of the cube of the largest f64 is below."""

TINY = arb((1, -(2**FARTHEST_BITS)))
"""More than the exponential of what is below −FARTHEST."""

FUNCTION_GUARD = 64
"""Extra bits for the steps of a function whose exponential's argument is rounded first."""

OUT_OF_RANGE = "leaves the range of numbers that can be held"


def everywhere_above(flat: Flat, bound: arb) -> bool:
    """Whether all elements are certainly above the bound. False where one is undefined."""
    try:
        return all(map(lt, repeat(bound), flat))
    except Depends:
        return False


def everywhere_below(flat: Flat, bound: arb) -> bool:
    """Whether all elements are certainly below the bound. False where one is undefined."""
    try:
        return all(map(lt, flat, repeat(bound)))
    except Depends:
        return False


def floor_of_point(point: arb) -> arb:
    """The floor of an exact ball, exactly: flint's own rounds to the working precision."""
    mantissa, exponent = point.man_exp()
    return point if exponent >= 0 else arb(int(mantissa) >> -int(exponent))


def size_of(ball: arb) -> int:
    """How many bits the whole part of a ball's midpoint has; 0 where it has none or isn't finite."""
    if not ball.is_finite():
        return 0
    mantissa, exponent = ball.mid().man_exp()
    return max(0, int(mantissa).bit_length() + int(exponent)) if mantissa else 0


def exponential(x: Any) -> Any:
    """e to the x; not finite where that can't be held."""
    if abs(x) < NEAR:
        return x.exp()
    low, high = ends(x)
    if isinstance(x, Interval) or not (high - low) < 1:
        return between(exponential(low).lower(), exponential(high).upper())
    if x < -FARTHEST:
        return arb(0, TINY)
    if not x < FARTHEST:
        return arb.pos_inf()
    with guarded(size_of(x) + FUNCTION_GUARD):
        base = arb.const_log2()
        times = int(floor_of_point((x / base).mid()).fmpz())
        found = (x - times * base).exp() * arb((1, times))
    return +found


def _expm1(x: Any) -> Any:
    return x.expm1() if abs(x) < NEAR else exponential(x) - 1


def _sigmoid(x: Any) -> Any:
    if x < ZERO:
        grown = exponential(x)
        return grown / (1 + grown)
    return 1 / (1 + exponential(-x))


def _softplus(x: Any) -> Any:
    return exponential(x).log1p() if x < ZERO else x + exponential(-x).log1p()


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


# The same on points that are near, whose elements may be undefined


def _near_sigmoid(x: Element) -> Element:
    if x < ZERO:
        grown = x.exp()
        return grown / (1 + grown)
    return 1 / (1 + (-x).exp())


def _near_softplus(x: Element) -> Element:
    return x.exp().log1p() if x < ZERO else x + (-x).exp().log1p()


def _bounded(name: str, near: Callable[[Element], Element], far: Callable[[Enclosure], Enclosure]) -> Any:
    """A function of a list: `near` where all elements are, else `far`, element by element."""

    def function(run: Run, site: Site, flat: Flat) -> Flat:
        if everywhere_above(flat, -NEAR) and everywhere_below(flat, NEAR):
            return [near(x) for x in flat]
        return [held(run, site, at, x, through(far, x, name)) for at, x in enumerate(flat)]

    return function


def held(run: Run, site: Site, at: int, x: Element, found: Element) -> Element:
    """What an exponential gave, undefined where it can't be held; x is its argument."""
    if isinstance(found, Undefined):
        return found
    ball = ball_of(found)
    if run.certify:
        if ball.is_finite():
            return found
        if not enclosure_of(x) > FARTHEST and not enclosure_of(x) < -FARTHEST:
            return Undefined(site, "is of a number none of whose digits is known", at, code="E6008", undecided=True)
    elif ball.is_finite() and (ball != ZERO or ball.is_zero()):
        return found
    return Undefined(site, OUT_OF_RANGE, at, code="E6006")


sigmoid = _bounded("sigmoid", _near_sigmoid, _sigmoid)

FUNCTIONS: dict[str, Callable[[Run, Site, Flat], Flat]] = {
    "exp": _bounded("exp", lambda x: x.exp(), exponential),
    "expm1": _bounded("expm1", lambda x: x.expm1(), _expm1),
    "sigmoid": sigmoid,
    "softplus": _bounded("softplus", _near_softplus, _softplus),
    "silu": _bounded("silu", lambda x: x * _near_sigmoid(x), _silu),
    "gelu_tanh": lambda run, site, flat: _gelu_tanh(run, site, flat),
}
"""Functions of points."""

SMALL = arb(2) ** 20
"""Arguments of gelu_tanh whose cube the guard has room for."""


def _gelu_tanh(run: Run, site: Site, flat: Flat) -> Flat:
    """x·(1 + tanh u) / 2 = x·sigmoid(2u), u = √(2/π)·(x + 0.044715·x³)."""
    guard = FUNCTION_GUARD
    if not (everywhere_above(flat, -SMALL) and everywhere_below(flat, SMALL)):
        guard += 3 * max([size_of(ball_of(x)) for x in flat if not isinstance(x, Undefined)], default=0)
    with guarded(guard):
        factor = 2 * (2 / arb.pi()).sqrt()
        cubic = arb(fmpq(44715, 1000000))
        found = sigmoid(run, site, [factor * (x + cubic * (x * x * x)) for x in flat])
        found = [x * y for x, y in zip(flat, found, strict=True)]
    return [+each for each in found]


# Powers


def powers(run: Run, site: Site, bases: Flat, exponents: Flat) -> Flat:
    """x to the power y."""
    with guarded(FUNCTION_GUARD):
        found = [_power(run, site, at, x, y) for at, (x, y) in enumerate(zip(bases, exponents, strict=True))]
    return [+each for each in found]


def _power(run: Run, site: Site, at: int, x: Element, y: Element) -> Element:
    for operand in (x, y):
        if isinstance(operand, Undefined):
            return operand
    base, exponent = enclosure_of(x), ball_of(y)
    if exponent.is_integer() and exponent.is_exact():
        return _whole_power(run, site, at, x, int(exponent.fmpz()))
    if base > ZERO:
        return _positive_power(run, site, at, x, y)
    if base == ZERO and exponent > ZERO:
        return arb(0)
    if base >= ZERO and exponent > ZERO:
        most = _positive_power(run, site, at, base.upper(), exponent)
        return most if isinstance(most, Undefined) else through(lambda _: between(ZERO, most.upper()), x, "power", y)
    surely = base < ZERO or (base == ZERO and exponent < ZERO)
    if surely and (exponent.is_exact() or base == ZERO):
        return Undefined(site, "raises a number to a power that it has not", at)
    return Undefined(site, "may raise a number to a power that it has not", at, undecided=True)


def _positive_power(run: Run, site: Site, at: int, x: Element, y: Element) -> Element:
    """e to the y·log x, with as many more bits as that is large."""
    argument = y * x.log()
    size = size_of(ball_of(argument))
    if abs(enclosure_of(argument)) < SMALL:
        return argument.exp()
    with guarded(size):
        argument = y * x.log()
        return held(run, site, at, argument, through(exponential, argument, "exp"))


MOST_WHOLE_EXPONENT = 1 << 62
"""Whole exponents are applied by repeated squaring up to here; beyond by a logarithm."""


def _whole_power(run: Run, site: Site, at: int, x: Element, exponent: int) -> Element:
    base = enclosure_of(x)
    if exponent == 0:
        return arb(1)
    if base == ZERO:
        return arb(0) if exponent > 0 else Undefined(site, "raises 0 to a negative power", at)
    if exponent < 0 and not base != ZERO:
        return Undefined(site, "may raise 0 to a negative power", at, undecided=True)
    if abs(exponent) < MOST_WHOLE_EXPONENT:
        if run.certify and exponent > 0 and exponent % 2 == 0:
            return through(lambda ball: whole_power(ball, exponent), x, "power", exponent)
        return x**exponent
    if base in (1, -1):
        return arb(1) if exponent % 2 == 0 else x
    if not base != ZERO:
        return Undefined(site, OUT_OF_RANGE, at, code="E6008", undecided=True)
    grown = _positive_power(run, site, at, abs(x), arb(exponent))
    return -grown if base < ZERO and exponent % 2 else grown
