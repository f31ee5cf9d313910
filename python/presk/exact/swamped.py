"""Loops whose numbers run away: radii that have swamped their values, and exponents without bounds.

A ball without a digit may still lead to a proven result: sine and sigmoid are bounded, a factor may be 0. But radii
that are squared in every round double their exponents, until no memory holds them. So an element whose radius is beyond
LARGEST_RADIUS, and whose ball holds 0, is undefined from there on (E6008); so is a number that was squared thousands of
times (E6006). Both are errors, with the place where it happened, only if a result depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from operator import lt
from typing import Any, cast

from flint import arb

from presk.exact.context import Run
from presk.exact.elements import Element, Site, Undefined, ball_of
from presk.exact.reals import Reals
from presk.exact.rules.exponentials import FARTHEST_BITS, OUT_OF_RANGE
from presk.exact.rules.task import Value

LARGEST_RADIUS = arb((1, 1 << 16))
"""Far beyond every machine number, and its cube; and an exponent of it is still a small number."""


ROUNDS = 64
"""Exponents are looked at every so many rounds: they get a bit more in each, where numbers are squared."""

LARGEST_EXPONENT_BITS = FARTHEST_BITS + 100
"""What an exponential's exponent has at most, and some: still soon printed."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round of a loop at `site`: it took element `index` of `trips`, within those of other loops."""

    site: Site
    outside: tuple[int, ...]
    index: int
    trips: int

    def __str__(self) -> str:
        within = f", within rounds {list(self.outside)}" if self.outside else ""
        return f"round {self.index} of {self.trips}{within}"


def refuse(state: Value, place: Round, run: Run, exponents: bool, path: str = "") -> Value:
    """A loop's state after a round, what has run away undefined: radii when certifying, `exponents` where asked for."""
    if isinstance(state, Reals):
        if run.certify and runs_away(state):
            run.lost = True
            reason = f"keeps no digit of its state{path}: the radius runs away in {place}"
            state = _without(state, place.site, reason, is_swamped, code="E6008", undecided=True)
        if exponents and any(map(is_out_of_range, state.entries())):
            run.lost = True
            reason = f"has a state{path} that {OUT_OF_RANGE} by {place}"
            state = _without(state, place.site, reason, is_out_of_range, code="E6006")
        return state
    if isinstance(state, dict):
        fields = cast(dict[str, Value], state)
        return {name: refuse(each, place, run, exponents, f"{path}.{name}") for name, each in fields.items()}
    if isinstance(state, tuple):
        parts = cast(tuple[Value, ...], state)
        return tuple(refuse(each, place, run, exponents, f"{path}.{at}") for at, each in enumerate(parts))
    return state


def _without(state: Reals, site: Site, reason: str, lost: Callable[[Element], bool], **how: Any) -> Reals:
    flat = [Undefined(site, reason, at, **how) if lost(x) else x for at, x in enumerate(state.entries())]
    return Reals(list(flat), settled=True, age=0)


def is_out_of_range(element: Element) -> bool:
    """Whether a number's exponent has thousands of bits."""
    if isinstance(element, Undefined):
        return False
    ball = ball_of(element)
    return ball.is_finite() and int(ball.mid().man_exp()[1]).bit_length() > LARGEST_EXPONENT_BITS


def runs_away(x: Reals) -> bool:
    """Whether an element is swamped."""
    flat = x.entries()
    try:
        return not all(map(lt, map(arb.rad, cast(list[arb], flat)), repeat(LARGEST_RADIUS)))
    except TypeError:
        return any(is_swamped(element) for element in flat)


def is_swamped(element: Element) -> bool:
    """Whether a radius has run away and nothing of the number is known."""
    if isinstance(element, Undefined):
        return False
    ball = ball_of(element)
    return not ball.rad() < LARGEST_RADIUS and not ball != 0
