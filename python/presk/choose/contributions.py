"""Which site of a program is to blame for how much of its gap.

A site's *own error* is what its kernels make on the inputs the machine gave them: the machine's value of the site less
the exact value computed from the machine's values of all sites before it. Its *effect* is how far the results move when
the exact program makes that one error and no other. Both are measured, not derived: the backend runs the traced program
(`choose.trace`) once, and the reference runs once with the machine's values put in at every site, then once for each
site with its error added. Rounding the inputs is a contribution like a site's. To first order effects add up to the
gap; `unexplained` is what is left of it: the errors' products, and what decisions made of them. Called by `choose.gap`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from flint import arb

from presk.choose.inputs import rounded
from presk.choose.measure import GUARD, scaled
from presk.choose.trace import observations, traced
from presk.core.nodes import Apply, Program
from presk.core.printer import bodies
from presk.core.sites import Site, sites
from presk.exact.context import Run
from presk.exact.elements import Site as ExactSite
from presk.exact.elements import Undefined
from presk.exact.evaluate import evaluate
from presk.exact.precision import working
from presk.exact.reals import Reals
from presk.exact.values import ExactArray
from presk.realization.model import Plan, Realization
from presk.run import trees
from presk.run.backend import Backend, Entry
from presk.run.bits import first_difference
from presk.text.diagnostics import InternalError, PreskError

UNDEFINED = {"E6003", "E6004"}
"""Codes of values the reals don't have: what an error may lead to."""

Place = tuple[str, int]
"""A site: its function and the number of its let."""

Progress = Callable[[int, int], None]
"""Told how many of how many evaluations are done."""


@dataclass(frozen=True, slots=True)
class SiteGap:
    """A site's part in a gap.

    `stored` is the machine's type. `own` is the largest own error over the site's largest magnitude, `effect` the
    largest move of a result over that result's largest magnitude: None where the error leads out of a function's
    domain. `different` counts nats and truth values decided otherwise than the exact ones on the same inputs, `lost`
    elements that are NaN or infinite where an exact value exists.
    """

    site: str
    name: str | None
    primitive: str
    stored: str
    own: float
    effect: float | None
    different: int
    lost: int


@dataclass(frozen=True, slots=True)
class Contributions:
    """The parts of a gap: of rounding the inputs (None where the reference reads them rounded), and of every site.

    Sites are in falling order of their effect, those that lose numbers first. `total` is the gap and `unexplained` what
    the parts don't add up to, both over the results' largest magnitudes.
    """

    inputs: float | None
    sites: tuple[SiteGap, ...]
    total: float
    unexplained: float | None


@dataclass(frozen=True)
class Call:
    """One call of an entry: what is run, on which accepted values, and what decides its draws."""

    entry: Entry
    realization: Realization
    plan: Plan
    values: Sequence[Any]
    seed: int = 0
    step: int = 0
    row_offset: int = 0
    training: bool = False
    threads: int | None = None

    def exactly(self, values: Sequence[Any], bits: int, watch: Any = None) -> Any:
        """The reference's result on these values."""
        return evaluate(
            self.entry.program,
            values,
            bits=bits,
            seed=self.seed,
            step=self.step,
            row_offset=self.row_offset,
            training=self.training,
            watch=watch,
        )


@dataclass
class _Error:
    """One site's own errors while they are collected: for every evaluation of it, for every tensor, the changes."""

    site: Site
    stored: str
    changes: list[list[list[Any]]] = field(default_factory=list[list[list[Any]]])
    distance: float = 0.0
    largest: float = 0.0
    different: int = 0
    lost: int = 0

    @property
    def any(self) -> bool:
        """Whether there is an error that could move a result."""
        return self.distance > 0 or self.different > 0


