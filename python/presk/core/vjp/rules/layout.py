"""Derivatives of layout primitives: moves are undone, what was repeated is summed, what was left out gets 0."""

from __future__ import annotations

from collections.abc import Callable

from presk.core.nodes import Literal, Operand
from presk.core.vjp.pullback import Pullback
from presk.core.vjp.shaping import reduced, renamed, spread, transposed
from presk.primitives.fitting import match_same_rank
from presk.shapes import constants
from presk.shapes.align import align
from presk.shapes.poly import Poly
from presk.shapes.types import Axis, AxisOrRun

Rule = Callable[[Pullback], None]


def _nat(value: int) -> Operand:
    return Literal(constants.rational(value), "nat")


def _size(axis: AxisOrRun) -> int:
    assert isinstance(axis, Axis) and axis.size.whole is not None, "sizes are known"
    return axis.size.whole


def _split(p: Pullback) -> None:
    axis = p.whole("axis")
    count = len(p.result.axes) - len(p.operand(0).axes) + 1
    _give_merged(p, axis, count)


def _split_heads(p: Pullback) -> None:
    _give_merged(p, len(p.operand(0).axes) - 1, 2)


def _give_merged(p: Pullback, axis: int, count: int) -> None:
    of = p.operand(0).axes[axis]
    p.give(0, p.do("merge", p.ct, axes=tuple(range(axis, axis + count)), new=(of,)))


def _merge(p: Pullback) -> None:
    axes = p.attribute("axes")
    merged = [each for each in axes if isinstance(each, int)] if isinstance(axes, tuple) else []
    _give_split(p, merged[0], len(merged))


def _merge_heads(p: Pullback) -> None:
    _give_split(p, len(p.operand(0).axes) - 2, 2)


def _give_split(p: Pullback, first: int, count: int) -> None:
    p.give(0, p.do("split", p.ct, axis=first, new=p.operand(0).axes[first : first + count]))


def _transpose(p: Pullback) -> None:
    order = p.attribute("order")
    assert isinstance(order, tuple), "transpose has an order"
    p.give(0, transposed(p.scope, p.ct, [order.index(at) for at in range(len(order))]))


def _rename(p: Pullback) -> None:
    p.give(0, p.ct)


def _slice(p: Pullback) -> None:
    p.give_part(0, p.whole("axis"), p.whole("start"), p.ct)


def _pad(p: Pullback) -> None:
    axis, before = p.whole("axis"), p.whole("before")
    stop = before + _size(p.operand(0).axes[axis])
    p.give(0, p.do("slice", p.ct, axis=axis, start=before, stop=stop))


def _flip(p: Pullback) -> None:
    p.give(0, p.do("flip", p.ct, axis=p.whole("axis")))


def _broadcast_to(p: Pullback) -> None:
    places = align((p.result.axes, p.operand(0).axes)).places[1]
    p.give_reduced(0, p.ct, places)


def _full(p: Pullback) -> None:
    p.give_reduced(0, p.ct, ())


def _windows(p: Pullback) -> None:
    """Element [p, k] of the windows goes back to p·stride + k·dilation."""
    if p.gives_nothing(0, p.ct):
        return
    axis, rank = p.whole("axis"), len(p.result.axes)
    order = (*range(axis + 1), rank - 1, *range(axis + 1, rank - 1))
    ct = transposed(p.scope, p.ct, order)
    count, width = p.scope.tensor(ct).axes[axis : axis + 2]
    pair = (Axis(None, _poly(count)), Axis(None, _poly(width)))
    first = spread(p.scope, p.do("positions", new=pair[:1]), (0,), pair)
    inside = spread(p.scope, p.do("positions", new=pair[1:]), (1,), pair)
    start = p.do("mul", first, _nat(p.whole("stride")))
    index = p.do("add", start, p.do("mul", inside, _nat(p.whole("dilation"))))
    of = p.operand(0).axes
    bare = tuple(Axis(None, _poly(each)) for each in (*of[:axis], *pair, *of[axis + 1 :]))
    zeros = p.do("zeros", new=tuple(Axis(None, _poly(each)) for each in of))
    p.give(0, p.do("scatter_add", zeros, index, renamed(p.scope, ct, bare), axis=axis))


