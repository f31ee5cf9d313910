"""Tokenizers: text to symbols, the nats a language model reads, and back.

There are three kinds: characters (a vocabulary of those a text has), bytes (of UTF-8), and JSON files of the
`tokenizers` package, an optional dependency. A tokenizer describes itself as JSON, which a checkpoint carries in its
metadata, so that who generates needs no other file. `encode` undone by `decode` is the text for characters and bytes.
Called by the data pipeline, by generation and by the command line.
"""

from __future__ import annotations

import codecs
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from presk.text.diagnostics import PreskError, fail
from presk.text.files import read_bytes, reason, shown
from presk.text.spans import Source, Span

Symbols = NDArray[np.int64]

CHARS = "chars"
BYTES = "bytes"
FILE = "tokenizers"
"""The kinds, as a description names them; a train block names the first two so, and the third by its file."""

METADATA = "tokenizer"
"""The key of a checkpoint's metadata that holds a tokenizer's description."""

CODE_POINTS = "<u4"
"""The type of UTF-32's code units."""

SYMBOLS_LISTED = 24
"""Characters of a vocabulary that a hint shows."""

HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: Python's texts may hold one, files in UTF-8 never do."""

LONGEST_CHARACTER = 4
"""Bytes of the longest character in UTF-8: text that isn't whole behind so many symbols never will be."""


