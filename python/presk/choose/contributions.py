"""Which site of a program is to blame for how much of its gap.

A site's *own error* is what its kernels make on the inputs the machine gave them: the machine's value of the site less
the exact value computed from the machine's values of all sites before it. Its *effect* is how far the results move when
the exact program makes that one error and no other. Both are measured, not derived: the backend runs the traced program
(`choose.trace`) once, and the reference runs once with the machine's values put in at every site, then once for each
site with its error added. Rounding the inputs is a contribution like a site's. To first order effects add up to the
gap; `unexplained` is what is left of it: the errors' products, and what decisions made of them.

Effects are shares of the results' largest magnitudes, so a result that can't be told from 0 has none. What the machine
has lost (NaN, infinities) is named where it first was, whatever became of it; where its values lead out of the reals,
the sites behind that point have no own error to be measured. Called by `choose.gap`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from flint import arb

from presk.choose.inputs import name_of, rounded
from presk.choose.measure import GUARD, scaled
from presk.choose.trace import observations, traced
from presk.core.nodes import Apply, Program
from presk.core.printer import bodies
from presk.core.sites import Site, sites
from presk.exact.context import Run
from presk.exact.digits import show_midpoint
from presk.exact.elements import Site as ExactSite
from presk.exact.elements import Undefined, ball_of
from presk.exact.evaluate import evaluate
from presk.exact.precision import working
from presk.exact.reals import Reals
from presk.exact.values import ExactArray
from presk.realization.model import Plan, Realization
from presk.run import trees
from presk.run.backend import Backend, Entry
from presk.run.bits import first_difference
from presk.text.diagnostics import InternalError, PreskError

UNDEFINED = {"E6003", "E6004", "E6006"}
"""Codes of values the reals don't have, or that can't be held: what an error may lead to."""

DIGITS = 17
"""Of the exact number that stands where the machine's is none."""

Place = tuple[str, int]
"""A site: its function and the number of its let."""

Progress = Callable[[int, int], None]
"""Told how many of how many evaluations are done."""


@dataclass(frozen=True, slots=True)
class SiteGap:
    """A site's part in a gap.

    `stored` is the machine's type. `own` is the largest own error over the site's largest magnitude, None where that
    can't be told from 0; `effect` the largest move of a result over that result's largest magnitude, None where the
    error leads `outside` of a function's domain, or no result can be told from 0. `different` counts nats and truth
    values decided otherwise than the exact ones on the same inputs, `lost` elements that are NaN or infinite where an
    exact value exists.
    """

    site: str
    name: str | None
    primitive: str
    stored: str
    own: float | None
    effect: float | None
    outside: bool
    different: int
    lost: int


@dataclass(frozen=True, slots=True)
class FirstLost:
    """The first value of the machine that is no number: at which site (None: in the inputs as stored), and where there.

    `found` is `nan`, `inf` or `-inf`. `exact` is the exact value on the machine's inputs of the site, None where there
    is none, for which `reason` says why.
    """

    site: str | None
    name: str | None
    primitive: str | None
    line: int | None
    where: tuple[int, ...]
    found: str
    exact: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Contributions:
    """The parts of a gap: of rounding the inputs (None where the reference reads them rounded), and of every site.

    Sites are in falling order of their effect, those that lose numbers first. `total` is the gap and `unexplained` what
    the parts don't add up to, both over the results' largest magnitudes, those that can't be told from 0 aside: None
    where all are such, as all effects then. `first_lost` is where the machine first lost a number, `unmeasured` why
    sites are missing.
    """

    inputs: float | None
    inputs_outside: bool
    sites: tuple[SiteGap, ...]
    total: float | None
    unexplained: float | None
    first_lost: FirstLost | None
    unmeasured: str | None


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
    first: FirstLost | None = None

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
    told: Sequence[bool],
    from_rounded: bool = False,
    progress: Progress | None = None,
) -> Contributions:
    """The parts that inputs and sites have in the gap of a call, whose result on the backend is `machine`.

    `told`: for every real result, whether it can be told from 0. Raises PreskError: whatever the backend refuses.
    """
    program = call.entry.program
    stored = rounded(call.realization, program, call.values)
    overflow = _first_overflow(program, stored)
    result, seen = observe(backend, call)
    if first_difference(_arrays(machine), _arrays(result)) is not None:
        raise InternalError(f"looking into `{call.entry.name}` has changed its bits on `{backend.name}`")
    read = call.values if overflow is not None else stored
    errors, unmeasured = _own_errors(call, read, bits, seen)
    to_do = [error for error in errors.values() if error.any]
    tell = progress or _silent
    meant = call.exactly(read if from_rounded else call.values, bits)
    base = meant if read is call.values else _attempted(call, read, bits)
    inputs_outside = base is None or overflow is not None
    if base is None:
        read, base = call.values, meant
    tell(0, len(to_do))
    moves: dict[Place, list[_Move] | None] = {}
    for done, error in enumerate(to_do, 1):
        moves[_place(error.site)] = _moved(call, read, bits, error, base)
        tell(done, len(to_do))
    primitives = _primitives(program)
    found = [(error, moves.get(place, []), primitives[place]) for place, error in errors.items()]
    found.sort(key=lambda each: _order(each[0], each[1]))
    gap = _difference(result, meant)
    of_inputs = None if from_rounded or inputs_outside else _difference(base, meant)
    parts = [*moves.values(), *([] if of_inputs is None else [of_inputs])]
    known = [part for part in parts if part is not None]
    whole = len(known) == len(parts) and not inputs_outside and unmeasured is None
    return Contributions(
        None if of_inputs is None else _largest(of_inputs, told, bits),
        inputs_outside,
        tuple(_site_gap(*each, told, bits) for each in found),
        _largest(gap, told, bits),
        _largest(_left(gap, known), told, bits) if whole else None,
        overflow or next((error.first for error in errors.values() if error.first), None),
        unmeasured,
    )


