"""How far machine results are from exact ones, output by output.

Every distance is a proven upper bound where the exact values carry radii: the far end of the ball around the exact
number, rounded up to a double; where they carry none it is the distance from their midpoints. A radius is never passed
off as an error: where it is more than a hundredth of the distance, the element is exact within what is said beside the
figures, or isn't known closely enough to have one; an element that can't be told from 0 has no relative one. Nothing is
averaged away: an element that is defined over the reals and NaN or infinite on the machine is infinitely far, and so,
relatively, is one that is 0 over the reals and isn't on the machine. Called by `choose.gap` and `choose.conformance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from presk.exact.digits import show, show_midpoint
from presk.exact.layouts import position_text
from presk.exact.precision import working
from presk.exact.proving import lacking, largest_magnitude
from presk.exact.rounding import round_point
from presk.exact.rules.task import names_of
from presk.exact.values import UNPROVEN, ExactArray
from presk.run import trees
from presk.shapes import types
from presk.shapes.types import Tensor, Type

GUARD = 64
"""Bits beyond the reference's own at which distances are taken."""

SHOWN_DIGITS = 20
"""Digits of the exact number at the worst element."""

NEGLIGIBLE = arb(2) ** -80
"""The part of an output's largest magnitude below which a radius needs not be told from an error."""

HUNDREDTH = arb(1) / 100
"""The part of a distance above which a radius would pass for some of it."""

SOLE = "result"
"""The name of a result that is one tensor."""