def contributions(
    backend: Backend,
    call: Call,
    machine: Any,
    bits: int,
    *,
    from_rounded: bool = False,
    progress: Progress | None = None,
) -> Contributions:
    """The parts that inputs and sites have in the gap of a call, whose result on the backend is `machine`.

    Raises PreskError: E6003 where the machine's values lead out of the reals, and whatever the backend refuses.
    """
    program = call.entry.program
    stored = rounded(call.realization, program, call.values)
    result, seen = observe(backend, call)
    if first_difference(_arrays(machine), _arrays(result)) is not None:
        raise InternalError(f"looking into `{call.entry.name}` has changed its bits on `{backend.name}`")
    errors = _own_errors(call, stored, bits, seen)
    to_do = [error for error in errors.values() if error.any]
    tell = progress or _silent
    base = call.exactly(stored, bits)
    meant = base if from_rounded else call.exactly(call.values, bits)
    tell(0, len(to_do))
    moves: dict[Place, list[_Move] | None] = {}
    for done, error in enumerate(to_do, 1):
        moves[_place(error.site)] = _moved(call, stored, bits, error, base)
        tell(done, len(to_do))
    primitives = _primitives(program)
    sites = [_site_gap(error, moves.get(place, []), primitives[place]) for place, error in errors.items()]
    sites.sort(key=lambda each: (not each.lost, -math.inf if each.effect is None else -each.effect))
    gap = _difference(result, meant)
    of_inputs = None if from_rounded else _difference(base, meant)
    parts = [*moves.values(), *([] if of_inputs is None else [of_inputs])]
    known = [part for part in parts if part is not None]
    rest = None if len(known) < len(parts) else _largest(_left(gap, known))
    return Contributions(None if of_inputs is None else _largest(of_inputs), tuple(sites), _largest(gap), rest)


def _arrays(result: Any) -> dict[str, Any]:
    return {".".join(path): leaf for path, leaf in trees.leaves(result)}


def _silent(_done: int, _whole: int) -> None:
    return


def observe(backend: Backend, call: Call) -> tuple[Any, Iterator[tuple[Site, Any]]]:
    """A backend's result, and the values of its sites in the order of evaluation: arrays, or tuples of them."""
    looked_into = traced(call.entry.program)
    executable = backend.prepare(
        Entry(call.entry.name, looked_into.program),
        replace(call.realization, entry=None, core=None),
        replace(call.plan, entry=None, core=None) if call.plan.core or call.plan.entry else call.plan,
        threads=call.threads,
        training=call.training,
    )
    result, trace = executable(*call.values, seed=call.seed, step=call.step, row_offset=call.row_offset)
    return result, observations(looked_into.pieces, trace)


def _own_errors(call: Call, values: Sequence[Any], bits: int, seen: Iterator[tuple[Site, Any]]) -> dict[Place, _Error]:
    """Every site's own errors: the reference runs on the machine's values, comparing each site with its own."""
    errors: dict[Place, _Error] = {}
    places = _sites(call.entry.program)

    def watch(run: Run, at: ExactSite, value: Any) -> Any:
        place = (at.function, at.let)
        if place not in places:
            return value
        site, machine = next(seen)
        if _place(site) != place:
            raise InternalError(f"the reference is at {at.label} where the machine is at {site.key}")
        own, parts = _parts(value), _parts(machine)
        error = errors.setdefault(place, _Error(site, parts[0].dtype.name))
        made = [_compare(run, error, each, part) for each, part in zip(own, parts, strict=True)]
        error.changes.append([changes for changes, _ in made])
        return _joined(value, [new for _, new in made])

    call.exactly(values, bits, watch)
    return errors


def _parts(value: Any) -> list[Any]:
    """The tensors of a site's value, which may be a tuple."""
    return list(cast(tuple[Any, ...], value)) if isinstance(value, tuple) else [value]


def _joined(value: Any, parts: list[Any]) -> Any:
    """The inverse: these tensors as a value like that one."""
    return tuple(parts) if isinstance(value, tuple) else parts[0]


