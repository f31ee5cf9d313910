"""The table of what is computed at one element: elementwise primitives, maps and constants. Called by whoever reads."""

from __future__ import annotations

from presk.kernel.lower import elementwise, maps
from presk.kernel.lower.reader import PointRule

RULES: dict[str, PointRule] = {**elementwise.RULES, **maps.RULES}
"""By the primitive's name."""
