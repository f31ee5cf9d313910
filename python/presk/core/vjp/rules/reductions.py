"""Derivatives of reductions: a row's cotangent spread over its elements, each form a row of one nest.

max and min pass to the element that argmax or argmin would name. The product's is free of divisions: the product of
what stands before an element times that of what stands behind, each in about log₂ n steps.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from presk.core.nodes import Literal, Operand
from presk.core.vjp.pullback import Pullback, volume
from presk.core.vjp.shaping import renamed, spread, transposed
from presk.shapes import constants
from presk.shapes.poly import number
from presk.shapes.types import Axis, Run, Shape, leaves

Rule = Callable[[Pullback], None]


def kept(p: Pullback) -> tuple[int, ...]:
    """The operand's axes that stay."""
    gone = p.axes()
    return tuple(at for at in range(len(p.operand(0).axes)) if at not in gone)


def along(p: Pullback, value: Operand) -> Operand:
    """A value of the rows, repeated along them."""
    return spread(p.scope, value, kept(p), p.operand(0).axes)


def _sum(p: Pullback) -> None:
    p.give(0, along(p, p.ct))


def _mean(p: Pullback) -> None:
    axes = p.operand(0).axes
    gone = p.axes()
    if any(isinstance(axes[at], Run) for at in gone):
        count = p.do("sum", p.do("ones", new=axes), axis=None)
        p.give(0, along(p, p.over(p.ct, count)))
        return
    count = max(volume(tuple(axes[at] for at in gone)), 1)
    p.give(0, along(p, p.do("mul", p.ct, Fraction(1, count)) if p.result.axes else p.over(p.ct, count)))


def position_in_row(p: Pullback, axes: Shape, rows: tuple[int, ...]) -> Operand:
    """For each element its row-major position along the axes `rows`, as nats with all the axes."""
    found: Operand | None = None
    for at in rows:
        axis = axes[at]
        assert isinstance(axis, Axis), "a row of known length"
        here = p.do("positions", new=(Axis(None, axis.size),))
        here = spread(p.scope, here, (at,), axes)
        found = here if found is None else p.do("add", p.do("mul", found, nat(axis.size.whole or 0)), here)
    assert found is not None, "a row has axes"
    return found


def nat(value: int) -> Operand:
    """A nat constant."""
    return Literal(constants.rational(value), "nat")


def _extreme(position: str) -> Rule:
    def rule(p: Pullback) -> None:
        rows = p.axes()
        if p.gives_nothing(0):
            return
        if not rows:
            p.give(0, p.ct)
            return
        chosen = p.do(position, p.x(), axis=rows)
        axes = p.operand(0).axes
        is_chosen = p.do("eq", position_in_row(p, axes, rows), along(p, chosen))
        p.give(0, p.choose(is_chosen, along(p, p.ct), 0))

    return rule


def _logsumexp(p: Pullback) -> None:
    rows = p.axes()
    share = p.do("softmax", p.x(), axis=rows) if rows else None
    p.give(0, p.ct if share is None else p.times(along(p, p.ct), share))


def _prod(p: Pullback) -> None:
    axes, rows = p.operand(0).axes, p.axes()
    if not rows:
        p.give(0, p.ct)
        return
    order = (*kept(p), *rows)
    moved = transposed(p.scope, p.x(), order)
    length = volume(tuple(axes[at] for at in rows))
    if length == 0:
        p.give(0, along(p, p.ct))
        return
    first = len(axes) - len(rows)
    row = Axis(None, number(length))
    flat = moved if len(rows) == 1 else p.do("merge", moved, axes=tuple(range(first, len(axes))), new=(row,))
    others = p.do("mul", _before(p, flat, first, length, 1), _before(p, flat, first, length, -1))
    if len(rows) > 1:
        others = p.do("split", others, axis=first, new=tuple(axes[at] for at in rows))
    back = [order.index(at) for at in range(len(axes))]
    others = renamed(p.scope, transposed(p.scope, others, back), axes)
    p.give(0, p.times(along(p, p.ct), others))


def _before(p: Pullback, row: Operand, axis: int, length: int, direction: int) -> Operand:
    """For each place of a row the product of the elements before it, or behind it (`direction` −1)."""
    found = _shifted(p, row, axis, length, direction)
    reach = 1
    while reach < length:
        found = p.do("mul", found, _shifted(p, found, axis, length, direction * reach))
        reach *= 2
    return found


def _shifted(p: Pullback, row: Operand, axis: int, length: int, by: int) -> Operand:
    """The row moved by some places, with 1 where nothing comes from."""
    one = constants.rational(1)
    if by > 0:
        left = p.do("slice", row, axis=axis, start=0, stop=length - by)
        return p.do("pad", left, axis=axis, before=by, after=0, value=one)
    left = p.do("slice", row, axis=axis, start=-by, stop=length)
    return p.do("pad", left, axis=axis, before=0, after=-by, value=one)


def _cumsum(p: Pullback) -> None:
    axis = p.whole("axis")
    backwards = p.do("cumsum", p.do("flip", p.ct, axis=axis), axis=axis)
    p.give(0, p.do("flip", backwards, axis=axis))


def _total(p: Pullback) -> None:
    for path, leaf in leaves(p.type_of(0)):
        if p.wants(0, *path):
            p.give(0, spread(p.scope, p.ct, (), leaf.axes), *path)


RULES: dict[str, Rule] = {
    "sum": _sum,
    "mean": _mean,
    "max": _extreme("argmax"),
    "min": _extreme("argmin"),
    "logsumexp": _logsumexp,
    "prod": _prod,
    "cumsum": _cumsum,
    "total": _total,
}
