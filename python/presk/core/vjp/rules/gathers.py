"""Derivatives of look-ups: a scatter of the cotangent, whose additions have a fixed order, and of a scatter a look-up.

What looks up element by element (gather, sort, top_k) does so by one flat index into all of the operand's elements.
"""

from __future__ import annotations

from collections.abc import Callable

from presk.core.nodes import Literal, Operand, Ref
from presk.core.vjp.pullback import Pullback, volume
from presk.core.vjp.shaping import reduced, renamed, spread
from presk.shapes import constants
from presk.shapes.align import align
from presk.shapes.poly import number
from presk.shapes.types import Axis, Shape

Rule = Callable[[Pullback], None]


def _nat(value: int) -> Operand:
    return Literal(constants.rational(value), "nat")


def _scattered(axis: Callable[[Pullback], int]) -> Rule:
    """Of slices looked up at an index."""

    def rule(p: Pullback) -> None:
        zeros = p.scope.zeros(p.operand(0))
        p.give(0, p.do("scatter_add", zeros, p.x(1), p.ct, axis=axis(p)))

    return rule


def _scatter_add(p: Pullback) -> None:
    if p.wants(0):
        p.give(0, p.ct)
    if p.wants(2):
        axis, x, index = p.whole("axis"), p.operand(0).axes, p.operand(1).axes
        slices = (*x[:axis], *index, *x[axis + 1 :])
        taken = p.do("take", p.ct, p.x(1), axis=axis)
        places = align((slices, p.operand(2).axes)).places[1]
        p.give(2, reduced(p.scope, taken, places, p.operand(2).axes))


def _flat_index(p: Pullback, index: Operand, shape: Shape, axes: Shape, axis: int) -> Operand:
    """Where elements stand in a tensor of this shape that have the places `index` along an axis and their own along
    the others, as one axis of nats. `axes` are the index's.
    """
    found: Operand | None = None
    for at, of in enumerate(shape):
        assert isinstance(of, Axis), "looked up at known sizes"
        here = index
        if at != axis:
            here = spread(p.scope, p.do("positions", new=(Axis(None, of.size),)), (at,), axes)
        found = here if found is None else p.do("add", p.do("mul", found, _nat(of.size.whole or 0)), here)
    assert found is not None, "a tensor with axes is looked up"
    return _flat(p, found)


def _flat(p: Pullback, value: Operand) -> Operand:
    axes = p.scope.tensor(value).axes
    whole = Axis(None, number(volume(axes)))
    return p.do("merge", value, axes=tuple(range(len(axes))), new=(whole,))


def _give_elements(p: Pullback, ct: Operand, index: Operand, axis: int) -> None:
    """The cotangent of elements looked up at `index` along an axis, which has the cotangent's axes."""
    if p.gives_nothing(0, ct):
        return
    shape, axes = p.operand(0).axes, p.scope.tensor(ct).axes
    flat = _flat_index(p, index, shape, axes, axis)
    zeros = p.do("zeros", new=(Axis(None, number(volume(shape))),))
    found = p.do("scatter_add", zeros, flat, _flat(p, ct), axis=0)
    p.give(0, p.do("split", found, axis=0, new=shape))


def _gather(p: Pullback) -> None:
    axis, own = p.whole("axis"), p.operand(1).axes
    axes = p.result.axes
    places = align((axes, own)).places[1]
    _give_elements(p, p.ct, spread(p.scope, p.x(1), places, axes), axis)


def _sort(p: Pullback) -> None:
    """The ascending order is the descending one of top_k in reverse."""
    axis = p.whole("axis")
    of = p.operand(0).axes[axis]
    assert isinstance(of, Axis), "sorted at a known size"
    best = p.do("top_k", p.x(), k=of.size.whole or 0, axis=axis)
    assert isinstance(best, Ref), "top_k is a let"
    order = p.do("flip", Ref(best.number, ("1",)), axis=axis)
    _give_elements(p, renamed(p.scope, p.ct, p.operand(0).axes), order, axis)


def _top_k(p: Pullback) -> None:
    ct = p.cotangents.get(("0",))
    if ct is not None:
        _give_elements(p, ct, p.y("1"), p.whole("axis"))


RULES: dict[str, Rule] = {
    "embed": _scattered(lambda p: 0),
    "take": _scattered(lambda p: p.whole("axis")),
    "scatter_add": _scatter_add,
    "gather": _gather,
    "sort": _sort,
    "top_k": _top_k,
}
