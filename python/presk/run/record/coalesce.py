"""Copies taken out of a recording, and ways in place chosen, once it is known who reads what last.

A copy of a whole buffer to a place nobody else looks at meanwhile is no copy: the buffer can be that place from the
start. So a loop's next state is made where the next round looks for it, a scan's results in their stack, a result in
the output. `Either` is the recorder's word for launches that have a way of overwriting an operand; here one way is
chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Union, cast

from presk.kernel.nodes import Element
from presk.run.record.handles import shifted
from presk.run.record.schedule import (
    Convert,
    Copy,
    Draw,
    Input,
    Launch,
    Mask,
    Name,
    Repeat,
    Sample,
    SetCount,
    Step,
    Swap,
    View,
)


@dataclass(frozen=True, slots=True)
class Saved:
    """Launches with the same result that overwrite `overwritten` where `output` would be made.

    `cheaper`: they do less work besides, as an update of one slice does.
    """

    output: View
    overwritten: View
    launches: tuple[Launch, ...]
    cheaper: bool = True


@dataclass(frozen=True, slots=True)
class Either:
    """Launches, and ways of doing without a buffer, the best first."""

    launches: tuple[Launch, ...]
    saved: tuple[Saved, ...]


Recorded = Union[Step, Either]


@dataclass
class _Flat:
    """A recording laid out: every step with the block it stands in, in order, loops as brackets of their own."""

    steps: list[Recorded | None]
    blocks: list[int]
    parents: list[int | None]
    loops: list[Repeat | None]
    uses: dict[Name, list[int]]


def reads(step: Recorded) -> Iterator[View]:
    """The views a step reads."""
    match step:
        case Launch(inputs=inputs):
            yield from inputs
        case Convert(source=source) | Copy(source=source):
            yield source
        case Mask(probability=probability):
            yield probability
        case Sample(logits=logits, temperature=temperature, top_p=top_p):
            yield from (logits, temperature, top_p)
        case Either(launches):
            for launch in launches:
                yield from launch.inputs
        case _:
            return


def writes(step: Recorded) -> Iterator[View]:
    """The views a step writes."""
    match step:
        case Launch(outputs=outputs):
            yield from outputs
        case Convert(target=target) | Copy(target=target) | SetCount(target=target):
            yield target
        case Draw(target=target) | Mask(target=target) | Sample(target=target):
            yield target
        case Either(launches):
            for launch in launches:
                yield from launch.outputs
        case _:
            return


def names(step: Recorded) -> set[Name]:
    """The buffers a step touches, a swap's included."""
    if isinstance(step, Swap):
        return {step.first, step.second}
    return {view.buffer for view in (*reads(step), *writes(step))}


def moved(step: Recorded, name: Name, place: View) -> Recorded:
    """The step with one buffer being a place in another."""
    return changed(step, lambda view: shifted(place, view.start, view.strides) if view.buffer == name else view)


def changed(step: Recorded, change: Callable[[View], View]) -> Recorded:
    """The step with every view changed; a swap, whose buffers are whole, and a loop as they are."""
    match step:
        case Launch(inputs=inputs, outputs=outputs):
            return replace(step, inputs=tuple(map(change, inputs)), outputs=tuple(map(change, outputs)))
        case Convert(source=source, target=target) | Copy(source=source, target=target):
            return replace(step, source=change(source), target=change(target))
        case SetCount(target=target) | Draw(target=target):
            return replace(step, target=change(target))
        case Mask(probability=probability, target=target):
            return replace(step, probability=change(probability), target=change(target))
        case Sample(logits=logits, temperature=temperature, top_p=top_p, target=target):
            return replace(
                step, logits=change(logits), temperature=change(temperature), top_p=change(top_p), target=change(target)
            )
        case Either(launches, saved):
            return Either(
                tuple(cast(Launch, changed(each, change)) for each in launches),
                tuple(
                    Saved(
                        change(way.output),
                        change(way.overwritten),
                        tuple(cast(Launch, changed(each, change)) for each in way.launches),
                        way.cheaper,
                    )
                    for way in saved
                ),
            )
        case _:
            return step


