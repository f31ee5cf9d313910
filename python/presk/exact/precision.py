"""The working precision, which python-flint keeps once for the whole process.

Whoever computes with balls does so inside `working(bits)`: it sets the precision, keeps other threads' evaluations out
meanwhile, and puts the caller's precision back. It may be entered again by the thread that holds it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import RLock

from flint import ctx

from presk.text.diagnostics import fail

SMALLEST_BITS = 2
LARGEST_BITS = 1 << 20
"""Bits of a working precision: flint wants two at least; a million is a quarter of a million digits."""

_TURN = RLock()


@contextmanager
def working(bits: int) -> Generator[None]:
    """Computes at `bits` bits until left; evaluations of other threads wait.

    E6012 where `bits` can't be worked with.
    """
    if not SMALLEST_BITS <= bits <= LARGEST_BITS:
        raise fail(
            "E6012",
            f"the reference can't work at {bits} bits",
            hint=f"{SMALLEST_BITS} … {LARGEST_BITS} bits are possible",
        )
    with _TURN:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


@contextmanager
def guarded(extra: int) -> Generator[None]:
    """Computes with `extra` more bits than now, for the steps inside of one function. Only within `working`."""
    before = ctx.prec
    ctx.prec = before + extra
    try:
        yield
    finally:
        ctx.prec = before
