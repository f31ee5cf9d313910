"""Writes docs/library.md from the library's doc comments (python/presk/std).

With `--check` it compares and writes nothing. A test holds that the page is current.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from presk.syntax import tree
from presk.syntax.parser import parse_or_raise
from presk.text.spans import Source

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "python" / "presk" / "std"
PAGE = ROOT / "docs" / "library.md"
ORDER = ("nn", "losses", "adamw", "sgd", "lion", "rates")
HEAD = """\
# The library

What `import` finds without a path, unless a file of that name stands beside the program. It is written in PSK
(`python/presk/std`). This page is made from its doc comments by `tools/library.py`.

A layer's parameters are named as its fields: the weights of `up: Linear{D, F}` are `up.w`. `..` stands for any leading
axes. Layers keep features last, so a weight matrix has its inputs first: `real[I, O]`, the transpose of PyTorch's.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(section(LIBRARY / f"{name}.psk") for name in ORDER)


def section(path: Path) -> str:
    """One file of the library: its opening comment, then its declarations."""
    text = path.read_text(encoding="utf-8")
    file = parse_or_raise(Source(str(path), text))
    opening = " ".join(line.lstrip("# ") for line in _opening(text))
    parts = [f"\n## {path.stem}\n", f"\n{textwrap.fill(opening, 118)}\n"]
    parts.extend(entry(each) for each in file.declarations if not isinstance(each, tree.Import))
    return "".join(parts)


def entry(declaration: tree.Declaration) -> str:
    """One declaration: its head as code, what it says, and a module's members and functions."""
    match declaration:
        case tree.Module():
            members = "\n".join(f"  {member.name_span.to(member.span).text}" for member in declaration.members)
            body = f"\n{members}\n" if members else " "
            code = f"module {_module_head(declaration)} {{{body}}}"
            functions = [f"- `{head(each)}`\n  {_filled(each.doc, '  ')}\n" for each in declaration.functions]
            return _entry(declaration.name, code, declaration.doc) + ("\n" + "".join(functions) if functions else "")
        case tree.Function():
            return _entry(declaration.name, f"fn {head(declaration)}", declaration.doc)
        case tree.Const():
            return _entry(declaration.name, declaration.span.text, declaration.doc)
        case _:
            raise SystemExit(f"tools/library.py knows no rule for {type(declaration).__name__}")


def head(function: tree.Function) -> str:
    """A function's name, parameters and result on one line."""
    text = function.span.text[: function.body.span.start - function.span.start]
    line = " ".join(text.removeprefix("fn").split())
    return line.replace("( ", "(").replace(", )", ")")


def _module_head(module: tree.Module) -> str:
    shown = [
        each.name if each.default is None else f"{each.name}: {each.kind} = {each.default.span.text}"
        for each in module.parameters
    ]
    return f"{module.name}{{{', '.join(shown)}}}" if shown else module.name


def _entry(name: str, code: str, doc: str) -> str:
    return f"\n### {name}\n\n```\n{code}\n```\n\n{_filled(doc)}\n"


def _filled(doc: str, indent: str = "") -> str:
    return textwrap.fill(" ".join(doc.split()), 118, subsequent_indent=indent, break_on_hyphens=False)


def _opening(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#") or line.startswith("##"):
            break
        lines.append(line)
    return lines


def main() -> None:
    """Writes the page, or says that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/library.md is out of date: run tools/library.py")


if __name__ == "__main__":
    main()
