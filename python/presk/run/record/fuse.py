"""Launches brought together: sweeps over the same elements that follow each other become one kernel with their outputs.

An optimizer's step writes two moments and a parameter in three sweeps, each of which reads what the others read or
wrote. Where every buffer that one of the sweeps writes is accessed by all of them at the element at hand alone, their
statements may stand in one loop: a later sweep then reads an earlier one's result as it was stored, so no bit changes.
Called by the recorder under the plan `auto`, before buffers have their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from presk.kernel.nodes import Access, Assign, Buffer, BufferType, For, Kernel, Load, Output, Statement, Store, Variable
from presk.kernel.renaming import Renaming, parts
from presk.run.record.schedule import Launch, Name, Repeat, Step, View

MOST_BUFFERS = 16
"""Buffers of a fused kernel: its innermost loop keeps an address for each."""

LONGEST_NAME = 40
"""Characters of a fused kernel's name; a longer one is the first sweep's."""


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A kernel that is one run over its output's elements.

    `head` are variables set in front of the loops, `nest` is the outermost loop; `extents` are the loops' and `body`
    the statements within.
    """

    head: tuple[Assign, ...]
    nest: For
    extents: tuple[int, ...]
    body: tuple[Assign | Store, ...]


def fused(steps: Sequence[Step], kernels: dict[Kernel, int], same: Mapping[Name, Name]) -> tuple[Step, ...]:
    """The steps with neighbouring sweeps fused. New kernels are added to `kernels`, which numbers them.

    `same` says of outputs which are an input's buffer.
    """
    known = list(kernels)
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Repeat):
            found.append(replace(step, steps=fused(step.steps, kernels, same)))
            known = list(kernels)
            continue
        before = found[-1] if found else None
        if isinstance(step, Launch) and isinstance(before, Launch):
            pair = _pair(before, known[before.kernel], step, known[step.kernel], same)
            if pair is not None:
                launch, kernel = pair
                number = kernels.setdefault(kernel, len(kernels))
                known = list(kernels)
                found[-1] = replace(launch, kernel=number)
                continue
        found.append(step)
    return tuple(found)


def _pair(
    one: Launch, first: Kernel, two: Launch, second: Kernel, same: Mapping[Name, Name]
) -> tuple[Launch, Kernel] | None:
    """Both launches as one, and its kernel; None where they can't or needn't be."""
    sweep, other = _sweep(first), _sweep(second)
    if sweep is None or other is None or sweep.extents != other.extents or one.split != two.split:
        return None
    if first.arithmetic != second.arithmetic or first.scratch or second.scratch:
        return None
    mine, yours = _views(one, first), _views(two, second)
    if mine is None or yours is None or not _shares_elements(mine, first, yours):
        return None
    written, views = {*one.outputs, *two.outputs}, {*mine, *yours}
    if len(views) > MOST_BUFFERS or not set(one.outputs).isdisjoint(two.outputs):
        return None
    if any(_memory(view, same) == _memory(out, same) and view != out for out in written for view in views):
        return None
    if any(view in one.inputs and view not in two.inputs for view in two.outputs):
        return None
    here = tuple(Variable("i", depth) for depth in range(len(sweep.extents)))
    types: dict[View, object] = {}
    for given, kernel, found in ((mine, first, sweep), (yours, second, other)):
        if any(given[each.buffer.number] in written for each in _accesses(found.head)):
            return None
        if any(given[each.buffer.number] in written and each.index != here for each in _accesses(found.body)):
            return None
        for view, declared in zip(given, _declared(kernel), strict=True):
            if view in written and types.setdefault(view, declared) != declared:
                return None
    return _join(one, first, two, second, (sweep, other))


