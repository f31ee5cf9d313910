"""Kernels numbered in the order of their first launches, those nobody launches left out.

Called where a schedule's steps are known: by the recorder, and where a schedule is divided at bind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from presk.kernel.nodes import Kernel
from presk.run.record.schedule import Launch, Repeat, Step


def numbered(steps: tuple[Step, ...], kernels: Sequence[Kernel]) -> tuple[tuple[Step, ...], tuple[Kernel, ...]]:
    """The steps with the kernels that are left numbered anew, in the order of their first launches."""
    numbers: dict[int, int] = {}

    def one(step: Step) -> Step:
        if isinstance(step, Repeat):
            return replace(step, steps=tuple(one(each) for each in step.steps))
        if isinstance(step, Launch):
            return replace(step, kernel=numbers.setdefault(step.kernel, len(numbers)))
        return step

    renumbered = tuple(one(step) for step in steps)
    return renumbered, tuple(kernels[number] for number in numbers)
