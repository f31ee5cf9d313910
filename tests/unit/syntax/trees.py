"""Trees without their spans, and the programs the tests of this layer start from."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from presk.text.spans import Span

ROOT = Path(__file__).resolve().parents[3]

PROGRAMS = sorted(
    [ROOT / "tests" / "psk" / "page.psk", *ROOT.glob("python/presk/std/*.psk"), *ROOT.glob("examples/**/*.psk")]
)


def shape(node: object) -> object:
    """A node as nested tuples without spans: equal for the same program whatever its layout."""
    if isinstance(node, Span):
        return None
    if dataclasses.is_dataclass(node):
        return (type(node).__name__, *(shape(getattr(node, field.name)) for field in dataclasses.fields(node)))
    if isinstance(node, tuple):
        return tuple(shape(each) for each in node)
    return node


def height(node: object) -> int:
    """Levels of nodes on the longest way down."""
    if isinstance(node, Span):
        return 0
    if dataclasses.is_dataclass(node):
        return 1 + max((height(getattr(node, field.name)) for field in dataclasses.fields(node)), default=0)
    if isinstance(node, tuple):
        return max((height(each) for each in node), default=0)
    return 0