def _compare(run: Run, error: _Error, exact: Any, machine: Any) -> tuple[list[Any], Any]:
    """A tensor's changes (None where there is none), and the machine's value as the reference takes it."""
    flat = np.asarray(machine).reshape(-1).tolist()
    if not isinstance(exact, Reals):
        pairs = zip(exact, flat, strict=True)
        different = [not isinstance(mine, Undefined) and mine != theirs for mine, theirs in pairs]
        error.different += sum(different)
        return [theirs if other else None for theirs, other in zip(flat, different, strict=True)], flat
    changes: list[Any] = []
    new: list[arb] = []
    for own, number in zip(exact.points(), map(float, flat), strict=True):
        known = not isinstance(own, Undefined)
        if not math.isfinite(number):
            error.lost += known
            changes.append(None)
            new.append(own)
            continue
        new.append(arb(number))
        if not known:
            changes.append(None)
            continue
        change = arb(number) - own
        changes.append(change if change != 0 else None)
        error.distance = max(error.distance, abs(float(change)))
        error.largest = max(error.largest, abs(float(own)))
    return changes, run.given(new)


_Move = tuple[list[arb], float]
"""A real result's differences from what it should be, and its largest magnitude."""


def _moved(call: Call, values: Sequence[Any], bits: int, error: _Error, base: Any) -> list[_Move] | None:
    """How the results move by one site's errors; None where they lead out of the reals."""
    place = _place(error.site)
    made = iter(error.changes)

    def watch(run: Run, at: ExactSite, value: Any) -> Any:
        if (at.function, at.let) != place:
            return value
        pairs = zip(_parts(value), next(made), strict=True)
        return _joined(value, [_changed(run, each, changes) for each, changes in pairs])

    try:
        found = call.exactly(values, bits, watch)
    except PreskError as refused:
        if refused.code not in UNDEFINED:
            raise
        return None
    return _difference(found, base)


def _changed(run: Run, value: Any, changes: list[Any]) -> Any:
    if isinstance(value, Reals):
        pairs = zip(value.points(), changes, strict=True)
        return run.given([own if change is None else own + change for own, change in pairs])
    return [own if change is None else change for own, change in zip(value, changes, strict=True)]


def _difference(found: Any, meant: Any) -> list[_Move]:
    """For every real result, found − meant and the magnitude of meant. Lost numbers differ by infinity."""
    out: list[_Move] = []
    for (_, new), (_, old) in zip(trees.leaves(found), trees.leaves(meant), strict=True):
        if not isinstance(old, ExactArray):
            continue
        balls = old.balls()
        flat = (
            new.balls() if isinstance(new, ExactArray) else map(arb, np.asarray(new, np.float64).reshape(-1).tolist())
        )
        with working(old.bits + GUARD):
            difference = [(a - b).mid() for a, b in zip(flat, balls, strict=True)]
            out.append((difference, max((abs(float(ball)) for ball in balls), default=0.0)))
    return out


def _left(gap: list[_Move], parts: Sequence[list[_Move]]) -> list[_Move]:
    """What is left of a gap without its parts."""
    out: list[_Move] = []
    for at, (whole, largest) in enumerate(gap):
        rest = list(whole)
        for part in parts:
            rest = [a - b for a, b in zip(rest, part[at][0], strict=True)]
        out.append((rest, largest))
    return out


def _largest(moves: Sequence[_Move]) -> float:
    """The largest move over its result's largest magnitude."""
    found = (scaled(max((_size(each) for each in move), default=0.0), largest) for move, largest in moves)
    return max(found, default=0.0)


def _size(move: arb) -> float:
    size = abs(float(move))
    return math.inf if math.isnan(size) else size


def _site_gap(error: _Error, moves: list[_Move] | None, primitive: str) -> SiteGap:
    return SiteGap(
        error.site.key,
        error.site.name,
        primitive,
        error.stored,
        scaled(error.distance, error.largest),
        None if moves is None else _largest(moves),
        error.different,
        error.lost,
    )


def _place(site: Site) -> Place:
    return site.function, site.number


def _sites(program: Program) -> frozenset[Place]:

    return frozenset(_place(site) for site in sites(program))


def _primitives(program: Program) -> dict[Place, str]:
    """The primitive of every let that holds one."""
    return {
        (function.name, let.number): let.value.primitive
        for function in program.functions
        for body in bodies(function.body)
        for let in body.lets
        if isinstance(let.value, Apply)
    }
