"""The conformance suite: cases run on a backend and held to the bands.

A result x̂ conforms where |x − x̂| ≤ ε·(|x| + a) for every element, x being the certified reference's at 256 bits on the
numbers given; a decision (an index, a truth value) conforms where it is the exact one. The worst |x − x̂| / (|x| + a) of
a case is its gap, the number that the table keeps. LISTED names the cases beyond their band, each with its reason:
those whose terms cancel are held to the band with the magnitudes of the terms, Σ|terms|, in the place of |x|. Called by
`presk conformance` and by the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk.choose.conformance.cancellation import magnitudes
from presk.choose.conformance.cases import Case, Prepared, prepare
from presk.choose.conformance.listed import CANCELS, LISTED
from presk.choose.measure import GUARD, distances
from presk.core.nodes import Program
from presk.exact.precision import working
from presk.exact.proving import Precision
from presk.exact.values import ExactArray
from presk.realization.model import MIXED, Plan, Realization
from presk.run import trees
from presk.run.backend import Backend, Entry, Executable
from presk.run.interp import Interp
from presk.text.diagnostics import PreskError

BITS = 256

WITHIN, LISTED_BEYOND, BEYOND, REPORTED, REFUSED = "within", "listed", "beyond", "reported", "refused"
"""Verdicts: in the band; beyond it and listed with a reason that holds; beyond it; without a band, as the gap of
integer weights is not the arithmetic's; not run, since the realization doesn't fit the entry (E7002)."""


@dataclass(frozen=True, slots=True)
class Band:
    """ε and a of |x − x̂| ≤ ε·(|x| + a)."""

    epsilon: float
    floor: float


BANDS: Mapping[str, Band] = {
    "f64": Band(2.0**-40, 2.0**-50),
    "f32": Band(2.0**-15, 2.0**-20),
    "bf16": Band(2.0**-4, 2.0**-5),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One case in one realization: its gap, what it amounts to, and why it is listed where it is.

    `realization` is its name, `type` the float type whose band it is held to. `condition` is Σ|terms| / |x| at the
    element with the worst gap, `eased` the gap with Σ|terms| in the place of |x|: of listed cases, and of others where
    that was asked for. `different` counts decisions that aren't the exact ones, `elements` the results' elements.
    """

    group: str
    name: str
    realization: str
    gap: float
    verdict: str
    elements: int
    different: int
    type: str = ""
    reason: str | None = None
    condition: float | None = None
    eased: float | None = None


Progress = Callable[[int, int], None]


def run_suite(
    backend: Backend,
    cases: Sequence[Case],
    progress: Progress | None = None,
    realization: Realization | None = None,
) -> Iterator[Row]:
    """The rows of these cases, as they are measured: in their own types, or in one realization."""
    for done, case in enumerate(cases):
        if progress is not None:
            progress(done, len(cases))
        if realization is None:
            yield from run_case(backend, case)
        elif narrowest(realization) in case.realizations:
            yield from run_prepared(backend, prepare(case), (realization,))


def run_case(backend: Backend, case: Case, *, eased: bool = False) -> list[Row]:
    """A case's rows, in the types that it states."""
    return run_prepared(backend, prepare(case), [Realization(name) for name in case.realizations], eased=eased)


def run_prepared(
    backend: Backend, prepared: Prepared, realizations: Sequence[Realization], *, eased: bool = False
) -> list[Row]:
    """A call's rows: the exact result once, then the machine's in each realization.

    `eased` states Σ|terms| and what it makes of the gap for every row, not for listed ones alone.
    """
    case = prepared.case
    entry = Entry(case.entry, prepared.program)
    executables: list[tuple[Realization, Executable | None]] = []
    for realization in realizations:
        try:
            made = backend.prepare(entry, realization, Plan("auto"), training=case.training)
        except PreskError as error:
            if error.code != "E7002":
                raise
            made = None
        executables.append((realization, made))
    if all(made is None for _, made in executables):
        return [_refused(case, realization) for realization in realizations]
    reference = Interp(proven=Precision.deciding(BITS)).prepare(entry, Realization("f64"), training=case.training)
    exact = reference(*prepared.values)
    return [
        _refused(case, realization)
        if made is None
        else _row(prepared, realization, _compare(exact, made(*prepared.values)), eased)
        for realization, made in executables
    ]


