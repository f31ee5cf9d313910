"""`where` on balls that straddle its condition: the hull of what both branches give, each where its condition holds.

`where(x > 0, sqrt(x), 0)` on a ball around 0 has a value, though neither the mask nor the root of the ball has: it is
the hull of the root of the ball's positive part and 0. So a branch is computed once more from the numbers that the mask
compares, clipped to what the mask says of them; only where a mask is undecided, and when certifying. A mask that may
itself be undefined chooses nothing. Where two branches are apart, the run notes that more bits may tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace as replaced
from functools import cached_property
from typing import Any, TypeAlias

from flint import arb

from presk.core import nodes
from presk.core.operands import numbers_in
from presk.exact.context import Frame, Run
from presk.exact.elements import Element, Tracked, Undefined, enclosure_of
from presk.exact.facts import Facts, Ordered, Step
from presk.exact.intervals import ZERO, clipped, ends, hull_of
from presk.exact.layouts import Flat
from presk.exact.reals import Reals
from presk.exact.rules import elementwise
from presk.exact.rules.elementwise import Operand
from presk.exact.rules.task import Value, as_tensor, entries, replace, volume, walk
from presk.shapes.align import align
from presk.shapes.types import Shape, Tensor, Type

Read: TypeAlias = Callable[[Frame], Value]
Reader: TypeAlias = Callable[[nodes.Operand], Read]

MOST_APART = 64
"""Undecided places whose branches are computed one by one; branches of elementwise functions take all at once."""

Bounds: TypeAlias = tuple[arb | None, arb | None]


@dataclass(frozen=True)
class Clip:
    """What a mask says of one tensor: `bounds` of the element at `places` for each element of the comparison."""

    number: int
    path: tuple[str, ...]
    places: list[int]
    bounds: Callable[[Frame, int], Bounds]


@dataclass(frozen=True)
class Branch:
    """How a branch is computed once more: the clips by the let they belong to, the steps in order, and its reader."""

    clips: dict[int, list[tuple[Clip, list[int]]]]
    steps: tuple[tuple[int, Step | None], ...]
    read: Read
    together: bool

    def values(self, frame: Frame, masks: list[int]) -> list[Flat | None]:
        """For each of these places of the mask the branch's elements; None where that takes too long."""
        if self.together:
            return [self._again(frame, masks)] * len(masks)
        return [self._again(frame, [mask]) if at < MOST_APART else None for at, mask in enumerate(masks)]

    def _again(self, frame: Frame, masks: list[int]) -> Flat:
        before = list(frame.values)
        try:
            for number, step in self.steps:
                if step is not None:
                    step(frame)
                for clip, comparison_places in self.clips.get(number, ()):
                    _clip(frame, clip, [comparison_places[mask] for mask in masks])
            return entries(self.read(frame))
        finally:
            frame.values[:] = before


def _clip(frame: Frame, clip: Clip, comparisons: list[int]) -> None:
    steps = tuple(int(name) if name.isdigit() else name for name in clip.path)
    flat = list(entries(walk(frame.values[clip.number], steps)))
    for at in comparisons:
        place = clip.places[at]
        element, bounds = flat[place], clip.bounds(frame, at)
        if not isinstance(element, Undefined):
            part = clipped(enclosure_of(element), *bounds)
            flat[place] = Tracked(part, element.terms, element.term) if isinstance(element, Tracked) else part
    part_of = Reals(flat, settled=True, age=0)
    frame.values[clip.number] = replace(frame.values[clip.number], clip.path, part_of)


class Choice:
    """A `where` of reals, as it is compiled. How its branches are computed again is found when that is first wanted."""

    def __init__(
        self,
        let: nodes.Let,
        value: nodes.Apply,
        facts: Facts,
        type_of: Callable[[nodes.Operand], Type],
        reader: Callable[[nodes.Operand], Read],
    ) -> None:
        self.let = let
        self.operands = value.operands
        self.types = tuple(map(type_of, value.operands))
        self.facts = facts
        self.reader = reader

    @cached_property
    def places(self) -> tuple[list[int], ...]:
        """For each element of the result that of the mask and of either branch."""
        return tuple(_indices(self.let, self.types, at) for at in range(3))

    @cached_property
    def branches(self) -> tuple[Branch | None, ...]:
        """How the branches are computed once more."""
        mask, left, right = self.operands
        axes = as_tensor(self.types[0]).axes
        return tuple(
            _branch(self.facts, self.reader, self.facts.orders(mask, truth), branch, axes)
            for truth, branch in ((True, left), (False, right))
        )

    def resolve(self, frame: Frame, chosen: Flat, x: Value, y: Value, found: Reals) -> Reals:
        """The value with hulls where the mask is undecided."""
        run = frame.run
        masks = [at for at, mask in enumerate(chosen) if _may_be_either(run, mask)]
        if not masks:
            return found
        sides: list[dict[int, Flat | None]] = []
        for branch, value in zip(self.branches, (x, y), strict=True):
            given = [entries(value)] * len(masks) if branch is None else branch.values(frame, masks)
            sides.append(dict(zip(masks, given, strict=True)))
        flat = list(found.entries())
        for at, (mask, left, right) in enumerate(zip(*self.places, strict=True)):
            lefts, rights = (side.get(mask) for side in sides)
            if lefts is not None and rights is not None:
                flat[at] = _hull(run, chosen[mask], lefts[left], rights[right])
        return Reals(flat, settled=True, age=0)


