"""The backends by name, and the fastest of them.

A backend's module is imported when it is first asked for. Called by the Python API and the command line.
"""

from __future__ import annotations

from collections.abc import Callable

from presk.run.backend import Backend
from presk.text.diagnostics import did_you_mean, fail


def _interp(bits: int, certify: bool) -> Backend:
    from presk.run.interp import Interp

    return Interp(bits=bits, certify=certify)


def _kernel(bits: int, certify: bool) -> Backend:
    from presk.run.kernel_backend import KernelInterpreter

    return KernelInterpreter()


def _native(bits: int, certify: bool) -> Backend:
    from presk.run.native_backend import Native

    return Native()


MAKERS: dict[str, Callable[[int, bool], Backend]] = {"native": _native, "kernel": _kernel, "interp": _interp}
"""What makes a backend from the options `bits` and `certify`, the fastest first."""


def fastest() -> str:
    """The name of the fastest backend: what runs where none is chosen."""
    return next(iter(MAKERS))


def make(name: str, *, bits: int = 256, certify: bool = False) -> Backend:
    """The backend of this name. E9002 for an unknown one."""
    maker = MAKERS.get(name)
    if maker is not None:
        return maker(bits, certify)
    *others, last = (f"`{each}`" for each in sorted(MAKERS))
    there_are = f"{', '.join(others)} and {last}"
    raise fail("E9002", f"there is no backend `{name}`", hint=did_you_mean(name, MAKERS) or f"there is {there_are}")
