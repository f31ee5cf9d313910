"""The library's files check; programs that import them look only at what they use."""

from __future__ import annotations

from pathlib import Path

import pytest

from presk.check.program import load, loads
from presk.check.scope import LIBRARY
from presk.core.bind import bind

FILES = sorted(LIBRARY.glob("*.psk"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_checks(path: Path) -> None:
    checked = load(path)
    assert len(checked.session.results) >= len(checked.entries()) > 0


def test_of_an_import_only_what_is_used_is_looked_at() -> None:
    checked = loads("from nn import FeedForward\nfn f(m: FeedForward{2, 3}, x: real[n, 2]) -> real[n, 2] { m(x) }")
    assert {each.name for each in checked.session.results} == {"f"}
    names = [each.name for each in bind(checked, "f", dims={"n": 1}).functions]
    assert names[-2:] == ["FeedForward{2, 3}.apply", "f"]


def test_a_file_beside_the_program_wins_and_is_checked(tmp_path: Path) -> None:
    (tmp_path / "nn.psk").write_text("fn twice(x: real) -> real { x + x }\n")
    main = tmp_path / "main.psk"
    main.write_text("import nn\nfn f(x: real) -> real { nn.twice(x) }\n")
    checked = load(main)
    assert [note.split("`")[1] for note in checked.notes] == ["nn"]
    assert "which wins over the library's nn.psk" in checked.notes[0]
    assert {each.name for each in checked.session.results} == {"f", "twice"}
