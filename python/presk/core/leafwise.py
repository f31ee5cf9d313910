"""The body of a leafwise map at one leaf: the run of its types replaced by the leaf's axes, attributes in step.

A map's body is written once over `[..]`. Whoever computes it does so leaf by leaf, over a body without a run: the
reference over the leaf's own axes, kernels over one axis of all its elements, an adjoint over the leaf's own axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from presk.core.nodes import Apply, Body, Let, MapTrees
from presk.core.typing import LEAF, operand_type
from presk.primitives.all import TABLE
from presk.primitives.contractions import RUN_LABEL
from presk.primitives.table import Attribute, Attributes
from presk.shapes.types import HIDDEN, Axis, AxisOrRun, Shape, Tensor, Type, substitute
from presk.shapes.types import leaves as type_leaves

Types = Mapping[int, Type]


def at_leaf(mapped: MapTrees, axes: Shape, around: Types) -> MapTrees:
    """The map with the leaf's axes in the place of the run. `around` are the types of what its body reads.

    Where the body has axes beside the run's, those of the leaf get names that no other has, so that they meet only
    themselves; the result has them too.
    """
    types = {**around, **{each.number: each.type for each in mapped.parameters}}
    types |= {let.number: let.type for let in mapped.body.lets}
    if _tells_axes_apart(mapped):
        axes = _named(axes, {name for of in types.values() for name in _names(of)})
    lets = tuple(_let_at_leaf(let, axes, types) for let in mapped.body.lets)
    parameters = tuple(replace(each, type=type_at_leaf(each.type, axes)) for each in mapped.parameters)
    return replace(mapped, parameters=parameters, body=Body(lets, mapped.body.result))


def type_at_leaf(of: Type, axes: Shape) -> Type:
    """A type with the leaf's axes in the place of the run."""
    return substitute(of, {}, {LEAF.label: axes})


def _tells_axes_apart(mapped: MapTrees) -> bool:
    """Whether a value of the body has axes of its own beside the leaf's, or is told its axes by name."""
    for let in mapped.body.lets:
        if isinstance(let.value, Apply) and let.value.primitive == "ein":
            return True
        if any(LEAF in tensor.axes and len(tensor.axes) > 1 for _, tensor in type_leaves(let.type)):
            return True
    return False


def _names(of: Type) -> Iterator[str]:
    for _, tensor in type_leaves(of):
        yield from (axis.name for axis in tensor.axes if isinstance(axis, Axis) and axis.name is not None)


def _named(axes: Shape, taken: set[str]) -> Shape:
    """The axes under names that aren't taken."""
    free = (
        name for name in (f"{HIDDEN}{count}" for count in range(1, len(axes) + len(taken) + 1)) if name not in taken
    )
    return tuple(Axis(next(free), axis.size) for axis in axes if isinstance(axis, Axis))


def _let_at_leaf(let: Let, axes: Shape, types: Types) -> Let:
    value = let.value
    if isinstance(value, Apply):
        operands = tuple(operand_type(operand, types) for operand in value.operands)
        attributes = _attributes_at_leaf(value.primitive, operands, dict(value.attributes), axes)
        value = replace(value, attributes=tuple(attributes.items()))
    return replace(let, value=value, type=type_at_leaf(let.type, axes))


def _attributes_at_leaf(
    primitive: str, operands: Sequence[Type], attributes: Attributes, axes: Shape
) -> dict[str, Attribute]:
    """The attributes of a primitive whose operands' runs become these axes."""
    found = dict(attributes)
    for keyword in TABLE[primitive].keywords:
        value, of = found.get(keyword.name), operands[keyword.of]
        behind_run = isinstance(of, Tensor) and LEAF in of.axes
        if behind_run and keyword.kind in ("axis", "axes", "order"):
            found[keyword.name] = _moved(value, len(axes))
    new = found.get("new")
    if isinstance(new, tuple):
        found["new"] = tuple(each for entry in new for each in _spread(entry, axes))
    for name in ("out", "labels"):
        rows = found.get(name)
        if primitive == "ein" and isinstance(rows, tuple):
            found[name] = tuple(_labelled(row, axes) for row in rows if isinstance(row, tuple))
    return found


def _moved(value: Attribute, rank: int) -> Attribute:
    """An index of an axis, or several, where the one run in front becomes so many axes."""
    match value:
        case int():
            return value + rank - 1
        case tuple():
            indices = [each for each in value if isinstance(each, int)]
            return tuple(at for each in indices for at in (range(rank) if each == 0 else (each + rank - 1,)))
        case _:
            return value


def _spread(entry: object, axes: Shape) -> Iterator[AxisOrRun]:
    if entry == LEAF:
        yield from axes
    elif isinstance(entry, Axis):
        yield entry


def _labelled(row: tuple[object, ...], axes: Shape) -> tuple[str, ...]:
    """Labels of an operand's axes, those of the leaf in the place of `..`."""
    names = tuple(axis.name or "" for axis in axes if isinstance(axis, Axis))
    return tuple(each for label in row for each in (names if label == RUN_LABEL else (str(label),)))
