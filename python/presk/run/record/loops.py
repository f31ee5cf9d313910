"""Loops and leafwise maps while recording.

A loop's body is recorded once. Its state lives in buffers of its own; the next state is copied to their twins at the
end of a round, and the two swap. The elements of what it goes over are views with a stride; what a scan stacks is
copied to its place; of a state's copies `stacks` takes out most. A map is recorded leaf by leaf, a leaf being one run
of all its elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from presk.core.groups import Group, partition
from presk.core.leafwise import at_leaf
from presk.core.nodes import (
    Apply,
    Body,
    Count,
    Each,
    Function,
    Let,
    Loop,
    MapTrees,
    Parameter,
    Ref,
)
from presk.core.typing import operand_type
from presk.kernel.lower.lower import types_of
from presk.kernel.nodes import Element
from presk.run.record import groups, quantised
from presk.run.record.coalesce import Recorded
from presk.run.record.frame import Frame
from presk.run.record.handles import (
    Handle,
    Held,
    Known,
    Round,
    Tree,
    build,
    component,
    layer,
    leaf_type,
    leaves,
    rebuilt,
    shifted,
    stacked_type,
    volume,
)
from presk.run.record.schedule import Convert, Copy, Repeat, Step, Swap, View
from presk.shapes.poly import number
from presk.shapes.types import Axis, Shape, Tensor, TupleOf, Type
from presk.shapes.types import leaves as type_leaves

if TYPE_CHECKING:
    from presk.run.record.recorder import Recorder


@dataclass(frozen=True)
class _Result:
    """What a loop's body gives in one recording of it."""

    following: Handle
    given: Handle | None
    steps: list[Recorded]


def repeat(recorder: Recorder, frame: Frame, let: Let, loop: Loop) -> Handle:
    """A fold or a scan; the handle of its result."""
    start = recorder.operand(frame, loop.start)
    kinds = [kind for _, kind in type_leaves(loop.state.type)]
    held = [groups.held(recorder, each, kind) for each, kind in zip(leaves(start), kinds, strict=True)]
    sources = [_source(recorder, frame, source) for source in loop.sources]
    counter = recorder.loops
    recorder.loops += 1
    elements = [each.element for each in held]
    while True:
        state = [recorder.fresh(element, volume(kind)) for element, kind in zip(elements, kinds, strict=True)]
        handles = iter(Held(view, e, kind) for view, e, kind in zip(state, elements, kinds, strict=True))
        frame.values[loop.state.number] = build(loop.state.type, lambda _path, _tensor, given=handles: next(given))
        result = _record_body(recorder, frame, let, loop, sources, counter)
        following = [_stored(recorder, each) for each in leaves(result.following)]
        following = [_stored(recorder, each) for each in leaves(result.following)]
        wider = [_wider(one, other) for one, other in zip(elements, following, strict=True)]
        if wider == elements:
            break
        elements = wider
    for before, view, element, kind in zip(held, state, elements, kinds, strict=True):
        recorder.steps.append(moved(before, element, volume(kind), view))
    stacks = _stack(recorder, loop, result, counter)
    _advance(recorder, result, state, elements, kinds)
    recorder.steps.append(Repeat(counter, loop.trips, loop.reversed, cast("tuple[Step, ...]", tuple(result.steps))))
    final = frame.values[loop.state.number]
    return final if stacks is None else Tree((("0", final), ("1", stacks)))


def _record_body(
    recorder: Recorder, frame: Frame, let: Let, loop: Loop, sources: list[Handle | None], counter: int
) -> _Result:
    """Records one round; its steps stand in a list of their own."""
    for parameter, source, given in zip(loop.elements, sources, loop.sources, strict=True):
        frame.values[parameter.number] = _element(parameter, source, given, counter)
    outer, recorder.steps = recorder.steps, []
    recorder.converted.append({})
    recorder.counters.append(counter)
    try:
        value = recorder.body(frame, loop.body, let.number)
        following, given = value, None
        if loop.kind == "scan":
            following, given = component(value, ("0",)), component(value, ("1",))
        return _Result(following, given, recorder.steps)
    finally:
        recorder.counters.pop()
        recorder.converted.pop()
        recorder.steps = outer


