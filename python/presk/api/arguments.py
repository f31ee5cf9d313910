"""What a Python caller gives in place of a text, a path or a table is one, or E6034 says what it is instead.

Called at the API's edge, where a wrong argument would otherwise fail deep inside with a sentence about presk's insides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar, cast

from presk.api.constants import exact_number
from presk.shapes import constants
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


def settings(name: str, value: Mapping[str, object] | None) -> dict[str, str]:
    """The keys of a train block given for `name`, as PSK text: texts are taken as they are, a number means its shortest
    decimal, a list of texts is one of strings.
    """
    return {key: _expression(f'{name}["{key}"]', each) for key, each in table(name, value).items()}


def _expression(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        if all(isinstance(each, str) and '"' not in each and "\\" not in each for each in items):
            return "[" + ", ".join(f'"{each}"' for each in items) + "]"
    elif isinstance(value, Real | Decimal):
        return constants.show(constants.rational(exact_number(name, value)))
    raise _refused(name, "PSK text, a number, true or false, or a list of texts", cast(object, value))


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in cast(Mapping[object, object], value))


def require(name: str, wanted: str, value: object, kind: type) -> None:
    """E6034 where the value given for `name` isn't of the kind wanted."""
    if not isinstance(value, kind):
        raise _refused(name, wanted, value)


def _refused(name: str, wanted: str, value: object) -> PreskError:
    return fail("E6034", f"`{name}` is {wanted}, not a {type(value).__name__}")
