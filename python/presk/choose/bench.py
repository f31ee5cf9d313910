"""How long calls of an entry take: medians by backend, realization and lanes, beside each other in one run.

What is timed is a call of a prepared executable whose modules' parameters are bound and whose other arguments are in
the realization's types already: no sizes are solved, nothing is converted. A sample is as many calls as fill `SAMPLE`,
so that the clock's grain doesn't show; the figure is the median over samples. Preparing and the first call are timed
apart. Figures of one run compare; those of two runs also compare what else the machine did. Called by `presk bench`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from presk.choose import libraries
from presk.choose.contributions import Call
from presk.choose.inputs import name_of, rounded
from presk.core.nodes import Program
from presk.realization.model import Plan, Realization
from presk.run import registry
from presk.run.backend import Backend, Executable
from presk.run.interp import Interp
from presk.run.native_backend import Native
from presk.run.scheduled import ScheduledExecutable
from presk.shapes.types import ModuleOf, Stacked, Type
from presk.text.diagnostics import PreskError

SAMPLE = 0.002
"""Seconds that one sample lasts at least."""

MOST_CALLS = 1 << 16
"""Calls of one sample at most."""

PROFILED = 20
"""Calls that are profiled at least."""

UNIFORM = ("f64", "f32", "bf16")
"""The realizations that are timed where none is chosen."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row to be measured. `realization` is None for the reference, `lanes` for what has none."""

    backend: str
    realization: Realization | None
    lanes: bool | None = None
    bits: int | None = None

    @property
    def name(self) -> str:
        """The row's name: `native f32 +lanes`, `interp 64 bits`."""
        if self.realization is None:
            return f"{self.backend} {self.bits} bits"
        return f"{self.backend} {self.realization.name}" + (" +lanes" if self.lanes else "")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement, in seconds: median and least of a call, and how long preparing and the first call took.

    `calls` is how many calls all samples were, `ratio` the first row's median over this one's. `note` says why there is
    no figure.
    """

    name: str
    median: float | None
    best: float | None = None
    prepare: float | None = None
    first: float | None = None
    calls: int = 0
    ratio: float | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A step of a schedule in one call: its label, how often it ran, and its seconds altogether, as the host saw it."""

    label: str
    runs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HostProfile:
    """Where one call's time goes: the median call without the clocks, and the steps' medians over profiled calls."""

    name: str
    call: float
    launches: tuple[Launch, ...]

    @property
    def inside(self) -> float:
        """Seconds of all steps."""
        return sum(each.seconds for each in self.launches)


def cases(
    realizations: Sequence[Realization], backends: Sequence[str] = (), *, native_only: bool = False, bits: int = 64
) -> Iterator[Case]:
    """The rows of a table: the reference, the interpreter of kernels, and native code without and with lanes."""
    wanted = ("native",) if native_only else tuple(backends) or ("interp", "kernel", "native")
    for backend in wanted:
        if backend == Interp.name:
            yield Case(backend, None, bits=bits)
            continue
        for realization in realizations:
            for lanes in (False, True) if backend == Native.name else (None,):
                yield Case(backend, realization, lanes)


def backend_of(case: Case) -> Backend:
    """What runs a row. E9001 and E9002 for a backend that isn't there."""
    if case.backend == Native.name and case.lanes is not None:
        return Native(lanes=case.lanes)
    return registry.make(case.backend, bits=case.bits or 64)


def plan_of(case: Case, plan: Plan) -> Plan:
    """The plan of a row: without lanes no loop has vectors, whatever the plan would choose."""
    return Plan("scalar") if case.lanes is False else plan


def measure(
    rows: Sequence[Case], call: Call, repeat: int, tell: Callable[[int, int], None] = lambda _done, _whole: None
) -> list[Row]:
    """The rows, measured one after the other on the call's values.

    A row whose realization or backend refuses the entry has a note in place of figures.
    """
    for case in rows:
        backend_of(case)
    found: list[Row] = []
    for at, case in enumerate(rows):
        try:
            found.append(_measure(case, call, repeat))
        except PreskError as error:
            found.append(refused(case, error))
        tell(at + 1, len(rows))
    return ratios(found)


def refused(case: Case, error: PreskError) -> Row:
    """The row of what a backend or a realization refuses."""
    return Row(case.name, None, note=f"{error.diagnostics[0].code}: {error.diagnostics[0].message}")


def ratios(rows: Sequence[Row]) -> list[Row]:
    """The rows with how many times faster each is than the first."""
    base = rows[0].median if rows else None
    if base is None:
        return list(rows)
    return [each if each.median is None else replace(each, ratio=base / each.median) for each in rows]