class Tokenizer(ABC):
    """Text to symbols and back. Immutable; compares by its description."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many symbols there are: every symbol is below."""

    @abstractmethod
    def encode(self, text: str, name: str = "<text>") -> Symbols:
        """The text's symbols. E8040, at its place in the text `name`, for what the vocabulary lacks."""

    @abstractmethod
    def decode(self, symbols: Sequence[int] | Symbols) -> str:
        """The symbols' text; U+FFFD stands where bytes make no character. E8044 for what is no symbol."""

    @abstractmethod
    def stream(self, behind: Sequence[int] = ()) -> Stream:
        """What gives a text's parts as its symbols come, behind those of a text that is whole."""

    @abstractmethod
    def description(self) -> dict[str, str]:
        """The tokenizer as plain data."""

    def encode_bytes(self, data: bytes, name: str = "<text>") -> Symbols:
        """The symbols of a file's content. E8043 where it isn't UTF-8."""
        return self.encode(text_of(data, name), name)

    def to_metadata(self) -> str:
        """The description as JSON: what `from_metadata` reads."""
        return json.dumps(self.description(), ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.description() == other.description()

    def __hash__(self) -> int:
        return hash(self.to_metadata())


class Stream(ABC):
    """A text under construction: `push` gives what a symbol completes, `finish` what was still held back."""

    @abstractmethod
    def push(self, symbol: int) -> str:
        """The characters that are whole with this symbol. E8044 where it is none."""

    def finish(self) -> str:
        """What was held back, U+FFFD for what is no character."""
        return ""


@dataclass(frozen=True, eq=False)
class Chars(Tokenizer):
    """Characters: symbol i is character i of `characters`, which are sorted and distinct."""

    kind = CHARS
    characters: str

    @staticmethod
    def of(text: str) -> Chars:
        """The tokenizer of the characters a text has."""
        return Chars("".join(sorted(set(text))))

    @property
    def size(self) -> int:
        """How many characters there are."""
        return len(self.characters)

    def encode(self, text: str, name: str = "<text>") -> Symbols:
        """Each character's place in the vocabulary. E8040 for a character it lacks."""
        vocabulary, points = _code_points(self.characters), _code_points(text)
        places = np.searchsorted(vocabulary, points)
        if self.size:
            lacking = np.flatnonzero(vocabulary[np.minimum(places, self.size - 1)] != points)
        else:
            lacking = np.arange(len(points))
        if lacking.size:
            raise self._lacks(text, int(lacking[0]), name)
        return places.astype(np.int64)

    def decode(self, symbols: Sequence[int] | Symbols) -> str:
        """The characters themselves."""
        return "".join([self.characters[each] for each in checked(symbols, self.size)])

    def stream(self, behind: Sequence[int] = ()) -> Stream:
        """Each symbol is a whole character."""
        return _Whole(self)

    def description(self) -> dict[str, str]:
        """The kind and the characters."""
        return {"kind": CHARS, "characters": self.characters}

    def _lacks(self, text: str, at: int, name: str) -> PreskError:
        character = text[at]
        there = "".join(each for each in self.characters if each.isprintable())
        listed = there if len(there) <= SYMBOLS_LISTED else f"{there[: SYMBOLS_LISTED - 1]}…"
        message = f"{_character_text(character)} isn't among the {self.size} characters of the vocabulary"
        return fail("E8040", message, Span(Source(name, text), at, at + 1), f"it has {listed}" if listed else None)


@dataclass(frozen=True, eq=False)
class Bytes(Tokenizer):
    """The bytes of UTF-8: every text has symbols, and every file."""

    kind = BYTES

    @property
    def size(self) -> int:
        """A byte has 256 values."""
        return 256

    def encode(self, text: str, name: str = "<text>") -> Symbols:
        """The text's bytes. E8040 for half of a surrogate pair, which has none."""
        try:
            return self.encode_bytes(text.encode("utf-8"))
        except UnicodeEncodeError as error:
            span = Span(Source(name, text), error.start, error.start + 1)
            raise fail("E8040", f"{_character_text(text[error.start])} has no bytes in UTF-8", span) from None

    def encode_bytes(self, data: bytes, name: str = "<text>") -> Symbols:
        """A symbol a byte, whatever the file is."""
        return np.frombuffer(data, np.uint8).astype(np.int64)

    def decode(self, symbols: Sequence[int] | Symbols) -> str:
        """The text of these bytes."""
        return bytes(checked(symbols, self.size)).decode("utf-8", errors="replace")

    def stream(self, behind: Sequence[int] = ()) -> Stream:
        """Characters as their last byte comes."""
        return _Utf8()

    def description(self) -> dict[str, str]:
        """The kind."""
        return {"kind": BYTES}


@dataclass(frozen=True, eq=False)
class FromFile(Tokenizer):
    """A tokenizer of the `tokenizers` package: the text of its JSON file and what the package made of it.

    Nothing is added around a text, or cut from it.
    """

    kind = FILE
    text: str = field(repr=False)
    made: Any = field(repr=False)

    @staticmethod
    def of(text: str, name: str) -> FromFile:
        """The tokenizer in a file's text. E8041 where there is none, E8042 where the package is absent."""
        try:
            import tokenizers
        except ImportError as error:
            raise fail(
                "E8042",
                f"`{name}` needs the package `tokenizers`, which can't be imported: {reason(error)}",
                hint="pip install 'presk[text]'",
            ) from None
        try:
            made = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # noqa: BLE001 -- the package raises Exception itself
            raise fail("E8041", f"`{name}` isn't a tokenizer: {reason(error)}") from None
        made.no_truncation()
        made.no_padding()
        return FromFile(text, made)

    @property
    def size(self) -> int:
        """One more than the greatest number of a token: numbers may have gaps."""
        return max(self.made.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def encode(self, text: str, name: str = "<text>") -> Symbols:
        """The tokens' numbers. E8040 for half of a surrogate pair, or where the tokenizer refuses the text."""
        half = HALF.search(text)
        if half is not None:
            message = f"{_character_text(half[0])} is no character"
            raise fail("E8040", message, Span(Source(name, text), half.start(), half.end()))
        try:
            return np.array(self.made.encode(text, add_special_tokens=False).ids, dtype=np.int64)
        except Exception as error:  # noqa: BLE001 -- the package raises Exception itself
            raise fail("E8040", f"the tokenizer refuses the text: {reason(error)}") from None

    def decode(self, symbols: Sequence[int] | Symbols) -> str:
        """The tokens' text, special ones included."""
        return self.made.decode(checked(symbols, self.size), skip_special_tokens=False)

    def stream(self, behind: Sequence[int] = ()) -> Stream:
        """The text that is added when a window of tokens grows."""
        return _Window(self, behind)

    def description(self) -> dict[str, str]:
        """The kind and the file's text."""
        return {"kind": FILE, "file": self.text}


class _Whole(Stream):
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def push(self, symbol: int) -> str:
        return self.tokenizer.decode([symbol])


class _Utf8(Stream):
    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, symbol: int) -> str:
        return self.decoder.decode(bytes(checked([symbol], 256)))

    def finish(self) -> str:
        return self.decoder.decode(b"", final=True)


class _Window(Stream):
    """Tokens may join with what stands before them: the text of the last given ones is taken away from the text of all.

    What ends within a character is held back, unless no further byte could complete it.
    """

    def __init__(self, tokenizer: FromFile, behind: Sequence[int]) -> None:
        self.tokenizer = tokenizer
        self.given = list(behind[-LONGEST_CHARACTER:])
        self.held: list[int] = []

    def push(self, symbol: int) -> str:
        self.held.append(symbol)
        new = self._new()
        if new.endswith("\N{REPLACEMENT CHARACTER}") and len(self.held) < LONGEST_CHARACTER:
            return ""
        self.given, self.held = self.held, []
        return new

    def finish(self) -> str:
        new, self.held = self._new(), []
        return new

    def _new(self) -> str:
        before = self.tokenizer.decode(self.given)
        return self.tokenizer.decode([*self.given, *self.held])[len(before) :]


def named(choice: str, data: bytes, name: str, folder: Path) -> Tokenizer:
    """The tokenizer a train block or an option names: `chars` (of the text `data`), `bytes`, or a JSON file's path.

    A path is relative to `folder`. E8001, E8041 to E8043.
    """
    if choice == CHARS:
        return Chars.of(text_of(data, name))
    return Bytes() if choice == BYTES else from_file(folder / choice)


def from_file(path: Path) -> FromFile:
    """The tokenizer in a JSON file of the `tokenizers` package. E8001 where it can't be read, E8041, E8042."""
    return FromFile.of(text_of(read_bytes(path, "the tokenizer's file"), shown(path)), shown(path))


def text_of(data: bytes, name: str) -> str:
    """Bytes as UTF-8, unchanged. E8043 where they aren't."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte 0x{data[error.start]:02x} at offset {error.start} of `{name}` is not UTF-8"
        raise fail("E8043", message, hint="save it as UTF-8, or take `tokenizer = bytes`") from None


def from_metadata(text: str) -> Tokenizer:
    """The tokenizer a checkpoint carries. E8041 where the text describes none, E8042."""
    try:
        described = json.loads(text)
    except (ValueError, RecursionError):
        described = None
    fields = cast("dict[str, Any]", described if isinstance(described, dict) else {})
    match fields:
        case {"kind": "chars", "characters": str(characters)} if _is_vocabulary(characters):
            return Chars(characters)
        case {"kind": "bytes"}:
            return Bytes()
        case {"kind": "tokenizers", "file": str(file)}:
            return FromFile.of(file, "the checkpoint's tokenizer")
        case _:
            raise fail("E8041", "the checkpoint's tokenizer isn't described as presk describes one")


def _is_vocabulary(characters: str) -> bool:
    """Whether these are characters in order, none twice and none half of a surrogate pair."""
    return list(characters) == sorted(set(characters)) and HALF.search(characters) is None


def require_fits(tokenizer: Tokenizer, model: int, name: str) -> None:
    """E8045 where a tokenizer has symbols that a model of so many symbols, shown as `name`, doesn't know."""
    if tokenizer.size > model:
        message = f"the tokenizer has {tokenizer.size} symbols, and {name} knows {model}"
        raise fail("E8045", message, hint=f"give the model as many: --const V={tokenizer.size} where V is that size")


def checked(symbols: Sequence[int] | Symbols, size: int) -> list[int]:
    """The symbols as Python's integers. E8044 for one that isn't below `size`."""
    found = [int(each) for each in symbols]
    for at, each in enumerate(found):
        if not 0 <= each < size:
            raise fail("E8044", f"symbol {each} at position {at} is none of the {size} there are")
    return found


def _code_points(text: str) -> NDArray[np.uint32]:
    """The numbers of a text's characters."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), CODE_POINTS)


def _character_text(character: str) -> str:
    """A character for a message: itself where it can be seen, and its number."""
    number = f"U+{ord(character):04X}"
    return f"`{character}` ({number})" if character.isprintable() and character != "`" else f"the character {number}"
