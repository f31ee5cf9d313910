"""Names of functions in Core, and what a key of a realization or plan may leave out of them.

`Linear{16, 48}.apply`, `adamw.step[MiniGPT]`, `nearest@k=3`: words and dots, groups in braces or brackets, and behind
`@` what tells a second binding from the first. A parenthesis stands only inside a group, as it begins the operands.
"""

from __future__ import annotations

import re

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(~\d+)?(\.[A-Za-z0-9_]+(~\d+)?)*", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_.@=, *~']", re.ASCII)
_GROUPED = re.compile(r"[^\n%{}\[\]]")


def is_word(text: str) -> bool:
    """Whether this can be the name of an axis, a field or a let."""
    return WORD.fullmatch(text) is not None


def is_call_path(text: str) -> bool:
    """Whether this can be what a call adds to a draw's path: nothing, or words and dots, perhaps `~1` behind one."""
    return not text or PATH.fullmatch(text) is not None


def is_function_name(text: str) -> bool:
    """Whether this can be a function's name."""
    depth = 0
    for char in text:
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
        elif (_GROUPED if depth else _PLAIN).match(char) is None:
            return False
        if depth < 0:
            return False
    return depth == 0 and WORD.match(text) is not None and text == " ".join(text.split())


def bare(name: str) -> str:
    """The name without groups and without what stands behind `@`: every instantiation of a function has the same."""
    kept: list[str] = []
    depth = 0
    for char in name:
        if char == "@" and depth == 0:
            break
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
        elif depth == 0:
            kept.append(char)
    return "".join(kept)
