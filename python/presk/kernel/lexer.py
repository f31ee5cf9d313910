"""The words of kernel text. Called by the kernel reader."""

from __future__ import annotations

import re

from presk.text.cursor import shown
from presk.text.diagnostics import fail
from presk.text.lexer import Lexicon, Token, scan
from presk.text.spans import Source, Span

LEXICON = Lexicon(
    re.compile(
        r"""(?P<comment>^[ \t\r]*--[^\n]*)
          | [ \t\r]*+(?:
              (?P<newline>\n+|\Z)
            | (?P<name>[A-Za-z_](?:[A-Za-z0-9_]|\.(?=[A-Za-z_]))*)
            | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
            | (?P<parameter>%[0-9]+)
            | (?P<operator><v=|<v>|->|\.\.|//|<=|>=|==|!=|\+=|[()\[\]{},:=<>+\-*/%])
            | (?P<bad_character>[^ \t\r\n])
          )""",
        re.VERBOSE | re.MULTILINE,
    ),
    frozenset(),
)
"""A comment is a line that begins with `--`; within a line these are two signs. A word may hold points, each before a
letter, and a point belongs to a number where a digit follows: `0..4` is three tokens."""


def tokens_of(source: Source) -> list[Token]:
    """The tokens of a text, ended by one of kind `end`. A character without a meaning is E9201."""

    def fault(kind: str, match: re.Match[str]) -> tuple[str, str] | None:
        start, end = match.span(kind)
        message = f"the character `{shown(match[kind])}` has no place in kernel text"
        raise fail("E9201", message, Span(source, start, end))

    return scan(source, LEXICON, fault).tokens
