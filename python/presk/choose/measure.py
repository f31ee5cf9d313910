"""How far machine results are from exact ones, output by output.

Every distance is a proven upper bound where the exact values carry radii: the far end of the ball around the exact
number, rounded up to a double; where they carry none it is the distance from their midpoints. Nothing is averaged away:
an element that is defined over the reals and NaN or infinite on the machine is infinitely far, and so, relatively, is
one that is 0 over the reals (or can't be told from 0) and isn't on the machine. Called by `choose.gap` and
`choose.conformance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import mpmath
import numpy as np
from flint import arb
from numpy.typing import NDArray

from presk.exact.layouts import position_text
from presk.exact.precision import working
from presk.exact.rounding import round_point
from presk.exact.rules.task import names_of
from presk.exact.values import ExactArray, to_mpf
from presk.run import trees
from presk.shapes import types
from presk.shapes.types import Tensor, Type

GUARD = 64
"""Bits beyond the reference's own at which distances are taken."""

SHOWN_DIGITS = 20
"""Digits of the exact number at the worst element."""

SOLE = "result"
"""The name of a result that is one tensor."""

NORMS = ("rel", "abs", "max")
"""Relative element by element; absolute; absolute over the output's largest magnitude."""

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deviation:
    """One measure over an output's elements: the worst and where it stands (None where all are 0), and the median."""

    worst: float
    median: float
    where: Index | None


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its place, also in words, its exact value in digits, and the machine's."""

    where: Index
    place: str
    exact: str
    machine: float


@dataclass(frozen=True, slots=True)
class OutputGap:
    """The gap of one output of real numbers.

    `absolute` and `relative` are element by element, `scaled` is the worst absolute one over the largest magnitude.
    `radius` is the largest proof radius, None where none is kept. `nan` and `infinite` count elements that are defined
    over the reals and lost on the machine, `zeros` those without a relative gap: 0 over the reals, or not to be told
    from it, and something else on the machine. `worst` is the element that is farthest relatively.
    """

    name: str
    type: str
    stored: str
    elements: int
    absolute: Deviation
    relative: Deviation
    scaled: float
    radius: float | None
    nan: int
    infinite: int
    zeros: int
    worst: Element | None

    @property
    def lost(self) -> int:
        """Elements that are defined over the reals and no number on the machine."""
        return self.nan + self.infinite

    def by(self, norm: str) -> float:
        """The worst gap in one of NORMS."""
        return {"rel": self.relative.worst, "abs": self.absolute.worst, "max": self.scaled}[norm]


@dataclass(frozen=True, slots=True)
class Decided:
    """An output of nats or truth values: how many elements are others than the exact ones, and the first of them."""

    name: str
    type: str
    stored: str
    elements: int
    different: int
    first: Index | None
    exact: int | None
    machine: int | None

    def by(self, norm: str) -> float:
        """0 where every element is the exact one, else infinity: a wrong decision has no size."""
        return math.inf if self.different else 0.0


Output = OutputGap | Decided


def measure(of: Type, exact: Any, machine: Any) -> tuple[Output, ...]:
    """The gap of every tensor of a result, in declaration order."""
    kinds = types.leaves(of)
    pairs = zip(kinds, trees.leaves(exact), trees.leaves(machine), strict=True)
    return tuple(_output(".".join(path) or SOLE, tensor, x, y) for (path, tensor), (_, x), (_, y) in pairs)


def _output(name: str, of: Tensor, exact: Any, machine: Any) -> Output:
    if of.kind == "real":
        return _real(name, of, exact, np.asarray(machine))
    return _decided(name, of, np.asarray(exact), np.asarray(machine))


def _decided(name: str, of: Tensor, exact: NDArray[Any], machine: NDArray[Any]) -> Decided:
    different = np.argwhere(exact != machine)
    first = tuple(int(at) for at in different[0]) if len(different) else None
    found = (None, None) if first is None else (int(exact[first]), int(machine[first]))
    return Decided(name, types.show(of), machine.dtype.name, machine.size, len(different), first, *found)


def _real(name: str, of: Tensor, exact: ExactArray, machine: NDArray[Any]) -> OutputGap:
    numbers = machine.astype(np.float64).reshape(-1)
    balls = exact.balls()
    with working(exact.bits + GUARD):
        absolute, relative = distances(balls, numbers.tolist())
        largest = max((_down(ball.abs_lower()) for ball in balls), default=0.0)
    worst = None
    if numbers.size and max(relative) > 0:
        at = relative.index(max(relative))
        digits = cast(Any, mpmath).nstr(to_mpf(balls[at].mid()), SHOWN_DIGITS)
        place = position_text(names_of(of), of.sizes, at)
        worst = Element(_index(of.sizes, at), place, str(digits), float(numbers[at]))
    nan = np.isnan(numbers)
    zeros = sum(math.isinf(r) and not math.isinf(a) for r, a in zip(relative, absolute, strict=True))
    return OutputGap(
        name,
        types.show(of),
        machine.dtype.name,
        machine.size,
        _deviation(of.sizes, absolute),
        _deviation(of.sizes, relative),
        scaled(max(absolute, default=0.0), largest),
        max((_up(ball.rad()) for ball in balls), default=0.0) if exact.certified else None,
        int(nan.sum()),
        int(np.isinf(numbers).sum()),
        zeros,
        worst,
    )


def distances(balls: Sequence[arb], numbers: Sequence[float]) -> tuple[list[float], list[float]]:
    """Upper bounds of each number's absolute and relative distance from the exact one. Only within `working`."""
    absolute: list[float] = []
    relative: list[float] = []
    for ball, number in zip(balls, numbers, strict=True):
        if not math.isfinite(number):
            absolute.append(math.inf)
            relative.append(math.inf)
            continue
        distance = (ball - arb(number)).abs_upper()
        least = ball.abs_lower()
        absolute.append(_up(distance))
        relative.append(0.0 if distance == 0 else _up((distance / least).abs_upper()) if least > 0 else math.inf)
    return absolute, relative


def scaled(distance: float, largest: float) -> float:
    """A distance over the largest magnitude there is."""
    return 0.0 if distance == 0 else distance / largest if largest else math.inf


def _deviation(sizes: Sequence[int], found: list[float]) -> Deviation:
    if not found:
        return Deviation(0.0, 0.0, None)
    worst = max(found)
    median = float(np.median(np.array(found)))
    return Deviation(worst, median, _index(sizes, found.index(worst)) if worst > 0 else None)


def _index(sizes: Sequence[int], flat: int) -> Index:
    return tuple(int(at) for at in np.unravel_index(flat, tuple(sizes)))


def _up(bound: arb) -> float:
    """An exact non-negative number as a double, rounded up."""
    found = float(round_point(bound, "f64"))
    return math.nextafter(found, math.inf) if arb(found) < bound else found


def _down(bound: arb) -> float:
    """An exact non-negative number as a double, rounded down."""
    found = float(round_point(bound, "f64"))
    return math.nextafter(found, 0.0) if math.isinf(found) or arb(found) > bound else found