def _source(recorder: Recorder, frame: Frame, source: Each | Count) -> Handle | None:
    """What a loop goes over, its elements lying one behind the other; None for a counter."""
    if isinstance(source, Count):
        return None
    handle = recorder.operand(frame, source.operand)
    if source.axis in (None, 0):
        return rebuilt(handle, lambda leaf: quantised.steps_alone(recorder, leaf) if isinstance(leaf, Held) else leaf)
    assert isinstance(handle, Held) and source.axis is not None, "a tensor is gone over along an axis"
    order = (source.axis, *(at for at in range(len(handle.type.axes)) if at != source.axis))
    type_ = replace(handle.type, axes=tuple(handle.type.axes[at] for at in order))
    return _transposed(recorder, quantised.values(recorder, handle), order, type_)


def _transposed(recorder: Recorder, handle: Held, order: tuple[int, ...], type_: Tensor) -> Held:
    """The tensor laid out with its axes in another order, by a kernel like any other."""
    let = Let(1, None, Apply("transpose", (Ref(0),), (("order", order),)), type_)
    function = Function("transpose", (Parameter(0, None, handle.type),), type_, Body((let,), Ref(1)))
    group = partition(function).bodies[0].groups[0]
    frame = Frame(function, {}, ())
    frame.values[0] = handle
    moved = groups.launch_group(recorder, frame, function.body, let, group, function, type_, handle.element)
    assert isinstance(moved, Held), "a tensor"
    return moved


def _element(parameter: Parameter, source: Handle | None, given: Each | Count, counter: int) -> Handle:
    if isinstance(given, Count):
        assert isinstance(parameter.type, Tensor), "a counter is a nat"
        return Round(counter, given.start, parameter.type)
    assert source is not None, "trees and tensors have elements"
    handles = leaves(layer(source, counter))

    def leaf(path: tuple[str, ...], tensor: Tensor) -> Handle:
        handle = next(handles)
        assert isinstance(handle, Held), "an element is held"
        return replace(handle, type=tensor)

    return build(parameter.type, leaf)


def _stored(recorder: Recorder, handle: Handle) -> Element:
    """How a handle is stored; a constant and a counter can be stored as anything of their kind."""
    match handle:
        case Held(element=element, scales=scales):
            return element if scales is None else quantised.VALUES
        case Known(kind="real"):
            return Element("bf16")
        case Known(kind="bool"):
            return Element("bool")
        case _:
            return Element("i64")


def _wider(one: Element, other: Element) -> Element:
    if one.kind not in groups.WIDTH or other.kind not in groups.WIDTH:
        return one
    return one if groups.WIDTH[one.kind] >= groups.WIDTH[other.kind] else other


def moved(before: Held, element: Element, count: int, target: View) -> Copy | Convert:
    """The elements at another place, widened or narrowed where the types differ."""
    if before.element.kind == element.kind or element.kind not in groups.WIDTH:
        return Copy(element, count, before.view, target)
    return Convert(before.element, element, count, before.view, target)


def _advance(
    recorder: Recorder, result: _Result, state: list[View], elements: list[Element], kinds: list[Tensor]
) -> None:
    """Ends a round: the next state to the twins of the state's buffers, then both swap."""
    swaps: list[Step] = []
    outer, recorder.steps = recorder.steps, result.steps
    for handle, view, element, kind in zip(leaves(result.following), state, elements, kinds, strict=True):
        following = groups.held(recorder, handle, kind)
        if following.view == view:
            continue
        twin = recorder.fresh(element, volume(kind))
        recorder.steps.append(moved(following, element, volume(kind), twin))
        swaps.append(Swap(view.buffer, twin.buffer))
    recorder.steps = outer
    result.steps.extend(swaps)


