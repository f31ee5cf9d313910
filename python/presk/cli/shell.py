"""Hints for what a shell does to an entry's name before presk sees it.

`--entry Linear{3,2}.apply` reaches presk as `Linear3.apply Linear2.apply`, and `--entry Linear{3, 2}.apply` as
`Linear{3,` and `2}.apply`: braces and spaces want quotes.
"""

from __future__ import annotations

from collections.abc import Sequence

FLAGS = ("--entry", "-e")


def split_entry_hint(arguments: Sequence[str]) -> str | None:
    """The hint where these arguments hold an entry's name that the shell has split, else None."""
    at = next((at for at, argument in enumerate(arguments) if argument in FLAGS), None)
    if at is None or not arguments[at + 1 :]:
        return None
    words = [word for word in arguments[at + 1 :] if not word.startswith("-")]
    quoted = _rejoined(words)
    return None if quoted is None else f"The shell has split the entry's name; quote it: --entry '{quoted}'"


def _rejoined(words: Sequence[str]) -> str | None:
    """The name as it was typed, or None where these words don't look like one that was split."""
    if not words:
        return None
    if "{" in words[0] and "}" not in words[0]:
        end = next((at for at, word in enumerate(words) if "}" in word), None)
        return None if end is None else " ".join(words[: end + 1])
    alike = [words[0]]
    for word in words[1:]:
        if _expansion((*alike, word)) is None:
            break
        alike.append(word)
    return _expansion(alike) if len(alike) > 1 else None


def _expansion(words: Sequence[str]) -> str | None:
    """`Linear{3, 2}.apply` for `Linear3.apply` and `Linear2.apply`: one head, one tail, and what differs between."""
    head = _common_start(words).rstrip("0123456789")
    rests = [word[len(head) :] for word in words]
    tail = _common_start([rest[::-1] for rest in rests])[::-1].lstrip("0123456789")
    inside = [rest[: len(rest) - len(tail)] for rest in rests]
    if not head or not all(each and each.isalnum() for each in inside) or (tail and not tail.startswith(".")):
        return None
    return f"{head}{{{', '.join(inside)}}}{tail}"


def _common_start(words: Sequence[str]) -> str:
    shortest = min(words, key=len)
    end = next((at for at, char in enumerate(shortest) if any(word[at] != char for word in words)), len(shortest))
    return shortest[:end]
