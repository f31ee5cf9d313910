"""The codes of all diagnostics: one title, one paragraph and one example each, a file a family.

`presk explain-error` and docs/errors.md show them. A test fails where a code is raised without an entry here, or an
entry is never raised.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

FAMILIES = {
    "E1": "text and syntax",
    "E2": "names and imports",
    "E3": "types and shapes",
    "E4": "binding an entry",
    "E5": "derivatives",
    "E6": "values at run time",
    "E7": "realizations and plans",
    "E8": "training, data, checkpoints",
    "E9": "backends and export",
}


@dataclass(frozen=True, slots=True)
class Code:
    """What one code means: a title of a few words, a paragraph, and an example that shows it."""

    title: str
    paragraph: str
    example: str


def all_codes() -> dict[str, Code]:
    """Every code, in order; loaded on first use, as only `explain-error`, the docs and the tests want it."""
    table: dict[str, Code] = {}
    for family in FAMILIES:
        module = import_module(f"presk.text.codes.{family.lower()}")
        table.update(module.CODES)
    return dict(sorted(table.items()))