def _refused(case: Case, realization: Realization) -> Row:
    return Row(case.group, case.name, realization.name, math.nan, REFUSED, 0, 0, narrowest(realization))


def narrowest(realization: Realization) -> str:
    """The narrowest float type that a realization stores anything in: its band is the one a result can be held to."""
    default = "bf16" if realization.default == MIXED else realization.default
    said = (realization.storage, realization.round, realization.params)
    stored = {default, *(kind for each in said for kind in each.values())}
    return next(name for name in ("bf16", "f32", "f64") if name in stored)


def _row(prepared: Prepared, realization: Realization, found: _Compared, always_eased: bool) -> Row:
    case, name = prepared.case, narrowest(realization)
    band = BANDS[name]
    gap = found.worst(found.magnitude, band.floor)
    within = gap <= band.epsilon and not found.different
    reason = None if within else LISTED.get((case.group, case.name), {}).get(name)
    if reason is None and not within and realization.name not in case.realizations:
        reason = CANCELS  # which elements lie nearest to zero differs from the listed realizations
    row = Row(
        case.group,
        case.name,
        realization.name,
        gap,
        WITHIN if within else REPORTED if realization.quant else BEYOND,
        found.absolute.size + found.decisions,
        found.different,
        name,
    )
    if row.verdict == REPORTED:
        return row
    if reason is not None and not reason.eased and math.isfinite(gap):
        return replace(row, reason=reason.text, verdict=LISTED_BEYOND)
    if not math.isfinite(gap) or not found.absolute.size or (reason is None and not always_eased):
        return row
    terms = _terms(prepared)
    eased = found.worst(terms, band.floor)
    at = int(np.argmax(found.absolute / (found.magnitude + band.floor)))
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = float(terms[at] / found.magnitude[at])
    row = replace(row, condition=condition, eased=eased)
    if reason is None:
        return row
    holds = eased <= band.epsilon and not found.different
    return replace(row, reason=reason.text, verdict=LISTED_BEYOND if holds else BEYOND)


@dataclass(frozen=True)
class _Compared:
    """All real elements of a result end to end: distances and exact magnitudes; and how its decisions are."""

    absolute: NDArray[np.float64]
    magnitude: NDArray[np.float64]
    decisions: int
    different: int

    def worst(self, terms: NDArray[np.float64], floor: float) -> float:
        """The worst distance over a magnitude and the floor."""
        return float(np.max(self.absolute / (terms + floor), initial=0.0))


def _compare(exact: Any, machine: Any) -> _Compared:
    absolute: list[float] = []
    magnitude: list[float] = []
    decisions = different = 0
    for (_, x), (_, y) in zip(trees.leaves(exact), trees.leaves(machine), strict=True):
        if isinstance(x, ExactArray):
            with working(x.bits + GUARD):
                absolute += distances(x.balls(), np.asarray(y, dtype=np.float64).reshape(-1).tolist())[0]
            magnitude += _magnitudes(x)
        else:
            decisions += x.size
            different += int(np.sum(x != np.asarray(y)))
    return _Compared(np.array(absolute), np.array(magnitude), decisions, different)


def _magnitudes(exact: ExactArray) -> list[float]:
    return [abs(float(ball.mid())) for ball in exact.balls()]


def _terms(prepared: Prepared) -> NDArray[np.float64]:
    """Σ|terms| of every real element of the result."""
    program: Program = magnitudes(prepared.program)
    reference = Interp(BITS).prepare(
        Entry(prepared.case.entry, program), Realization("f64"), training=prepared.case.training
    )
    result = reference(*prepared.values)
    found = [_magnitudes(leaf) for _, leaf in trees.leaves(result) if isinstance(leaf, ExactArray)]
    return np.array([each for several in found for each in several])
