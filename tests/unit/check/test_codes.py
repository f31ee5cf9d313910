"""The example of each code that the checker, binding and the command line's names give shows what it is about."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from presk.check import scope
from presk.check.nesting import NESTING_LIMIT
from presk.check.program import check_source, load
from presk.cli import guard
from presk.core.bind import bind
from presk.text.codes import all_codes
from presk.text.diagnostics import PreskError
from presk.text.spans import Source

FAMILIES = ("E2", "E3", "E4", "E5", "E802", "E8085")
PROGRAMS = {
    code: about.example
    for code, about in all_codes().items()
    if code.startswith(FAMILIES) and not about.example.startswith("presk") and code not in ("E8003",)
}
OWN_TESTS = {"E2004", "E2007", "E2008", "E2009", "E4009", "E5003"}
"""Their examples need several files, a large one, or to be bound: shown here by tests of their own."""

COMMANDS = {
    code: about.example
    for code, about in all_codes().items()
    if code in ("E4001", "E4002", "E4007", "E4008", "E4020", "E4021")
}


def codes_of(text: str) -> list[str]:
    return [each.code for each in check_source(Source("example.psk", text))[1]]


@pytest.mark.parametrize("code", sorted(set(PROGRAMS) - OWN_TESTS))
def test_the_example_shows_it(code: str) -> None:
    assert codes_of(PROGRAMS[code]) == [code]


@pytest.mark.parametrize("code", COMMANDS)
def test_the_command_shows_it(
    code: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    assert guard.run(shlex.split(COMMANDS[code])[1:]) == 1
    assert f"error[{code}]" in capsys.readouterr().err


def test_a_file_that_imports_itself(tmp_path: Path) -> None:
    path = tmp_path / "example.psk"
    path.write_text(all_codes()["E2004"].example)
    assert refusal(lambda: load(path)) == ["E2004"]


def test_files_that_import_each_other(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.psk").write_text(f"import {other}\nconst {name.upper()} = 1\n")
    with pytest.raises(PreskError) as error:
        load(tmp_path / "a.psk")
    assert error.value.code == "E2004"
    assert "a.psk imports b.psk imports c.psk imports a.psk" in str(error.value)


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "FILE_LIMIT", 100)
    (tmp_path / "big.psk").write_text("# " + "x" * 200)
    path = tmp_path / "main.psk"
    path.write_text("import big")
    assert refusal(lambda: load(path)) == ["E2007"]


def test_a_chain_that_is_too_deep() -> None:
    chain = [f"fn f{n}(x: real) {{ f{n - 1}(x) }}" for n in range(1, NESTING_LIMIT)]
    assert codes_of("\n".join(["fn f0(x: real) { x }", *chain])) == []
    assert codes_of("\n".join([*reversed(chain), "fn f0(x: real) { x }"])) == ["E2008"]


def test_what_only_follows_is_not_told_beside_its_cause() -> None:
    found = codes_of("fn f(x: real) { x + y }\nfn g(x: real) { f(x) }\nfn h(x: real) { g(x) }")
    assert found == ["E2001"]


def test_maps_inside_of_maps_over_too_many_leaves() -> None:
    checked, found = check_source(Source("example.psk", all_codes()["E4009"].example))
    assert found == ()
    assert refusal(lambda: bind(checked, "f")) == ["E4009"]


def test_derivatives_of_too_high_an_order() -> None:
    checked, found = check_source(Source("example.psk", all_codes()["E5003"].example))
    assert found == ()
    assert len(bind(checked, "sixth").functions) > 6
    assert refusal(lambda: bind(checked, "ninth")) == ["E5003"]
    assert refusal(lambda: bind(checked, "grad(grad(grad(sixth)))")) == ["E5003"]


def refusal(run: Callable[[], object]) -> list[str]:
    with pytest.raises(PreskError) as error:
        run()
    return [each.code for each in error.value.diagnostics]
