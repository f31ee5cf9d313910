"""How large kernel text may be. The Rust side has the same figures, and the limits of what a kernel may declare."""

from __future__ import annotations

TEXT_BYTES = 8 << 20
"""Bytes of kernel text."""

NESTING = 128
"""Depth of blocks and expressions together, from the kernel's own block on."""

BUFFERS = 1024
"""Inputs, outputs and scratch buffers of one kernel, each."""

RANK = 64
"""Axes of a buffer."""

ELEMENTS = 1 << 48
"""Elements of a buffer."""

VARIABLES = 1 << 16
"""Numbers of variables of one kind."""

BOUND = 1 << 62
"""The greatest V of `i64<V`."""
