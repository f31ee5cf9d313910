"""What a user meant who left out an `@`, named a table, or a size that isn't there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run

import presk as library
from presk.text.diagnostics import PreskError


@pytest.fixture
def linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("p.psk").write_text("fn f(x: real[batch, 2]) -> real[batch] { sum(x, axis = -1) }\n")
    Path("rows.csv").write_text("a,b,kind\n1,2,left\n3,4.5,right\n")
    Path("bare.csv").write_text("a,b\n1,2\n3,4.5\n")
    Path("mixed.json").write_text("{}")
    return "p.psk"


def test_rows_of_a_table_are_an_input(presk: Run, linear: str) -> None:
    for given in ("x=@bare.csv", "x=@rows.csv:a,b", "x=@rows.csv:a, b", "x=[[1, 2], [3, 4.5]]"):
        answer = presk("run", linear, "-i", given)
        assert answer.out.splitlines()[-1] == "[3.  7.5]", answer.err
    assert presk("run", linear, "-i", "x=@rows.csv:b,a", "--json").code == 0


@pytest.mark.parametrize(
    ("given", "code", "hint"),
    [
        ("x=@rows.csv", "E8073", "`@rows.csv:a,b` takes these columns alone"),
        ("x=@rows.csv:a,c", "E8072", "it has a, b, kind"),
        ("x=@rows.csv:a,kind", "E8073", "line 2 of `rows.csv`, column `kind`"),
        ("x=@none.csv", "E8001", "none.csv"),
        ("x=rows.csv", "E6033", "--input x=@rows.csv"),
        ("x=w.npy", "E6033", "--input x=@w.npy"),
    ],
)
def test_inputs_from_files(presk: Run, linear: str, given: str, code: str, hint: str) -> None:
    answer = presk("run", linear, "-i", given)
    assert f"error[{code}]" in answer.err and hint in answer.err


@pytest.mark.parametrize("option", ["--realize", "--plan"])
@pytest.mark.parametrize("file", ["mixed.json", "none.json", "p.psk"])
def test_a_file_without_its_sign(presk: Run, linear: str, option: str, file: str) -> None:
    answer = presk("run", linear, "--dim", "batch=2", option, file)
    assert "error[E7001]" in answer.err and f"`@{file}` is the " in answer.err
    assert "did you mean `bf16`" in presk("run", linear, "--dim", "batch=2", "--realize", "bf17").err


def test_sizes_that_aren_t_there(linear: str) -> None:
    for dims, hint in (({"foo": 3}, "it has batch"), ({"batc": 3}, "did you mean `batch`?")):
        with pytest.raises(PreskError) as caught:
            library.compile(library.load(linear)["f"], dims=dims)
        assert (caught.value.code, caught.value.diagnostics[0].hint) == ("E4008", hint)
