"""Quantised inputs while recording: which views of them a kernel can read, and the values of those it can't.

Integers lie row-major, their scales one for each index of some axes of the view (`Scales.along`). A kernel reads them
where these axes are one run, the rows of int4 being those that are stored; every other view is read through a copy of
the values, f32(q)·s, which is what every load of them computes. Called by `record.groups` and `record.loops`.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from presk.core.links import RULES, Part, Parts, Same
from presk.core.nodes import Apply
from presk.kernel.nodes import (
    Access,
    Axis,
    Buffer,
    BufferType,
    Element,
    For,
    Kernel,
    Load,
    Output,
    Statement,
    Store,
    Variable,
)
from presk.run.record.handles import Held, Scales, scale_step, shifted, volume
from presk.run.record.schedule import Launch, Repeat, View
from presk.shapes.types import Tensor

if TYPE_CHECKING:
    from presk.run.record.recorder import Recorder

VALUES = Element("f32")
"""What f32(q)·s is held in."""

Along = tuple[bool, ...]
"""For each axis of a view, whether scales vary along it."""


def quantised(view: View, element: Element, tensor: Tensor, scales: View, layers: int) -> Held:
    """An argument of integers, the first `layers` axes being layers; the element's scales count behind them."""
    assert element.scales is not None, "integers have scales"
    first, end = element.scales
    along = tuple(at < layers or first <= at - layers < end for at in range(len(tensor.axes)))
    return Held(view, element, tensor, Scales(scales, along, tensor.sizes[-1]))


def moved(recorder: Recorder, apply: Apply, base: Held, type_: Tensor) -> Held:
    """The same elements with the axes of a map that keeps their order."""
    if base.scales is None:
        return replace(base, type=type_)
    along = _renamed(apply, base.type, base.scales.along, type_)
    if along is None:
        return replace(values(recorder, base), type=type_)
    return replace(base, type=type_, scales=replace(base.scales, along=along))


def _renamed(apply: Apply, before: Tensor, along: Along, after: Tensor) -> Along | None:
    """The axes of the result that scales vary along; None where they vary along a part of one."""
    links = RULES[apply.primitive](apply, (before,), after)[0]
    assert links is not None, "a view's axes are its operand's"
    parts: dict[int, set[bool]] = {}
    for link, varies, size in zip(links, along, before.sizes, strict=True):
        match link:
            case Same(at):
                parts.setdefault(at, set()).add(varies)
            case Parts(several):
                for at in several:
                    parts.setdefault(at, set()).add(varies)
            case Part(at):
                parts.setdefault(at, set()).update({varies} if size != 1 else ())
            case _:
                raise AssertionError("a view reduces nothing")
    if any(len(each) > 1 for each in parts.values()):
        return None
    return tuple(True in parts[at] for at in range(len(after.axes)))


def stretch(recorder: Recorder, base: Held, first: int, strides: tuple[tuple[int, int], ...], type_: Tensor) -> Held:
    """Elements of the first axis from index `first` on, and for each loop a stride of indices; of this type.

    The type has the first axis, or not where it is one index.
    """
    rest = volume(base.type) // max(base.type.sizes[0], 1)
    if base.scales is not None and not _is_addressable(base, first, strides, rest):
        base = values(recorder, base)
    view = shifted(base.view, first * rest, tuple((counter, step * rest) for counter, step in strides))
    if base.scales is None:
        return replace(base, view=view, type=type_)
    each = scale_step(base)
    scales = shifted(base.scales.view, first * each, tuple((counter, step * each) for counter, step in strides))
    along = base.scales.along[len(base.type.axes) - len(type_.axes) :]
    return replace(base, view=view, type=type_, scales=replace(base.scales, view=scales, along=along))


def _is_addressable(base: Held, first: int, strides: tuple[tuple[int, int], ...], rest: int) -> bool:
    """Whether what begins there is a row: of int4 nothing else is sure to begin at a byte."""
    assert base.scales is not None, "asked of integers"
    unit = 1 if base.element.kind == "int8" else max(base.scales.row, 1)
    return all(step * rest % unit == 0 for step in (first, *(step for _, step in strides)))


