"""Every program under this folder, held against what it claims about itself (README.md tells the notation)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.psk.expectations import Case, differences, read_claims

import presk
from presk.check.program import check_source
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


def call(program: presk.Program, case: Case, backend: str) -> object:
    """The value of the entry, its modules drawn where the case says so."""
    compiled = presk.compile(program[case.entry], backend=backend, dims=case.dims, training=case.training)
    arguments = dict(case.inputs)
    if case.seed is not None:
        drawn = compiled.init(seed=case.seed)
        names = [name for name in compiled.modules if name not in arguments]
        arguments.update(drawn if len(compiled.modules) > 1 else {names[0]: drawn})
    return compiled(**arguments)
