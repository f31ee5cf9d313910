"""The backends by name, and the fastest of them.

A backend's module is imported when it is first asked for. Called by the Python API and the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from presk.run.backend import Backend
from presk.text.diagnostics import did_you_mean, fail

if TYPE_CHECKING:
    from presk.exact.proving import Precision


def _interp(bits: int, proven: Precision | None) -> Backend:
    from presk.run.interp import Interp

    return Interp(bits, proven)


def _kernel(bits: int, proven: Precision | None) -> Backend:
    from presk.run.kernel_backend import KernelInterpreter

    return KernelInterpreter()


def _native(bits: int, proven: Precision | None) -> Backend:
    from presk.run.native_backend import Native

    return Native()


MAKERS: dict[str, Callable[[int, Precision | None], Backend]] = {
    "native": _native,
    "kernel": _kernel,
    "interp": _interp,
}
"""What makes a backend from the reference's options, the fastest first."""


def fastest() -> str:
    """The name of the fastest backend: what runs where none is chosen."""
    return next(iter(MAKERS))


def make(name: str, *, bits: int = 256, proven: Precision | None = None) -> Backend:
    """The backend of this name; the reference certifies as `proven` says, or works at `bits`.

    E9002 for an unknown one.
    """
    maker = MAKERS.get(name)
    if maker is not None:
        return maker(bits, proven)
    *others, last = (f"`{each}`" for each in sorted(MAKERS))
    there_are = f"{', '.join(others)} and {last}"
    raise fail("E9002", f"there is no backend `{name}`", hint=did_you_mean(name, MAKERS) or f"there is {there_are}")
