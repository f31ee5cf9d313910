"""Draws and sampling while recording: steps of the host, with their key's path and counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from presk.core.nodes import Apply, Let
from presk.core.sites import known_as
from presk.exact.bounds import drawn_within, no_number
from presk.exact.constants import round_constant
from presk.kernel.nodes import Element
from presk.run.record import groups
from presk.run.record.frame import Frame
from presk.run.record.handles import Handle, Held, volume
from presk.run.record.schedule import Draw, Key, Mask, Sample
from presk.shapes import constants
from presk.shapes.types import REAL, Axis, Tensor

if TYPE_CHECKING:
    from presk.run.record.recorder import Recorder

ROWS = "batch"
"""The axis whose indices number rows (language.md 7)."""

KEYWORDS = {"normal": ("std", "mean"), "uniform": ("lo", "hi")}


def _key(recorder: Recorder, frame: Frame, apply: Apply, stream: str) -> Key:
    number = dict(apply.attributes)["draw"]
    return Key(stream, f"{'.'.join(frame.path)}#{number}", tuple(recorder.counters))


def _rows(tensor: Tensor) -> int | None:
    for at, axis in enumerate(tensor.axes):
        if isinstance(axis, Axis) and axis.name == ROWS:
            return at
    return None


def _storage(recorder: Recorder, frame: Frame, let: Let) -> Element:
    storage = recorder.choices.site(frame.function.name, let).storage
    assert isinstance(let.type, Tensor), "a draw is a tensor"
    scalar = not let.type.axes and storage == "bf16"
    return {"f64": Element("f64"), "f32": Element("f32"), "bf16": Element("f32" if scalar else "bf16")}[storage]


def draw(recorder: Recorder, frame: Frame, let: Let, apply: Apply) -> Handle:
    """`normal` or `uniform`, drawn in f64 and narrowed."""
    assert isinstance(let.type, Tensor), "a draw is a tensor"
    attributes = dict(apply.attributes)
    given: list[constants.Constant] = []
    for name in KEYWORDS[apply.primitive]:
        value = attributes[name]
        assert isinstance(value, (constants.Rational, constants.Symbolic, constants.Apply)), "a real constant"
        given.append(value)
    ends = [float(round_constant(each, "f64")) for each in given]
    element = _storage(recorder, frame, let)
    within = None if apply.primitive == "normal" else _within(frame, let, given, element)
    target = recorder.fresh(element, volume(let.type))
    key = _key(recorder, frame, apply, apply.primitive)
    kind = "normal" if apply.primitive == "normal" else "uniform"
    recorder.steps.append(Draw(kind, ends[0], ends[1], let.type.sizes, _rows(let.type), element, key, target, within))
    return Held(target, element, let.type)


def _within(frame: Frame, let: Let, ends: list[constants.Constant], element: Element) -> tuple[float, float]:
    """The outermost numbers of the stored type in a uniform's bounds. E7004 where there are none."""
    found = drawn_within(ends[0], ends[1], element.kind)
    if found is None:
        raise no_number(f"`{known_as(frame.function)}/%{let.number}`", ends[0], ends[1], element.kind)
    return found


def mask(recorder: Recorder, frame: Frame, let: Let, apply: Apply) -> Handle:
    """A dropout mask."""
    assert isinstance(let.type, Tensor), "a mask is a tensor"
    given = groups.held(recorder, recorder.operand(frame, apply.operands[0]), REAL)
    element = _storage(recorder, frame, let)
    target = recorder.fresh(element, volume(let.type))
    key = _key(recorder, frame, apply, "dropout")
    recorder.steps.append(Mask(given.view, given.element, let.type.sizes, _rows(let.type), element, key, target))
    return Held(target, element, let.type)


def sample(recorder: Recorder, frame: Frame, let: Let, apply: Apply) -> Handle:
    """A position along an axis of logits."""
    assert isinstance(let.type, Tensor), "a sample is a tensor of nats"
    attributes = dict(apply.attributes)
    axis, top_k = attributes["axis"], attributes["top_k"]
    assert isinstance(axis, int) and isinstance(top_k, int) and let.type.bound is not None, "bound"
    size = let.type.bound.whole
    assert size is not None, "bound"
    logits_type = Tensor("real", (*let.type.axes[:axis], Axis(None, let.type.bound), *let.type.axes[axis:]))
    logits = groups.held(recorder, recorder.operand(frame, apply.operands[0]), logits_type)
    temperature, top_p = (groups.held(recorder, recorder.operand(frame, each), REAL) for each in apply.operands[1:])
    scalar = temperature.element
    target = recorder.fresh(Element("i64", size), volume(let.type))
    recorder.steps.append(
        Sample(
            logits.element,
            let.type.sizes,
            _rows(let.type),
            axis,
            size,
            top_k,
            logits.view,
            scalar,
            temperature.view,
            groups.converted(recorder, top_p.view, top_p.element, scalar, 1),
            _key(recorder, frame, apply, "sample"),
            target,
        )
    )
    return Held(target, Element("i64", size), let.type)


STEPS: dict[str, Callable[[Recorder, Frame, Let, Apply], Handle]] = {
    "normal": draw,
    "uniform": draw,
    "dropout_mask": mask,
    "sample": sample,
}
"""The primitives the host computes itself."""
