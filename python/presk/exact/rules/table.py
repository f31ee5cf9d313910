"""The table of exact meanings: a planner for every primitive, and the few that have none, with the reason."""

from __future__ import annotations

from collections.abc import Callable

from presk.exact.rules import contractions, elementwise, gathers, layout, random, reductions
from presk.exact.rules.task import Compute, Task

RULES: dict[str, Callable[[Task], Compute]] = {
    **elementwise.PLANNERS,
    **reductions.PLANNERS,
    **contractions.PLANNERS,
    **gathers.PLANNERS,
    **layout.PLANNERS,
    **random.PLANNERS,
}
"""Planners by the primitive's name."""

WITHOUT_MEANING = {
    "constant": "initializes a parameter and is no expression: its shape rule refuses it, so no let can hold it",
}
"""Primitives without a planner, and why."""
