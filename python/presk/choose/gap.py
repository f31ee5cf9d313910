"""The gap of a call: how far the machine is from the exact result, with the certificate that states it.

`measure_gap` runs a backend and the certified reference on the same arguments. The reference reads the numbers the
caller gave, so rounding inputs and parameters counts; with `from_rounded` it reads them as the realization stores them.
A gap is stated with the inputs it was measured on: the certificate names them, the program, the realization and the
machine's result by their hashes. Called by the Python API, `presk gap` and the conformance suite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from presk import __version__
from presk.choose.contributions import Call, Contributions, Progress, contributions
from presk.choose.inputs import hash_of, rounded
from presk.choose.measure import SOLE, Output, OutputGap, closer_bits, measure
from presk.choose.report import as_html, as_text, figure
from presk.core.hash import core_hash
from presk.core.nodes import Program
from presk.exact.proving import Precision, wanted_bits
from presk.run import trees
from presk.run.backend import Backend
from presk.run.bits import hash_arrays
from presk.run.interp import Interp
from presk.text.diagnostics import fail

CERTIFICATE = "presk-gap-1"
"""The form of the certificate."""


@dataclass(frozen=True, slots=True)
class Hashes:
    """What a gap is of: the program's declarations, its Core, the realization, the arguments, the machine's result."""

    program: str | None
    core: str
    realization: str
    inputs: str
    result: str


@dataclass(frozen=True, slots=True, repr=False)
class Gap:
    """How far a call's results are from exact: output by output, and site by site where that was asked for.

    `bits` and `proven` are the reference's precision and whether it kept proof radii; it began at `begun_at` bits, and
    took `evaluations` of it whose cost was `factor` times that of the first. `from_rounded`: it read the inputs as the
    realization stores them. Distances are upper bounds where proven. `json()` is the certificate,
    `str()` a report, and a notebook shows it as tables.
    """

    entry: str
    backend: str
    realization: str
    bits: int
    begun_at: int
    evaluations: int
    factor: float
    proven: bool
    from_rounded: bool
    seed: int
    step: int
    row_offset: int
    outputs: tuple[Output, ...]
    contributions: Contributions | None
    hashes: Hashes
    realized: dict[str, Any]

    def worst(self, norm: str = "rel") -> float:
        """The worst figure of all outputs: `rel` element by element, `abs`, or `max`, over an output's largest element.

        Infinite where a number is lost on the machine or a decision is another one; NaN where an output has no figure.
        """
        found = [output.by(norm) for output in self.outputs]
        return math.nan if any(map(math.isnan, found)) else max(found, default=0.0)

    def bound(self, norm: str = "rel") -> float:
        """What the gap is at most: the worst figure, and what the reference's radii leave open besides.

        Relatively it is infinite where an element that can't be told from 0 is off by more than its radius.
        """
        return max((output.bound(norm) for output in self.outputs), default=0.0)

    def exceeds(self, limit: float, norm: str = "rel") -> bool:
        """Whether the gap may be above a limit."""
        return not self.bound(norm) <= limit

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        worst = f"{figure(self.worst())} relative, {figure(self.worst('max'))} of the largest"
        return f"<presk.Gap {self.entry}: {self.realization} on `{self.backend}`, {worst}>"

    def _repr_html_(self) -> str:
        return as_html(self)

    def json(self) -> dict[str, Any]:
        """The certificate as plain data; infinities are the text `inf`."""
        return plain(
            {
                "form": CERTIFICATE,
                "presk": __version__,
                "entry": self.entry,
                "backend": self.backend,
                "realization": {"name": self.realization, **self.realized},
                "reference": {
                    "bits": self.bits,
                    "begun_at": self.begun_at,
                    "proven": self.proven,
                    "inputs": "as stored" if self.from_rounded else "as given",
                },
                "call": {"seed": self.seed, "step": self.step, "row_offset": self.row_offset},
                "hashes": {name: each for name, each in asdict(self.hashes).items() if each is not None},
                "outputs": [_output(output) for output in self.outputs],
                "contributions": None if self.contributions is None else asdict(self.contributions),
            }
        )


def measure_gap(
    backend: Backend,
    call: Call,
    *,
    precision: Precision,
    certify: bool = True,
    from_rounded: bool = False,
    sites: bool = False,
    program_hash: str | None = None,
    progress: Progress | None = None,
) -> Gap:
    """The gap of one call on a machine backend.

    `certify` keeps proof radii, and takes the bits within `precision` that keep them from passing for errors; without
    it midpoints stand for the exact values. `sites` also measures what each site contributes (`choose.contributions`),
    in as many evaluations of the reference as there are sites. Raises PreskError: E6003 to E6008 where the exact result
    isn't defined or can't be certified, E9010 for the reference itself, and whatever the backend refuses.
    """
    if backend.name == Interp.name:
        raise fail(
            "E9010", "the reference has no gap: it is what gaps are measured from", hint="name a machine backend"
        )
    draws = {"seed": call.seed, "step": call.step, "row_offset": call.row_offset}
    executable = backend.prepare(call.entry, call.realization, call.plan, threads=call.threads, training=call.training)
    machine = executable(*call.values, **draws)
    program = call.entry.program
    read = rounded(call.realization, program, call.values) if from_rounded else call.values
    reference = _reference(program, machine, precision, certify)
    exact = reference.prepare(call.entry, call.realization, training=call.training)(*read, **draws)
    proof = reference.proof
    bits = precision.bits if proof is None else proof.bits
    outputs = measure(program.entry.result, exact, machine)
    parts = None
    if sites:
        told = [output.told for output in outputs if isinstance(output, OutputGap)]
        parts = contributions(backend, call, machine, bits, told=told, from_rounded=from_rounded, progress=progress)
    return Gap(
        call.entry.name,
        backend.name,
        call.realization.name,
        bits,
        precision.bits,
        1 if proof is None else proof.evaluations,
        1.0 if proof is None else proof.factor,
        certify,
        from_rounded,
        call.seed,
        call.step,
        call.row_offset,
        outputs,
        parts,
        Hashes(
            program_hash,
            core_hash(program),
            call.realization.hash,
            hash_of(program, call.values),
            hash_arrays({".".join(path) or SOLE: leaf for path, leaf in trees.leaves(machine)}),
        ),
        call.realization.json(),
    )


def _reference(program: Program, machine: Any, precision: Precision, certify: bool) -> Interp:
    """The reference that takes bits until they suffice for the gap, and for the digits asked for."""

    def enough(values: Any, bits: int) -> int:
        closer = closer_bits(program.entry.result, values, machine, bits)
        return max(closer, wanted_bits(values, bits, precision.digits))

    return Interp(proven=precision, enough=enough) if certify else Interp(precision.bits)


def _output(output: Output) -> dict[str, Any]:
    kind = "real" if isinstance(output, OutputGap) else "decided"
    return {"kind": kind, **asdict(output)}


def plain(value: Any) -> Any:
    """Data as JSON has it."""
    match value:
        case dict():
            return {key: plain(each) for key, each in cast(dict[str, Any], value).items()}
        case list() | tuple():
            return [plain(each) for each in cast(Sequence[Any], value)]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
