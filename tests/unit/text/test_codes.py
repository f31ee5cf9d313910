"""Every code has an entry and every entry is raised; the examples of syntax errors show what they are about."""

from __future__ import annotations

import ast
import re
import runpy
from functools import cache
from pathlib import Path

import pytest

from presk.syntax.parser import parse
from presk.text import sources
from presk.text.codes import FAMILIES, all_codes
from presk.text.diagnostics import PreskError
from presk.text.spans import Source

PACKAGE = Path(sources.__file__).resolve().parent.parent
RUST = Path(__file__).resolve().parents[3] / "rust"
SYNTAX_CODES = [code for code in all_codes() if code.startswith("E1")]
OWN_TESTS = {"E1001", "E1004"}
"""Their examples are bytes that aren't UTF-8 and a file of megabytes: shown here by tests of their own."""


@cache
def raised() -> frozenset[str]:
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name == "codes":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"E\d{4}", node.value):
                found.add(node.value)
    for path in RUST.glob("*/src/**/*.rs"):
        found.update(re.findall(r'"(E\d{4})"', path.read_text("utf-8")))
    return frozenset(found)


def test_every_code_that_is_raised_has_an_entry() -> None:
    assert sorted(raised() - set(all_codes())) == []


def test_every_entry_is_raised() -> None:
    assert sorted(set(all_codes()) - raised()) == []


@pytest.mark.parametrize("code", all_codes())
def test_an_entry_says_something(code: str) -> None:
    about = all_codes()[code]
    assert code[:2] in FAMILIES
    assert about.title
    assert not about.title.endswith(".")
    assert about.paragraph.endswith(".")
    assert len(about.paragraph) > 30
    assert about.example.strip()


@pytest.mark.parametrize("code", [code for code in SYNTAX_CODES if code not in OWN_TESTS])
def test_the_example_of_a_syntax_error_triggers_it(code: str) -> None:
    _, found = parse(Source("example", all_codes()[code].example))
    assert [diagnostic.code for diagnostic in found] == [code]
    assert found[0].span is not None


def test_text_that_is_not_utf8() -> None:
    data = all_codes()["E1001"].example.encode("latin-1")
    with pytest.raises(PreskError) as error:
        sources.decode("example", data)
    assert error.value.code == "E1001"


def test_a_source_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SOURCE_LIMIT", 10)
    monkeypatch.setattr(sources, "BYTES_LIMIT", 40)
    assert [each.code for each in parse(Source("example", "const V = 64"))[1]] == ["E1004"]
    with pytest.raises(PreskError) as error:
        sources.decode("example", b"#" * 41)
    assert error.value.code == "E1004"


def test_the_page_of_errors_is_current(root: Path) -> None:
    tool = runpy.run_path(str(root / "tools" / "errors.py"))
    assert (root / "docs" / "errors.md").read_text("utf-8") == tool["page"]()