def _order(error: _Error, moves: list[_Move] | None) -> tuple[bool, float]:
    """Sites that lose numbers first, then those whose errors lead nowhere, then those that move the results most."""
    share = math.inf if moves is None else max((scaled(_farthest(move), move[1]) for move in moves), default=0.0)
    return not error.lost, -share


def _attempted(call: Call, values: Sequence[Any], bits: int) -> Any | None:
    """The exact result, None where these values have none."""
    try:
        return call.exactly(values, bits)
    except PreskError as refused:
        if refused.code not in UNDEFINED:
            raise
        return None


def _first_overflow(program: Program, stored: Sequence[Any]) -> FirstLost | None:
    """The first input that is no number any more as the realization stores it."""
    for parameter, value in zip(program.entry.parameters, stored, strict=True):
        for path, leaf in trees.leaves(value, (name_of(parameter),)):
            array = np.asarray(leaf)
            if array.dtype.kind not in "fV":
                continue
            wide = array.astype(np.float64)
            lost = np.argwhere(~np.isfinite(wide))
            if len(lost):
                where = tuple(int(at) for at in lost[0])
                return FirstLost(None, ".".join(path), None, None, where, f"{wide[where]}", None, None)
    return None


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


def _own_errors(
    call: Call, values: Sequence[Any], bits: int, seen: Iterator[tuple[Site, Any]]
) -> tuple[dict[Place, _Error], str | None]:
    """Every site's own errors: the reference runs on the machine's values, comparing each site with its own.

    Also why sites are missing where the machine's values have led out of the reals before them.
    """
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
        made = [_compare(run, at, error, each, part) for each, part in zip(own, parts, strict=True)]
        error.changes.append([changes for changes, _ in made])
        return _joined(value, [new for _, new in made])

    try:
        call.exactly(values, bits, watch)
    except PreskError as refused:
        if refused.code not in UNDEFINED:
            raise
        if next(seen, None) is not None:
            return errors, refused.diagnostics[0].message
    return errors, None


def _parts(value: Any) -> list[Any]:
    """The tensors of a site's value, which may be a tuple."""
    return list(cast(tuple[Any, ...], value)) if isinstance(value, tuple) else [value]


def _joined(value: Any, parts: list[Any]) -> Any:
    """The inverse: these tensors as a value like that one."""
    return tuple(parts) if isinstance(value, tuple) else parts[0]


def _compare(run: Run, at: ExactSite, error: _Error, exact: Any, machine: Any) -> tuple[list[Any], Any]:
    """A tensor's changes (None where there is none), and the machine's value as the reference takes it."""
    array = np.asarray(machine)
    flat = array.reshape(-1).tolist()
    if not isinstance(exact, Reals):
        pairs = zip(exact, flat, strict=True)
        different = [not isinstance(mine, Undefined) and mine != theirs for mine, theirs in pairs]
        error.different += sum(different)
        return [theirs if other else None for theirs, other in zip(flat, different, strict=True)], flat
    changes: list[Any] = []
    new: list[arb] = []
    for position, (own, number) in enumerate(zip(exact.points(), map(float, flat), strict=True)):
        known = not isinstance(own, Undefined)
        if not math.isfinite(number):
            error.lost += known
            error.first = error.first or _first_lost(at, error.site, array.shape, position, own, number)
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


def _first_lost(at: ExactSite, site: Site, shape: tuple[int, ...], position: int, own: Any, number: float) -> FirstLost:
    """A machine's number that is none, beside what the reference has in its place."""
    where = tuple(int(index) for index in np.unravel_index(position, shape))
    exact, reason = (None, own.reason) if isinstance(own, Undefined) else (show_midpoint(ball_of(own), DIGITS), None)
    line = None if at.span is None else at.span.source.position(at.span.start)[0]
    return FirstLost(site.key, site.name, at.primitive, line, where, f"{number}", exact, reason)


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


def _largest(moves: Sequence[_Move], told: Sequence[bool], bits: int) -> float | None:
    """The largest move over its result's largest magnitude, of those that can be told from 0. None if none can."""
    if moves and not any(told):
        return None
    shares = (_share(_farthest(move), move[1], bits) for move, counts in zip(moves, told, strict=bool(moves)) if counts)
    return max((share for share in shares if share is not None), default=None if moves else 0.0)


def _farthest(move: _Move) -> float:
    return max((_size(each) for each in move[0]), default=0.0)


def _share(distance: float, largest: float, bits: int) -> float | None:
    """A distance over a magnitude; None where the magnitude is so small beside it that it's what terms have left."""
    noise = math.isfinite(distance) and 0 < largest < distance * 2.0 ** -(bits // 2)
    return None if noise else scaled(distance, largest)


def _size(move: arb) -> float:
    size = abs(float(move))
    return math.inf if math.isnan(size) else size


def _site_gap(error: _Error, moves: list[_Move] | None, primitive: str, told: Sequence[bool], bits: int) -> SiteGap:
    return SiteGap(
        error.site.key,
        error.site.name,
        primitive,
        error.stored,
        _share(error.distance, error.largest, bits),
        None if moves is None else _largest(moves, told, bits),
        moves is None,
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
