"""Sizes that fit in a head: files of at most 600 lines, functions of at most 60 (their docstrings left out)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FILE_LINES = 600
FUNCTION_LINES = 60

PYTHON_FOLDERS = ("python", "tests", "benchmarks", "examples", "experiments", "tools")

RUST_SKIPPED = re.compile(
    r"""//[^\n]*                                   # a line comment
    | /\*.*?\*/                                    # a block comment
    | \b(?:br|r)(?P<hashes>\#*)".*?"(?P=hashes)    # a raw string
    | "(?:\\.|[^"\\])*"                            # a string
    | '(?:\\[^']*|[^'\\])'                         # a character
    """,
    re.DOTALL | re.VERBOSE,
)
RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)[^;{]*(?P<body>[;{])")


def python_files() -> list[Path]:
    found = (path for folder in PYTHON_FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if ROOT / "python/presk/examples" not in path.parents)


def rust_files() -> list[Path]:
    crates = (path for path in (ROOT / "rust").iterdir() if (path / "Cargo.toml").is_file())
    return sorted(path for crate in crates for path in crate.rglob("*.rs"))


def python_functions(source: str) -> Iterator[tuple[str, int]]:
    """Each function's name and its lines, from `def` to its end, without the docstring's."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                lines -= (first.end_lineno or first.lineno) - first.lineno + 1
            yield node.name, lines


def rust_functions(source: str) -> Iterator[tuple[str, int]]:
    """Each function's name and its lines, from `fn` to its closing brace."""
    bare = RUST_SKIPPED.sub(lambda skipped: "\n" * skipped[0].count("\n"), source)
    for match in RUST_FUNCTION.finditer(bare):
        if match["body"] == ";":
            continue
        depth, at = 1, match.end()
        while depth and at < len(bare):
            depth += {"{": 1, "}": -1}.get(bare[at], 0)
            at += 1
        yield match[1], bare.count("\n", match.start(), at) + 1


def test_files_are_short() -> None:
    files = python_files() + rust_files()
    assert len(files) > 20
    long = [(len(path.read_text("utf-8").splitlines()), path.relative_to(ROOT).as_posix()) for path in files]
    assert not [each for each in long if each[0] > FILE_LINES]


def test_functions_are_short() -> None:
    found = []
    for files, functions in ((python_files(), python_functions), (rust_files(), rust_functions)):
        for path in files:
            for name, lines in functions(path.read_text("utf-8")):
                if lines > FUNCTION_LINES:
                    found.append(f"{path.relative_to(ROOT)}: {name} has {lines} lines")
    assert not found, "\n".join(found)


def test_python_functions_are_measured() -> None:
    source = (
        'class A:\n    def f(self):\n        """One.\n\n        Two.\n        """\n        a = 1\n        return a\n'
    )
    assert list(python_functions(source)) == [("f", 3)]


def test_rust_functions_are_measured() -> None:
    source = """
fn declared(&self) -> bool;
// fn commented() { }
fn outer<'a>(x: &'a str) -> char {
    let text = "{ fn quoted() {"; let raw = r#"}"{"#;
    fn inner() {
        '{'
    }
    '}'
}
"""
    assert list(rust_functions(source)) == [("outer", 7), ("inner", 3)]
