"""The backends by name: which there are, which are still to come, and the fastest.

A backend's module is imported when it is first asked for. Called by the Python API and the command line.
"""

from __future__ import annotations

from collections.abc import Callable

from presk.run.backend import Backend
from presk.text.diagnostics import did_you_mean, fail

BY_SPEED = ("native", "llvm", "kernel", "interp")
"""Every backend presk is designed to have, the one to be preferred first."""


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
"""What makes a backend from the options `bits` and `certify`. A backend is built if and only if it has a row here."""


def fastest() -> str:
    """The name of the fastest backend there is."""
    return next(name for name in BY_SPEED if name in MAKERS)


def default_note() -> str | None:
    """What to tell a user who didn't choose a backend, or None where the one meant to be the default is built."""
    if fastest() == BY_SPEED[0]:
        return None
    return f"`{BY_SPEED[0]}` isn't built yet: running on `{fastest()}`, the fastest backend there is"


def make(name: str, *, bits: int = 256, certify: bool = False) -> Backend:
    """The backend of this name. E9001 for one that isn't built yet, E9002 for an unknown one."""
    maker = MAKERS.get(name)
    if maker is not None:
        return maker(bits, certify)
    *others, last = (f"`{each}`" for each in sorted(MAKERS))
    there_are = f"{', '.join(others)} and {last}"
    if name in BY_SPEED:
        raise fail("E9001", f"the backend `{name}` isn't built yet", hint=f"this version has {there_are}")
    raise fail("E9002", f"there is no backend `{name}`", hint=did_you_mean(name, BY_SPEED) or f"there is {there_are}")
