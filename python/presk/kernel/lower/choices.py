"""What a nest that is no contraction lets a plan and a realization choose, and splits, which every nest has.

A plan's key that a nest doesn't have is E7002's condition 2, an accumulation its kernels can't honour condition 9, a
loop that can't be divided condition 8. Called by the rules of this folder.
"""

from __future__ import annotations

from dataclasses import fields, replace

from presk.kernel.lower.interleave import ROWS
from presk.kernel.lower.runs import in_runs
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Launch, Layout, Split
from presk.kernel.native import parallel_depths
from presk.kernel.printer import print_kernel
from presk.text.diagnostics import PreskError

EVERYWHERE = frozenset(("runs",))
"""Choices that every nest has: where they find nothing to do, they do nothing."""

SUMS = frozenset(("sum", "mean", "total"))
"""Reductions whose sums may be taken in a wider type."""


def check_layout(task: Task, known: frozenset[str]) -> None:
    """Raises condition 2 for a key stated that this kind of nest doesn't have."""
    for field in fields(Layout):
        if getattr(task.layout, field.name) is not None and field.name not in known | EVERYWHERE:
            primitive = task.apply(task.root).primitive
            listed = ", ".join(f"`{each}`" for each in sorted(known | EVERYWHERE))
            raise task.refuse(2, f"`{field.name}` is no choice of a nest of `{primitive}`", f"it has {listed}")


def check_nest(task: Task) -> None:
    """The choices of a nest: `split`, `rows`, and `passes` where a softmax is the root; sums may be in f64 over f32."""
    is_softmax = task.apply(task.root).primitive == "softmax"
    check_layout(task, frozenset(("passes", "rows", "split")) if is_softmax else frozenset(("rows", "split")))
    if task.layout.rows not in (None, "none", *ROWS):
        raise task.refuse(2, f"{task.layout.rows} rows at once are not in the space", "none, 2, 4 or 8")
    passes = task.layout.passes
    if passes not in (None, 2, 3):
        raise task.refuse(2, f"a softmax has 3 or 2 passes, not {passes}")
    if passes == 2 and task.choice.storage == "bf16":
        raise task.refuse(2, "a softmax stored in bf16 has 3 passes: with 2 its exponentials would be rounded twice")
    if passes == 2 and task.arithmetic != task.interior:
        raise task.refuse(7, "2 passes keep sums' terms in the output, which is narrower than the accumulation")
    primitives = {task.apply(task.lets[member.number]).primitive for member in task.group.members}
    check_accumulation(task, not primitives.isdisjoint(SUMS))


def check_accumulation(task: Task, has_sums: bool) -> None:
    """Raises condition 9 for an accumulation other than the arithmetic type that the nest's kernels can't honour."""
    accumulate = task.choice.accumulate
    if accumulate is None or accumulate == task.interior:
        return
    if (task.choice.computed or task.choice.storage, accumulate) != ("f32", "f64"):
        raise no_accumulation(task, f"storage {task.choice.storage}, over which kernels sum in {task.interior} alone")
    if not has_sums:
        raise no_accumulation(task, "no sum whose accumulation could be chosen")


def no_accumulation(task: Task, reason: str) -> PreskError:
    """Condition 9: the nest has something that forbids the accumulation stated."""
    sentence = f"sums can't be taken in {task.choice.accumulate} here: the nest has {reason}"
    return task.refuse(9, sentence, "f64 over f32 runs, for contractions, sums and means")


def split(task: Task, launch: Launch) -> Launch:
    """The launch with the plan's split. Raises condition 8 where the loop isn't parallel."""
    wanted = task.layout.split
    if wanted is None:
        return launch
    if not isinstance(wanted, Split):
        if wanted != "none":
            raise task.refuse(2, f"`{wanted}` is no split", '`{"depth": 0, "workers": 2}`, or "none"')
        return replace(launch, whole=True)
    depths = _parallel_depths(task, launch)
    if wanted.depth not in depths:
        known = ", ".join(str(depth) for depth in depths)
        hint = f"loops at depth {known} are" if depths else "this kernel has no parallel loop"
        raise task.refuse(8, f"the loop at depth {wanted.depth} of `{launch.kernel.name}` isn't parallel", hint)
    return replace(launch, split=wanted)


def split_where_parallel(task: Task, launch: Launch) -> Launch | None:
    """The same for a launch that only saves a buffer: None where the plan's split can't be had with it."""
    wanted = task.layout.split
    if isinstance(wanted, Split) and wanted.depth not in _parallel_depths(task, launch):
        return None
    return split(task, launch)


def _parallel_depths(task: Task, launch: Launch) -> tuple[int, ...]:
    """Depths of loops that can be divided, of those that are there in the end: runs are cut after this."""
    kernel = in_runs(launch.kernel) if task.layout.runs else launch.kernel
    return tuple(parallel_depths(print_kernel(kernel)))
