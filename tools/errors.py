"""Writes docs/errors.md from the table of diagnostic codes. With `--check` it compares and writes nothing.

A test holds that the page is current.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from presk.text.codes import FAMILIES, Code, all_codes

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"

HEAD = """\
# The errors

Made from the table in `python/presk/text/codes/` by `tools/errors.py`; `presk explain-error CODE` shows one of them.
Codes are stable: scripts may rely on them, as they may on `code`, `span` and `hint` of a `presk.PreskError`.
"""


def page() -> str:
    """The whole page."""
    codes = all_codes()
    parts = [HEAD]
    for family, title in FAMILIES.items():
        parts.append(f"\n## {family}: {title}\n")
        parts.extend(entry(code, about) for code, about in codes.items() if code.startswith(family))
    return "".join(parts)


def entry(code: str, about: Code) -> str:
    """One code: its title, paragraph and example."""
    paragraph = textwrap.fill(about.paragraph, 118, break_long_words=False, break_on_hyphens=False)
    example = "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in about.example)
    return f"\n### {code}: {about.title}\n\n{paragraph}\n\n```\n{example}\n```\n"


def main() -> None:
    """Writes the page, or says that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/errors.md is out of date: run tools/errors.py")


if __name__ == "__main__":
    main()
