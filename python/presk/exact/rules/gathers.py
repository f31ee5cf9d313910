"""Look-ups and updates at run-time nats, one_hot, scatter_add, sort and top_k, and the updates of slices.

An undefined index makes undefined what is read or written with it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from presk.exact import decisions
from presk.exact.context import Frame
from presk.exact.elements import Depends, Undefined
from presk.exact.layouts import Flat, offsets, pick, repeated, strides
from presk.exact.reals import Reals
from presk.exact.rules.reductions import Rows
from presk.exact.rules.task import Compute, Task, Value, entries, volume
from presk.primitives.fitting import match_same_rank
from presk.shapes.align import align
from presk.shapes.types import Shape, Tensor


def like(source: Value, flat: Flat) -> Value:
    """Elements taken from a value, as a value of its kind."""
    return Reals(flat, settled=source.settled, age=source.age) if isinstance(source, Reals) else flat


class Slices:
    """A tensor's slices along one axis: `outer` runs of `size` slices of `inner` elements."""

    def __init__(self, sizes: tuple[int, ...], axis: int) -> None:
        self.outer = volume(sizes[:axis])
        self.size = sizes[axis]
        self.inner = volume(sizes[axis + 1 :])

    def at(self, flat: Flat, outer: int, index: Any) -> Flat:
        """One slice's elements within one outer position."""
        if isinstance(index, Undefined):
            return [index] * self.inner
        start = (outer * self.size + index) * self.inner
        return flat[start : start + self.inner]


def plan_take(task: Task) -> Compute:
    """take, index and embed: slices at indices, whose axes stand in the axis's place."""
    axis = 0 if task.site.primitive == "embed" else task.axis()
    slices = Slices(task.sizes(0), axis)

    def compute(frame: Frame, x: Value, index: Flat) -> Value:
        flat = entries(x)
        found: Flat = []
        for outer in range(slices.outer):
            for at in index:
                found += slices.at(flat, outer, at)
        return like(x, found)

    return compute


def plan_one_hot(task: Task) -> Compute:
    """one_hot"""
    size = task.output.sizes[-1]
    zero, one = arb(0), arb(1)

    def compute(frame: Frame, index: Flat) -> Reals:
        flat: Flat = []
        for at in index:
            if isinstance(at, Undefined):
                flat += [at] * size
            else:
                flat += [one if place == at else zero for place in range(size)]
        return Reals(flat, settled=True, age=0)

    return compute


def plan_gather(task: Task) -> Compute:
    """gather: element by element along an axis."""
    x, index = task.tensor(0), task.tensor(1)
    axis = task.axis()
    sizes, out = x.sizes, task.output.sizes
    places = match_same_rank(x.axes, index, free=axis)
    spread = repeated(out, places)
    steps = strides(sizes)
    bases = offsets(out, [0 if at == axis else step for at, step in enumerate(steps)])
    step = steps[axis]

    def compute(frame: Frame, x: Value, index: Flat) -> Value:
        flat = entries(x)
        wanted = zip(bases, pick(spread, index), strict=True)
        return like(x, [at if isinstance(at, Undefined) else flat[base + at * step] for base, at in wanted])

    return compute


def plan_scatter_add(task: Task) -> Compute:
    """scatter_add: slices of v added at the indices."""
    x, index = task.tensor(0), task.tensor(1)
    axis = task.axis()
    slices = Slices(x.sizes, axis)
    full: Shape = (*x.axes[:axis], *index.axes, *x.axes[axis + 1 :])
    spread = repeated(Tensor("real", full).sizes, align([full, task.tensor(2).axes]).places[1])

    def compute(frame: Frame, x: Reals, index: Flat, values: Reals) -> Reals:
        flat = list(x.points())
        added = iter(pick(spread, values.points()))
        for outer in range(slices.outer):
            for at in index:
                start = 0 if isinstance(at, Undefined) else (outer * slices.size + at) * slices.inner
                for place in range(slices.inner):
                    term = next(added)
                    if isinstance(at, Undefined):
                        _spoil(flat, slices, outer, place, at)
                    else:
                        flat[start + place] = flat[start + place] + term
        return frame.run.reals(flat)

    return compute


