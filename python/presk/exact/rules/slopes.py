"""exp(−x²) and the slopes of gelu, silu and gelu_tanh: primitives that derivatives are made of.

Each is the sum that its definition says, with as many more bits as its exponential's argument is large; what cancels
at a slope's root cancels in balls, which say so.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

from presk.exact.context import Run
from presk.exact.elements import Element, Site, Undefined, ball_of
from presk.exact.layouts import Flat
from presk.exact.normal_tables import distributions
from presk.exact.precision import guarded
from presk.exact.rules import exponentials
from presk.exact.rules.exponentials import FUNCTION_GUARD, sigmoid, size_of


def _guard(flat: Flat, power: int) -> int:
    """Bits that an argument of this power of the elements costs."""
    return FUNCTION_GUARD + power * max([size_of(ball_of(x)) for x in flat if not isinstance(x, Undefined)], default=0)


def _exponentials(run: Run, site: Site, flat: Flat) -> Flat:
    return exponentials.FUNCTIONS["exp"](run, site, flat)


def _gaussian(run: Run, site: Site, flat: Flat) -> Flat:
    """exp(−x²)"""
    with guarded(_guard(flat, 2)):
        found = _exponentials(run, site, [-(x * x) for x in flat])
    return [+each for each in found]


def _gelu_slope(run: Run, site: Site, flat: Flat) -> Flat:
    """Φ(x) + x·φ(x)"""
    with guarded(_guard(flat, 2)):
        at_0 = (2 * arb.pi()).rsqrt()
        densities = _exponentials(run, site, [-(x * x) / 2 for x in flat])
        shares = distributions(flat)
        found = [share + x * (at_0 * density) for x, share, density in zip(flat, shares, densities, strict=True)]
    return [+each for each in found]


def _sigmoid_slope(run: Run, site: Site, flat: Flat, arguments: Flat, slopes: Flat) -> Flat:
    """The derivative of x·s(u): s(u) + x·s(u)·s(−u)·u′."""
    above, below = sigmoid(run, site, arguments), sigmoid(run, site, [-u for u in arguments])
    return [
        share + x * slope * (share * rest) for x, slope, share, rest in zip(flat, slopes, above, below, strict=True)
    ]


def _silu_slope(run: Run, site: Site, flat: Flat) -> Flat:
    """The derivative of x·sigmoid(x)."""
    with guarded(_guard(flat, 1)):
        ones: list[Element] = [arb(1)] * len(flat)
        found = _sigmoid_slope(run, site, flat, flat, ones)
    return [+each for each in found]


def _gelu_tanh_slope(run: Run, site: Site, flat: Flat) -> Flat:
    """The derivative of x·sigmoid(2u), u = √(2/π)·(x + 0.044715·x³)."""
    with guarded(_guard(flat, 3)):
        factor = 2 * (2 / arb.pi()).sqrt()
        cubic = arb(fmpq(44715, 1000000))
        arguments = [factor * (x + cubic * (x * x * x)) for x in flat]
        slopes = [factor * (1 + 3 * cubic * (x * x)) for x in flat]
        found = _sigmoid_slope(run, site, flat, arguments, slopes)
    return [+each for each in found]


FUNCTIONS: dict[str, Callable[[Run, Site, Flat], Flat]] = {
    "gaussian": _gaussian,
    "gelu_slope": _gelu_slope,
    "silu_slope": _silu_slope,
    "gelu_tanh_slope": _gelu_tanh_slope,
}
"""Functions of points."""