def _join(
    one: Launch, first: Kernel, two: Launch, second: Kernel, sweeps: tuple[_Sweep, _Sweep]
) -> tuple[Launch, Kernel]:
    """The launch of both, and its kernel: the second's statements behind the first's in the same loops."""
    inputs = dict.fromkeys(zip(one.inputs, first.inputs, strict=True))
    inputs |= dict.fromkeys(each for each in zip(two.inputs, second.inputs, strict=True) if each[0] not in one.outputs)
    number = {each: at for at, each in enumerate(inputs)}
    outputs = (*one.outputs, *two.outputs)

    def buffers(launch: Launch, kernel: Kernel, before: tuple[View, ...], at: int) -> dict[Buffer, Buffer]:
        """Where a kernel's buffers stand in both's; what was written before is read where it was written."""
        found: list[int] = []
        for view, declared in zip(launch.inputs, kernel.inputs, strict=True):
            found.append(len(inputs) + before.index(view) if view in before else number[view, declared])
        found += [len(inputs) + at + each for each in range(len(launch.outputs))]
        return {Buffer("%", old): Buffer("%", new) for old, new in enumerate(found)}

    renamed = buffers(one, first, (), 0), buffers(two, second, one.outputs, len(one.outputs))
    most: dict[str, int] = {}
    for variable in _assigned(first.body):
        most[variable.kind] = max(most.get(variable.kind, 0), variable.number + 1)
    apart = {each: Variable(each.kind, each.number + most.get(each.kind, 0)) for each in _assigned(second.body)}
    names = Renaming({}, {}, renamed[0]), Renaming(apart, {}, renamed[1])
    heads = (each.statement(set_) for each, sweep in zip(names, sweeps, strict=True) for set_ in sweep.head)
    body = (*heads, *_within((sweeps[0].nest,), names[0], (sweeps[1].nest,), names[1]))
    types = [
        Output(each.type, None if each.shares is None else places[Buffer("%", each.shares)].number)
        for kernel, places in ((first, renamed[0]), (second, renamed[1]))
        for each in kernel.outputs
    ]
    name = "_".join(each.name.partition("[")[0] for each in (first, second))
    name = name if len(name) <= LONGEST_NAME else first.name
    kernel = Kernel(name, first.arithmetic, tuple(each for _, each in inputs), tuple(types), (), body)
    return replace(two, inputs=tuple(view for view, _ in inputs), outputs=outputs), kernel


def _within(
    first: tuple[Statement, ...], one: Renaming, second: tuple[Statement, ...], two: Renaming
) -> tuple[Statement, ...]:
    """Two sweeps' statements in one nest of loops."""
    if len(first) == 1 and isinstance(first[0], For) and isinstance(second[0], For):
        return (replace(first[0], body=_within(first[0].body, one, second[0].body, two)),)
    return (*(one.statement(each) for each in first), *(two.statement(each) for each in second))


def _sweep(kernel: Kernel) -> _Sweep | None:
    """The kernel as a sweep, where it is one."""
    if not kernel.body:
        return None
    *before, nest = kernel.body
    head = tuple(each for each in before if isinstance(each, Assign))
    if not isinstance(nest, For) or len(head) < len(before):
        return None
    extents: list[int] = []
    body: tuple[Statement, ...] = (nest,)
    while len(body) == 1 and isinstance(body[0], For):
        if body[0].counter != len(extents):
            return None
        extents.append(body[0].extent)
        body = body[0].body
    found = tuple(each for each in body if isinstance(each, (Assign, Store)))
    is_plain = len(found) == len(body) and not any(isinstance(each, Store) and each.vector for each in found)
    return _Sweep(head, nest, tuple(extents), found) if is_plain else None


def _shares_elements(mine: tuple[View, ...], first: Kernel, yours: tuple[View, ...]) -> bool:
    """Whether both sweeps access some tensor, so that there is something to be saved; a single number is nothing."""
    elements = [view for view, declared in zip(mine, _declared(first), strict=True) if declared.axes]
    return not set(elements).isdisjoint(yours)


def _memory(view: View, same: Mapping[Name, Name]) -> Name:
    return same.get(view.buffer, view.buffer)


def _views(launch: Launch, kernel: Kernel) -> tuple[View, ...] | None:
    """The view of each of a kernel's buffers; None where integers with scales have two."""
    if len(launch.inputs) != len(kernel.inputs):
        return None
    return (*launch.inputs, *launch.outputs)


def _declared(kernel: Kernel) -> tuple[BufferType, ...]:
    return (*kernel.inputs, *(each.type for each in kernel.outputs))


def _accesses(body: Sequence[Assign | Store]) -> Iterator[Access]:
    """Every load and store."""
    for statement in body:
        values = [statement.value]
        if isinstance(statement, Store):
            yield statement.access
            values += statement.access.index
        yield from (each.access for value in values for each in parts(value) if isinstance(each, Load))


def _assigned(body: Sequence[Statement]) -> Iterator[Variable]:
    for statement in body:
        if isinstance(statement, Assign):
            yield statement.variable
        elif isinstance(statement, For):
            yield from _assigned(statement.body)
