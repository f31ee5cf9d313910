"""The text the tour trains on: a file's, or the source of Python's standard library, which every machine has."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

from presk.text.diagnostics import PreskError, fail
from presk.text.files import read_bytes, shown
from presk.train.tokenizers import text_of

DEEP = re.compile(r"^ {17,}.*\n|^\n(?=\n\n)", re.MULTILINE)
"""Lines that are left out of the library: those whose indentation would fill much of a window, and third blank ones."""


def read_corpus(file: str | None, count: int) -> tuple[str, str]:
    """The first `count` characters, and whose they are. E8001, E8043; E8001 where there is no library to be read."""
    if file is not None:
        path = Path(file)
        return text_of(read_bytes(path, "the corpus"), shown(path))[:count], shown(path)
    return standard_library(Path(sysconfig.get_paths()["stdlib"]), count), "Python's standard library"


def standard_library(folder: Path, count: int) -> str:
    """The modules of a folder one behind the other, by name, those that are ASCII, up to so many characters.

    Without their deeply indented lines: a model that sees a few dozen characters loses its way in long runs of spaces.
    E8001 where that is nothing.
    """
    parts: list[str] = []
    length = 0
    for path in sorted(folder.glob("[a-z]*.py")):
        if length >= count:
            break
        try:
            data = read_bytes(path)
        except PreskError:
            continue  # a module this user may not read: the next one will do
        if data.isascii():
            parts.append(DEEP.sub("", data.decode("ascii")))
            length += len(parts[-1])
    if not parts:
        message = f"Python's standard library isn't readable in `{shown(folder)}`"
        raise fail("E8001", message, hint="--corpus FILE takes another text")
    return "".join(parts)[:count]
