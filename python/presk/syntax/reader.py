"""What every part of the parser stands on: line breaks, nesting, names, bracketed lists, and how to go on after an
error.

A line break ends a statement only where `line_ends` holds, that is where the innermost bracket is a block; and only
where the statement could end, so that a line may break after `=`, `->` or an operator. Each bracketed construct sets
`line_ends` and gives it back. `depth` counts the constructs being read and `height` the levels of the tree just made:
both stay within NESTING_LIMIT, so that no pass over a tree meets Python's recursion limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NoReturn, TypeVar

from presk.syntax.foreign import FOREIGN_WORDS
from presk.syntax.lexer import DECLARATION_WORDS, KEYWORDS
from presk.text.cursor import Cursor, UnreadableError, describe
from presk.text.diagnostics import Diagnostic, Note
from presk.text.lexer import END, Scan, Token, match_brackets
from presk.text.spans import Source, Span

Item = TypeVar("Item")

NESTING_LIMIT = 100
"""Levels of brackets and operators; a pass that needs three Python frames a level stays far from Python's 1000.

Operators of one level in a row are one level, however many they are.
"""

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_CONTINUING = frozenset(
    {"+", "-", "*", "/", "//", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or", ".", "else", "with"}
)


class Reader(Cursor):
    """A PSK text being read.

    `braces` tells for each `{` what it holds (`block`, `train`, `record`, `instance` or `overrides`), and `starts`
    where statements begin: the formatter lays the tokens out by them. `failures` counts all errors, those left out
    included.
    """

    def __init__(self, source: Source, scan: Scan, found: list[Diagnostic]) -> None:
        super().__init__(source, scan.tokens)
        self.comments = scan.comments
        self.blank_before = scan.blank_before
        self.line_ends = True
        self.depth = 0
        self.height = 0
        self.in_train = False
        self.braces: dict[int, str] = {}
        self.starts: set[int] = set()
        self.failures = 0
        self._pairs: dict[int, int] | None = None
        self._margin: list[int] | None = None
        self._ended = False
        self._faulty_lines = {source.position(each.span.start)[0] for each in found if each.span is not None}

    @property
    def pairs(self) -> dict[int, int]:
        """The closing bracket of each opening one, found on the first error."""
        if self._pairs is None:
            self._pairs = match_brackets(self.source, self.tokens)
        return self._pairs

    def report(
        self, code: str, message: str, span: Span, hint: str | None = None, notes: tuple[Note, ...] = ()
    ) -> None:
        """Adds a diagnostic; on a line with a fault of its characters it would only confuse, and is left out."""
        self.failures += 1
        line = self.source.position(span.start)[0]
        if line in self._faulty_lines:
            return
        if hint is None and "//" in self.source.text[self.source.line_starts[line - 1] : span.start]:
            hint = "a comment begins with #; // is the floor of a quotient"
        super().report(code, message, span, hint, notes)

    # Nesting

    def deepen(self) -> None:
        """Enters a construct. Raises UnreadableError at the limit."""
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            self._too_deep()

    def grow(self) -> None:
        """Adds a level on top of the nodes just made. Raises UnreadableError at the limit."""
        self.height += 1
        if self.height > NESTING_LIMIT:
            self._too_deep()

    def join(self, height: int) -> None:
        """Puts the nodes just made under a node that is `height` levels high already, or the level they make it."""
        self.grow()
        self.height = max(self.height, height)

    def _too_deep(self) -> NoReturn:
        message = f"this is nested more than {NESTING_LIMIT} levels deep"
        self.fail("E1009", message, hint="name a part of it with `let`, or move it to a function")

    # Tokens

    @property
    def at_line_end(self) -> bool:
        """Whether a line break that counts stands before the next token."""
        return self.line_ends and self.token.line_break

    @property
    def glued(self) -> bool:
        """Whether the next token follows the last one without a space."""
        return self.token.start == self.previous.end

    def expect(self, kind: str, what: str) -> Token:
        """Takes a token of this kind; `what` says what it would have been for."""
        if self.token.kind != kind:
            self.unexpected(f"`{kind}` {what}".rstrip())
        return self.advance()

    def unexpected(self, wanted: str, hint: str | None = None) -> NoReturn:
        """Fails at the next token, which is not what is wanted; the word before it may tell why."""
        token = self.token
        before = self.previous if self.index else token
        if before.kind == "name" and before.text in FOREIGN_WORDS and not token.line_break:
            message = f"PSK has no `{before.text}`"
            self.fail("E1019", message, self.span_of(before), FOREIGN_WORDS[before.text])
        if token.kind == "name" and token.text in FOREIGN_WORDS:
            self.fail("E1019", f"PSK has no `{token.text}`", hint=FOREIGN_WORDS[token.text])
        if token.kind in (")", "]", "}") and self.closes_nothing:
            self.fail("E1012", f"this `{token.kind}` closes nothing", hint="delete it, or open its bracket")
        if token.kind == "..":
            self.fail("E1024", "a range stands in an index or behind the `in` of a loop only")
        self.fail("E1010", f"expected {wanted}, found {describe(token)}", hint=hint)

    def name(self, what: str) -> Token:
        """Takes a name. A keyword in its place is reported and read as one."""
        token = self.token
        if token.kind == "name":
            return self.advance()
        if token.kind not in KEYWORDS or (token.line_break and token.kind in DECLARATION_WORDS):
            self.unexpected(what)
        message = f"`{token.kind}` is a keyword of PSK, so it can't be {what}"
        self.report("E1013", message, self.span_of(token), f"take another name, such as `{token.kind}_`")
        return self.advance()

    def doc(self, index: int) -> str:
        """The doc comment before the token `index`: its `##` lines that have a line of their own."""
        first = index
        while first > 0 and self.tokens[first - 1].kind == ";" and self.tokens[first - 1].line_break:
            first -= 1
        lines = [
            comment.text[2:].removeprefix(" ").rstrip()
            for place in range(first, index + 1)
            for comment in self.comments.get(place, ())
            if comment.own_line and comment.text.startswith("##") and not comment.text.startswith("###")
        ]
        return "\n".join(lines)

    # Brackets

    def bracketed(self, item: Callable[[], Item], what: str) -> list[Item]:
        """The items between the bracket at hand and its end, with commas between them and perhaps after the last."""
        opened = self.index
        close = _CLOSERS[self.advance().kind]
        outer, self.line_ends = self.line_ends, False
        items: list[Item] = []
        while self.token.kind != close:
            if self.token.kind == END:
                self.not_closed(opened)
            items.append(item())
            if self.token.kind == ",":
                self.advance()
            elif self.token.kind != close:
                self._no_end_of_item(opened, close, what)
        self.line_ends = outer
        self.advance()
        return items

    def _no_end_of_item(self, opened: int, close: str, what: str) -> NoReturn:
        token = self.token
        closing = token.kind in (")", "]", "}")
        if token.kind == END or (opened not in self.pairs and not (closing and self.closes_nothing)):
            self.not_closed(opened)
        if closing:
            note = Note("the bracket opened here", self.span_of(self.tokens[opened]))
            self.fail("E1012", f"`{token.kind}` can't close `{self.tokens[opened].kind}`", notes=(note,))
        if token.kind == "=":
            self.fail("E1018", "`=` stands where nothing is bound", hint="`==` compares")
        if token.kind == ":" and what == "argument":
            self.fail(
                "E1010", "expected `=` between an argument's name and its value, found `:`", hint="write `name = value`"
            )
        self.unexpected(f"`,` or `{close}` behind this {what}")

    def not_closed(self, opened: int) -> NoReturn:
        """Fails at a bracket that has no end; said once of brackets that reach the end of the text."""
        token = self.tokens[opened]
        if self.token.kind == END:
            if self._ended:
                raise UnreadableError
            self._ended = True
        message = f"this `{token.kind}` is never closed"
        note = Note(f"`{_CLOSERS[token.kind]}` is missing here at the latest", self.span_of(self.token))
        self.fail("E1011", message, self.span_of(token), notes=(note,) if self.token.kind != END else ())

    @property
    def closes_nothing(self) -> bool:
        """Whether the closing bracket at hand has no opening one."""
        return self.index not in self.pairs.values()

    # Going on after an error

    def recover(self, begin: int) -> None:
        """Goes to where the statement, member or declaration that began at the token `begin` seems to end."""
        goal = max(self.index, begin)
        index = begin
        while True:
            token = self.tokens[index]
            if token.kind == END:
                break
            if index >= goal and index > begin:
                if token.kind in (";", "}"):
                    break
                if token.line_break and token.kind not in _CONTINUING:
                    break
            close = self.pairs.get(index)
            if close is not None and not self._holds_declaration(index, close, goal):
                index = close + 1
            else:
                index += 1
        self.move_to(index)
        self.line_ends = True

    def _holds_declaration(self, opened: int, close: int, goal: int) -> bool:
        """Whether the bracket swallowed a declaration at the left margin, so that its end is not to be trusted."""
        if self._margin is None:
            self._margin = [
                index
                for index, token in enumerate(self.tokens)
                if token.kind in DECLARATION_WORDS and self.source.text[max(0, token.start - 1)] in "\r\n"
            ]
        after = bisect_right(self._margin, max(opened, goal - 1))
        return after < len(self._margin) and self._margin[after] < close
