"""What a Python caller gives in place of a text, a path or a table is one, or E6034 says what it is instead.

Called at the API's edge, where a wrong argument would otherwise fail deep inside with a sentence about presk's insides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

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
    written = _written(value)
    if isinstance(written, str):
        return Path(written)
    raise _refused(name, "a path", value)


def _written(value: Any) -> object:
    """What a path of another library is written as: some are bytes."""
    return value.__fspath__() if hasattr(value, "__fspath__") else None


def folder(name: str, value: object) -> Path:
    """The path of a folder given for `name`, which a file is to be written into."""
    found = str(path(name, value))
    if not found or "\0" in found:
        raise fail("E6034", f"`{name}` is no folder's path: {found!r}")
    return Path(found)


def listeners(name: str, value: object) -> tuple[Callable[..., object], ...]:
    """The functions given for `name`, as a list."""
    if not isinstance(value, Sequence):
        raise _refused(name, "a list of functions", value)
    found = tuple(cast("Sequence[object]", value))
    for each in found:
        if not callable(each):
            raise _refused(name, "a list of functions", each)
    return cast("tuple[Callable[..., object], ...]", found)


def table(name: str, value: Mapping[str, Value] | None) -> Mapping[str, Value]:
    """The values by name given for `name`; none for None."""
    if value is None:
        return {}
    if _is_table(value):
        return value
    raise _refused(name, "a dict with texts as keys", value)


def texts(name: str, value: Mapping[str, str] | None) -> dict[str, str]:
    """The texts by name given for `name`; none for None."""
    return {key: text(f'{name}["{key}"]', each) for key, each in table(name, value).items()}


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in cast(Mapping[object, object], value))


def require(name: str, wanted: str, value: object, kind: type) -> None:
    """E6034 where the value given for `name` isn't of the kind wanted."""
    if not isinstance(value, kind):
        raise _refused(name, wanted, value)


def _refused(name: str, wanted: str, value: object) -> PreskError:
    return fail("E6034", f"`{name}` is {wanted}, not a {type(value).__name__}")
