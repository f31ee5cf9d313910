"""Nats of an entry on the command line and in Python: given as arguments, as sizes, or by their defaults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

import presk as library

TEXT = """
fn paths(n: nat) -> real { sum(ones[p: n]) }
fn scaled(x: real[m], k: nat = 3) -> real[m] { x * k }
fn bounded(x: real[m], k: nat < 5 = 2) -> real[m] { x * k }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "p.psk"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("backend", ["interp", "kernel", "native"])
@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("-e", "paths", "-i", "n=1000"), "1000"),
        (("-e", "paths", "--dim", "n=1000"), "1000"),
        (("-e", "scaled", "-i", "x=[1, 2]"), "[3. 6.]"),
        (("-e", "scaled", "-i", "x=[1, 2]", "-i", "k=4"), "[4. 8.]"),
        (("-e", "bounded", "-i", "x=[1, 2]"), "[2. 4.]"),
        (("-e", "bounded", "-i", "x=[1, 2]", "-i", "k=4"), "[4. 8.]"),
    ],
)
def test_a_nat_is_given_or_has_its_default(
    presk: Run, file: Path, backend: str, arguments: tuple[str, ...], value: str
) -> None:
    answer = presk("run", str(file), *arguments, "--backend", backend, "--json")
    assert answer.code == 0, answer.err
    plain = presk("run", str(file), *arguments, "--backend", backend)
    assert [float(each) for each in plain.out.split("\n")[1].strip("[]").split()] == [
        float(each) for each in value.strip("[]").split()
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("-e", "paths"), "E4001"),
        (("-e", "paths", "-i", "n=2.5"), "E6034"),
        (("-e", "paths", "-i", "n=[1]"), "E6034"),
        (("-e", "paths", "-i", "n=-1"), "E4004"),
        (("-e", "bounded", "-i", "x=[1]", "-i", "k=5"), "E6002"),
    ],
)
def test_a_nat_that_is_none_is_a_diagnostic(presk: Run, file: Path, arguments: tuple[str, ...], code: str) -> None:
    answer = presk("run", str(file), *arguments)
    assert answer.code == 1
    assert f"error[{code}]" in answer.err


def test_other_commands_take_them_too(presk: Run, file: Path) -> None:
    for arguments in (("-e", "paths", "-i", "n=9"), ("-e", "scaled", "-i", "x=[1, 2]"), ("-e", "bounded")):
        sizes = ("--dim", "m=2") if arguments == ("-e", "bounded") else ()
        assert presk("gap", str(file), *arguments, *sizes).code == 0
    assert presk("dump", str(file), "-e", "scaled", "--dim", "m=2", "--stage", "core").code == 0


def test_python_takes_what_the_command_line_takes() -> None:
    program = library.loads(TEXT)
    x = np.array([1.0, 2.0])
    assert library.compile(program["paths"])(n=1000) == 1000
    assert library.compile(program["paths"])(np.int64(7)) == 7
    for name, value in (("scaled", [3, 6]), ("bounded", [2, 4])):
        assert library.compile(program[name])(x).tolist() == value
        assert library.compile(program[name])(x, 4).tolist() == [4, 8]
        assert library.compile(program[name]).bind(x)().tolist() == value
        assert "0 relative" in repr(library.compile(program[name]).gap(x))
    f = library.compile(program["paths"])
    assert f(**f.synthesize(n=12)) == 12
