"""What backends that run a Schedule have in common: everything but what compiles the kernels.

`prepare` records an entry, prints the Schedule and hands the text to the extension, which reads, verifies and compiles
it; a call is then one call of the extension, without the GIL, over NumPy arrays. A backend of this kind is a class with
a name, which is also what the extension knows its compiler by.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import prod
from typing import ClassVar, TypeVar

import numpy as np

from presk import _native
from presk.kernel.lowered import Chosen
from presk.realization.model import Plan, Realization
from presk.realization.resolve import require_workers
from presk.run import arguments, machine
from presk.run.arguments import Array, Bough, bough, grown
from presk.run.backend import Backend, Entry, Executable, Value
from presk.run.memory import refused_memory, require_memory
from presk.run.record.arena import BITS
from presk.run.record.bound import Divided, divide
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.schedule import Schedule
from presk.run.record.text import print_schedule
from presk.run.synthesis import no_nat
from presk.shapes.types import Type, leaves
from presk.text.diagnostics import PreskError, fail
from presk.text.spans import Source, Span

Result = TypeVar("Result")

COORDINATE_BITS = 64
"""Bits of a seed, a step and a row offset: what a draw's key and nonce hold."""


INDEX_CODE = "E6002"
"""What the extension calls an index that isn't below its bound; `run.values` says more about it."""


class ScheduledBackend(Backend):
    """A backend that records a Schedule and has the extension run it.

    `watch` makes reading an element that hasn't been written an error, where the compiler can tell; for tests.
    """

    is_native: ClassVar[bool] = False
    """Whether splits run on this machine's workers, and a plan's must be as many, or half (E7002, condition 5)."""

    def __init__(self, *, watch: bool = False) -> None:
        self.watch = watch

    def prepare(
        self,
        entry: Entry,
        realization: Realization,
        plan: Plan | None = None,
        *,
        threads: int | None = None,
        training: bool = False,
        donate: Sequence[int] = (),
    ) -> ScheduledExecutable:
        """The entry recorded and compiled. Whether dropout draws was decided when the entry was bound.

        E6002 for a parameter that can have no value, E7002 where the realization or the plan can't be run as stated,
        E9004 where the memory doesn't suffice, E9007 for a number of threads below 1.
        """
        require_values(entry)
        count = machine.threads() if threads is None else threads
        machine.require_threads(count, f"{count} threads were asked for")
        if self.is_native and plan is not None:
            require_workers(plan, count)
        chosen: dict[str, list[Chosen]] = {}
        # Constants are rounded here, printed and read again.
        with _native.StandardMode():
            said = choices(realization, plan or Plan(), entry.program, machine.planned_for(count), donate)
            schedule = record(entry.program, said, donate, chosen)
            require_memory(entry.name, schedule.arena, _own_bytes(schedule))
            made = _compiled(print_schedule(schedule), self.compile)
        plans, tree = _plans(entry, schedule), bough(entry.program.entry.result)
        return ScheduledExecutable(self, entry, schedule, made, count, plans, tree, chosen)

    def compile(self, text: str) -> _native.Schedule:
        """A schedule's text with its kernels compiled. Raises the extension's ScheduleError."""
        return _native.Schedule(text, self.name, watch=self.watch)


def require_values(entry: Entry) -> None:
    """E6002 where a parameter has a nat that would have to be below 0."""
    for parameter in entry.program.entry.parameters:
        for path, leaf in leaves(parameter.type):
            if leaf.kind == "nat" and leaf.bound is not None and leaf.bound.whole == 0 and prod(leaf.sizes):
                raise no_nat((parameter.name or "", *path))


