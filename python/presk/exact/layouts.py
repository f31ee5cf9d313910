"""Row-major index arithmetic, done once when a program is compiled: permutations, repetitions, rows of a reduction.

A `Picker` turns a row-major list into the list of another order; the identity is None, so that nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any, TypeAlias

Flat: TypeAlias = list[Any]
Picker: TypeAlias = Callable[[Sequence[Any]], Flat] | None


def strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """How far one step along each axis is in row-major order."""
    out = [1] * len(sizes)
    for at in range(len(sizes) - 2, -1, -1):
        out[at] = out[at + 1] * sizes[at + 1]
    return tuple(out)


def offsets(sizes: Sequence[int], steps: Sequence[int]) -> list[int]:
    """For every index in row-major order, the sum of index times step over the axes."""
    out = [0]
    for size, step in zip(sizes, steps, strict=True):
        out = [base + at * step for base in out for at in range(size)]
    return out


def picker(order: Sequence[int], length: int) -> Picker:
    """Picks the elements at `order` from a list of `length`; None where that is the list itself."""
    if len(order) == length and all(at == source for at, source in enumerate(order)):
        return None
    if not order:
        return lambda flat: []
    if len(order) == 1:
        sole = order[0]
        return lambda flat: [flat[sole]]
    chosen = itemgetter(*order)
    return lambda flat: list(chosen(flat))


def permuted(sizes: Sequence[int], axes: Sequence[int]) -> Picker:
    """Picks the elements so that the axes come in the order `axes`."""
    steps = strides(sizes)
    order = offsets([sizes[axis] for axis in axes], [steps[axis] for axis in axes])
    return picker(order, prod(sizes))


def repeated(sizes: Sequence[int], places: Sequence[int]) -> Picker:
    """Picks from an operand, whose axis i stands at `places[i]` of the result of `sizes`, an element for each of the
    result's.

    The operand's sizes are those of the result at its places.
    """
    own = [sizes[place] for place in places]
    steps = [0] * len(sizes)
    for place, step in zip(places, strides(own), strict=True):
        steps[place] = step
    length = prod(own)
    if list(places) == list(range(len(sizes) - len(places), len(sizes))):
        times = prod(sizes[: len(sizes) - len(places)])
        return None if times == 1 else (lambda flat: list(flat) * times)
    return picker(offsets(sizes, steps), length)


def pick(chosen: Picker, flat: Flat) -> Flat:
    """The picked elements; the list itself for the identity."""
    return flat if chosen is None else chosen(flat)


def rows_of(flat: Flat, length: int, count: int) -> list[Flat]:
    """`count` consecutive rows of a list."""
    return [flat[at * length : (at + 1) * length] for at in range(count)]


def position_text(names: Sequence[str | None], sizes: Sequence[int], flat: int) -> str:
    """`[batch = 2, 3]`: the row-major position `flat` of a tensor, for a message."""
    if not sizes:
        return ""
    steps = strides(sizes)
    parts: list[str] = []
    for name, size, step in zip(names, sizes, steps, strict=True):
        at = flat // step % size if size else 0
        parts.append(str(at) if name is None else f"{name} = {at}")
    return f"[{', '.join(parts)}]"


def all_indices(sizes: Sequence[int]) -> product[tuple[int, ...]]:
    """Every multi-index in row-major order."""
    return product(*(range(size) for size in sizes))
