"""Sources and spans: where in which text something stands.

A `Source` is one text with a name; a `Span` is a half-open range of character offsets in it. Lines and columns are
computed on demand and count from 1. Used by the lexers, the checker and every diagnostic.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

_LINE_BREAK = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, eq=False)
class Source:
    """One text and the name it is shown under (a path, or `<string>`)."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offsets at which the lines begin."""
        return (0, *(match.end() for match in _LINE_BREAK.finditer(self.text)))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its newline."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` up to and without `end` of a source."""

    source: Source = field(repr=False)
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def text(self) -> str:
        """The characters spanned."""
        return self.source.text[self.start : self.end]

    @property
    def place(self) -> str:
        """`name:line:column` of the first character."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"
