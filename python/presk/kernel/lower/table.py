"""The table of lowering: by a root's primitive, the rule that makes its kernels; and those that have none, with why.

Elementwise primitives, maps, constants, reductions and row primitives share nests; every other primitive has a rule of
its own. A test joins this table with the table of primitives. Called by `lower`.
"""

from __future__ import annotations

from collections.abc import Callable

from presk.kernel.lower import gathers, joins, points, rows, running, sorting
from presk.kernel.lower.contract import lower_contraction
from presk.kernel.lower.contraction import LABELS
from presk.kernel.lower.nest import lower_nest
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Lowered

Rule = Callable[[Task], Lowered]

RULES: dict[str, Rule] = {
    **dict.fromkeys((*points.RULES, *rows.RULES), lower_nest),
    **dict.fromkeys(LABELS, lower_contraction),
    **dict.fromkeys(("embed", "take"), gathers.lower_take),
    "gather": gathers.lower_gather,
    "scatter_add": gathers.lower_scatter_add,
    "concat": joins.lower_concat,
    "stack": joins.lower_stack,
    "unstack": joins.lower_unstack,
    "pad": joins.lower_pad,
    "update_index": joins.lower_update_index,
    "update_slice": joins.lower_update_slice,
    "cumsum": running.lower_cumsum,
    "total": running.lower_total,
    "sort": sorting.lower_sort,
    "top_k": sorting.lower_top_k,
}
"""By the primitive's name."""

HOST = {
    "normal": "drawn by the host",
    "uniform": "drawn by the host",
    "dropout_mask": "drawn by the host",
    "sample": "drawn by the host",
}
"""Primitives that are steps of the host, not kernels."""

NEVER = {
    "dropout": "binding makes it the identity, or the draw of a mask and a product",
    "constant": "initializes a parameter and is no expression",
}
"""Primitives that no let holds."""
