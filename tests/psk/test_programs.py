"""Every program under this folder, held against what it claims about itself (README.md tells the notation)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.psk.expectations import Case, differences, read_claims

import presk
from presk.check.program import check_source
from presk.choose.conformance.cases import Case as ConformanceCase
from presk.choose.conformance.cases import Prepared
from presk.choose.conformance.suite import BANDS, WITHIN, run_prepared
from presk.realization.model import Realization
from presk.run import registry
from presk.syntax.formatter import format_source
from presk.text.diagnostics import PreskError
from presk.text.sources import decode

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(HERE.rglob("*.psk"))
CLAIMS = {path: read_claims(path) for path in PROGRAMS}
TOLERANCES = {"interp": 1e-12}
MACHINE_TOLERANCE = 1e-5


def name_of(path: Path) -> str:
    return str(path.relative_to(HERE).with_suffix(""))


CALLS = [
    pytest.param(path, case, backend, id=f"{name_of(path)}-{number}-{backend}")
    for path, claims in CLAIMS.items()
    for number, case in enumerate(claims.cases)
    for backend in registry.MAKERS
    if case.backends is None or backend in case.backends
]


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_the_errors_are_those_claimed(path: Path) -> None:
    source = decode(str(path), path.read_bytes())
    _, found = check_source(source, path)
    placed = [(each.code, *(source.position(each.span.start) if each.span else (0, 0))) for each in found]
    assert placed == CLAIMS[path].errors, "\n".join(each.render() for each in found)


@pytest.mark.parametrize(
    "path", [path for path in PROGRAMS if CLAIMS[path].formatted or path.name == "page.psk"], ids=name_of
)
def test_the_layout_is_canonical(path: Path) -> None:
    source = decode(str(path), path.read_bytes())
    assert format_source(source) == source.text


@pytest.mark.parametrize(("path", "case", "backend"), CALLS)
def test_the_values_are_those_claimed(path: Path, case: Case, backend: str) -> None:
    program = presk.load(path, consts=CLAIMS[path].consts)
    if case.fails is not None:
        with pytest.raises(PreskError) as error:
            call(program, case, backend)
        assert error.value.code == case.fails, error.value.render()
        return
    tolerance = case.tolerance if case.tolerance is not None else TOLERANCES.get(backend, MACHINE_TOLERANCE)
    assert differences(case.output, call(program, case, backend), tolerance) == []


BANDED = ("f64", "f32")
"""The types whose bands the programs are held to: in bf16 made-up numbers are rounded before anything is computed."""


@pytest.mark.parametrize("path", [path for path in PROGRAMS if CLAIMS[path].cases], ids=name_of)
def test_the_values_lie_in_the_bands_of_conformance(path: Path) -> None:
    program = presk.load(path, consts=CLAIMS[path].consts)
    backend = registry.make("kernel")
    for case in CLAIMS[path].cases:
        if case.fails is not None or (case.backends is not None and "kernel" not in case.backends):
            continue
        realizations = [Realization(name) for name in BANDED]
        for row in run_prepared(backend, prepared(program, path, case), realizations, eased=True):
            band = BANDS[row.type]
            near = row.eased is not None and row.eased <= band.epsilon and not row.different
            assert row.verdict == WITHIN or near, (case.entry, row)


def prepared(program: presk.Program, path: Path, case: Case) -> Prepared:
    """The call as the conformance suite takes it."""
    compiled, arguments = compile_call(program, case, "kernel")
    values = list(compiled.synthesize(**arguments).values())
    measured = ConformanceCase("program", path, case.entry, training=case.training)
    return Prepared(measured, compiled.core(**arguments), values)


def call(program: presk.Program, case: Case, backend: str) -> object:
    """The value of the entry, its modules drawn where the case says so."""
    compiled, arguments = compile_call(program, case, backend)
    return compiled(**arguments)


def compile_call(program: presk.Program, case: Case, backend: str) -> tuple[presk.Compiled, dict[str, object]]:
    """The entry compiled as the case says, and its arguments."""
    compiled = presk.compile(program[case.entry], backend=backend, dims=case.dims, training=case.training)
    arguments = dict(case.inputs)
    if case.seed is not None:
        drawn = compiled.init(seed=case.seed)
        names = [name for name in compiled.modules if name not in arguments]
        arguments.update(drawn if len(compiled.modules) > 1 else {names[0]: drawn})
    return compiled, arguments