def _may_be_either(run: Run, mask: Any) -> bool:
    if not isinstance(mask, Undefined) or not mask.open:
        return False
    return not mask.alike or run.terms is not None


def _hull(run: Run, mask: Undefined, left: Element, right: Element) -> Element:
    if isinstance(left, Undefined) or isinstance(right, Undefined):
        return mask
    a, b = enclosure_of(left), enclosure_of(right)
    if a < b or a > b:
        run.hulls.append(mask)
    found = hull_of(a, b)
    return found if run.terms is None else Tracked(found, run.terms, run.terms.of("either", id(mask), id(found)))


def _branch(facts: Facts, reader: Reader, orders: list[Ordered], operand: nodes.Operand, axes: Shape) -> Branch | None:
    """How a branch is computed from clipped numbers; None where the mask says nothing of what it is computed from."""
    wanted = facts.ancestors(operand) if orders else set[int]()
    clips: dict[int, list[tuple[Clip, list[int]]]] = {}
    together = True
    for order in orders:
        places, same = _places(facts, order)
        for clip, alike in _clips(facts, reader, order):
            for number in sorted(wanted):
                if facts.same(number) == facts.same(clip.number):
                    clips.setdefault(number, []).append((replaced(clip, number=number), places))
                    together = together and same and alike
    if not clips:
        return None
    steps: list[tuple[int, Step | None]] = [(number, None) for number in clips if number not in facts.lets]
    touched = {number for number, _ in steps}
    for number, let in facts.lets.items():
        if number not in wanted:
            continue
        again = bool(numbers_in(let.value) & touched)
        if again or number in clips:
            touched.add(number)
            steps.append((number, facts.steps[number] if again else None))
            together = together and (not again or _is_elementwise(let, axes))
    return Branch(clips, tuple(steps), reader(operand), together)


def _is_elementwise(let: nodes.Let, axes: Shape) -> bool:
    value = let.value
    if not isinstance(value, nodes.Apply) or value.primitive not in elementwise.PLANNERS:
        return False
    return isinstance(let.type, Tensor) and let.type.axes == axes


def _places(facts: Facts, order: Ordered) -> tuple[list[int], bool]:
    """For each place of the mask that of the comparison, and whether they are the same."""
    places: list[int] | None = None
    same = True
    for let, position in order.path:
        inner = _indices(let, facts.operand_types[let.number], position)
        same = same and inner == list(range(len(inner)))
        places = inner if places is None else [inner[at] for at in places]
    if places is None:
        return list(range(volume(as_tensor(order.comparison.type).sizes))), True
    return places, same


def _clips(facts: Facts, reader: Reader, order: Ordered) -> list[tuple[Clip, bool]]:
    """What a comparison says of its operands and their difference; and whether each lies along it as it is."""
    let = order.comparison
    types = facts.operand_types[let.number]
    plain = list(range(volume(as_tensor(let.type).sizes)))
    above = 1 if order.second else 0
    of_greater, of_less = _indices(let, types, above), _indices(let, types, 1 - above)
    greater, less = reader(order.greater), reader(order.less)

    def at_least(frame: Frame, at: int) -> Bounds:
        return _end(entries(less(frame))[of_less[at]], 0), None

    def at_most(frame: Frame, at: int) -> Bounds:
        return None, _end(entries(greater(frame))[of_greater[at]], 1)

    out: list[tuple[Clip, bool]] = []
    for operand, own, bounds in ((order.greater, of_greater, at_least), (order.less, of_less, at_most)):
        if isinstance(operand, nodes.Ref):
            out.append((Clip(operand.number, operand.path, own, bounds), own == plain))
    for pair, fixed in (((order.greater, order.less), (ZERO, None)), ((order.less, order.greater), (None, ZERO))):
        number = facts.number_of(facts.key("sub", *pair))
        if number is not None:
            out.append((Clip(number, (), plain, _always(fixed)), True))
    return out


def _always(bounds: Bounds) -> Callable[[Frame, int], Bounds]:
    return lambda frame, at: bounds


def _end(element: Element, side: int) -> arb | None:
    """An element's lower or upper end."""
    return None if isinstance(element, Undefined) else ends(enclosure_of(element))[side]


def _indices(let: nodes.Let, operands: tuple[Type, ...], position: int) -> list[int]:
    """For each element of an elementwise let that of one operand."""
    alignment = align([as_tensor(of).axes for of in operands])
    laid = Operand(as_tensor(let.type).sizes, alignment.places[position])
    return list(laid.along(list(range(laid.own))))
