"""What a training on the reference proves: nothing by default, its radii where it certifies.

Midpoints are as good as rounding at the reference's bits, and prove nothing, which is said at the start. A certified
training carries the radii of parameters and state from step to step. A step that its bits can't decide is taken again
with more, from the same parameters: bits are raised within a step only, and so radii grow. Where nothing is left of the
loss or of a tensor of parameters the training ends at that step. Called by the loop.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from presk.exact.layouts import position_text
from presk.exact.precision import working
from presk.exact.values import ExactArray
from presk.run import trees
from presk.text.diagnostics import PreskError, fail

UNPROVEN = "not proven: the reference keeps midpoints; --certify carries their radii"

SHOWN_BITS = 128

LARGE = arb((1, -20))
"""A radius that is no longer small for a loss or for parameters, which may be 0 and not be seen to be."""


def swamped(step: int, measured: Any, parameters: Any) -> PreskError | None:
    """The error of a step after which no digit is left of a measure or of a tensor of parameters."""
    for path, leaf in (*trees.leaves(measured), *trees.leaves(parameters)):
        if not isinstance(leaf, ExactArray) or not leaf.size:
            continue
        balls = leaf.balls()
        largest = max((ball.abs_upper() for ball in (each.mid() for each in balls)), default=arb(0))
        radii = [ball.rad() for ball in balls]
        widest = max(radii)
        if widest > LARGE and widest >= largest:
            place = position_text(leaf.names, leaf.shape, radii.index(widest))
            what = f"step {step} keeps no digit of `{'.'.join(path)}`: its radius is {shown(widest)}"
            return fail(
                "E6008", f"{what}, at element {place}" if place else what, hint="more bits to begin with: --bits"
            )
    return None


def widest_radius(tree: Any) -> arb:
    """The largest radius of a tree's numbers."""
    leaves = [leaf for _, leaf in trees.leaves(tree) if isinstance(leaf, ExactArray)]
    return max((ball.rad() for leaf in leaves for ball in leaf.balls()), default=arb(0))


def summary(parameters: Any, losses: arb, raised: int) -> str:
    """What is proven of a training at its end; `losses`: the largest radius of a step's loss."""
    more = f"; {raised} steps took more bits" if raised else ""
    return (
        f"proven: the parameters to within {shown(widest_radius(parameters))}, "
        f"the losses to within {shown(losses)}{more}"
    )


def shown(radius: arb) -> str:
    """A radius in two digits, rounded up: `3.1e-67`."""
    with working(SHOWN_BITS):
        upper = radius.abs_upper()
        if upper == 0:
            return "0"
        exponent = int((upper.log() / arb(10).log()).floor().mid().fmpz())
        for places in (exponent, exponent + 1):
            tenths = int((upper * 10 / arb(10) ** places).upper().ceil().mid().fmpz())
            if 10 <= tenths <= 99:
                return f"{tenths // 10}.{tenths % 10}e{places}"
        return f"1.0e{exponent + 1}"
