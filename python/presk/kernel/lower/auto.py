"""The plan `auto`: for every nest a layout by a fixed rule over its shape, the caches and the number of workers.

No choice changes a bit, so the rule only has to be fast: it asks nothing but sizes, and gives the same answer on every
machine with as many workers and the same caches. Each choice comes with its reason (`Chosen.why`), which `presk dump
--plan auto` prints. Called by `lower`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from presk.kernel.lower.contraction import LABELS, Contraction, contraction_of
from presk.kernel.lower.interleave import is_slow_alone, row_loop
from presk.kernel.lower.task import WIDTH, Task
from presk.kernel.lowered import Chosen, Launch, Layout, Lowered, Machine, Split
from presk.kernel.native import parallel_depths
from presk.kernel.nodes import For, Kernel
from presk.kernel.printer import print_kernel

FIRST_CACHE = 1 << 15
"""Bytes of the nearest cache where the system doesn't say."""

DIVIDED_FROM = 1_000_000
"""Weighted operations from which a launch is divided: a piece of it then takes longer than waking a worker."""

BALANCED = 0.9
"""The outermost loop is divided unless one within gives the longest piece less than this part of its work."""


def lower(task: Task, rule: Callable[[Task], Lowered], machine: Machine) -> Lowered:
    """The launches of a group at the point chosen for it."""
    layout, why = _layout(task, machine)
    lowered = rule(replace(task, layout=layout))
    rows = _rows(task, lowered, machine)
    if rows is not None:
        layout = replace(layout, rows=rows)
        why.append(f"{rows} rows side by side: sums wait for the addition before, not for other rows'")
        lowered = rule(replace(task, layout=layout))
    launches = tuple(_divided(each, machine, why) for each in lowered.launches)
    if launches and launches[-1].split is not None:
        layout = replace(layout, split=launches[-1].split)
    return replace(lowered, launches=launches, chosen=Chosen(layout, tuple(why)))


def _layout(task: Task, machine: Machine) -> tuple[Layout, list[str]]:
    primitive = task.apply(task.root).primitive
    if primitive in LABELS:
        return _contraction(task, contraction_of(task, task.root), machine)
    if primitive == "softmax" and task.choice.storage != "bf16" and task.arithmetic == task.interior:
        return Layout(passes=2), ["2 passes: exponentials wait in the result"]
    return Layout(), []


def _contraction(task: Task, contraction: Contraction, machine: Machine) -> tuple[Layout, list[str]]:
    why: list[str] = []
    epilogue = True if task.following is not None else None
    if epilogue:
        why.append("epilogue: the addition alone reads the product")
    if task.choice.partials is not None or task.arithmetic != task.interior:
        return Layout(epilogue=epilogue), why
    return Layout(epilogue=epilogue), why


def _rows(task: Task, lowered: Lowered, machine: Machine) -> int | None:
    """How many rows of a row group are taken at once: so many that none is left, and what they keep is near."""
    if task.group.kind != "row":
        return None
    kernel = lowered.launches[-1].kernel
    loop = row_loop(kernel)
    if loop is None or not is_slow_alone(loop):
        return None
    kept = sum(WIDTH[task.arithmetic] // 8 * prod(axis.size for axis in each.axes) for each in kernel.scratch)
    room = machine.caches[0] if machine.caches else FIRST_CACHE
    return next((rows for rows in (4, 2) if loop.extent % rows == 0 and rows * kept <= room // 2), None)


def _divided(launch: Launch, machine: Machine, why: list[str]) -> Launch:
    """The launch divided over the workers, where it is long enough and a loop of it can be."""
    if launch.work < DIVIDED_FROM:
        return launch
    if machine.threads == 1:
        return replace(launch, whole=True)
    extents = _nest(launch.kernel)
    shares = {depth: _share(extents[depth], machine.threads) for depth in parallel_depths(print_kernel(launch.kernel))}
    if not shares or max(shares.values()) <= 1:
        return replace(launch, whole=True)
    enough = BALANCED * max(shares.values())
    depth = next(each for each, share in sorted(shares.items()) if share >= enough)
    why.append(f"`{launch.kernel.name}` split at depth {depth}: {launch.work} weighted operations")
    return replace(launch, split=Split(depth, None))


def _share(extent: int, threads: int) -> float:
    """How many times faster a loop of so many rounds gets, its longest piece counting."""
    return extent / -(-extent // min(threads, extent)) if extent else 1.0


def _nest(kernel: Kernel) -> list[int]:
    """The extents of the loops that form the perfect nest, outermost first."""
    extents: list[int] = []
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For):
        extents.append(body[0].extent)
        body = body[0].body
    return extents
