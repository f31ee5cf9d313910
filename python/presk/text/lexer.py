"""The base of all lexers: one compiled pattern cuts a text into tokens and comments.

A `Lexicon` names the groups of its pattern; `scan` runs it. Line breaks are not tokens: each token knows whether one
stands before it, and whether a line break counts is the parser's to decide. PSK (syntax/lexer.py), PSK-Core and kernel
text each bring a lexicon.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from presk.text.spans import Source

END = "end"
"""The kind of the token that ends every token list."""


class Token(NamedTuple):
    """A token: its kind is the lexicon's group, or for operators and keywords their own text."""

    kind: str
    text: str
    start: int
    end: int
    line_break: bool
    """Whether a line break stands between it and the token before; true of the first token."""


class Comment(NamedTuple):
    """A comment with its mark; `own_line` where nothing but blanks stands before it on its line."""

    text: str
    start: int
    own_line: bool
    blank_before: bool
    """Whether an empty line stands before it."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of a text format.

    `pattern` skips blanks, then matches one of its named groups. `newline`, `comment`, `name` and `operator` have a
    meaning to `scan`; a group `bad_…` is a fault; every other group is a kind of token. The pattern must match any
    character.
    """

    pattern: re.Pattern[str]
    keywords: frozenset[str]


class Scan(NamedTuple):
    """What `scan` found; `comments` maps the index of a token to the comments before it."""

    tokens: list[Token]
    comments: dict[int, list[Comment]]
    blank_before: frozenset[int]
    """Indices of the tokens that have an empty line before them, after their comments."""


Fault = Callable[[str, re.Match[str]], tuple[str, str] | None]
"""Told of a `bad_…` group, reports it and gives the kind and text to go on with, or None to skip it."""


def scan(source: Source, lexicon: Lexicon, fault: Fault) -> Scan:
    """The tokens of a source, ended by one of kind `end`, and its comments."""
    tokens: list[Token] = []
    comments: dict[int, list[Comment]] = {}
    blanks: set[int] = set()
    text, keywords, add, new = source.text, lexicon.keywords, tokens.append, Token._make
    groups = {number: name for name, number in lexicon.pattern.groupindex.items()}
    line_break, blank = True, False
    for match in lexicon.pattern.finditer(text):
        number = match.lastindex or 0
        start, end = match.span(number)
        word = text[start:end]
        kind = groups[number]
        if kind == "name":
            if word in keywords:
                kind = word
        elif kind == "operator":
            kind = word
        elif kind == "newline":
            line_break = True
            blank = word.count("\n") > 1 or word.count("\r") > 1
            continue
        elif kind == "comment":
            comments.setdefault(len(tokens), []).append(Comment(word, start, line_break, blank))
            blank = False
            continue
        elif kind.startswith("bad_"):
            replacement = fault(kind, match)
            if replacement is None:
                continue
            kind, word = replacement
        if line_break:
            if blank:
                blanks.add(len(tokens))
            add(new((kind, word, start, end, True)))
            line_break = blank = False
        else:
            add(new((kind, word, start, end, False)))
    size = len(source.text)
    tokens.append(Token(END, "", size, size, True))
    return Scan(tokens, comments, frozenset(blanks))


_LOOK_BACK = 64
"""How many open brackets a closing one is compared with, so that matching stays linear on brackets without end."""

_BLANKS = re.compile(r"[ \t]*")

_OPENERS = {")": "(", "]": "[", "}": "{"}


def match_brackets(source: Source, tokens: list[Token]) -> dict[int, int]:
    """The closing bracket's index of each opening one that has one.

    Where brackets do not balance, indentation helps: a `}` that begins a line closes the brace whose line is indented
    like it, so that one forgotten bracket is found where it is missing and not at the end of the file.
    """
    pairs, balanced = _match(tokens, None)
    return pairs if balanced else _match(tokens, source)[0]


def _match(tokens: list[Token], source: Source | None) -> tuple[dict[int, int], bool]:
    pairs: dict[int, int] = {}
    stack: list[int] = []
    balanced = True
    for index, token in enumerate(tokens):
        if token.kind in ("(", "[", "{"):
            stack.append(index)
            continue
        opener = _OPENERS.get(token.kind)
        if opener is None:
            continue
        depth = _level(tokens, stack, opener, token, source)
        if depth is None:
            balanced = False
            continue
        balanced = balanced and depth == len(stack) - 1
        pairs[stack[depth]] = index
        del stack[depth:]
    return pairs, balanced and not stack


def _level(tokens: list[Token], stack: list[int], opener: str, token: Token, source: Source | None) -> int | None:
    """The place on the stack of the bracket that `token` closes, or None."""
    near = range(len(stack) - 1, max(-1, len(stack) - 1 - _LOOK_BACK), -1)
    if source is not None and token.kind == "}" and token.line_break:
        indent = _indent(source, token.start)
        for depth in near:
            begin = tokens[stack[depth]]
            if begin.kind == opener and _indent(source, begin.start) == indent:
                return depth
    for depth in near:
        kind = tokens[stack[depth]].kind
        if kind == opener:
            return depth
        if kind == "{":
            return None
    return None


def _indent(source: Source, offset: int) -> int:
    start = source.line_starts[source.position(offset)[0] - 1]
    blanks = _BLANKS.match(source.text, start)
    return blanks.end() - start if blanks else 0
