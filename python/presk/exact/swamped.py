"""Radii that have swamped their values: where a certified loop has no digit left, and its exponents run away.

A ball without a digit may still lead to a proven result: sine and sigmoid are bounded, a factor may be 0. But radii
that are squared in every round double their exponents, until no memory holds them. So an element whose radius is beyond
LARGEST_RADIUS, and whose ball holds 0, is undefined from there on (E6008): that is an error, with the place where it
happened, only if a result depends on it.
"""

from __future__ import annotations

from itertools import repeat
from operator import lt
from typing import Any, cast

from flint import arb

from presk.exact.elements import Element, Site, Undefined, ball_of
from presk.exact.reals import Reals
from presk.exact.rules.task import Value

LARGEST_RADIUS = arb((1, 1 << 16))
"""Far beyond every machine number, and its cube; and an exponent of it is still a small number."""


def refuse(state: Value, site: Site, outside: tuple[int, ...], index: int, trips: int, path: str = "") -> Value:
    """A loop's state after the round that took element `index`, swamped elements undefined."""
    if isinstance(state, Reals):
        if not runs_away(state):
            return state
        where = f"round {index} of {trips}" + (f", within rounds {list(outside)}" if outside else "")
        reason = f"keeps no digit of its state{path}: the radius runs away in {where}"
        flat = [_kept(site, reason, at, x) for at, x in enumerate(state.entries())]
        return Reals(flat, settled=True, age=0)
    if isinstance(state, dict):
        fields = cast(dict[str, Value], state)
        return {name: refuse(each, site, outside, index, trips, f"{path}.{name}") for name, each in fields.items()}
    if isinstance(state, tuple):
        parts = cast(tuple[Value, ...], state)
        return tuple(refuse(each, site, outside, index, trips, f"{path}.{at}") for at, each in enumerate(parts))
    return state


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


def _kept(site: Site, reason: str, at: int, x: Any) -> Element:
    return Undefined(site, reason, at, code="E6008", undecided=True) if is_swamped(x) else x
