"""Alignment: which axis of one operand meets which of another (language.md 3).

Each named axis of the lower-rank operand is found by its name in the other, if all are; its unnamed axes then match,
right to left, the axes left over. Otherwise its axes align to the trailing ones of the other, a name agreeing with
the same name or with none. Nothing is stretched. A run (`..`) aligns with itself only. It leads, but where a loop
stacked its results in front of it; then axes are found by name, or the shapes match entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from presk.shapes.types import Axis, Run, Shape, show_axis


class Misaligned(Exception):
    """Two operands that don't align (E3003): `message` says which axis, `hint` how to mend it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Alignment:
    """The result's axes, and for each operand the result position of each of its axes."""

    axes: Shape
    places: tuple[tuple[int, ...], ...]


def align(shapes: Sequence[Shape]) -> Alignment:
    """The alignment of an elementwise operation's operands. Raises Misaligned."""
    leader = max(range(len(shapes)), key=lambda at: (len(shapes[at]), has_run(shapes[at]), -at))
    axes = list(shapes[leader])
    places: list[tuple[int, ...]] = [()] * len(shapes)
    places[leader] = tuple(range(len(axes)))
    for at, shape in enumerate(shapes):
        if at == leader or not shape:
            continue
        place = match_axes(tuple(axes), shape, other_first=at < leader)
        places[at] = place
        for position, axis in zip(place, shape, strict=True):
            mine = axes[position]
            if isinstance(mine, Axis) and isinstance(axis, Axis) and mine.name is None and axis.name is not None:
                axes[position] = Axis(axis.name, mine.size)
    check_distinct(tuple(axes))
    return Alignment(tuple(axes), tuple(places))


def has_run(shape: Shape) -> bool:
    """Whether the shape begins with a run."""
    return bool(shape) and isinstance(shape[0], Run)


def match_axes(leading: Shape, other: Shape, *, other_first: bool = False) -> tuple[int, ...]:
    """For each axis of `other`, the position in `leading` it meets. Raises Misaligned.

    `other_first`: `other` stands left of `leading`, which matters only where a run's length would decide the order.
    """
    if _has_inner_run(leading) or _has_inner_run(other):
        return _match_inner_run(leading, other)
    leading_run, other_run = has_run(leading), has_run(other)
    mine = tuple(axis for axis in leading if isinstance(axis, Axis))
    theirs = tuple(axis for axis in other if isinstance(axis, Axis))
    if len(theirs) > len(mine):
        raise _depends_on_run(leading, other) if leading_run or other_run else _too_many(leading, other)
    if other_run and (not leading_run or leading[0] != other[0]):
        raise _depends_on_run(leading, other)
    places = _by_name(mine, theirs)
    if places is None and len(mine) == len(theirs):
        places = _inverse(_by_name(theirs, mine))
    if places is None:
        if other_run and len(mine) != len(theirs):
            raise _depends_on_run(leading, other)
        places = _trailing(mine, theirs, leading, other)
    elif leading_run and not other_run and other_first and len(mine) == len(theirs) and list(places) != sorted(places):
        raise _depends_on_run(leading, other)
    for position, axis in zip(places, theirs, strict=True):
        if mine[position].size != axis.size:
            raise _different_sizes(mine[position], axis, leading, other)
    shift = 1 if leading_run else 0
    shifted = tuple(position + shift for position in places)
    return (0, *shifted) if other_run else shifted


def check_distinct(axes: Shape) -> None:
    """Raises Misaligned where a name occurs twice."""
    seen: set[str] = set()
    for axis in axes:
        if isinstance(axis, Axis) and axis.name is not None:
            if axis.name in seen:
                raise Misaligned(
                    f"two axes of {_show(axes)} would be named `{axis.name}`",
                    "rename one of them first: `rename(x, a = b)`",
                )
            seen.add(axis.name)


def _has_inner_run(shape: Shape) -> bool:
    return any(isinstance(axis, Run) for axis in shape[1:])


