"""How deep the elaborator may go, so that no program meets Python's recursion limit."""

from __future__ import annotations

from presk.text.diagnostics import PreskError, fail
from presk.text.spans import Span

NESTING_LIMIT = 120
"""Levels of expressions, types and calls inside each other, those of the functions a body is reached through counted.

Five Python frames a level leave a caller some hundreds of the thousand that Python allows. The deepest example has 26.
"""


class Nesting:
    """How deep the elaborator is."""

    def __init__(self) -> None:
        self.level = 0

    def enter(self, span: Span) -> None:
        """One level deeper; who calls it takes the level back. Raises E2008 at the limit."""
        if self.level >= NESTING_LIMIT:
            raise self.too_deep(span)
        self.level += 1

    def too_deep(self, span: Span) -> PreskError:
        """The diagnostic at the limit."""
        hint = "name a part by `let`, or state the results of the functions called"
        return fail("E2008", f"this is nested more than {NESTING_LIMIT} levels deep", span, hint)
