"""The standard floating-point mode around Python code whose arithmetic reaches a result, a file or a text.

A caller may have another mode set, as interval libraries leave it: Python's floats and NumPy would round by it. Native
code sets the mode by itself. Used by whatever a user calls; the caller's mode is set again when the call ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from presk import _native

Given = ParamSpec("Given")
Result = TypeVar("Result")


def in_standard_mode(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, with the calling thread in the standard mode until it returns.

    A function that calls back to a user holds it again after that, since a callback may have set another mode.
    """

    @wraps(function)
    def held(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with _native.StandardMode():
            return function(*args, **kwargs)

    return held
