"""Index maps and constants at one element: which element of the operand it is, or what it is by its index alone.

Maps whose axes are their operand's (`core.links`) read where the links say; slices, flips, windows and indices compute
the operand's index. Called by `reader`.
"""

from __future__ import annotations

from presk.kernel.lower.index import at, plus, times
from presk.kernel.lower.reader import Point, PointRule
from presk.kernel.nodes import Binary, Call, Expression, Integer


def _moved(point: Point) -> Expression:
    """The operand's element, its axes renamed, reordered, split, merged or repeated."""
    return point.operand(0)


def _along(point: Point, index: Expression) -> Expression:
    """The operand's element at another index of the axis."""
    axis = point.whole("axis")
    size = point.tensor(0).sizes[axis]
    places = (*point.positions[:axis], at(index, size), *point.positions[axis + 1 :])
    return point.read(0, places)


def _slice(point: Point) -> Expression:
    return _along(point, plus(point.positions[point.whole("axis")].index, Integer(point.whole("start"))))


def _flip(point: Point) -> Expression:
    axis = point.whole("axis")
    last = point.tensor(0).sizes[axis] - 1
    return _along(point, Binary("-", Integer(last), point.positions[axis].index))


def _index(point: Point) -> Expression:
    """The element at a run-time index of an axis that the result hasn't."""
    axis = point.whole("axis")
    found = at(point.read(1, ()), point.tensor(0).sizes[axis])
    return point.read(0, (*point.positions[:axis], found, *point.positions[axis:]))


def _windows(point: Point) -> Expression:
    """Element [p, k] is x[p·stride + k·dilation]."""
    axis = point.whole("axis")
    start = times(point.positions[axis].index, point.whole("stride"))
    index = plus(start, times(point.positions[-1].index, point.whole("dilation")))
    size = point.tensor(0).sizes[axis]
    return point.read(0, (*point.positions[:axis], at(index, size), *point.positions[axis + 1 : -1]))


def _one_hot(point: Point) -> Expression:
    hit = Binary("==", point.operand(0), point.positions[-1].index)
    return Call("select", (hit, point.reals.number(1), point.reals.number(0)))


def _full(point: Point) -> Expression:
    return point.read(0, ())


def _positions(point: Point) -> Expression:
    return point.positions[0].index


def _causal_mask(point: Point) -> Expression:
    return Binary("<=", point.positions[1].index, point.positions[0].index)


def _eye(point: Point) -> Expression:
    hit = Binary("==", point.positions[0].index, point.positions[1].index)
    return Call("select", (hit, point.reals.number(1), point.reals.number(0)))


def _filled(number: int) -> PointRule:
    return lambda point: point.reals.number(number)


RULES: dict[str, PointRule] = {
    **dict.fromkeys("rename stop_gradient transpose broadcast_to split merge split_heads merge_heads".split(), _moved),
    "slice": _slice,
    "flip": _flip,
    "index": _index,
    "windows": _windows,
    "one_hot": _one_hot,
    "full": _full,
    "positions": _positions,
    "causal_mask": _causal_mask,
    "zeros": _filled(0),
    "ones": _filled(1),
    "eye": _eye,
}
