"""Which axis a program means: by name, or by position from either end.

`resolve_axis`, `resolve_axes` and `resolve_order` turn what stands behind `axis =` into indices into `Tensor.axes`,
where a run (`..`) is one entry. A position that would count through a run depends on its length and is refused
(E3003). Called by `primitives.call` and by the checker for indices and `along`.
"""

from __future__ import annotations

from collections.abc import Sequence

from presk.primitives.table import Misfit
from presk.shapes.types import Axis, Run, Tensor, show
from presk.text.diagnostics import did_you_mean

AxisSpec = str | int
"""An axis as a program writes it: its name, or its position, negative from the end."""


def resolve_axis(tensor: Tensor, spec: AxisSpec) -> int:
    """The index in `tensor.axes` of the axis meant. Raises Misfit: E3004 if there is none, E3003 if a run decides."""
    return _by_name(tensor, spec) if isinstance(spec, str) else _by_position(tensor, spec)


def resolve_axes(tensor: Tensor, specs: AxisSpec | Sequence[AxisSpec]) -> tuple[int, ...]:
    """The indices of the axes meant, sorted: several count row-major. Raises Misfit, also where one occurs twice."""
    return tuple(sorted(resolve_order(tensor, specs)))


def resolve_order(tensor: Tensor, specs: AxisSpec | Sequence[AxisSpec]) -> tuple[int, ...]:
    """The indices of the axes meant, in the order given. Raises Misfit, also where one occurs twice."""
    several = (specs,) if isinstance(specs, (str, int)) else tuple(specs)
    found: list[int] = []
    for spec in several:
        index = resolve_axis(tensor, spec)
        if index in found:
            raise Misfit("E3004", f"{axis_label(tensor, index)} of {show(tensor)} is given twice")
        found.append(index)
    return tuple(found)


def axis_label(tensor: Tensor, index: int) -> str:
    """How a message names an axis: "axis `seq`", or "axis 1" where it has no name."""
    axis = tensor.axes[index]
    if isinstance(axis, Axis) and axis.name is not None:
        return f"axis `{axis.name}`"
    behind_run = any(isinstance(each, Run) for each in tensor.axes[:index])
    return f"axis {index - len(tensor.axes) if behind_run else index}"


def _by_name(tensor: Tensor, name: str) -> int:
    for index, axis in enumerate(tensor.axes):
        if isinstance(axis, Axis) and axis.name == name:
            return index
    known = [axis.name for axis in tensor.axes if isinstance(axis, Axis) and axis.name is not None]
    hint = did_you_mean(name, known)
    if hint is None and not known:
        hint = "its axes have no names: give a position, such as `axis = -1`" if tensor.axes else "a scalar has no axes"
    raise Misfit("E3004", f"{show(tensor)} has no axis `{name}`", hint)


def _by_position(tensor: Tensor, position: int) -> int:
    count = len(tensor.axes)
    runs = [index for index, axis in enumerate(tensor.axes) if isinstance(axis, Run)]
    if runs:
        index = position if position >= 0 else count + position
        decided = index < runs[0] if position >= 0 else index > runs[-1]
        if not decided:
            raise Misfit(
                "E3003",
                f"which axis of {show(tensor)} is number {position} depends on how many axes `..` stands for",
                "name the axis, or count from the end: `axis = -1`",
            )
        return index
    if not -count <= position < count:
        having = "no axes" if count == 0 else "1 axis" if count == 1 else f"{count} axes"
        raise Misfit("E3004", f"{show(tensor)} has {having}, and none at position {position}")
    return position % count