def coalesce(
    steps: list[Recorded], regions: list[tuple[Element, int]], inputs: list[Input]
) -> tuple[tuple[Step, ...], dict[int, int]]:
    """The steps without needless copies, and which outputs share a donated input's buffer."""
    flat = _flatten(steps)
    for at in range(len(flat.steps)):
        step = flat.steps[at]
        if isinstance(step, Either):
            _choose(flat, at, step, regions, inputs)
    shared: dict[int, int] = {}
    for at in range(len(flat.steps)):
        step = flat.steps[at]
        if isinstance(step, Copy):
            _drop(flat, at, step, regions, inputs, shared)
    return _rebuild(flat), shared


def _flatten(steps: list[Recorded]) -> _Flat:
    flat = _Flat([], [], [None], [None], {})

    def walk(inner: list[Recorded], block: int) -> None:
        for step in inner:
            at = len(flat.steps)
            flat.steps.append(step)
            flat.blocks.append(block)
            if isinstance(step, Repeat):
                flat.parents.append(block)
                flat.loops.append(step)
                number = len(flat.parents) - 1
                walk(list(step.steps), number)
                flat.steps.append(None)
                flat.blocks.append(number)
            else:
                for name in names(step):
                    flat.uses.setdefault(name, []).append(at)

    walk(steps, 0)
    return flat


def _rebuild(flat: _Flat) -> tuple[Step, ...]:
    """The steps with their loops, from the flat list; a loop's end is a None in its block."""
    stack: list[tuple[Repeat | None, list[Step]]] = [(None, [])]
    for step in flat.steps:
        if step is None:
            repeat, inner = stack.pop()
            assert repeat is not None, "an end closes a loop"
            stack[-1][1].append(replace(repeat, steps=tuple(inner)))
        elif isinstance(step, Repeat):
            stack.append((step, []))
        elif isinstance(step, Either):
            stack[-1][1].extend(step.launches)
        elif not isinstance(step, Copy) or step.source != step.target:
            stack[-1][1].append(step)
    return tuple(stack[0][1])


def _inside(flat: _Flat, block: int, outer: int) -> bool:
    """Whether a block is `outer` or in it."""
    inner: int | None = block
    while inner is not None:
        if inner == outer:
            return True
        inner = flat.parents[inner]
    return False


def _is_whole(view: View, count: int, element: Element, regions: list[tuple[Element, int]]) -> bool:
    """Whether a view of so many elements is a whole buffer of the arena."""
    if view.buffer.space != "a" or view.start or view.strides:
        return False
    return regions[view.buffer.number] == (element, count)


def _swapped(flat: _Flat, name: Name) -> bool:
    return any(isinstance(flat.steps[at], Swap) for at in flat.uses.get(name, ()))


def _drop(
    flat: _Flat,
    at: int,
    copy: Copy,
    regions: list[tuple[Element, int]],
    inputs: list[Input],
    shared: dict[int, int],
) -> None:
    """Takes a copy out by making its source at its target, or by letting an output be a donated input's buffer."""
    source, target = copy.source, copy.target
    if source == target:
        return
    if _whole_donated(source, copy.count, inputs) and target.buffer.space == "o" and not target.start:
        if _last_use(flat, source.buffer, at) and source.buffer.number not in shared.values():
            shared[target.buffer.number] = source.buffer.number
            flat.steps[at] = replace(copy, source=target)
            return
    if _becomes_donated(flat, at, copy, regions, inputs):
        _place_at(flat, target.buffer, View(source.buffer), flat.uses.pop(target.buffer))
        flat.uses[target.buffer] = []
        return
    if not _is_whole(source, copy.count, copy.element, regions) or _swapped(flat, source.buffer):
        return
    uses = flat.uses[source.buffer]
    block = flat.blocks[at]
    if uses[-1] != at or not all(_inside(flat, flat.blocks[use], block) for use in uses):
        return
    between = flat.uses[target.buffer]
    if any(uses[0] <= use < at for use in between):
        return
    _place_at(flat, source.buffer, target, uses[:-1])
    flat.steps[at] = replace(copy, source=target)
    flat.uses[source.buffer] = []


