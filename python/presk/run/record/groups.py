"""Groups while recording: views cost nothing, everything else is lowered and launched.

Here buffers meet kernels: an input of a wider type than its kernel wants is converted at the edge, a constant or a
counter becomes a one-element buffer. Where lowering knows launches that overwrite an operand, both ways are recorded,
and `record.coalesce` chooses once it is known which buffers die.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from presk.core.groups import Group
from presk.core.nodes import Apply, Body, Function, Let, Literal, Ref
from presk.core.sites import known_as
from presk.exact.constants import round_constant
from presk.kernel.lower.lower import lower
from presk.kernel.lowered import Buffered, Launch, Lowered, SiteChoice, Temporary
from presk.kernel.nodes import BufferType, Element
from presk.run.record import quantised, schedule
from presk.run.record.choices import stated_bound
from presk.run.record.coalesce import Either, Saved
from presk.run.record.epilogues import Join
from presk.run.record.frame import Frame
from presk.run.record.handles import Handle, Held, Known, Round, Tree, component, leaf_type
from presk.run.record.schedule import Convert, Divided, Fixed, SetCount, Splitting, View
from presk.shapes import constants
from presk.shapes.types import Tensor, TupleOf, Type

if TYPE_CHECKING:
    from presk.run.record.recorder import Recorder

ARITHMETIC = {"f64": "f64", "f32": "f32", "bf16": "f32"}
WIDTH = {"f64": 3, "f32": 2, "bf16": 1}
"""Float types by width: a kernel reads narrower ones as they are."""


def emit(
    recorder: Recorder, frame: Frame, body: Body, let: Let, group: Group, function: Function | None = None
) -> Handle:
    """Records a group; the handle of its root. `function` holds the body where it isn't the frame's own."""
    if group.kind == "view":
        return _view(recorder, frame, body, let, group)
    return launch_group(recorder, frame, body, let, group, function or frame.function, let.type)


def launch_group(
    recorder: Recorder,
    frame: Frame,
    body: Body,
    let: Let,
    group: Group,
    function: Function,
    type_: Type,
    storage: Element | None = None,
) -> Handle:
    """Lowers a group and records its launches. `function` holds the body, specialized where it is a map's.

    `storage` overrides the realization, for what is no site of the program.
    """
    found = {ref: _readable(recorder, handle) for ref, handle in _reads(frame, group).items()}
    choice = _choice(recorder, frame, let, type_)
    if storage is not None and storage.kind in WIDTH:
        choice = SiteChoice(storage.kind)
    elements = {ref: _element(handle, choice) for ref, handle in found.items()}
    layout = recorder.choices.layout(frame.function.name, let)
    key = (function.name, id(body), group.root, tuple(sorted(elements.items(), key=repr)), choice, layout, type_)
    site = f"{known_as(frame.function)}/%{let.number}"

    def made() -> Lowered:
        return lower(function, body, group, elements, choice, layout, machine=recorder.choices.machine)

    return _launches(recorder, _lowered(recorder, key, frame, let, made), found, site, type_, let.number)


def launch_joined(recorder: Recorder, frame: Frame, body: Body, join: Join) -> Handle:
    """Lowers a contraction with the group that joins its store, and records its launches; the handle of its root."""
    let, function = join.let, frame.function
    reads = _reads(frame, join.group) | _reads(frame, join.following, without=let.number)
    found = {ref: _readable(recorder, handle) for ref, handle in reads.items()}
    choice, after = (_choice(recorder, frame, each, each.type) for each in (let, join.root))
    elements = {ref: _element(handle, choice) for ref, handle in found.items()}
    layout = recorder.choices.layout(function.name, let)
    key = (function.name, id(body), let.number, tuple(sorted(elements.items(), key=repr)), choice, layout, after)
    site = f"{known_as(function)}/%{let.number}"

    def made() -> Lowered:
        following = (join.following, after)
        return lower(function, body, join.group, elements, choice, layout, following, recorder.choices.machine)

    lowered = _lowered(recorder, key, frame, let, made)
    return _launches(recorder, lowered, found, site, join.root.type, join.root.number)


def _lowered(recorder: Recorder, key: object, frame: Frame, let: Let, made: Callable[[], Lowered]) -> Lowered:
    """A group lowered once for each key; what the rule `auto` chose is noted.

    A forward half has its function's name, unless the function itself runs too and may be laid out differently.
    """
    known = recorder.lowered.get(key)
    if known is None:
        known = recorder.lowered[key] = made()
        if known.chosen is not None:
            name = known_as(frame.function)
            site = f"{frame.function.name if name in recorder.functions else name}/%{let.number}"
            recorder.chosen.setdefault(site, []).append(known.chosen)
    return known


def _reads(frame: Frame, group: Group, without: int | None = None) -> dict[Ref, Handle]:
    """What a group reads but for one let: of a tree, each leaf."""
    found: dict[Ref, Handle] = {}

    def add(ref: Ref, handle: Handle) -> None:
        if isinstance(handle, Tree):
            for name, each in handle.fields:
                add(Ref(ref.number, (*ref.path, name)), each)
        else:
            found[ref] = handle

    for read in group.reads:
        if read.ref.number != without:
            add(read.ref, component(frame.values[read.ref.number], read.ref.path))
    return found


def held(recorder: Recorder, handle: Handle, tensor: Tensor) -> Held:
    """The handle as elements of its own somewhere: a constant or a counter becomes a one-element buffer.

    Of integers with scales these are the values.
    """
    match handle:
        case Held():
            return quantised.values(recorder, handle)
        case Known(_, kind):
            default = ARITHMETIC[recorder.choices.default]
            element = Element("f64" if default == "f64" else "f32") if kind == "real" else _index_element(tensor)
            return Held(_known(recorder, handle, element), element, tensor)
        case Round(type=each):
            element = _index_element(each)
            return Held(_round(recorder, handle), element, tensor)
        case Tree():
            raise AssertionError("a tree is no tensor")


def _readable(recorder: Recorder, handle: Handle) -> Handle:
    return quantised.read(recorder, handle) if isinstance(handle, Held) else handle


def _index_element(tensor: Tensor) -> Element:
    if tensor.kind == "bool":
        return Element("bool")
    return Element("i64", stated_bound(tensor))


def _choice(recorder: Recorder, frame: Frame, let: Let, type_: Type) -> SiteChoice:
    """The site's choice; a scalar lives in the arithmetic type, never in bf16 (numerics.md 3).

    One whose result is rounded is stored in bf16 and widened at once.
    """
    choice = recorder.choices.site(frame.function.name, let)
    if isinstance(type_, Tensor) and not type_.axes and choice.storage == "bf16" and not choice.computed:
        return replace(choice, storage="f32")
    return choice


def _element(handle: Handle, choice: SiteChoice) -> Element:
    """How a group sees what it reads: a constant is in the arithmetic type of its reader."""
    match handle:
        case Held(element=element):
            return element
        case Known(value, kind):
            if kind == "real":
                return Element("f64" if ARITHMETIC[choice.computed or choice.storage] == "f64" else "f32")
            whole = constants.as_size(value)
            assert whole is not None and whole.whole is not None, "a nat constant is a number"
            return Element("bool") if kind == "bool" else Element("i64", whole.whole + 1)
        case Round(type=each):
            return _index_element(each)
        case Tree():
            raise AssertionError("a group reads tensors")


def _launches(
    recorder: Recorder, lowered: Lowered, found: dict[Ref, Handle], site: str, type_: Type, root: int
) -> Handle:
    """Records the launches of a lowered group; the handle of its root."""
    buffers = _Buffers(recorder, found, [recorder.fresh(each.element, _volume(each)) for each in lowered.temporaries])
    for ref, stored in lowered.stored:
        buffers.results[ref] = recorder.fresh(stored.element, _volume(stored))
    steps = tuple(_launch(buffers, launch, site) for launch in lowered.launches)
    saved: list[Saved] = []
    for way in lowered.in_place:
        handle = found.get(way.overwritten)
        if isinstance(handle, Held) and handle.scales is None:
            inner = tuple(_launch(buffers, launch, site) for launch in way.launches)
            cheaper = sum(each.work for each in way.launches) < sum(each.work for each in lowered.launches)
            saved.append(Saved(buffers.results[way.output], handle.view, inner, cheaper))
    recorder.steps.append(Either(steps, tuple(saved)))
    return _result(recorder, lowered, buffers.results, type_, root)


def _launch(buffers: _Buffers, launch: Launch, site: str) -> schedule.Launch:
    inputs = tuple(
        view
        for source, wanted in zip(launch.inputs, launch.kernel.inputs, strict=True)
        for view in buffers.input(source, wanted)
    )
    outputs = tuple(
        buffers.temporaries[each.number] if isinstance(each, Temporary) else buffers.results[each]
        for each in launch.outputs
    )
    number = buffers.recorder.kernel(launch.kernel)
    return schedule.Launch(number, inputs, outputs, _split(launch), site)


def _result(recorder: Recorder, lowered: Lowered, results: dict[Ref, View], type_: Type, root: int) -> Handle:
    """The handle of what was stored; a single number that was rounded is held in the arithmetic type."""
    stored = dict(lowered.stored)

    def part(ref: Ref, tensor: Type) -> Held:
        assert isinstance(tensor, Tensor), "a primitive's tuple holds tensors"
        view, element = results[ref], stored[ref].element
        if tensor.axes or element.kind != "bf16":
            return Held(view, element, tensor)
        wide = Element("f32")
        return Held(converted(recorder, view, element, wide, 1), wide, tensor)

    if isinstance(type_, TupleOf):
        return Tree(tuple((str(at), part(Ref(root, (str(at),)), item)) for at, item in enumerate(type_.items)))
    return part(Ref(root), type_)


def _split(launch: Launch) -> Splitting:
    if launch.whole:
        return "whole"
    return None if launch.split is None else Divided(launch.split.depth, launch.split.workers)


def _volume(buffer: BufferType) -> int:
    total = 1
    for axis in buffer.axes:
        total *= axis.size
    return total


@dataclass
class _Buffers:
    """The buffers of one lowered group."""

    recorder: Recorder
    found: dict[Ref, Handle]
    temporaries: list[View]
    results: dict[Ref, View] = field(default_factory=dict[Ref, View])

    def input(self, source: Buffered, wanted: BufferType) -> tuple[View, ...]:
        """The views of one input of a kernel: one, or integers and scales."""
        if isinstance(source, Temporary):
            return (self.temporaries[source.number],)
        if source in self.results:
            return (self.results[source],)
        handle = self.found[source]
        match handle:
            case Known():
                return (_known(self.recorder, handle, wanted.element),)
            case Round():
                return (_round(self.recorder, handle),)
            case Held(view, element, _, scales):
                if scales is not None:
                    return (view, scales.view)
                return (converted(self.recorder, view, element, wanted.element, _volume(wanted)),)
            case Tree():
                raise AssertionError("a kernel reads tensors")


def converted(recorder: Recorder, view: View, element: Element, wanted: Element, count: int) -> View:
    """The elements in the type a kernel wants: as they are, or converted at its edge, once in each body."""
    if element.kind not in WIDTH or wanted.kind not in WIDTH or element.kind == wanted.kind:
        return view
    key = (view, element, wanted, count)
    for known in reversed(recorder.converted):
        if key in known:
            return known[key]
    target = recorder.fresh(wanted, count)
    recorder.steps.append(Convert(element, wanted, count, view, target))
    recorder.converted[-1][key] = target
    return target


def _known(recorder: Recorder, handle: Known, element: Element) -> View:
    """A constant's buffer, rounded once to its reader's type."""
    if handle.kind == "real":
        kind = "f64" if element.kind == "f64" else "f32"
        return recorder.constant(Fixed(Element(kind), float(round_constant(handle.value, kind))))
    size = constants.as_size(handle.value)
    assert size is not None and size.whole is not None, "a nat constant is a number"
    kind = "bool" if handle.kind == "bool" else "i64"
    return recorder.constant(Fixed(Element(kind), size.whole))


def _round(recorder: Recorder, handle: Round) -> View:
    """A counter's number as one element, set where it is read first in this body."""
    marker = (View(schedule.Name("c", -1 - handle.counter), handle.start), Element("i64"), Element("i64"), 1)
    for known in reversed(recorder.converted):
        if marker in known:
            return known[marker]
    target = recorder.fresh(Element("i64"), 1)
    recorder.steps.append(SetCount(handle.counter, handle.start, target))
    recorder.converted[-1][marker] = target
    return target