def _poly(axis: AxisOrRun) -> Poly:
    assert isinstance(axis, Axis), "sizes are known"
    return axis.size


# Indexing


def _index(p: Pullback) -> None:
    place = p.apply.operands[1]
    at = constants.as_size(place.value) if isinstance(place, Literal) else None
    if at is not None and at.whole is not None:
        p.give_part(0, p.whole("axis"), at.whole, p.ct)
        return
    zeros = p.scope.zeros(p.operand(0))
    p.give(0, p.do("update_index", zeros, p.ct, p.x(1), axis=p.whole("axis")))


def _update_index(p: Pullback) -> None:
    axis = p.whole("axis")
    if p.wants(0):
        p.give(0, p.do("update_index", p.ct, 0, p.x(2), axis=axis))
    if p.wants(1):
        taken = p.do("index", p.ct, p.x(2), axis=axis)
        places = align((p.scope.tensor(taken).axes, p.operand(1).axes)).places[1]
        p.give(1, reduced(p.scope, taken, places, p.operand(1).axes))


def _update_slice(p: Pullback) -> None:
    axis, start = p.whole("axis"), p.whole("start")
    value = p.operand(1)
    places = match_same_rank(p.operand(0).axes, value, free=axis)
    stop = start + _size(value.axes[places.index(axis)])
    taken = p.do("slice", p.ct, axis=axis, start=start, stop=stop)
    if p.wants(0):
        kept = p.scope.zeros(p.scope.tensor(taken))
        p.give(0, p.do("update_slice", p.ct, kept, axis=axis, start=start))
    if p.wants(1):
        p.give(1, reduced(p.scope, taken, places, value.axes))


# Joining


def _concat(p: Pullback) -> None:
    axis, start = p.whole("axis"), 0
    for at in range(len(p.apply.operands)):
        of = p.operand(at)
        places = match_same_rank(p.result.axes, of, free=axis)
        stop = start + _size(of.axes[places.index(axis)])
        if p.wants(at):
            part = p.do("slice", p.ct, axis=axis, start=start, stop=stop)
            p.give(at, reduced(p.scope, part, places, of.axes))
        start = stop


def _stack(p: Pullback) -> None:
    for at in range(len(p.apply.operands)):
        if p.wants(at):
            part = p.do("index", p.ct, _nat(at), axis=0)
            of = p.operand(at)
            places = match_same_rank(p.result.axes[1:], of, free=None)
            p.give(at, reduced(p.scope, part, places, of.axes))


def _unstack(p: Pullback) -> None:
    axis, of = p.whole("axis"), p.operand(0).axes
    rest = (*of[:axis], *of[axis + 1 :])
    bare = tuple(Axis(None, _poly(each)) for each in rest)
    pieces: list[Operand] = []
    for at in range(_size(of[axis])):
        ct = p.cotangents.get((str(at),))
        missing = p.do("zeros", new=bare) if bare else Literal(constants.rational(0))
        pieces.append(missing if ct is None else renamed(p.scope, ct, bare))
    stacked = p.do("stack", *pieces, new=(Axis(None, _poly(of[axis])),))
    order = (*range(1, axis + 1), 0, *range(axis + 1, len(of)))
    p.give(0, transposed(p.scope, stacked, order))


RULES: dict[str, Rule] = {
    "split": _split,
    "split_heads": _split_heads,
    "merge": _merge,
    "merge_heads": _merge_heads,
    "transpose": _transpose,
    "rename": _rename,
    "slice": _slice,
    "pad": _pad,
    "flip": _flip,
    "broadcast_to": _broadcast_to,
    "full": _full,
    "windows": _windows,
    "index": _index,
    "update_index": _update_index,
    "update_slice": _update_slice,
    "concat": _concat,
    "stack": _stack,
    "unstack": _unstack,
}
