"""JSON read strictly, each part with its place in the text: so that whatever is wrong in a file is pointed at.

Stricter than Python's own reader: no key twice, no NaN or Infinity, no number that a double can't hold, no lone
surrogates, a few levels of nesting alone. Realizations and plans are untrusted; whatever the text, it gives data or a
PreskError. Called by `realization.model`.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from presk.realization.frozen import DEPTH_LIMIT
from presk.text.cursor import shown
from presk.text.diagnostics import PreskError, fail
from presk.text.sources import verify
from presk.text.spans import Source, Span

Path = tuple[str | int, ...]
"""Keys and positions from the outermost value down."""

NUMBER_LIMIT = 40
"""Characters of a number; a double's shortest decimal has 24 at most."""

SHOWN_ERRORS = 20
"""Refused characters of one text that are listed."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<part>\.[0-9]+)?(?P<power>[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Located:
    """The data of a JSON text, and where its values and the keys of its members stand."""

    data: Any
    values: dict[Path, Span]
    keys: dict[Path, Span]

    def span(self, path: Path) -> Span:
        """Where the value at a path stands."""
        return self.values[path]


def read_json(source: Source) -> Located:
    """The JSON value that a source is. E7001 where it is none, E1002 for control characters, E1004 for a huge text."""
    refused = verify(source)
    if refused:
        raise PreskError(refused[:SHOWN_ERRORS])
    reader = _Reader(source)
    data = reader.value(())
    reader.skip()
    if reader.at < len(source.text):
        reader.fail("there is more behind the end of the value", reader.at, reader.at + 1)
    return Located(data, reader.values, reader.keys)


@dataclass
class _Reader:
    """A position in the text, and the places noted so far."""

    source: Source
    at: int = 0
    values: dict[Path, Span] = field(default_factory=dict[Path, Span])
    keys: dict[Path, Span] = field(default_factory=dict[Path, Span])

    def fail(self, message: str, start: int, end: int, hint: str | None = None) -> NoReturn:
        raise fail("E7001", message, Span(self.source, start, end), hint)

    def skip(self) -> None:
        """Moves over white space."""
        match = _SPACE.match(self.source.text, self.at)
        self.at = match.end() if match else self.at

    def accept(self, mark: str) -> bool:
        """Takes a mark where it is next."""
        self.skip()
        found = self.source.text.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def expect(self, mark: str, where: str) -> None:
        """Takes a mark that must be next."""
        if not self.accept(mark):
            self.fail(f"`{mark}` is missing {where}", self.at, self.at + 1)

    def value(self, path: Path) -> Any:
        """The value that comes next, its place noted."""
        self.skip()
        start = self.at
        if len(path) > DEPTH_LIMIT:
            self.fail(f"more than {DEPTH_LIMIT} levels are nested here", start, start + 1)
        found = self.items(path)
        self.values[path] = Span(self.source, start, self.at)
        return found

    def items(self, path: Path) -> Any:
        """What begins here: an object, an array, a string, a number or a word."""
        if self.accept("{"):
            return self.members(path)
        if self.accept("["):
            return self.elements(path)
        text = self.source.text
        if text.startswith('"', self.at):
            return self.string()
        word = _WORD.match(text, self.at)
        if word is not None:
            if word.group() not in _WORDS:
                self.fail(f"`{shown(word.group())}` is no JSON value", word.start(), word.end(), "is it to be quoted?")
            self.at = word.end()
            return _WORDS[word.group()]
        return self.number()

    def members(self, path: Path) -> dict[str, Any]:
        """An object behind its brace."""
        found: dict[str, Any] = {}
        if self.accept("}"):
            return found
        while True:
            self.skip()
            start = self.at
            key = self.string()
            place = Span(self.source, start, self.at)
            if key in found:
                self.fail(f"the key `{shown(key)}` stands here twice", start, self.at)
            self.keys[*path, key] = place
            self.expect(":", "behind a key")
            found[key] = self.value((*path, key))
            if not self.accept(","):
                self.expect("}", "at the end of an object")
                return found

    def elements(self, path: Path) -> list[Any]:
        """An array behind its bracket."""
        found: list[Any] = []
        if self.accept("]"):
            return found
        while True:
            found.append(self.value((*path, len(found))))
            if not self.accept(","):
                self.expect("]", "at the end of an array")
                return found

    def string(self) -> str:
        """A string."""
        match = _STRING.match(self.source.text, self.at)
        if match is None:
            begun = self.source.text.startswith('"', self.at)
            what = "this string has no end on its line, or an escape JSON doesn't have" if begun else "a key is missing"
            self.fail(what, self.at, self.at + 1)
        text: str = json.loads(match.group())
        if _SURROGATE.search(text):
            self.fail("this string has half of a surrogate pair", match.start(), match.end())
        self.at = match.end()
        return text

    def number(self) -> int | float:
        """A number: whole, or a double."""
        match = _NUMBER.match(self.source.text, self.at)
        if match is None:
            self.fail("a value is missing", self.at, self.at + 1)
        text = match.group()
        if len(text) > NUMBER_LIMIT:
            self.fail(f"a number of {len(text)} characters is of no use here", match.start(), match.end())
        self.at = match.end()
        if match["part"] is None and match["power"] is None:
            return int(text)
        found = float(text)
        if not math.isfinite(found):
            self.fail(f"`{text}` is beyond what a double holds", match.start(), match.end())
        return found
