"""`presk bench` and the dumps of machine code, as a user sees them."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest
from tests.cli.conftest import Run

ENTRY = ["--entry", "Linear{3, 2}.apply", "--dim", "batch=2"]
FEW = ["--repeat", "1", "-q"]


def test_a_table_of_rows(presk: Run, program: Path) -> None:
    answer = presk("bench", program, *ENTRY, *FEW)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0].split() == ["median", "least", "ratio", "prepare", "first"]
    assert [line[:18].strip() for line in lines[1:5]] == ["interp 64 bits", "kernel f64", "kernel f32", "kernel bf16"]
    assert "native bf16 +lanes" in answer.out and "1×" in lines[1]


def test_json_has_seconds(presk: Run, program: Path) -> None:
    answer = presk("bench", program, *ENTRY, *FEW, "--native-only", "--realize", "f32", "--json", "--host-profile")
    found = json.loads(answer.out)
    assert [row["name"] for row in found["rows"]] == ["native f32", "native f32 +lanes"]
    assert all(0 < row["best"] <= row["median"] < 1 for row in found["rows"])
    assert [each["label"].split()[0] for each in found["host_profile"]["launches"]] == ["dot_add"]
    assert found["entry"] == "Linear{3, 2}.apply"


def test_the_profile_is_a_table(presk: Run, program: Path) -> None:
    answer = presk("bench", program, *ENTRY, *FEW, "--native-only", "--realize", "f32", "--host-profile")
    assert "a call" in answer.out and "dot_add Linear{3, 2}.apply/%" in answer.out


def test_against_says_what_it_cannot_state(presk: Run, program: Path) -> None:
    answer = presk("bench", program, *ENTRY, *FEW, "--native-only", "--realize", "f64", "--against", "numpy")
    assert "numpy f64 (" in answer.out
    running = Path("running.psk")
    running.write_text("fn running(x: real[n: 3]) -> real[n: 3] { cumsum(x, axis = n) }")
    answer = presk("bench", running, "--repeat", "1", "--native-only", "--against", "numpy")
    assert "can't be stated in numpy: it has `cumsum`" in answer.out


@pytest.mark.parametrize(
    "options",
    [
        ["--native-only", "--backend", "kernel"],
        ["--host-profile", "--backend", "interp"],
        ["--against", "fortran"],
        ["--repeat", "0"],
    ],
)
def test_what_cannot_apply_is_a_usage_error(presk: Run, program: Path, options: list[str]) -> None:
    assert presk("bench", program, *ENTRY, *options).code == 2


def test_a_step_of_a_train_block(presk: Run, examples: Path) -> None:
    given = ("bench", examples / "regression" / "regression.psk", "--train", "regression", "--repeat", "1")
    answer = presk(*given, "--native-only", "--realize", "f32")
    assert answer.out.splitlines()[1].startswith("native f32  ")
    rows = json.loads(presk(*given, "--json", "--realize", "f32").out)
    assert rows["entry"] == "regression.step"
    assert [row["name"] for row in rows["rows"]] == ["interp 64 bits", "kernel f32", "native f32", "native f32 +lanes"]
    assert all(row["median"] > 0 for row in rows["rows"])
    assert "E8084" in presk(*given[:2], "--train", "other").err
    assert presk(*given, "--entry", "loss").code == 2


def test_an_unknown_backend_is_a_diagnostic(presk: Run, program: Path) -> None:
    answer = presk("bench", program, *ENTRY, "--backend", "gpu")
    assert answer.code == 1 and "E9002" in answer.err


def test_machine_code_under_its_lines(presk: Run, program: Path) -> None:
    answer = presk("dump", program, *ENTRY, "--stage", "asm")
    assert answer.code == 0, answer.err
    assert answer.out.startswith(";; kernel dot (%0 : f32[batch: 2, 3], %1 : f32[3, 2])")
    assert ";   2    for i0 in 0..2 {" in answer.out
    assert "  00000  " in answer.out and "ret" in answer.out


def test_clif_of_each_kernel(presk: Run, program: Path) -> None:
    answer = presk("dump", program, *ENTRY, "--stage", "clif", "--realize", "f64")
    assert answer.out.count("function u0:0(i64, i64, i64, i64, i64)") == answer.out.count(";; kernel ") == 2
    assert "fmul" in answer.out and "f64" in answer.out


def test_an_instruction_set_is_forced(presk: Run, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESK_ISA", "none")
    answer = presk("run", program, *ENTRY, "--backend", "native")
    assert answer.code == 1 and "E9008" in answer.err


def test_code_for_another_architecture_is_shown_and_not_run(
    presk: Run, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESK_ISA", "aarch64")
    answer = presk("dump", program, *ENTRY, "--stage", "asm")
    assert answer.code == 0 and "fmul s" in answer.out
    assert "function u0:0(i64, i64, i64, i64, i64)" in presk("dump", program, *ENTRY, "--stage", "clif").out
    if platform.machine() != "aarch64":
        assert "E9218" in presk("run", program, *ENTRY, "--backend", "native").err
