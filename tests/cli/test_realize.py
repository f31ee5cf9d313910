"""`presk realize`: what it writes is the realization it was made of, and runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import presk as library

ENTRY = ["-e", "Linear{3, 2}.apply", "--dim", "batch=2"]


def test_it_writes_the_rule_out_and_the_file_runs(presk: Run, program: Path) -> None:
    answer = presk("realize", "p.psk", *ENTRY, "--realize", "bf16/f32", "-o", "R.json")
    assert answer.code == 0, answer.err
    said = json.loads(Path("R.json").read_text())
    assert said["entry"] == "Linear{3, 2}.apply" and said["core"].startswith("sha256:")
    assert said["default"] == "bf16" and said["params"] == {"w": "f32", "b": "f32"}
    assert library.Realization.read("R.json").hash in answer.err
    ran = [presk("run", "p.psk", *ENTRY, "--realize", name, "-q", "--json") for name in ("bf16/f32", "@R.json")]
    assert ran[0].code == 0, ran[0].err
    assert ran[0].out == ran[1].out


def test_without_a_file_it_prints(presk: Run, program: Path) -> None:
    answer = presk("realize", "p.psk", *ENTRY, "--realize", "f32")
    assert json.loads(answer.out).keys() == {"entry", "core", "default"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([*ENTRY, "--realize", "bf16/f16"], 1, "E7001"),
        (["-e", "Linear{3, 2}.apply"], 1, "E4001"),
        ([*ENTRY, "--train", "fit"], 2, "a train block says itself"),
        ([*ENTRY, "-o", "no/such/folder/R.json"], 1, "E8002"),
    ],
)
def test_mistakes_are_told(presk: Run, program: Path, arguments: list[str], code: int, said: str) -> None:
    answer = presk("realize", "p.psk", *arguments)
    assert answer.code == code and said in answer.err


def test_a_file_for_another_entry_is_refused(presk: Run, program: Path) -> None:
    presk("realize", "p.psk", *ENTRY, "-o", "R.json")
    answer = presk("run", "p.psk", "-e", "Linear{3, 2}.apply", "--dim", "batch=3", "--realize", "@R.json")
    assert "E7002" in answer.err and "condition 10" in answer.err
