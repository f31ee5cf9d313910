"""The table of primitives: every row, by name, in the order of the families' files.

Every later pass keeps its own rules by these names, and a test joins its table with this one.
"""

from __future__ import annotations

from collections.abc import Iterable

from presk.primitives import (
    constants,
    contractions,
    elementwise,
    gathers,
    indexing,
    joining,
    layout,
    random,
    reductions,
    rows,
)
from presk.primitives.table import Primitive

FAMILIES = (elementwise, reductions, rows, contractions, gathers, layout, joining, constants, random, indexing)


def _collect(rows: Iterable[Primitive]) -> dict[str, Primitive]:
    table: dict[str, Primitive] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"two primitives are named {row.name}")
        table[row.name] = row
    return table


TABLE: dict[str, Primitive] = _collect(row for family in FAMILIES for row in family.ROWS)
