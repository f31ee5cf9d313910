"""Writes docs/primitives.md from the table of primitives. With `--check` it compares and writes nothing.

A test holds that the page is current.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from itertools import groupby
from pathlib import Path

from presk.primitives.all import TABLE
from presk.primitives.signature import show_signature
from presk.primitives.table import Primitive

PAGE = Path(__file__).resolve().parent.parent / "docs" / "primitives.md"

HEAD = """\
# The primitives

Made from the table in `python/presk/primitives/` by `tools/primitives.py`; `presk check --primitives` shows the same.

- An operand is `real`, `nat` or `bool`. A nat is injected where a real is taken. `number`: a real or a nat, kept as it
  is unless another such operand of the call is real. `alike`: the same, or all of them bool. `any`: any tensor.
  `scalar`: of rank 0 only. `tree`: any value. Operands of elementwise primitives align by name, then from the right.
- What is shown with a `:` may be given by position, everything by keyword. `mask` is an operand, bool, aligned.
- `axis = name` takes an axis's name or position, negative from the end; where the default is `all`, or a row may have
  several axes (softmax, log_softmax, cross_entropy), it takes several: `axis = (a, b)`, counted row-major.
- New axes stand in brackets: `name: size`, a size alone (the axis has no name), or in `ein`, `stack`, `merge` and for
  one axis of `split` a bare name whose size follows from the operands.
- *Undefined* is an error of the exact reference where a result depends on it; machines follow IEEE 754.
"""

INTERNAL = "\n## Internal\n\nMade by presk itself; a program can't call them.\n"


def page() -> str:
    """The whole page."""
    rows = sorted((row for row in TABLE.values() if not row.internal), key=_family_order)
    parts = [HEAD]
    for family, members in groupby(rows, key=lambda row: row.family):
        parts.append(f"\n## {family.capitalize()}\n\n")
        parts.extend(entry(row) for row in members)
    parts.append(f"{INTERNAL}\n")
    parts.extend(entry(row) for row in TABLE.values() if row.internal)
    return "".join(parts)


def entry(row: Primitive) -> str:
    """One primitive: how it is called, and what it means."""
    text = f"- `{show_signature(row)}`: {row.doc}"
    return textwrap.fill(text, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"


def _family_order(row: Primitive) -> int:
    families = list(dict.fromkeys(each.family for each in TABLE.values()))
    return families.index(row.family)


def main() -> None:
    """Writes the page, or says that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/primitives.md is out of date: run tools/primitives.py")


if __name__ == "__main__":
    main()