def _own_bytes(schedule: Schedule) -> int:
    """Bytes of the results that are new arrays."""
    return sum((prod(o.shape) * BITS[o.element.kind] + 7) // 8 for o in schedule.outputs if o.shares is None)


def _plans(entry: Entry, schedule: Schedule) -> tuple[tuple[str, arguments.Plan], ...]:
    """For each parameter its name and how its value becomes inputs; every parameter of an entry has a name."""
    inputs = iter(schedule.inputs)
    parameters = entry.program.entry.parameters
    return tuple((each.name or "", arguments.plan(each.name or "", each.type, inputs)) for each in parameters)


@dataclass(frozen=True)
class ScheduledExecutable(Executable):
    """A recorded entry with its compiled kernels. Calls may be made from several threads at once.

    Floats are read in place where they are C-contiguous, aligned, in the machine's byte order and of the input's type:
    changed by another thread during a call they give unspecified values, never a fault. Results are new arrays, except
    that a donated argument's array may come back as a result. `chosen` is what the plan `auto` chose, by site.

    `plans` are the parameters that aren't bound, which are the schedule's first inputs; `held` are the arrays of the
    others: what was bound and is read, then `packed` of them that were made of it at bind.
    """

    backend: ScheduledBackend
    entry: Entry
    schedule: Schedule
    runner: _native.Schedule
    threads: int
    plans: tuple[tuple[str, arguments.Plan], ...]
    tree: Bough | None
    chosen: Mapping[str, Sequence[Chosen]]
    held: tuple[Array, ...] = ()
    packed: int = 0

    @property
    def arena_bytes(self) -> int:
        """The memory of one call beside its arguments and results."""
        return self.runner.arena_bytes

    @property
    def result(self) -> Type:
        """The type of what a call gives."""
        return self.entry.program.entry.result

    def bind(self, /, **leading: Value) -> ScheduledExecutable:
        """The executable with these parameters held: copied, so that a caller can't change them, converted and packed.

        An array that is read-only and owns its elements is taken as it is: only its owner could make it writable.
        What the schedule does to them alone is done now, once (`record.bound`), and isn't in the new one's. E9004 where
        the memory doesn't suffice.
        """
        given = _numbers(self.plans)
        taken: dict[int, Array] = {}
        for (name, each), numbers in zip(self.plans, given, strict=True):
            if name in leading:
                arrays: list[Array] = []
                with _native.StandardMode():
                    each.collect(leading[name], arrays)
                taken |= {at: self._kept(at, array) for at, array in zip(numbers, arrays, strict=True)}
        free = sum(map(len, given))
        taken |= {free + at: array for at, array in enumerate(self.held)}
        divided = divide(self.schedule, sorted(taken))
        packed = self._packed(divided, taken)
        left = tuple(each for each in self.plans if each[0] not in leading)
        # What was packed at an earlier bind is an input like others at this one, and counted by its place.
        before = len(self.schedule.inputs) - self.packed
        earlier = sum(at >= before for at in divided.kept)
        # Constants are printed and read again.
        with _native.StandardMode():
            runner = _compiled(print_schedule(divided.rest), self.backend.compile)
        return replace(
            self,
            schedule=divided.rest,
            runner=runner,
            plans=left,
            held=(*(taken[at] for at in divided.kept), *packed),
            packed=earlier + len(packed),
        )

    def _packed(self, divided: Divided, taken: Mapping[int, Array]) -> list[Array]:
        """What the packing part of a schedule makes of arrays by their inputs' numbers."""
        if divided.packing is None:
            return []
        require_memory(self.entry.name, divided.packing.arena)
        with _native.StandardMode():
            runner = _compiled(print_schedule(divided.packing), self.backend.compile)
        inputs = [taken[at] for at in divided.taken]
        made = diagnosed(None, lambda: runner.run(inputs, seed=0, step=0, row_offset=0, threads=self.threads))
        return [_fixed(array) for array in made]

    def __call__(self, *args: Value, seed: int = 0, step: int = 0, row_offset: int = 0) -> Value:
        known = self.immediate(args, seed, step, row_offset)
        if known is not None:
            return known
        outputs = self._call(self.runner.run, args, seed, step, row_offset)
        return grown(self.tree, iter(outputs))

    def immediate(self, args: Sequence[Value], seed: int, step: int, row_offset: int) -> Value | None:
        inputs: list[Array] = []
        given = iter(args)
        for _, each in self.plans:
            if not each.passes(next(given), inputs):
                return None
        inputs.extend(self.held)
        try:
            outputs = self._run(self.runner.run, inputs, seed, step, row_offset)
        except _native.ScheduleError as error:
            if error.args[0] == INDEX_CODE:
                return None
            raise diagnostic(None, *error.args) from None
        return grown(self.tree, iter(outputs))

    def profile(
        self, *args: Value, seed: int = 0, step: int = 0, row_offset: int = 0
    ) -> tuple[Value, list[tuple[str, int, int]]]:
        """A call, and for each step of the schedule (loops left out) its name, its runs and their nanoseconds."""
        outputs, timings = self._call(self.runner.profile, args, seed, step, row_offset)
        return grown(self.tree, iter(outputs)), timings

    def _call(
        self, run: Callable[..., Result], args: tuple[Value, ...], seed: int, step: int, row_offset: int
    ) -> Result:
        given = iter(args)
        inputs: list[Array] = []
        with _native.StandardMode():
            for _, each in self.plans:
                each.collect(next(given), inputs)
        inputs.extend(self.held)
        try:
            return self._run(run, inputs, seed, step, row_offset)
        except _native.ScheduleError as error:
            raise diagnostic(None, *error.args) from None

    def _run(self, run: Callable[..., Result], inputs: list[Array], seed: int, step: int, row_offset: int) -> Result:
        try:
            return run(
                inputs,
                seed=_coordinate("the seed", seed),
                step=_coordinate("the step", step),
                row_offset=_coordinate("the row offset", row_offset),
                threads=self.threads,
            )
        except MemoryError as error:
            raise refused_memory(error) from None

    def _kept(self, number: int, array: Array) -> Array:
        taken = diagnosed(None, lambda: self.runner.take(number, array))
        is_fixed = taken is array and array.flags.owndata and not array.flags.writeable
        return taken if is_fixed else _fixed(taken.copy() if np.may_share_memory(taken, array) else taken)


def _fixed(array: Array) -> Array:
    """The array, read-only: were it donated, a call would copy it first."""
    array.flags.writeable = False
    return array


def _compiled(text: str, compile: Callable[[str], _native.Schedule]) -> _native.Schedule:
    return diagnosed(Source("<schedule>", text), lambda: compile(text))


def _numbers(plans: Sequence[tuple[str, arguments.Plan]]) -> list[range]:
    """The inputs of each parameter, which follow one another from the first on."""
    ends = list(accumulate((_count(each) for _, each in plans), initial=0))
    return [range(first, end) for first, end in pairwise(ends)]


def _count(plan: arguments.Plan) -> int:
    """How many inputs an argument is."""
    if isinstance(plan, arguments.Leaf):
        return 1 if plan.element.scales is None else 2
    return sum(_count(each) for _, each in plan.fields)


def _coordinate(what: str, value: object) -> int:
    """E6020 where what decides a draw isn't a whole number of 64 bits."""
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise fail("E6020", f"{what} is {value!r}, not a whole number") from None
    if not 0 <= number < 1 << COORDINATE_BITS:
        raise fail("E6020", f"{what} is {number}, outside of 0 … 2**{COORDINATE_BITS} − 1")
    return number


def diagnosed(source: Source | None, call: Callable[[], Result]) -> Result:
    """What the call gives; the extension's faults as diagnostics, with their place in the schedule's text."""
    try:
        return call()
    except _native.ScheduleError as error:
        raise diagnostic(source, *error.args) from None


def diagnostic(source: Source | None, code: str, message: str, line: int, column: int) -> PreskError:
    """The diagnostic of one fault of the extension."""
    if source is None or not line:
        return fail(code, message)
    start = source.line_starts[min(line, len(source.line_starts)) - 1] + column - 1
    start = min(start, len(source.text))
    return fail(code, message, Span(source, start, min(start + 1, len(source.text))))