def _match_inner_run(leading: Shape, other: Shape) -> tuple[int, ...]:
    """`match_axes` where a run stands behind an axis: every entry by its name, or all of them in order."""
    keys = [axis if isinstance(axis, Run) else axis.name for axis in leading]
    wanted = [axis if isinstance(axis, Run) else axis.name for axis in other]
    if len(leading) == len(other) and all(_may_meet(*pair) for pair in zip(keys, wanted, strict=True)):
        places = tuple(range(len(leading)))
    elif all(key is not None and key in keys for key in wanted):
        places = tuple(keys.index(key) for key in wanted)
    else:
        raise _depends_on_run(leading, other)
    if len(leading) == len(other) and list(places) != sorted(places):
        raise _depends_on_run(leading, other)
    for position, axis in zip(places, other, strict=True):
        mine = leading[position]
        if isinstance(mine, Axis) and isinstance(axis, Axis) and mine.size != axis.size:
            raise _different_sizes(mine, axis, leading, other)
    return places


def _may_meet(key: Run | str | None, other: Run | str | None) -> bool:
    if isinstance(key, Run) or isinstance(other, Run):
        return key == other
    return key is None or other is None or key == other


def _by_name(mine: tuple[Axis, ...], theirs: tuple[Axis, ...]) -> tuple[int, ...] | None:
    """Places with every named axis found by its name, or None where one isn't there."""
    found = {axis.name: position for position, axis in enumerate(mine) if axis.name is not None}
    places = [found.get(axis.name, -1) if axis.name is not None else -1 for axis in theirs]
    if any(place < 0 for place, axis in zip(places, theirs, strict=True) if axis.name is not None):
        return None
    left_over = [position for position in range(len(mine)) if position not in set(places)]
    for at in range(len(theirs) - 1, -1, -1):
        if places[at] < 0:
            places[at] = left_over.pop()
    return tuple(places)


def _inverse(places: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """At equal rank either operand's names may tell which axis meets which."""
    return None if places is None else tuple(places.index(at) for at in range(len(places)))


def _trailing(mine: tuple[Axis, ...], theirs: tuple[Axis, ...], leading: Shape, other: Shape) -> tuple[int, ...]:
    first = len(mine) - len(theirs)
    for at, axis in enumerate(theirs):
        met = mine[first + at]
        if axis.name is not None and met.name is not None and axis.name != met.name:
            missing = next(each.name for each in theirs if each.name and all(each.name != one.name for one in mine))
            raise Misaligned(
                f"axis `{missing}` of {_show(other)} is not in {_show(leading)}, "
                f"and axis `{axis.name}` can't meet `{met.name}`",
                "`broadcast_to[…](x)` repeats along new axes, `rename(x, a = b)` renames one",
            )
    return tuple(range(first, len(mine)))


def _show(shape: Shape) -> str:
    return f"[{', '.join(show_axis(axis) for axis in shape)}]"


def _too_many(leading: Shape, other: Shape) -> Misaligned:
    return Misaligned(f"{_show(other)} has more axes than {_show(leading)}")


def _depends_on_run(leading: Shape, other: Shape) -> Misaligned:
    return Misaligned(
        f"how {_show(other)} aligns with {_show(leading)} would depend on how many axes `..` stands for",
        "name the axes, or use `broadcast_to[…](x)`",
    )


def _different_sizes(mine: Axis, axis: Axis, leading: Shape, other: Shape) -> Misaligned:
    name = axis.name or mine.name
    message = f"axis `{name}` has size {axis.size} in {_show(other)} and {mine.size} in {_show(leading)}"
    if name is None:
        here, there = (next(at for at, each in enumerate(s) if each is a) for s, a in ((other, axis), (leading, mine)))
        message = (
            f"axis {here} of {_show(other)}, of size {axis.size}, "
            f"meets axis {there} of {_show(leading)}, of size {mine.size}"
        )
    return Misaligned(
        message,
        "sizes must be equal: nothing is stretched; `broadcast_to[…](x)` repeats a value along new axes",
    )
