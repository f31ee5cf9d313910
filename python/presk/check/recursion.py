"""Which function calls which, found while they are checked; and the cycles in that, which PSK has none of (E2006).

A call is noted, not followed, where the callee's result is stated: so a chain of calls costs no depth, and recursion
is told once for each call that closes a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator

from presk.check.scope import Declaration
from presk.text.diagnostics import Diagnostic
from presk.text.spans import Span

SHOWN_CYCLE = 8
"""Functions of a cycle that a message names."""


class CallGraph:
    """The calls of a program's functions, in the order in which they were found."""

    def __init__(self) -> None:
        self.calls: dict[Declaration, dict[Declaration, Span]] = {}

    def note(self, caller: Declaration, callee: Declaration, span: Span) -> None:
        """The function `caller` calls `callee`, here for the first time."""
        self.calls.setdefault(caller, {}).setdefault(callee, span)

    def cycles(self) -> Iterator[Diagnostic]:
        """A diagnostic for each call that leads back to a function the walk has come by."""
        done: set[Declaration] = set()
        for root in self.calls:
            if root in done:
                continue
            path = {root: 0}
            waiting = [iter(self.calls[root].items())]
            while waiting:
                step = next(waiting[-1], None)
                if step is None:
                    waiting.pop()
                    done.add(path.popitem()[0])
                    continue
                callee, span = step
                if callee in path:
                    yield _recursion([*list(path)[path[callee] :], callee], span)
                elif callee not in done:
                    path[callee] = len(path)
                    waiting.append(iter(self.calls.get(callee, {}).items()))


def _recursion(cycle: list[Declaration], span: Span) -> Diagnostic:
    shown = [f"`{each.label}`" for each in cycle]
    if len(shown) > SHOWN_CYCLE:
        shown[SHOWN_CYCLE - 1 : -1] = ["…"]
    return Diagnostic("E2006", f"recursion: {' calls '.join(shown)}", span, "loops are `fold` and `scan`")