def against(name: str, realization: Realization, call: Call, repeat: int) -> Row:
    """The entry stated in another library, on the same values in the realization's type.

    A note where the library isn't installed or can't state the entry; bf16 isn't asked of NumPy, which has no
    arithmetic of it.
    """
    row = f"{name} {realization.name}"
    library = libraries.find(name, call.threads)
    if library is None:
        return Row(row, None, note=f"{name} isn't installed")
    if not realization.is_uniform or realization.fma:
        return Row(row, None, note=f"{name} has no such realization")
    if name == "numpy" and realization.default == "bf16":
        return Row(row, None, note="numpy computes bf16 element by element, without its matrix library")
    try:
        began = perf_counter()
        function = libraries.state(call.entry.program, library, realization.default)
    except PreskError as error:
        return Row(row, None, note=error.diagnostics[0].message)
    values = libraries.arguments(library, rounded(realization, call.entry.program, call.values))
    prepared = perf_counter()
    return timed(f"{row} ({library.version})", lambda: library.wait(function(*values)), repeat, prepared - began)


def host_profile(case: Case, call: Call, repeat: int) -> HostProfile:
    """Where the time of a call goes, step by step of the schedule; the case's backend is one that runs schedules."""
    executable, rest = prepared(case, call)
    assert isinstance(executable, ScheduledExecutable), "the command has checked the backend"
    times, _ = sample(lambda: executable(*rest, **_draws(call)), repeat)
    profiles = [executable.profile(*rest, **_draws(call))[1] for _ in range(max(repeat, PROFILED))]
    launches = tuple(
        Launch(same[0][0], same[0][1], statistics.median(each[2] for each in same) * 1e-9)
        for same in zip(*profiles, strict=True)
    )
    return HostProfile(case.name, statistics.median(times), launches)


def prepared(case: Case, call: Call) -> tuple[Executable, list[Any]]:
    """A row's executable with modules bound, and the other arguments in the realization's types."""
    program = call.entry.program
    realization = case.realization or call.realization
    executable = backend_of(case).prepare(
        call.entry, realization, plan_of(case, call.plan), threads=call.threads, training=call.training
    )
    values = call.values if case.realization is None else _stored(realization, program, call.values)
    bound = modules(program)
    named = {name_of(each): value for each, value in zip(program.entry.parameters, values, strict=True)}
    rest = [value for name, value in named.items() if name not in bound]
    return executable.bind(**{name: named[name] for name in bound}), rest


def modules(program: Program) -> list[str]:
    """The parameters that are a module's tree: what is bound."""
    return [name_of(each) for each in program.entry.parameters if _is_module(each.type)]


def _is_module(of: Type) -> bool:
    while isinstance(of, Stacked):
        of = of.element
    return isinstance(of, ModuleOf)


def _stored(realization: Realization, program: Program, values: Sequence[Any]) -> list[Any]:
    """Arguments in the realization's types; a module's are left as given, for quantised ones stay integers."""
    kept = set(modules(program))
    narrow = rounded(realization, program, values)
    pairs = zip(program.entry.parameters, values, narrow, strict=True)
    return [value if name_of(each) in kept else stored for each, value, stored in pairs]


def _measure(case: Case, call: Call, repeat: int) -> Row:
    began = perf_counter()
    executable, rest = prepared(case, call)
    return timed(case.name, lambda: executable(*rest, **_draws(call)), repeat, perf_counter() - began)


def timed(name: str, run: Callable[[], object], repeat: int, prepare: float) -> Row:
    """The row of something that runs again and again; `prepare` are the seconds it took before."""
    began = perf_counter()
    run()
    first = perf_counter() - began
    times, calls = sample(run, repeat)
    return Row(name, statistics.median(times), min(times), prepare, first, calls)


def sample(run: Callable[[], object], repeat: int) -> tuple[list[float], int]:
    """Seconds of a call in each of `repeat` samples, and how many calls they were."""
    began = perf_counter()
    run()
    once = perf_counter() - began
    calls = max(1, min(MOST_CALLS, round(SAMPLE / max(once, 1e-9))))
    times: list[float] = []
    for _ in range(repeat):
        began = perf_counter()
        for _ in range(calls):
            run()
        times.append((perf_counter() - began) / calls)
    return times, calls * repeat


def _draws(call: Call) -> Mapping[str, int]:
    return {"seed": call.seed, "step": call.step, "row_offset": call.row_offset}
