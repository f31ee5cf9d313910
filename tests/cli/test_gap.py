"""`presk gap` and `presk conformance`: what they print, certify, compare and refuse."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.unit.choose.rounding import Rounding
from tests.unit.choose.running import machine

ENTRY = ("-e", "Linear{3, 2}.apply", "--dim", "batch=4")
ON = ("--backend", "rounding")


@pytest.fixture(autouse=True)
def backend() -> Iterator[None]:
    with machine(Rounding()):
        yield


def test_the_report_states_outputs_and_sites(presk: Run, program: Path) -> None:
    answer = presk("gap", program, *ENTRY, *ON)
    assert answer.code == 0, answer.err
    assert "Linear{3, 2}.apply: f32 on `rounding`, against the reference at 256 bits (proven)" in answer.out
    assert "Linear{3, 2}.apply/%2" in answer.out
    assert "rounding the inputs" in answer.out
    short = presk("gap", program, *ENTRY, *ON, "--no-sites").out
    assert "Linear{3, 2}.apply/%2" not in short
    assert "the inputs as stored" in presk("gap", program, *ENTRY, *ON, "--from-rounded").out
    assert "(midpoints, not proven)" in presk("gap", program, *ENTRY, *ON, "--no-certify", "--no-sites").out


def test_the_page_shows_what_comes_out(presk: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, _, rest = (root / "docs" / "gaps.md").read_text("utf-8").partition("    presk gap ")[2].partition("\n\n")
    shown = [line.removeprefix("    ") for line in rest[: rest.index("From Python")].rstrip().split("\n")]
    monkeypatch.chdir(root)
    assert presk("gap", *shlex.split(command)).out.rstrip().split("\n") == shown


def test_the_certificate_is_the_same_printed_and_written(presk: Run, program: Path) -> None:
    answer = presk("gap", program, *ENTRY, *ON, "--realize", "bf16", "--json", "-o", "gap.json")
    data = json.loads(answer.out)
    assert json.loads(Path("gap.json").read_text()) == data
    assert data["form"] == "presk-gap-1"
    assert data["realization"]["name"] == "bf16"
    assert data["hashes"]["program"] == presk("hash", program).out.split()[0]
    assert {site["site"] for site in data["contributions"]["sites"]} == {
        "Linear{3, 2}.apply/%2",
        "Linear{3, 2}.apply/%3",
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--max-gap", "1e-3"), 0),
        (("--max-gap", "1e-12"), 1),
        (("--max-gap", "1e-12", "--norm", "max"), 1),
        (("--max-gap", "1e-5", "--norm", "abs"), 0),
        (("--max-gap", "0", "--realize", "f64"), 1),
    ],
)
def test_a_limit_decides_the_exit_code(presk: Run, program: Path, arguments: tuple[str, ...], code: int) -> None:
    answer = presk("gap", program, *ENTRY, *ON, "--no-sites", *arguments)
    assert answer.code == code
    assert ("is above" in answer.err) == (code == 1)


def test_inputs_and_weights_are_given_as_for_run(presk: Run, program: Path) -> None:
    np.save("x.npy", np.array([[0.0, 0.5, 1.0]]))
    first = json.loads(presk("gap", program, "-e", "Linear{3, 2}.apply", *ON, "-i", "x=@x.npy", "--json").out)
    other = json.loads(presk("gap", program, "-e", "Linear{3, 2}.apply", *ON, "-i", "x=[[0, 0.5, 1]]", "--json").out)
    assert first["hashes"]["inputs"] == other["hashes"]["inputs"]
    assert first["outputs"][0]["elements"] == 2


def test_a_parameter_may_be_named_as_an_option_is(presk: Run, program: Path) -> None:
    program.write_text("fn f(seed: real, bits: real, sites: real[n: 2]) -> real { seed * bits + sum(sites) }")
    given = ("-i", "seed=2", "-i", "bits=3", "-i", "sites=[1, 1]")
    assert presk("run", program, *given, "--backend", "interp").out.split()[-1] == "8.0"
    assert json.loads(presk("gap", program, *given, *ON, "--json").out)["outputs"][0]["absolute"]["worst"] == 0
    answer = presk("run", program, *given[2:], "--backend", "interp")
    assert answer.code == 2
    assert "goes by its place: give those before it too" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--backend", "interp"), 1, "E9010"),
        (("--backend", "gpu"), 1, "E9002"),
        ((*ON, "--max-gap", "-1"), 2, "max-gap"),
        ((*ON, "--max-gap", "much"), 2, "max-gap"),
        ((*ON, "--norm", "sup"), 2, "norm"),
        ((*ON, "--bits", "1"), 1, "E6012"),
        ((*ON, "--out", "missing/gap.json", "--no-sites"), 1, "E8002"),
        ((*ON, "--weights", "missing.safetensors"), 1, "E8001"),
        ((*ON, "--dim", "m=1"), 1, "E4008"),
        ((*ON, "--digits", "0"), 1, "E6014"),
    ],
)
def test_what_can_not_apply_is_refused(
    presk: Run, program: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    answer = presk("gap", program, *ENTRY, *arguments)
    assert answer.code == code
    assert text in answer.err
    assert "Traceback" not in answer.err


def rows(presk: Run, *arguments: Any) -> Any:
    return json.loads(presk("conformance", *ON, "--only", "so*", "--group", "primitive", "--json", *arguments).out)


def test_the_suite_prints_its_table(presk: Run) -> None:
    answer = presk("conformance", *ON, "--group", "primitive", "--only", "so*")
    assert answer.code == 0
    assert "softmax_masked" in answer.out
    assert "10 measured; 0 listed beyond their band (*), 0 beyond it otherwise (!)" in answer.out
    assert {row["name"] for row in rows(presk)["rows"]} >= {"softmax", "softplus", "sort"}


def test_cases_of_one_group_may_be_measured_in_different_types(presk: Run) -> None:
    """A primitive's slope in f64 and f32, an example's in bf16 as well."""
    answer = presk("conformance", *ON, "--group", "gradient", "--only", "*(sin[c,]*")
    assert answer.code == 0, answer.err
    figures = {
        line.split(")")[0]: len(line.split(")")[-1].split()) for line in answer.out.splitlines() if "(sin" in line
    }
    assert figures == {"vjp(sin, wrt = (0,": 2, "05_gradients: grad(sinc": 3}


def test_a_table_is_written_compared_and_blessed(presk: Run, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    rows(presk, "--write", path)
    again = presk("conformance", *ON, "--group", "primitive", "--only", "so*", "--table", path)
    assert again.code == 0
    data = json.loads(path.read_text("utf-8"))
    data["gaps"]["primitive"]["softmax"]["f32"] *= 1 + 2**-52
    path.write_text(json.dumps(data))
    changed = presk("conformance", *ON, "--group", "primitive", "--only", "so*", "--table", path)
    assert changed.code == 1
    assert "changed: primitive softmax in f32" in changed.out
    assert len(rows(presk, "--table", path)["changes"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--backend", "interp"), 2, "measured against"),
        (("--backend", "gpu"), 1, "E9002"),
        ((*ON, "--only", "nothing*"), 2, "no case"),
        ((*ON, "--table", "missing.json"), 1, "E8001"),
        ((*ON, "--group", "all"), 2, "group"),
    ],
)
def test_a_suite_that_can_not_run_says_so(presk: Run, arguments: tuple[str, ...], code: int, text: str) -> None:
    answer = presk("conformance", *arguments)
    assert answer.code == code
    assert text in answer.err
