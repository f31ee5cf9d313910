"""The base of all readers: a position in a token list, and the errors met there.

A reader derives from `Cursor`, takes tokens and reports diagnostics. A fatal one raises `UnreadableError` after it was
reported, to be caught where the reader knows how to go on (a statement, a declaration) or at its top.
"""

from __future__ import annotations

from typing import NoReturn

from presk.text.diagnostics import Diagnostic, Note
from presk.text.lexer import END, Token
from presk.text.spans import Source, Span

ERROR_LIMIT = 20
"""Diagnostics of one text that are collected before its reader gives up."""

_SHOWN_TEXT = 40


class UnreadableError(Exception):
    """The construct at hand can't be read further; its diagnostic is reported already."""


class GiveUpError(Exception):
    """ERROR_LIMIT diagnostics were found."""


class Cursor:
    """A token list being read; `token` is the next token, `previous` the one taken last."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.index = 0
        self.token = tokens[0]
        self.diagnostics: list[Diagnostic] = []

    @property
    def previous(self) -> Token:
        """The token taken last."""
        return self.tokens[self.index - 1]

    def advance(self) -> Token:
        """Takes the next token; at the end it stays there."""
        token = self.token
        if token.kind != END:
            self.index += 1
            self.token = self.tokens[self.index]
        return token

    def move_to(self, index: int) -> None:
        """Goes to the token of this index."""
        self.index = index
        self.token = self.tokens[index]

    def peek(self, distance: int = 1) -> Token:
        """The token `distance` behind the next one."""
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def at(self, kind: str) -> bool:
        """Whether the next token is of this kind."""
        return self.token.kind == kind

    def accept(self, kind: str) -> Token | None:
        """Takes the next token where it is of this kind."""
        return self.advance() if self.token.kind == kind else None

    def span_of(self, token: Token) -> Span:
        """The span of one token."""
        return Span(self.source, token.start, token.end)

    def span_from(self, start: int) -> Span:
        """From the offset `start` to the end of the token taken last."""
        return Span(self.source, start, self.tokens[self.index - 1].end)

    def report(
        self, code: str, message: str, span: Span, hint: str | None = None, notes: tuple[Note, ...] = ()
    ) -> None:
        """Adds a diagnostic. Raises GiveUpError at the limit."""
        self.diagnostics.append(Diagnostic(code, message, span, hint, notes))
        if len(self.diagnostics) >= ERROR_LIMIT:
            raise GiveUpError

    def fail(
        self, code: str, message: str, span: Span | None = None, hint: str | None = None, notes: tuple[Note, ...] = ()
    ) -> NoReturn:
        """Reports a diagnostic, at the next token unless a span is given, and raises UnreadableError."""
        self.report(code, message, span or self.span_of(self.token), hint, notes)
        raise UnreadableError


def describe(token: Token) -> str:
    """A token as a message names it."""
    if token.kind == END:
        return "the end of the text"
    return f"`{shown(token.text)}`"


def shown(text: str) -> str:
    """A piece of source text fit for a one-line message: short and printable."""
    cut = text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in cut)
