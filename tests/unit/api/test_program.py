"""Programs: loading, listing, naming entries."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import presk
from presk import PreskError

TEXT = """
const N = 3
const EPS = 1e-5

module Scale{I} {
  w: real[I] = ones
  ## Scales <x>.
  fn apply(self, x: real[batch, I]) -> real[batch, I] { x * self.w }
}

fn double(x: real[N]) -> real[N] { 2 * x + EPS }
"""


def test_entries_modules_and_constants_are_listed() -> None:
    program = presk.loads(TEXT, "text.psk")
    assert [entry.name for entry in program.entries()] == ["Scale{I}.apply", "double"]
    assert program.entries()[0].free_dimensions == ("batch",)
    assert program.entries()[0].doc == "Scales <x>."
    assert program.modules == ("Scale",)
    assert program.consts == {"N": "3", "EPS": "0.00001"}
    assert program.trains == ()


def test_constants_are_overridden_exactly() -> None:
    program = presk.loads(TEXT, consts={"N": 2, "EPS": 0.1})
    assert program.consts == {"N": "2", "EPS": "0.1"}
    assert float(presk.compile(program["double"], backend="interp")([0, 1])[1]) == 2.1
    assert program.hash != presk.loads(TEXT).hash


@pytest.mark.parametrize(
    ("consts", "code"), [({"M": 1}, "E4007"), ({"N": 0.5}, "E4003"), ({"N": "many"}, "E4020"), ({"N": None}, "E4020")]
)
def test_impossible_overrides_are_refused(consts: dict, code: str) -> None:
    with pytest.raises(PreskError) as caught:
        presk.loads(TEXT, consts=consts)
    assert caught.value.code == code


def test_an_entry_is_named_and_a_wrong_name_refused() -> None:
    program = presk.loads(TEXT)
    assert program[" Scale{3}.apply "].name == "Scale{3}.apply"
    for name in ("Scale{3}.aply", "tripel", "", "Scale{", "double double", "\0"):
        with pytest.raises(PreskError):
            program[name]


def test_a_program_shows_itself() -> None:
    program = presk.loads(TEXT, "a<b>.psk")
    assert "double(x: real[" in repr(program)
    html = program._repr_html_()
    assert "a&lt;b&gt;.psk" in html
    assert "Scales &lt;x&gt;." in html


def test_an_entry_is_found_by_path_and_name(tmp_path: Path) -> None:
    (tmp_path / "p.psk").write_text("fn f(x: real[n]) -> real[n] { x }")
    assert presk.compile(f"{tmp_path}/p.psk:f", backend="interp").parameters == ("x",)
    assert presk.compile(f"{tmp_path}/p.psk", backend="interp").parameters == ("x",)
    (tmp_path / "p.psk").write_text(TEXT)
    for name in (f"{tmp_path}/p.psk", "nonsense", ""):
        with pytest.raises(PreskError) as caught:
            presk.compile(name, backend="interp")
        assert caught.value.code == "E4021"


@pytest.mark.parametrize("path", ["missing.psk", ".", "a\0b.psk"])
def test_a_file_that_cannot_be_read(tmp_path: Path, path: str) -> None:
    with pytest.raises(PreskError) as caught:
        presk.load(tmp_path / path)
    assert caught.value.code == "E2003"


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(PreskError) as caught:
        presk.loads("fn f(x: real) -> real { y }\nfn g(x: real) -> real { z }")
    assert len(caught.value.diagnostics) == 2
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_what_is_no_text_no_path_or_no_table_is_a_diagnostic() -> None:
    program = presk.loads(TEXT)
    wrong: dict[str, Callable[[], object]] = {
        "`entry` is a text, not a int": lambda: program[3],  # type: ignore[index]
        "`entry` is a text, not a NoneType": lambda: presk.compile(None),  # type: ignore[arg-type]
        "`backend` is a text, not a int": lambda: presk.compile(program["double"], backend=3),  # type: ignore[arg-type]
        "`dims` is a dict with texts as keys, not a int": lambda: presk.compile(program["double"], dims=5),  # type: ignore[arg-type]
        "`dims` is a dict with texts as keys, not a dict": lambda: presk.compile(program["double"], dims={1: 2}),  # type: ignore[dict-item]
        "`text` is a text, not a bytes": lambda: presk.loads(b"x"),  # type: ignore[arg-type]
        "`consts` is a dict with texts as keys, not a list": lambda: presk.loads(TEXT, consts=[("N", 2)]),  # type: ignore[arg-type]
        "`path` is a path, not a int": lambda: presk.load(0),  # type: ignore[arg-type]
    }
    for sentence, call in wrong.items():
        with pytest.raises(PreskError) as caught:
            call()
        assert caught.value.code == "E6034"
        assert sentence in str(caught.value)