def _stack(recorder: Recorder, loop: Loop, result: _Result, counter: int) -> Handle | None:
    """Where a scan's results are stacked; the copies to it are the round's last steps before its state advances."""
    if result.given is None:
        return None
    assert isinstance(loop.body.result, Ref), "a scan's body gives a pair"
    outer, recorder.steps = recorder.steps, result.steps

    def one(handle: Handle) -> Handle:
        kind = leaf_type(handle)
        held = groups.held(recorder, handle, kind)
        stack = recorder.fresh(held.element, volume(kind) * loop.trips)
        place = shifted(stack, 0, ((counter, volume(kind)),))
        recorder.steps.append(Copy(held.element, volume(kind), held.view, place))
        stacked = stacked_type(kind, loop.trips)
        assert isinstance(stacked, Tensor), "a stacked tensor is a tensor"
        return Held(stack, held.element, stacked)

    stacks = rebuilt(result.given, one)
    recorder.steps = outer
    return stacks


def map_leaves(recorder: Recorder, frame: Frame, let: Let, mapped: MapTrees) -> Handle:
    """A leafwise map: the body's groups once for every leaf."""
    trees = [recorder.operand(frame, operand) for operand in mapped.operands]
    results: list[list[Handle]] = []
    kinds = [kind for _, kind in type_leaves(operand_type(mapped.operands[0], types_of(frame.function)))]
    for kind, *given in zip(kinds, *(list(leaves(tree)) for tree in trees), strict=True):
        results.append(_map_leaf(recorder, frame, let, mapped, kind, given))
    if mapped.arity is None:
        return _tree_of(recorder, let.type, [each[0] for each in results])
    assert isinstance(let.type, TupleOf), "several trees are a tuple"
    return Tree(
        tuple(
            (str(at), _tree_of(recorder, item, [each[at] for each in results]))
            for at, item in enumerate(let.type.items)
        )
    )


def _tree_of(recorder: Recorder, of: Type, found: list[Handle]) -> Handle:
    """The tree of a type whose leaves these are, each with its own type."""
    flat = iter(found)
    return build(of, lambda _path, tensor: replace(groups.held(recorder, next(flat), tensor), type=tensor))


@dataclass(frozen=True)
class LeafMap:
    """A map whose leaf is one axis: the function that holds it, its body, and the groups of that by their roots."""

    function: Function
    mapped: MapTrees
    roots: dict[int, Group]


def _map_leaf(
    recorder: Recorder, frame: Frame, let: Let, mapped: MapTrees, kind: Tensor, given: list[Handle]
) -> list[Handle]:
    """The results of the body on one leaf."""
    flat: Shape = (Axis(None, number(volume(kind))),) if kind.axes else ()
    place = (frame.function.name, let.number, flat)
    if place not in recorder.maps:
        recorder.maps[place] = _specialized(frame.function, let, mapped, flat)
    leaf_map = recorder.maps[place]
    body = leaf_map.mapped
    for parameter, handle in zip(body.parameters, given, strict=True):
        assert isinstance(parameter.type, Tensor), "a leaf is a tensor"
        held = groups.held(recorder, handle, kind)  # a scalar leaf may be a literal
        frame.values[parameter.number] = replace(held, type=parameter.type)
    for inner in body.body.lets:
        group = leaf_map.roots.get(inner.number)
        if group is None and isinstance(inner.value, Apply):
            continue
        if group is not None:
            frame.values[inner.number] = groups.emit(recorder, frame, body.body, inner, group, leaf_map.function)
        else:
            frame.values[inner.number] = recorder.let(frame, body.body, inner, None)
    value = recorder.operand(frame, body.body.result)
    return [value] if mapped.arity is None else [component(value, (str(at),)) for at in range(mapped.arity)]


def _specialized(function: Function, let: Let, mapped: MapTrees, flat: Shape) -> LeafMap:
    """The map with its leaf being one axis of all the leaf's elements, in its function, wherever it stands there."""
    made = at_leaf(mapped, flat, types_of(function))

    def within(body: Body) -> Body:
        return replace(body, lets=tuple(one(each) for each in body.lets))

    def one(each: Let) -> Let:
        if each.number == let.number:
            return replace(each, value=made)
        if isinstance(each.value, Loop):
            return replace(each, value=replace(each.value, body=within(each.value.body)))
        return each

    whole = replace(function, body=within(function.body))
    roots = {
        group.root: group for bodies in partition(whole).bodies if bodies.owner == let.number for group in bodies.groups
    }
    return LeafMap(whole, made, roots)
