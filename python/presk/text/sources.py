"""From bytes to a `Source`: what is refused before any lexer sees the text.

A source is UTF-8 without control characters and of bounded size; a byte order mark is dropped. Everyone who reads a
text file of presk (programs, Core and kernel dumps, plans) comes through `decode`; text from Python comes through
`verify`.
"""

from __future__ import annotations

import re
from pathlib import Path

from presk.text.diagnostics import Diagnostic, fail
from presk.text.files import read_bytes, shown
from presk.text.spans import Source, Span

SOURCE_LIMIT = 1 << 22
"""Characters of one source: some hundred thousand lines, which take seconds to read."""

BYTES_LIMIT = 4 * SOURCE_LIMIT
"""Bytes that they may take; of a file one more is read, to know that there are too many."""

_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that reorder text on the screen, and halves of surrogate pairs."""


def read_source(path: str | Path, what: str) -> Source:
    """The source that a file holds, as `decode` gives it. E8001 where it can't be read; `what` names it."""
    return decode(shown(path), read_bytes(path, what, BYTES_LIMIT + 1))


def decode(name: str, data: bytes) -> Source:
    """The source `name` of these bytes. Raises E1001 where they are not UTF-8 and E1004 where there are too many."""
    if len(data) > BYTES_LIMIT:
        raise fail("E1004", f"the source has more than {BYTES_LIMIT} bytes", hint="split the file and import its parts")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = Source(name, data.decode("utf-8", errors="replace").removeprefix("\ufeff"))
        at = len(data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        raise fail(
            "E1001",
            f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8",
            Span(shown, at, at + 1),
            "the file looks like UTF-16: save it as UTF-8" if wide else "save the file as UTF-8",
        ) from None
    return Source(name, text.removeprefix("\ufeff"))


def verify(source: Source) -> tuple[Diagnostic, ...]:
    """What is wrong with the characters of a source: its size (E1004), or each control character (E1002)."""
    if len(source.text) > SOURCE_LIMIT:
        message = f"the source has {len(source.text)} characters, at most {SOURCE_LIMIT} are read"
        return (Diagnostic("E1004", message, None, "split the file and import its parts"),)
    return tuple(
        Diagnostic(
            "E1002",
            f"control character U+{ord(match.group()):04X} in the text",
            Span(source, match.start(), match.end()),
            "delete it; in a string, write an escape such as \\n or \\u{9}",
        )
        for match in _REFUSED.finditer(source.text)
    )