NORMS = ("rel", "abs", "max")
"""Relative element by element; absolute; absolute over the output's largest magnitude."""

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deviation:
    """One measure over an output's elements: the worst and where it stands (None where all are 0), and the median.

    None where no element has a figure.
    """

    worst: float | None
    median: float | None
    where: Index | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a gap is at most in each of NORMS, the reference's radius included."""

    rel: float
    abs: float
    max: float


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

    `absolute` and `relative` are element by element, `scaled` is the worst absolute one over the largest magnitude
    (None where that can't be told from 0). `radius` is the largest proof radius, None where none is kept. `nan` and
    `infinite` count elements that are defined over the reals and lost on the machine, `zeros` those that are 0 over the
    reals and something else on the machine, which have no relative gap; `untold` those that can't be told from 0, which
    have no relative figure. `within` elements are exact within `within_by`, which is negligible beside the largest;
    `rough` ones are within `rough_by`, and the reference's bits don't tell more: they have no figures. `bounds` is what
    the gap is at most, with all of these. `worst` is the element that is farthest relatively, or absolutely where none
    has a relative figure.
    """

    name: str
    type: str
    stored: str
    elements: int
    absolute: Deviation
    relative: Deviation
    scaled: float | None
    radius: float | None
    nan: int
    infinite: int
    zeros: int
    untold: int
    within: int
    within_by: float
    rough: int
    rough_by: float
    bounds: Bounds
    worst: Element | None

    @property
    def lost(self) -> int:
        """Elements that are defined over the reals and no number on the machine."""
        return self.nan + self.infinite

    @property
    def told(self) -> bool:
        """Whether the output's largest magnitude can be told from 0, so that shares of it mean something."""
        return self.scaled is not None

    def by(self, norm: str) -> float:
        """The worst figure in one of NORMS; NaN where there is none, which is below no limit."""
        found = {"rel": self.relative.worst, "abs": self.absolute.worst, "max": self.scaled}[norm]
        return math.nan if found is None else found

    def bound(self, norm: str) -> float:
        """What the gap is at most in one of NORMS, what has no figure included."""
        return {"rel": self.bounds.rel, "abs": self.bounds.abs, "max": self.bounds.max}[norm]


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

    def bound(self, norm: str) -> float:
        """The same."""
        return self.by(norm)


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


def closer_bits(of: Type, exact: Any, machine: Any, bits: int) -> int:
    """The bits at which no radius is likely to be more than a hundredth of its element's distance; `bits` if none is.

    Radii of less than a 2⁻⁸⁰th of the output's largest magnitude are negligible.
    """
    lack = 0
    for (_, tensor), (_, x), (_, y) in zip(types.leaves(of), trees.leaves(exact), trees.leaves(machine), strict=True):
        if tensor.kind == "real":
            with working(bits + GUARD):
                lack = max(lack, _lack(x.balls(), _numbers(y), bits))
    return bits + lack


def _lack(balls: Sequence[arb], numbers: Sequence[float], bits: int) -> int:
    floor = largest_magnitude(balls) * NEGLIGIBLE
    lack = 0
    for ball, number in zip(balls, numbers, strict=True):
        kind = _kind(ball, number, floor)
        if kind == "rough":
            distance = abs(ball.mid() - arb(number))
            known = distance * HUNDREDTH if distance > ball.rad() else arb(0)
            lack = max(lack, lacking(ball.rad(), max(known, floor), bits))
    return lack


def _numbers(machine: Any) -> list[float]:
    return np.asarray(machine).astype(np.float64).reshape(-1).tolist()


def _kind(ball: arb, number: float, floor: arb) -> str:
    """What an element's distance is: `lost`, `measured`, exact `within` a negligible bound, or known too `rough`ly."""
    if not math.isfinite(number):
        return "lost"
    radius = ball.rad()
    if radius == 0 or radius <= abs(ball.mid() - arb(number)) * HUNDREDTH:
        return "measured"
    return "within" if radius <= floor else "rough"


def _untold(ball: arb, number: float, noise: arb | None) -> bool:
    """Whether a number is known too roughly for a relative distance: its ball reaches half of the way to 0.

    A midpoint that nothing is proven of is, where it is less than `noise` times the machine's number.
    """
    if noise is not None:
        return bool(ball != 0) and math.isfinite(number) and bool(abs(ball) < noise * abs(arb(number)))
    return not ball.is_exact() and bool(2 * ball.rad() > abs(ball.mid()))


class _Elements:
    """The figures of an output's elements, None where there is none, and what they are at most. Within `working`."""

    def __init__(self, balls: Sequence[arb], numbers: Sequence[float], noise: arb | None) -> None:
        self.largest = largest_magnitude(balls)
        floor = self.largest * NEGLIGIBLE
        kinds = [_kind(ball, number, floor) for ball, number in zip(balls, numbers, strict=True)]
        untold = [_untold(ball, number, noise) for ball, number in zip(balls, numbers, strict=True)]
        farthest, ratios = distances(balls, numbers)
        figures = {"lost", "measured"}
        self.absolute = [
            by if kind in figures else 0.0 if kind == "within" else None
            for by, kind in zip(farthest, kinds, strict=True)
        ]
        self.relative = [
            None if by is None or (unknown and kind != "lost") else 0.0 if kind == "within" else ratio
            for by, ratio, unknown, kind in zip(self.absolute, ratios, untold, kinds, strict=True)
        ]
        self.untold = sum(unknown and kind != "lost" for unknown, kind in zip(untold, kinds, strict=True))
        self.within = [by for by, kind in zip(farthest, kinds, strict=True) if kind == "within"]
        self.rough = [by for by, kind in zip(farthest, kinds, strict=True) if kind == "rough"]
        self.farthest = max(farthest, default=0.0)
        told = (
            ratio
            for ratio, unknown, kind in zip(ratios, untold, kinds, strict=True)
            if not (unknown and kind == "within")
        )
        self.ratio = max(told, default=0.0)
        self.zeros = sum(
            r is not None and math.isinf(r) and a is not None and not math.isinf(a)
            for r, a in zip(self.relative, self.absolute, strict=True)
        )

    def worst(self) -> int | None:
        """The element that is farthest, relatively where it can be said; None where all are exact."""
        for figures in (self.relative, self.absolute):
            found = max((each or 0.0 for each in figures), default=0.0)
            if found > 0:
                return figures.index(found)
        return None


def _real(name: str, of: Tensor, exact: ExactArray, machine: NDArray[Any]) -> OutputGap:
    numbers = _numbers(machine)
    balls = exact.balls()
    with working(exact.bits + GUARD):
        found = _Elements(balls, numbers, None if exact.certified else arb(2) ** (-exact.bits // 2))
        largest = _down(found.largest)
        known = all(ball.is_zero() for ball in balls) or (
            largest > 0 and (exact.certified or found.untold < len(numbers))
        )
    absolute = _deviation(of.sizes, found.absolute)
    at = found.worst()
    return OutputGap(
        name,
        types.show(of),
        machine.dtype.name,
        machine.size,
        absolute,
        _deviation(of.sizes, found.relative),
        scaled(absolute.worst or 0.0, largest) if known else None,
        max((_up(ball.rad()) for ball in balls), default=0.0) if exact.certified else None,
        sum(map(math.isnan, numbers)),
        sum(map(math.isinf, numbers)),
        found.zeros,
        found.untold,
        len(found.within),
        max(found.within, default=0.0),
        len(found.rough),
        max(found.rough, default=0.0),
        Bounds(found.ratio, found.farthest, scaled(found.farthest, largest)),
        None if at is None else _element(of, at, exact, numbers[at]),
    )


def _element(of: Tensor, at: int, exact: ExactArray, machine: float) -> Element:
    ball = exact.balls()[at]
    shown = show(ball, SHOWN_DIGITS) if exact.certified else f"{UNPROVEN} {show_midpoint(ball, SHOWN_DIGITS)}"
    text = shown if isinstance(shown, str) else shown.middle if shown.digits >= SHOWN_DIGITS else str(shown)
    return Element(_index(of.sizes, at), position_text(names_of(of), of.sizes, at), text, machine)


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


def _deviation(sizes: Sequence[int], found: list[float | None]) -> Deviation:
    if not found:
        return Deviation(0.0, 0.0, None)
    known = [each for each in found if each is not None]
    if not known:
        return Deviation(None, None, None)
    worst = max(known)
    median = float(np.median(np.array(known)))
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
