"""Whole commands against what they are expected to print; `--bless` writes the expectations anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run

EXPECTED = Path(__file__).parent / "expected"

ENTRY = ["--entry", "Linear{3, 2}.apply"]
EXACT = ["--backend", "interp"]
GIVEN = ["-i", "x=[[1, 2, 3]]", "-i", 'self={"w": [[1, 0], [0, 1], [0.1, "1/3"]], "b": [0, 0]}']

CASES = {
    "help": ["--help"],
    "check": ["check", "p.psk"],
    "check-docs": ["check", "p.psk", "--docs"],
    "check-json": ["check", "p.psk", "--json"],
    "check-wrong": ["check", "wrong.psk"],
    "check-wrong-json": ["check", "wrong.psk", "--json"],
    "run-text": ["run", "p.psk", *ENTRY, *GIVEN, *EXACT],
    "run-certified": ["run", "p.psk", *ENTRY, *GIVEN, *EXACT, "--certify", "--bits", "64"],
    "run-json": ["run", "p.psk", *ENTRY, *GIVEN, *EXACT, "--json", "--certify"],
    "run-tree": ["run", "p.psk", "-e", "double", "-i", "x=[-1, 0, 1e30]", *EXACT],
    "run-tree-json": ["run", "p.psk", "-e", "double", "-i", "x=[-1, 0, 1e30]", *EXACT, "--json"],
    "run-made-up": ["run", "p.psk", *ENTRY, "--dim", "batch=2", "--seed", "7", *EXACT],
    "run-kernel": ["run", "p.psk", *ENTRY, *GIVEN, "--backend", "kernel", "--realize", "bf16"],
    "run-missing-size": ["run", "p.psk", *ENTRY, "-q"],
    "run-no-entry": ["run", "p.psk", "-q"],
    "dump-ast": ["dump", "p.psk", "--stage", "ast"],
    "dump-core": ["dump", "p.psk", *ENTRY, "--stage", "core", "--dim", "batch=2"],
    "dump-groups": ["dump", "p.psk", *ENTRY, "--stage", "groups", "--dim", "batch=2"],
    "dump-kernel": ["dump", "p.psk", *ENTRY, "--stage", "kernel", "--dim", "batch=2"],
    "dump-schedule": ["dump", "p.psk", *ENTRY, "--stage", "schedule", "--dim", "batch=2", "--realize", "bf16"],
    "explain": ["explain-error", "E9002"],
    "hash": ["hash", "p.psk"],
}


@pytest.mark.parametrize("name", CASES)
def test_a_command_prints_what_it_should(name: str, presk: Run, program: Path, bless: bool) -> None:
    Path("wrong.psk").write_text("fn f(x: real[n]) -> real[m] { x + y }\nfn g() -> real { 1 + }\n")
    answer = presk(*CASES[name])
    found = f"$ presk {' '.join(CASES[name])}\n{answer.out}"
    if answer.err:
        found += f"--- stderr\n{answer.err}"
    found += f"--- exit code {answer.code}\n"
    path = EXPECTED / f"{name}.txt"
    if bless:
        EXPECTED.mkdir(exist_ok=True)
        path.write_text(found)
    assert found == path.read_text()


def test_no_expectation_is_left_over() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == set(CASES)
