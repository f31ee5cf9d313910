"""What becomes of a call whose arrays don't fit the memory: a diagnostic, before anything runs where sizes tell.

Used by the backends that run schedules and by what a user calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from presk.text.diagnostics import PreskError, fail

Given = ParamSpec("Given")
Result = TypeVar("Result")

HINT = "smaller dimensions or a narrower realization"


def require_memory(name: str, arena: int, results: int = 0) -> None:
    """E9004 where a call's own bytes, those of its results included, are more than the machine's memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if arena + results > memory:
        sentence = f"`{name}` needs {arena + results} bytes beside its arguments, and this machine has {memory}"
        raise fail("E9004", sentence, hint=HINT)


def refused_memory(error: MemoryError) -> PreskError:
    """E9004 for what the system didn't give."""
    text = str(error)
    return fail("E9004", f"the memory doesn't suffice: {text[:1].lower()}{text[1:]}" if text else NO_MEMORY, hint=HINT)


NO_MEMORY = "the memory doesn't suffice"


def within_memory(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, with a MemoryError raised as E9004."""

    @wraps(function)
    def told(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            raise refused_memory(error) from None

    return told