def _spoil(flat: Flat, slices: Slices, outer: int, place: int, by: Undefined) -> None:
    """Makes every element undefined that may have been meant."""
    for index in range(slices.size):
        flat[(outer * slices.size + index) * slices.inner + place] = by


def plan_sort(task: Task) -> Compute:
    """sort: ascending."""
    rows = Rows(task.sizes(0), (task.axis(),))
    site = task.site

    def one(frame: Frame, row: Flat) -> Flat:
        try:
            order = decisions.ordered(frame.run, site, row, range(len(row) - 1, -1, -1))
        except Depends as found:
            return [found.element] * len(row)
        return [row[at] for at in reversed(order)]

    def compute(frame: Frame, x: Reals) -> Reals:
        return Reals(rows.back([one(frame, row) for row in rows.of(x.points())]), settled=True, age=0)

    return compute


def plan_top_k(task: Task) -> Compute:
    """top_k: the largest, descending, and their positions."""
    axis = task.axis()
    sizes = task.sizes(0)
    k = task.whole("k")
    last = task.word("ties", "last") == "last"
    rows = Rows(sizes, (axis,))
    back = Rows((*sizes[:axis], k, *sizes[axis + 1 :]), (axis,))
    site = task.site

    def one(frame: Frame, row: Flat) -> tuple[Flat, Flat]:
        places = range(len(row) - 1, -1, -1) if last else range(len(row))
        try:
            order = decisions.ordered(frame.run, site, row, places)[:k]
        except Depends as found:
            return [found.element] * k, [found.element] * k
        return [row[at] for at in order], list(order)

    def compute(frame: Frame, x: Reals) -> tuple[Reals, Flat]:
        found = [one(frame, row) for row in rows.of(x.points())]
        values = Reals(back.back([values for values, _ in found]), settled=True, age=0)
        return values, back.back([order for _, order in found])

    return compute


def plan_update_index(task: Task) -> Compute:
    """update_index: x with one slice replaced."""
    x, value = task.tensor(0), task.tensor(1)
    axis = task.axis()
    slices = Slices(x.sizes, axis)
    rest: Shape = (*x.axes[:axis], *x.axes[axis + 1 :])
    spread = repeated(tuple(size for at, size in enumerate(x.sizes) if at != axis), align([rest, value.axes]).places[1])

    def compute(frame: Frame, x: Value, value: Value, index: Flat) -> Value:
        flat = list(entries(x))
        new = pick(spread, entries(value))
        at = index[0]
        if isinstance(at, Undefined):
            return like(x, [at] * len(flat))
        for outer in range(slices.outer):
            start = (outer * slices.size + at) * slices.inner
            flat[start : start + slices.inner] = new[outer * slices.inner : (outer + 1) * slices.inner]
        return joined_like(x, value, flat)

    return compute


def plan_update_slice(task: Task) -> Compute:
    """update_slice: x with a run of slices replaced."""
    x, value = task.tensor(0), task.tensor(1)
    axis = task.axis()
    start = task.whole("start")
    slices = Slices(x.sizes, axis)
    places = match_same_rank(x.axes, value, free=axis)
    length = value.sizes[places.index(axis)]
    spread = repeated((*x.sizes[:axis], length, *x.sizes[axis + 1 :]), places)

    def compute(frame: Frame, x: Value, value: Value) -> Value:
        flat = list(entries(x))
        new = pick(spread, entries(value))
        run = length * slices.inner
        for outer in range(slices.outer):
            first = (outer * slices.size + start) * slices.inner
            flat[first : first + run] = new[outer * run : (outer + 1) * run]
        return joined_like(x, value, flat)

    return compute


def joined_like(x: Value, y: Value, flat: Flat) -> Value:
    """Elements taken from two values of one kind."""
    if not isinstance(x, Reals):
        return flat
    return Reals(flat, settled=x.settled and y.settled, age=max(x.age, y.age))


PLANNERS: dict[str, Callable[[Task], Compute]] = {
    "take": plan_take,
    "index": plan_take,
    "embed": plan_take,
    "one_hot": plan_one_hot,
    "gather": plan_gather,
    "scatter_add": plan_scatter_add,
    "sort": plan_sort,
    "top_k": plan_top_k,
    "update_index": plan_update_index,
    "update_slice": plan_update_slice,
}
