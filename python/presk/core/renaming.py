"""The primitives that give a tensor's axes other names. They cost nothing. Called by `build` and by `vjp.shaping`."""

from __future__ import annotations

from collections.abc import Iterator

from presk.primitives.table import Attribute
from presk.shapes.types import Axis, AxisOrRun, Shape

Step = tuple[str, dict[str, Attribute]]
"""A primitive on one operand, and its attributes."""


def renames(found: Shape, wanted: Shape) -> Iterator[Step]:
    """What brings axes to other names, one after another; sizes are the same.

    A name is dropped or given by a merge of one axis.
    """
    pairs = list(zip(found, wanted, strict=True))
    for at, (have, want) in enumerate(pairs):
        if _name(have) is not None and _name(want) is None:
            yield _merge(at, want)
    names = [(old, new) for old, new in ((_name(have), _name(want)) for have, want in pairs) if old and new]
    changed = tuple((old, new) for old, new in names if old != new)
    if changed:
        yield "rename", {"names": changed}
    for at, (have, want) in enumerate(pairs):
        if _name(have) is None and _name(want) is not None:
            yield _merge(at, want)


def _name(axis: AxisOrRun) -> str | None:
    return axis.name if isinstance(axis, Axis) else None


def _merge(at: int, axis: AxisOrRun) -> Step:
    return "merge", {"axes": (at,), "new": (axis,)}
