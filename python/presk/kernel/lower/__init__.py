"""The lowering of fusion groups to kernels: `lower` for one group, `table` for the rule of each primitive."""

from __future__ import annotations

from presk.kernel.lower.lower import lower

__all__ = ["lower"]