def steps_alone(recorder: Recorder, base: Held) -> Held:
    """What a loop may go over along the first axis: as it is, or its values where an element begins within a row."""
    if base.scales is None:
        return base
    rest = volume(base.type) // max(base.type.sizes[0], 1)
    return base if _is_addressable(base, 0, ((0, 1),), rest) else values(recorder, base)


def read(recorder: Recorder, held: Held) -> Held:
    """What a kernel reads of it: itself, its element saying the run of axes, or its values."""
    if held.scales is None:
        return held
    run = _run(held.scales.along)
    if run is None or not _has_rows(held, run):
        return values(recorder, held)
    return replace(held, element=Element(held.element.kind, scales=run))


def _run(along: Along) -> tuple[int, int] | None:
    """The one run of axes that scales vary along; None where there is none, or several."""
    first = along.index(True) if True in along else len(along)
    end = first + sum(along)
    return (first, end) if first < end and all(along[first:end]) else None


def _has_rows(held: Held, run: tuple[int, int]) -> bool:
    """Whether a kernel's rows of int4 are the stored ones: the last axis, or the run where it ends there."""
    assert held.scales is not None, "asked of integers"
    sizes = held.type.sizes
    row = prod(sizes[run[0] :]) if run[1] == len(sizes) else sizes[-1]
    return held.element.kind == "int8" or row == held.scales.row


def values(recorder: Recorder, held: Held) -> Held:
    """f32(q)·s in a buffer, made once in each body by one kernel, over layers where scales vary along these besides."""
    if held.scales is None:
        return held
    count = volume(held.type)
    key = (held.view, held.element, VALUES, count)
    for known in reversed(recorder.converted):
        if key in known:
            return Held(known[key], VALUES, held.type)
    target = recorder.fresh(VALUES, count)
    layers, sizes, run = _apart(held)
    element = Element(held.element.kind, scales=run)
    kernel = recorder.kernel(_kernel(element, sizes))
    each, scales = prod(sizes), prod(sizes[run[0] : run[1]])
    if layers == 1:
        launch = Launch(kernel, (held.view, held.scales.view), (target,), None, "")
        recorder.steps.append(launch)
    else:
        counter = recorder.loops
        recorder.loops += 1
        inputs = (
            shifted(held.view, 0, ((counter, each),)),
            shifted(held.scales.view, 0, ((counter, scales),)),
        )
        launch = Launch(kernel, inputs, (shifted(target, 0, ((counter, each),)),), None, "")
        recorder.steps.append(Repeat(counter, layers, False, (launch,)))
    recorder.converted[-1][key] = target
    return Held(target, VALUES, held.type)


def _apart(held: Held) -> tuple[int, tuple[int, ...], tuple[int, int]]:
    """The number of layers, the sizes of one as a kernel reads it in stored rows, and the run of its scales.

    In a layer scales vary along one stretch, in rows that lie along it or behind it; where along nothing, along an axis
    of one index.
    """
    assert held.scales is not None, "asked of integers"
    sizes, along, row = held.type.sizes, held.scales.along, held.scales.row
    leading = along.index(False) if False in along else len(along)
    axes = leading if True in along[leading:] else 0
    layers, inner = prod(sizes[:axes]), sizes[axes:]
    run = _run(along[axes:]) or (0, 0)
    before, scaled, behind = prod(inner[: run[0]]), prod(inner[run[0] : run[1]]), prod(inner[run[1] :])
    if behind == 1 and (held.element.kind == "int8" or scaled == row):
        return layers, (before, scaled), (1, 2)
    if held.element.kind == "int8":
        return layers, (before, scaled, behind), (1, 2)
    if behind == 1 and before == 1 and scaled > row > 0:
        return layers * scaled // row, (1, row), (1, 2)  # the layers' axes are in the stretch
    return layers, (before, scaled, behind // max(row, 1), row), (1, 2)


def _kernel(element: Element, sizes: tuple[int, ...]) -> Kernel:
    """Copies the values of integers with scales."""
    axes = tuple(Axis(None, size) for size in sizes)
    index = tuple(Variable("i", at) for at in range(len(sizes)))
    body: Statement = Store(Access(Buffer("%", 1), index), Load(Access(Buffer("%", 0), index)))
    for at in reversed(range(len(sizes))):
        body = For(at, sizes[at], (body,))
    given, made = BufferType(element, axes), BufferType(VALUES, axes)
    return Kernel("values", "f32", (given,), (Output(made),), (), (body,))
