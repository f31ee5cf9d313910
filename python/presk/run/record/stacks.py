"""A loop's state that is stacked too: made in the stack, where the next round and what reads the stack find it.

The recorder keeps a state in two buffers that swap, and copies it to where it is stacked. Where that stack is a buffer
of the arena it becomes one element longer instead, and holds the state of every round, the first and the last among
them: a round reads its own place and writes the next one. So a gradient's loops keep their states without a copy. A
stack that is a result, or that lies in another loop's stack, has no place for one more: there the copy stays.
Called by the recorder on the steps that `coalesce` leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from presk.kernel.nodes import Element
from presk.run.record.coalesce import moved, names, writes
from presk.run.record.schedule import Copy, Name, Repeat, Step, Swap, View

Regions = list[tuple[Element, int]]


@dataclass(frozen=True, slots=True)
class _Stacked:
    """A state that its loop stacks: `copy` is the step that does it, `swap` the one that ends a round.

    Steps go by their number in the order of the text; the loop is from `begin` to `end`. `others` are further stacks of
    the same state, which are none of their own then.
    """

    loop: Repeat
    begin: int
    end: int
    swap: int
    copy: int
    state: Name
    following: Name
    stack: Name
    is_next: bool
    others: tuple[_Stacked, ...] = ()


def stacked_in_place(steps: tuple[Step, ...], regions: Regions) -> tuple[Step, ...]:
    """The steps with states made in their stacks; such a stack's region becomes longer."""
    found = _find(steps, regions)
    while found is not None:
        element, count = regions[found.state.number]
        regions[found.stack.number] = (element, count * (found.loop.trips + 1))
        steps = tuple(_rewritten(steps, found, count, 0)[0])
        found = _find(steps, regions)
    return steps


def _numbered(steps: Sequence[Step], at: int = 0) -> Iterator[tuple[int, int, Step]]:
    """Every step in the order of the text with its number, and the number of its last step where it is a loop."""
    for step in steps:
        if isinstance(step, Repeat):
            inside = list(_numbered(step.steps, at + 1))
            last = inside[-1][1] if inside else at
            yield at, last, step
            yield from inside
            at = last + 1
        else:
            yield at, at, step
            at += 1


def _find(steps: tuple[Step, ...], regions: Regions) -> _Stacked | None:
    """A state that can be made in its stack."""
    order = list(_numbered(steps))
    ends = {at: last for at, last, _ in order}
    by_number = {at: step for at, _, step in order}
    uses: dict[Name, list[int]] = {}
    swapped: Counter[Name] = Counter()
    for at, _, step in order:
        if not isinstance(step, Repeat):
            for name in names(step):
                uses.setdefault(name, []).append(at)
        if isinstance(step, Swap):
            swapped.update((step.first, step.second))
    for begin, end, loop in order:
        if isinstance(loop, Repeat) and loop.trips:
            fitting = [
                found
                for found in _of_loop(loop, begin, end, ends)
                if swapped[found.state] == swapped[found.following] == 1
                and _is_plain(by_number[found.copy], found, regions)
                and _is_alone(found, uses, by_number)
            ]
            if fitting:
                first, *rest = fitting
                return replace(first, others=tuple(each for each in rest if each.state == first.state))
    return None


def _of_loop(loop: Repeat, begin: int, end: int, ends: Mapping[int, int]) -> Iterator[_Stacked]:
    """Copies of a loop's own states, or next states, in its rounds."""
    inside: list[tuple[int, Step]] = []
    at = begin + 1
    for step in loop.steps:
        inside.append((at, step))
        at = ends[at] + 1
    copies = [(at, step) for at, step in inside if isinstance(step, Copy)]
    for swap_at, swap in inside:
        if isinstance(swap, Swap):
            for copy_at, copy in copies:
                if copy.source.buffer in (swap.first, swap.second):
                    is_next = copy.source.buffer == swap.second
                    stack = copy.target.buffer
                    yield _Stacked(loop, begin, end, swap_at, copy_at, swap.first, swap.second, stack, is_next)


def _is_plain(copy: Step, found: _Stacked, regions: Regions) -> bool:
    """Whether the copy takes a whole state to its round's place in a stack of so many."""
    if not isinstance(copy, Copy) or found.stack.space != "a" or copy.source != View(copy.source.buffer):
        return False
    if copy.target != View(found.stack, 0, ((found.loop.counter, copy.count),)):
        return False
    whole = (copy.element, copy.count)
    return regions[found.state.number] == whole and regions[found.stack.number] == (
        copy.element,
        copy.count * found.loop.trips,
    )


def _is_alone(found: _Stacked, uses: dict[Name, list[int]], steps: dict[int, Step]) -> bool:
    """Whether nobody looks at the three buffers in a way that their places in the stack wouldn't do for."""

    def is_inside(at: int) -> bool:
        return found.begin < at <= found.end

    def written(name: Name) -> list[int]:
        return [at for at in uses[name] if any(view.buffer == name for view in writes(steps[at]))]

    if any(at != found.copy and at <= found.end for at in uses[found.stack]):
        return False
    if any(at > found.end for at in written(found.stack)):
        return False
    if not all(map(is_inside, uses[found.following])):
        return False
    if any(at > found.begin for at in written(found.state)):
        return False
    if found.is_next and any(at > found.copy for at in written(found.following)):
        return False
    rest = [at for name in (found.state, found.following) for at in uses[name] if is_inside(at)]
    return all(at <= found.swap for at in rest)


def _rewritten(steps: Sequence[Step], found: _Stacked, count: int, at: int) -> tuple[list[Step], int]:
    """The steps over the longer stack, and the number behind the last."""
    made: list[Step] = []
    for step in steps:
        if isinstance(step, Repeat):
            inside, following = _rewritten(step.steps, found, count, at + 1)
            made.append(replace(step, steps=tuple(inside)))
            at = following
            continue
        if at not in (found.swap, found.copy, *(each.copy for each in found.others)):
            made.append(_at_places(step, found, count, at))
        at += 1
    return made, at


def _at_places(step: Step, found: _Stacked, count: int, at: int) -> Step:
    """The step over the places of the stack: forward, round i finds its state at i and leaves the next one at i + 1."""
    loop = found.loop
    first, last = (loop.trips, 0) if loop.reversed else (0, loop.trips)
    own, other = (1, 0) if loop.reversed else (0, 1)
    strides = ((loop.counter, count),)
    if isinstance(step, Swap):
        return step
    for each in (found, *found.others):
        step = cast(Step, moved(step, each.stack, View(found.stack, count * (other if each.is_next else own))))
    if found.begin < at <= found.end:
        step = cast(Step, moved(step, found.state, View(found.stack, count * own, strides)))
        return cast(Step, moved(step, found.following, View(found.stack, count * other, strides)))
    return cast(Step, moved(step, found.state, View(found.stack, count * (first if at < found.begin else last))))
