"""What a call adds to the path of the draws below it: fields and functions, joined by dots.

A second call of the same path in a function's text gets `~1`, the next `~2`. They are numbered in the order of the
text, whichever way a choice known at binding goes, so that a draw keeps its place: checking, which walks both ways,
notes the calls, and binding looks them up.
"""

from __future__ import annotations

from presk.syntax import tree
from presk.text.spans import Span


class CallPaths:
    """The calls of each function by where they stand, with the path each has by itself."""

    def __init__(self) -> None:
        self.found: dict[tree.Function, dict[tuple[int, int], str]] = {}
        self.numbers: dict[tree.Function, dict[tuple[int, int], int]] = {}

    def note(self, function: tree.Function, span: Span, path: str) -> None:
        """In the text of `function`, a call of this path stands at `span`."""
        self.found.setdefault(function, {})[span.start, span.end] = path

    def number(self, function: tree.Function, span: Span) -> int:
        """Which of the calls of its path the one at `span` is, from 0."""
        if function not in self.numbers:
            self.numbers[function] = _numbered(self.found.get(function, {}))
        return self.numbers[function].get((span.start, span.end), 0)


def _numbered(calls: dict[tuple[int, int], str]) -> dict[tuple[int, int], int]:
    counts: dict[str, int] = {}
    numbers: dict[tuple[int, int], int] = {}
    for place in sorted(calls):
        numbers[place] = counts.get(calls[place], 0)
        counts[calls[place]] = numbers[place] + 1
    return numbers
