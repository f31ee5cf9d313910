"""What a Python caller gives in place of a text, a path or a table is one, or E6034 says what it is instead.

Called at the API's edge, where a wrong argument would otherwise fail deep inside with a sentence about presk's insides.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast

from presk.text.diagnostics import PreskError, fail

Value = TypeVar("Value")


def text(name: str, value: object) -> str:
    """The text given for `name`."""
    if isinstance(value, str):
        return value
    raise _refused(name, "a text", value)


def path(name: str, value: object) -> str | Path:
    """The path given for `name`."""
    if isinstance(value, str | Path):
        return value
    if isinstance(value, os.PathLike):
        return Path(cast("os.PathLike[str]", value))
    raise _refused(name, "a path", value)


def table(name: str, value: Mapping[str, Value] | None) -> Mapping[str, Value]:
    """The values by name given for `name`; none for None."""
    if value is None:
        return {}
    if _is_table(value):
        return value
    raise _refused(name, "a dict with texts as keys", value)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in cast(Mapping[object, object], value))


def _refused(name: str, wanted: str, value: object) -> PreskError:
    return fail("E6034", f"`{name}` is {wanted}, not a {type(value).__name__}")
