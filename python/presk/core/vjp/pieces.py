"""Cotangents that fall on parts of a tensor: slices and single positions, put together in one concatenation.

A tensor that is read slice by slice, as queries, keys and values are from one product, gets its cotangent from pieces
that don't overlap; adding them as tensors of the whole's size would cost a pass for each. Called by `writing`.
"""

from __future__ import annotations

from collections.abc import Sequence

from presk.core.nodes import Operand
from presk.core.vjp.scope import Piece, Scope
from presk.core.vjp.shaping import renamed, spread
from presk.shapes.poly import number
from presk.shapes.types import Axis, Tensor
from presk.text.diagnostics import InternalError


def piece(scope: Scope, whole: Tensor, axis: int, start: int, value: Operand) -> Piece:
    """A piece of a tensor of this type; a value without the axis is one position."""
    axes = scope.tensor(value).axes
    if len(axes) == len(whole.axes):
        return Piece(axis, start, _size(axes[axis]), renamed(scope, value, _cut(whole, axis, _size(axes[axis])).axes))
    position = _cut(whole, axis, 1).axes
    if not axes:
        return Piece(axis, start, 1, spread(scope, value, (), position))
    rest = (*position[:axis], *position[axis + 1 :])
    value = renamed(scope, value, rest)
    beside = min(axis, len(rest) - 1)
    pair = (position[axis], rest[beside]) if axis < len(rest) else (rest[beside], position[axis])
    return Piece(axis, start, 1, scope.apply("split", value, axis=beside, new=pair))


def whole(scope: Scope, of: Tensor, pieces: Sequence[Piece]) -> Operand:
    """The sum of the pieces as a tensor of this type: 0 where there are none."""
    chosen: list[Piece] = []
    rest: list[Piece] = []
    for each in pieces:
        (chosen if each.apart(chosen) else rest).append(each)
    found = _joined(scope, of, sorted(chosen, key=lambda each: each.start))
    return scope.apply("add", found, whole(scope, of, rest)) if rest else found


def _joined(scope: Scope, of: Tensor, pieces: Sequence[Piece]) -> Operand:
    """Pieces along one axis, in order, that don't overlap."""
    axis, length = pieces[0].axis, _size(of.axes[pieces[0].axis])
    if len(pieces) == 1:
        (one,) = pieces
        return scope.apply("pad", one.value, axis=axis, before=one.start, after=length - one.start - one.size)
    parts: list[Operand] = []
    at = 0
    for each in (*pieces, Piece(axis, length, 0, pieces[0].value)):
        if each.start > at:
            parts.append(scope.zeros(_cut(of, axis, each.start - at)))
        if each.size:
            parts.append(each.value)
        at = each.start + each.size
    return scope.apply("concat", *parts, axis=axis)


def _cut(of: Tensor, axis: int, size: int) -> Tensor:
    """The type of a stretch of an axis."""
    axes = list(of.axes)
    entry = axes[axis]
    axes[axis] = Axis(entry.name if isinstance(entry, Axis) else None, number(size))
    return Tensor("real", tuple(axes))


def _size(axis: object) -> int:
    if not isinstance(axis, Axis) or axis.size.whole is None:
        raise InternalError("a size was expected to be known")
    return axis.size.whole