def _becomes_donated(flat: _Flat, at: int, copy: Copy, regions: list[tuple[Element, int]], inputs: list[Input]) -> bool:
    """Whether a copy of a donated stack's own layer makes the layers of a stack that can be the donated one itself."""
    source, target = copy.source, copy.target
    if not _is_donated_layer(flat, at, source, copy.count, copy.element, inputs):
        return False
    stack = target.buffer
    if stack.space != "a" or target.start or target.strides != source.strides or _swapped(flat, stack):
        return False
    if regions[stack.number] != (copy.element, prod(inputs[source.buffer.number].shape)):
        return False
    first, *others = flat.uses[stack]
    return first == at and not any(_inside(flat, flat.blocks[use], flat.blocks[at]) for use in others)


def _place_at(flat: _Flat, name: Name, place: View, uses: list[int]) -> None:
    """Makes a buffer a place in another, in these steps."""
    for use in uses:
        step = flat.steps[use]
        assert step is not None, "a use is a step"
        flat.steps[use] = moved(step, name, place)
    flat.uses[place.buffer] = sorted({*flat.uses.get(place.buffer, ()), *uses})


def _whole_donated(view: View, count: int, inputs: list[Input]) -> bool:
    if view.buffer.space != "h" or view.start or view.strides:
        return False
    given = inputs[view.buffer.number]
    return given.donated and prod(given.shape) == count


def _last_use(flat: _Flat, name: Name, at: int) -> bool:
    """Whether a step that isn't in a loop is the last that touches a buffer."""
    return flat.blocks[at] == 0 and all(use <= at for use in flat.uses.get(name, ()))


def _choose(flat: _Flat, at: int, either: Either, regions: list[tuple[Element, int]], inputs: list[Input]) -> None:
    """Takes the first way in place whose overwritten buffer dies here: of a donated input, or one that saves work.

    To save room alone is the arena's business, which gives the dead buffer's place away anyway.
    """
    for way in either.saved:
        if not way.cheaper and way.overwritten.buffer.space != "h":
            continue
        old, new = way.overwritten, way.output
        element, count = regions[new.buffer.number]
        if _read_twice(way):
            continue
        if not _is_donated_layer(flat, at, old, count, element, inputs):
            if not (_is_whole(old, count, element, regions) or _whole_donated(old, count, inputs)):
                continue
            if _swapped(flat, old.buffer) or not _dies(flat, old.buffer, at):
                continue
        flat.steps[at] = Either(way.launches, ())
        _place_at(flat, new.buffer, old, flat.uses.pop(new.buffer))
        flat.uses[new.buffer] = []
        return


def _is_donated_layer(flat: _Flat, at: int, view: View, count: int, element: Element, inputs: list[Input]) -> bool:
    """Whether a view is the round's own layer of a donated stack, which this step is the last to look at.

    The loop goes over the stack once, and no step of it looks at another round's layer.
    """
    block = flat.blocks[at]
    loop = flat.loops[block]
    if loop is None or flat.parents[block] != 0 or view.buffer.space != "h":
        return False
    given = inputs[view.buffer.number]
    if not given.donated or given.element != element or prod(given.shape) != count * loop.trips:
        return False
    if view.start or view.strides != ((loop.counter, count),):
        return False
    uses = flat.uses[view.buffer]
    return uses[-1] == at and all(flat.blocks[use] == block and _looks_at(flat, use, view) for use in uses)


def _looks_at(flat: _Flat, use: int, view: View) -> bool:
    """Whether a step touches the view's buffer at this view alone."""
    step = flat.steps[use]
    assert step is not None, "a use is a step"
    return all(each == view for each in (*reads(step), *writes(step)) if each.buffer == view.buffer)


def _read_twice(way: Saved) -> bool:
    """Whether a launch reads the overwritten buffer through another input too, at places that may be written before."""
    name = way.overwritten.buffer
    return any(sum(view.buffer == name for view in launch.inputs) > 1 for launch in way.launches)


def _dies(flat: _Flat, name: Name, at: int) -> bool:
    """Whether nobody looks at a buffer after a step, in this round or a later one."""
    uses = flat.uses[name]
    block = flat.blocks[at]
    if name.space == "h":
        return uses[-1] == at and block == 0
    return uses[-1] == at and all(_inside(flat, flat.blocks[use], block) for use in uses)