def _view(recorder: Recorder, frame: Frame, body: Body, let: Let, group: Group) -> Handle:
    """A view's handle: the operand's elements from an offset on, member by member."""
    lets = {each.number: each for each in body.lets}
    values: dict[int, Handle] = {}

    def value(ref: Ref) -> Handle:
        base = values[ref.number] if ref.number in values else frame.values[ref.number]
        return component(base, ref.path)

    for member in group.members:
        current = lets[member.number]
        assert isinstance(current.value, Apply), "a group's members are primitives"
        operand = current.value.operands[0]
        assert isinstance(operand, Ref), "a view is of something"
        values[member.number] = _moved(recorder, value, current.value, value(operand), current.type)
    return values[let.number]


def _moved(recorder: Recorder, value: Callable[[Ref], Handle], apply: Apply, base: Handle, type_: Type) -> Handle:
    if not isinstance(base, Held):
        base = held(recorder, base, leaf_type(base))
    attributes = dict(apply.attributes)
    match apply.primitive:
        case "unstack":
            assert isinstance(type_, TupleOf), "unstack gives a tuple"
            parts: list[tuple[str, Handle]] = []
            for at, item in enumerate(type_.items):
                assert isinstance(item, Tensor), "of tensors"
                parts.append((str(at), quantised.stretch(recorder, base, at, (), item)))
            return Tree(tuple(parts))
        case "slice":
            assert isinstance(type_, Tensor) and isinstance(attributes["start"], int), "bound"
            return quantised.stretch(recorder, base, attributes["start"], (), type_)
        case "index":
            assert isinstance(type_, Tensor), "a tensor"
            return _indexed(recorder, value, apply, base, type_)
        case _:
            assert isinstance(type_, Tensor), "a tensor"
            return quantised.moved(recorder, apply, base, type_)


def _indexed(recorder: Recorder, value: Callable[[Ref], Handle], apply: Apply, base: Held, type_: Tensor) -> Held:
    place = apply.operands[1]
    if isinstance(place, Literal):
        size = constants.as_size(place.value)
        assert size is not None and size.whole is not None, "a nat constant is a number"
        return quantised.stretch(recorder, base, size.whole, (), type_)
    assert isinstance(place, Ref), "a loop's counter"
    handle = value(place)
    assert isinstance(handle, Round), "a loop's counter"
    return quantised.stretch(recorder, base, handle.start, ((handle.counter, 1),), type_)
