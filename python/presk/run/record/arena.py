"""Places in the arena: every buffer from the first step that touches it to the last, and no longer.

A buffer touched in a loop that it outlives is kept for the whole loop. The two buffers of a swap share one life.
Buffers are placed largest first at the lowest offset that is free for all their life.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from presk.kernel.nodes import Element
from presk.run.record.coalesce import moved, names
from presk.run.record.schedule import Name, Region, Repeat, Step, Swap, View

ALIGNMENT = 64
"""Bytes every buffer begins at a multiple of: a cache line, and more than any vector."""

BITS = {"f64": 64, "f32": 32, "bf16": 16, "i64": 64, "bool": 8, "int8": 8, "int4": 4}
"""Bits of an element at rest."""


@dataclass
class _Life:
    """From the first step that touches a buffer to the last.

    `blocks` are the loops around each use, outermost first.
    """

    first: int
    last: int
    common: tuple[tuple[int, int], ...]


def place(
    steps: tuple[Step, ...], regions: list[tuple[Element, int]]
) -> tuple[tuple[Region, ...], int, tuple[Step, ...]]:
    """Regions, the arena's size in bytes, and the steps over the buffers that are left, numbered anew."""
    lives, pairs = _lives(steps)
    groups = _joined(lives, pairs)
    kept = sorted(lives, key=lambda name: name.number)
    numbers = {name: Name("a", at) for at, name in enumerate(kept)}
    offsets: dict[Name, int] = {}
    placed = np.zeros((4, 0), np.int64)
    for name in sorted(kept, key=lambda each: (-_bytes(regions[each.number]), each.number)):
        first, last = groups[name]
        size = _bytes(regions[name.number])
        offsets[name] = offset = _lowest(placed, size, first, last)
        row = int(np.searchsorted(placed[0], offset))
        placed = np.insert(placed, row, (offset, offset + size, first, last), axis=1)
    arena = int(placed[1].max(initial=0))
    found = tuple(Region(*regions[name.number], offsets[name]) for name in kept)
    return found, arena, tuple(_renamed(step, numbers) for step in steps)


def _lowest(placed: NDArray[np.int64], size: int, first: int, last: int) -> int:
    """The lowest offset with so much room from one step to another, beside what has its place.

    `placed` has a column for each: its offset, by which they are in order, its end, and the steps of its life.
    """
    low, high, begin, end = placed
    at_once = (begin <= last) & (first <= end)
    ends = np.maximum.accumulate(np.concatenate(([0], high[at_once])))
    fits = np.flatnonzero(ends[:-1] + size <= low[at_once])
    return int(ends[fits[0]] if fits.size else ends[-1])


def _bytes(region: tuple[Element, int]) -> int:
    """The room of a buffer, at least one line, so that no two begin at one place."""
    element, count = region
    needed = (count * BITS[element.kind] + 7) // 8
    return max(ALIGNMENT, -(-needed // ALIGNMENT) * ALIGNMENT)


def _lives(steps: tuple[Step, ...]) -> tuple[dict[Name, _Life], list[tuple[Name, Name]]]:
    """The life of each buffer of the arena, and the pairs that swap."""
    uses: dict[Name, list[tuple[int, tuple[tuple[int, int], ...]]]] = {}
    pairs: list[tuple[Name, Name]] = []
    ends: dict[int, int] = {}
    counter = 0

    def walk(inner: tuple[Step, ...], around: tuple[tuple[int, int], ...]) -> None:
        nonlocal counter
        for step in inner:
            counter += 1
            if isinstance(step, Repeat):
                begin = counter
                walk(step.steps, (*around, (begin, step.counter)))
                counter += 1
                ends[begin] = counter
                continue
            if isinstance(step, Swap):
                pairs.append((step.first, step.second))
            for name in names(step):
                if name.space == "a":
                    uses.setdefault(name, []).append((counter, around))

    walk(steps, ())
    return {name: _life(found, ends) for name, found in uses.items()}, pairs


def _life(uses: list[tuple[int, tuple[tuple[int, int], ...]]], ends: dict[int, int]) -> _Life:
    """A use in a loop that not all uses are in counts as the whole loop."""
    common = uses[0][1]
    for _, around in uses[1:]:
        shared = 0
        while shared < min(len(common), len(around)) and common[shared] == around[shared]:
            shared += 1
        common = common[:shared]
    first, last = uses[0][0], uses[-1][0]
    for _, around in uses:
        if len(around) > len(common):
            begin = around[len(common)][0]
            first, last = min(first, begin), max(last, ends[begin])
    return _Life(first, last, common)


def _joined(lives: dict[Name, _Life], pairs: list[tuple[Name, Name]]) -> dict[Name, tuple[int, int]]:
    """The life of each buffer, swapped ones having their pair's."""
    spans = {name: (life.first, life.last) for name, life in lives.items()}
    changed = True
    while changed:
        changed = False
        for one, other in pairs:
            both = (min(spans[one][0], spans[other][0]), max(spans[one][1], spans[other][1]))
            if spans[one] != both or spans[other] != both:
                spans[one] = spans[other] = both
                changed = True
    return spans


def _renamed(step: Step, numbers: dict[Name, Name]) -> Step:
    """The step over the new numbers.

    In two rounds, by way of names no schedule has, so that no new name is renamed again.
    """
    if isinstance(step, Repeat):
        return replace(step, steps=tuple(_renamed(each, numbers) for each in step.steps))
    if isinstance(step, Swap):
        return Swap(numbers[step.first], numbers[step.second])
    marks = {name: Name("a", -1 - numbers[name].number) for name in names(step) if name.space == "a"}
    for name, mark in marks.items():
        step = cast(Step, moved(step, name, View(mark)))
    for name, mark in marks.items():
        step = cast(Step, moved(step, mark, View(numbers[name])))
    return step
