"""The two JSON schemas that ship with the package, and what is said where data doesn't follow one: E7001.

Every unknown key, type and value is refused by its name, none passed over; where the data came from a text, each is
pointed at. One table says, by the schema's keyword, what was expected. Called by `realization.model`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path as FilePath
from typing import Any, cast

from presk.realization.json_text import SHOWN_ERRORS, Located, Path
from presk.text.cursor import shown
from presk.text.diagnostics import Diagnostic, PreskError, did_you_mean
from presk.text.spans import Span

FOLDER = FilePath(__file__).parent

KINDS = ("realization", "plan")
"""What there are schemas of."""

_TYPES = {"object": "an object", "array": "a list", "string": "text", "integer": "a whole number", "boolean": "a bool"}


@cache
def schema(kind: str) -> Any:
    """The schema of `realization` or `plan`, as JSON data."""
    return json.loads((FOLDER / f"{kind}.schema.json").read_text("utf-8"))


@cache
def _validator(kind: str) -> Any:
    from jsonschema.validators import Draft202012Validator

    return cast(Any, Draft202012Validator)(schema(kind))


def validate(kind: str, data: Any, located: Located | None = None) -> None:
    """Holds plain JSON data against the schema of its kind. PreskError E7001 lists all that is wrong."""
    found: list[Diagnostic] = []
    for error in _validator(kind).iter_errors(data):
        found += _diagnostics(kind, error, located)
        if len(found) >= SHOWN_ERRORS:
            break
    if found:
        found.sort(key=lambda each: each.span.start if each.span else 0)
        raise PreskError(found)


def _diagnostics(kind: str, error: Any, located: Located | None) -> Iterator[Diagnostic]:
    """What one breach of the schema says to the user."""
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        for key in error.instance:
            if key not in known:
                hint = did_you_mean(key, known) or f"there {_are(known)}"
                yield Diagnostic(
                    "E7001", f"{_in(kind, path)} has no key `{shown(key)}`", _key(located, path, key), hint
                )
        return
    span = None if located is None else located.span(path)
    sentence, hint = _SENTENCES[error.validator](error.validator_value, error.instance)
    yield Diagnostic("E7001", f"{_in(kind, path)} {sentence}", span, hint)


def _key(located: Located | None, path: Path, key: str) -> Span | None:
    return None if located is None else located.keys[*path, key]


def _in(kind: str, path: Path) -> str:
    """How a message names a place: `storage["loss/%17"]`, or the whole."""
    if not path:
        return f"a {kind}"
    parts: list[str] = []
    for part in path:
        plain = isinstance(part, str) and part.isidentifier()
        parts.append(f".{part}" if plain else f"[{part}]" if isinstance(part, int) else f'["{shown(str(part))}"]')
    return f"`{''.join(parts).removeprefix('.')}`"


def _are(known: Sequence[str]) -> str:
    if not known:
        return "are none"
    listed = ", ".join(f"`{each}`" for each in known[:-1])
    return f"are {listed} and `{known[-1]}`" if listed else f"is `{known[-1]}`"


Sentence = tuple[str, str | None]


def _wrong_type(expected: Any, found: Any) -> Sentence:
    return f"is {_TYPES.get(expected, expected)}, not {_show(found)}", None


def _not_listed(expected: Any, found: Any) -> Sentence:
    listed = [each if isinstance(each, str) else json.dumps(each) for each in expected]
    hint = did_you_mean(found, listed) if isinstance(found, str) else None
    return f"can't be {_show(found)}", hint or f"there {_are(listed)}"


def _lacking(expected: Any, found: Any) -> Sentence:
    missing = [each for each in expected if each not in found]
    return f"lacks {' and '.join(f'`{each}`' for each in missing)}", None


def _below(expected: Any, found: Any) -> Sentence:
    return f"is {_show(found)}, below {expected}", None


def _above(expected: Any, found: Any) -> Sentence:
    return f"is {_show(found)}, above {expected}", None


def _length(expected: Any, found: Any) -> Sentence:
    return f"has {len(found)} elements, not {expected}", None


def _malformed(expected: Any, found: Any) -> Sentence:
    return f"can't be {_show(found)}", "sha256: and 64 hexadecimal digits"


def _empty(expected: Any, found: Any) -> Sentence:
    return "is empty", None


_SENTENCES: Mapping[str, Callable[[Any, Any], Sentence]] = {
    "type": _wrong_type,
    "enum": _not_listed,
    "required": _lacking,
    "minimum": _below,
    "maximum": _above,
    "minItems": _length,
    "maxItems": _length,
    "pattern": _malformed,
    "minLength": _empty,
}
"""By the schema's keyword; a test holds that the schemas use no other."""


def _show(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"`{shown(value)}`"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return repr(value)
