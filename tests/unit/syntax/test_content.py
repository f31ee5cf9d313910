"""A program's content: what layout leaves alone, and what an edit changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from presk.check.program import load, loads
from presk.syntax.content import content
from presk.syntax.formatter import format_source
from presk.syntax.parser import parse_or_raise
from presk.text.spans import Source

PROGRAM = """\
from nn import Linear
const N = 1000
const H = 0.5
fn f(m: Linear{3, 2}, x: real[batch, 3]) -> real { let y = m(x); sum(y * y) / N + H }
"""

SAME = [
    PROGRAM.replace("; ", "\n  "),
    PROGRAM.replace("1000", "1_000").replace("0.5", "5e-1"),
    "# A comment.\n\n" + PROGRAM.replace("const N", "## Doc.\nconst N"),
    PROGRAM.replace("y * y", "((y) * y)").replace("fn f(m", "fn f(\n  m").replace(" + H", " +\n  H"),
]

OTHER = [
    ("1000", "1001"),
    ("const N = 1000\nconst H = 0.5", "const H = 0.5\nconst N = 1000"),
    ("y * y", "y + y"),
    ("sum(y * y) / N + H", "sum(y * y) / (N + H)"),
    ("let y", "let z = 1; let y"),
    ("[batch, 3]", "[rows, 3]"),
    ("from nn import Linear", "from nn import Linear, LayerNorm"),
]


@pytest.mark.parametrize("text", SAME)
def test_layout_comments_and_spelling_do_not_count(text: str) -> None:
    assert text != PROGRAM
    assert loads(text).hash == loads(PROGRAM).hash


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_whatever_is_said_counts(old: str, new: str) -> None:
    assert old in PROGRAM
    assert loads(PROGRAM.replace(old, new)).hash != loads(PROGRAM).hash


def test_items_do_not_run_into_each_other() -> None:
    def of(text: str) -> bytes:
        return content(parse_or_raise(Source("text", text)))

    assert of("fn ab(c: real) -> real { c }") != of("fn a(bc: real) -> real { bc }")
    assert of("import nn") != of("import nn as nn")
    assert of("fn f() -> real { 1 }") != of("fn f() -> real { 1.0 }")


def test_formatting_an_example_keeps_its_hash(examples: Path) -> None:
    paths = sorted(examples.rglob("*.psk"))
    assert len(paths) > 10
    for path in paths:
        source = Source(path.name, path.read_text("utf-8"))
        formatted = format_source(Source(path.name, source.text.replace("\n\n", "\n\n\n")))
        assert content(parse_or_raise(Source(path.name, formatted))) == content(parse_or_raise(source))


def test_an_imported_file_and_an_override_count(tmp_path: Path) -> None:
    (tmp_path / "layers.psk").write_text("fn twice(x: real) -> real { 2 * x }")
    (tmp_path / "main.psk").write_text("from layers import twice\nconst N = 1\nfn f(x: real) -> real { twice(x) * N }")
    before = load(tmp_path / "main.psk").hash
    (tmp_path / "layers.psk").write_text("# Two.\nfn twice(x: real) -> real {\n  2 * x\n}\n")
    assert load(tmp_path / "main.psk").hash == before
    (tmp_path / "layers.psk").write_text("fn twice(x: real) -> real { 3 * x }")
    assert load(tmp_path / "main.psk").hash != before
