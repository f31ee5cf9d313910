"""How a machine backend runs an entry, as a user sees it: memory, kernels and schedule of a Compiled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from presk.kernel.nodes import Element
from presk.kernel.printer import print_kernel
from presk.realization.model import Plan
from presk.run.backend import Executable
from presk.run.mode import in_standard_mode
from presk.run.record.arena import BITS
from presk.run.record.chosen_text import stated_plan
from presk.run.record.schedule import Schedule
from presk.run.record.text import print_schedule
from presk.run.scheduled import ScheduledExecutable
from presk.text.diagnostics import fail


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one call, known before it runs.

    `arguments` and `results` are the caller's and the call's own; `scratch` is the arena that holds all between them,
    its places shared by what isn't alive at the same time. Masks, draws and a kernel's own scratch are in it. Where
    parameters are bound, `arguments` counts those that calls read as they were bound, and `packed` what was made of
    them once: it is there for all calls.
    """

    arguments: int
    results: int
    scratch: int
    packed: int = 0

    @property
    def peak(self) -> int:
        """All of it: what a call needs at most, the caller's arguments included."""
        return self.arguments + self.results + self.scratch + self.packed


def executable_of(executable: Executable, what: str) -> ScheduledExecutable:
    """What runs a schedule. E9012 on a backend that has none."""
    if not isinstance(executable, ScheduledExecutable):
        raise fail("E9012", f"the exact reference has no {what}", hint='a machine backend has: backend="native"')
    return executable


def schedule_of(executable: Executable, what: str) -> Schedule:
    """What an executable runs. E9012 as for `executable_of`."""
    return executable_of(executable, what).schedule


@in_standard_mode
def plan_of(executable: ScheduledExecutable, given: Plan) -> Plan:
    """The plan an executable runs under, every layout stated, where `given` is the one it was asked for."""
    made = executable.schedule
    return stated_plan(given, executable.entry.program, made.realization, executable.chosen)


def memory_of(executable: ScheduledExecutable) -> Memory:
    """What a call takes."""
    schedule = executable.schedule
    first = len(schedule.inputs) - executable.packed
    given, packed = (
        _bytes((each.element, each.shape) for each in part)
        for part in (schedule.inputs[:first], schedule.inputs[first:])
    )
    outputs = _bytes((each.element, each.shape) for each in schedule.outputs if each.shares is None)
    return Memory(given, outputs, schedule.arena, packed)


@in_standard_mode
def schedule_text(schedule: Schedule) -> str:
    """The schedule as `presk dump --stage schedule` prints it."""
    return print_schedule(schedule)


@in_standard_mode
def kernel_texts(schedule: Schedule) -> tuple[str, ...]:
    """The text of each kernel, in the order of their first launches."""
    return tuple(print_kernel(each) for each in schedule.kernels)


def _bytes(buffers: Iterable[tuple[Element, tuple[int, ...]]]) -> int:
    """Bytes of row-major buffers; a row of four-bit integers ends at a byte."""
    total = 0
    for element, shape in buffers:
        row = shape[-1] if shape else 1
        total += prod(shape[:-1]) * ((row * BITS[element.kind] + 7) // 8)
    return total
