"""Tensors of an adjoint brought to other axes: renamed, summed away, reordered, repeated.

All is done with primitives that cost nothing inside a nest, and nothing at all where only names change. Called by
`pullback` and by the rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from presk.core.nodes import Operand
from presk.core.renaming import renames
from presk.core.vjp.scope import Scope
from presk.shapes.align import Misaligned, align
from presk.shapes.types import Axis, Shape


def renamed(scope: Scope, value: Operand, axes: Shape) -> Operand:
    """The value under these axes' names; sizes are the same."""
    for primitive, attributes in renames(scope.tensor(value).axes, axes):
        value = scope.apply(primitive, value, cotangent=None, **attributes)
    return value


def transposed(scope: Scope, value: Operand, order: Sequence[int]) -> Operand:
    """The axes in another order."""
    if list(order) == list(range(len(order))):
        return value
    return scope.apply("transpose", value, order=tuple(order))


def summed(scope: Scope, value: Operand, gone: Sequence[int]) -> Operand:
    """The sum over these axes."""
    if not gone:
        return value
    whole = len(gone) == len(scope.tensor(value).axes)
    return scope.apply("sum", value, axis=None if whole else tuple(sorted(gone)))


def reduced(scope: Scope, value: Operand, places: Sequence[int], axes: Shape) -> Operand:
    """The sum over all axes but those at `places`, which become `axes` in this order."""
    rank = len(scope.tensor(value).axes)
    value = summed(scope, value, [at for at in range(rank) if at not in places])
    kept = sorted(places)
    value = transposed(scope, value, [kept.index(place) for place in places])
    return renamed(scope, value, axes)


def spread(scope: Scope, value: Operand, places: Sequence[int], axes: Shape) -> Operand:
    """The value repeated to `axes`, its own being those at `places`."""
    own = scope.tensor(value).axes
    if own == axes:
        return value
    if not own or _aligns(axes, own, places):
        return renamed(scope, scope.apply("broadcast_to", value, new=axes), axes)
    order = sorted(range(len(places)), key=lambda at: places[at])
    value = transposed(scope, value, order)
    fresh = tuple(Axis(f"a{at}", axis.size) if isinstance(axis, Axis) else axis for at, axis in enumerate(axes))
    value = renamed(scope, value, tuple(fresh[place] for place in sorted(places)))
    return renamed(scope, scope.apply("broadcast_to", value, new=fresh), axes)


def aligned(scope: Scope, value: Operand, places: Sequence[int], axes: Shape) -> Operand:
    """The value such that beside a tensor with `axes` its own axes meet those at `places`.

    One of the same rank has them in that order, as beside it the other needn't lead.
    """
    own = scope.tensor(value).axes
    leads = len(own) == len(axes) and tuple(places) != tuple(range(len(axes)))
    return value if not own or (_aligns(axes, own, places) and not leads) else spread(scope, value, places, axes)


def _aligns(axes: Shape, own: Shape, places: Sequence[int]) -> bool:
    """Whether alignment finds these places, and adds nothing to the leading axes."""
    try:
        alignment = align((axes, own))
    except Misaligned:
        return False
    return alignment.places[0] == tuple(range(len(axes))) and alignment.places[1] == tuple(places)
