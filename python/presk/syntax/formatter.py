"""The canonical layout of PSK text: `presk fmt`.

The formatter lays out tokens, not the tree, so that it can't change a program: every token is printed as written
except `;` (a line break says the same) and a comma after the last item. What the author decides is kept: which
statements share a line (while they fit it), whether a block stands on one line, and single empty lines. Everything
else is decided here: blanks, indentation, and line breaks inside brackets and behind operators, which appear only in
lines too long for WIDTH. Every comment stays where it is, trailing ones in one column; the keys of a train block are
aligned.
"""

from __future__ import annotations

from collections.abc import Iterator

from presk.syntax.declarations import DeclarationReader
from presk.syntax.expressions import LEVELS
from presk.syntax.lexer import DECLARATION_WORDS
from presk.syntax.parser import read
from presk.text.diagnostics import PreskError
from presk.text.lexer import END, Comment, Token, match_brackets
from presk.text.printer import (
    Choice,
    Doc,
    HardLine,
    Line,
    Nest,
    OwnLineComment,
    TrailingComment,
    group,
    render,
    split_comments,
)
from presk.text.spans import Source

WIDTH = 128
"""Columns of a line."""

_OPENERS = frozenset({"(", "[", "{"})
_OPERANDS = frozenset({"name", "self", "integer", "decimal", "string", "index", "true", "false", ")", "]", "}"})
_KINDS = frozenset({"real", "nat", "bool"})
_WORDS = frozenset({"as", "let", "if", "else", "fold", "scan", "map", "over", "in", "along", "with"})
_STRUCTURE = DECLARATION_WORDS | _WORDS | {"=", ":", "->", ".."}
"""Tokens that stand between expressions: a line is broken inside these, not across."""

_COMMA_LEVEL = 0


def format_source(source: Source) -> str:
    """The text in canonical layout, which formatting leaves alone. Raises a PreskError where it does not parse."""
    result, found = read(source)
    if found or result is None:
        raise PreskError(found)
    return render(_Layout(result[0]).file(), WIDTH)


class _Layout:
    """The document of one parsed file. Token ranges are half open.

    The `;`s are left out from the start: `starts` tells where statements begin, and the comments around a `;` count as
    those between its neighbours.
    """

    def __init__(self, reader: DeclarationReader) -> None:
        self.tokens: list[Token] = []
        self.comments: dict[int, list[Comment]] = {}
        self.blank_before: set[int] = set()
        self.braces: dict[int, str] = {}
        self.starts: set[int] = set()
        line_break = False
        for index, token in enumerate(reader.tokens):
            place = len(self.tokens)
            self.comments.setdefault(place, []).extend(reader.comments.get(index, ()))
            line_break = line_break or token.line_break
            if index in reader.blank_before:
                self.blank_before.add(place)
            if token.kind == ";":
                continue
            if index in reader.braces:
                self.braces[place] = reader.braces[index]
            if index in reader.starts:
                self.starts.add(place)
            self.tokens.append(token._replace(line_break=line_break))
            line_break = False
        self.comments[0] = [comment._replace(own_line=True) for comment in self.comments[0]]
        self.pairs = match_brackets(reader.source, self.tokens)

    def file(self) -> Doc:
        end = len(self.tokens) - 1
        return self._statements(0, end, align=False)

    # Statements and blocks

    def _statements(self, begin: int, end: int, align: bool) -> Doc:
        """The statements between two tokens, and the comments before the second one."""
        out: list[Doc] = []
        lines = self._lines(begin, end)
        keys = self._key_widths(lines) if align else {}
        for line in lines:
            out.extend(self._separator(line[0][0], bool(out)))
            statements = [self._statement(start, stop, keys.get(start, 0)) for start, stop in line]
            out.append(_joined(statements))
        out.extend(self._comment_lines(end, bool(out)))
        return out

    def _lines(self, begin: int, end: int) -> list[list[tuple[int, int]]]:
        """The statements' ranges, those that share a line together."""
        lines: list[list[tuple[int, int]]] = []
        index = begin
        while index < end:
            start = index
            index = self._end_of_statement(start, end)
            if lines and not self.tokens[start].line_break:
                lines[-1].append((start, index))
            else:
                lines.append([(start, index)])
        return lines

    def _end_of_statement(self, start: int, end: int) -> int:
        index = start
        while index < end and (index == start or index not in self.starts):
            index = self._behind(index)
        return index

    def _separator(self, first: int, inside: bool) -> Iterator[Doc]:
        """What stands before a statement: the end of the line before, and the comments that lead it."""
        leading = list(self._comment_lines(first, inside))
        yield from leading
        if inside or leading:
            yield HardLine(first in self.blank_before)

    def _comment_lines(self, index: int, inside: bool) -> Iterator[Doc]:
        """The comments before a token that have a line of their own."""
        for comment in self.comments.get(index, ()):
            if comment.own_line:
                if inside:
                    yield HardLine(comment.blank_before)
                yield comment.text.rstrip()
                inside = True

    def _statement(self, start: int, end: int, key_width: int = 0) -> Doc:
        """A statement; the comments before it are printed by `_separator`."""
        if self.tokens[start].kind == "fn":
            return self._function(start, end)
        if key_width:
            padding = " " * (key_width - len(self.tokens[start].text))
            return [self._token(start, lead=False), padding, " ", self._run(start + 1, end)]
        return self._run(start, end, lead=False)

    def _function(self, start: int, end: int) -> Doc:
        """A function: where its head is too long for a line, its parameters are broken before its result is."""
        opened = next(index for index in range(start, end) if self.tokens[index].kind == "(")
        behind = self._behind(opened)
        body = behind
        while self.braces.get(body) != "block":
            body = self._behind(body)
        bracket, comments = split_comments(self._open_bracket(opened, lead=True))
        head: list[Doc] = [self._run(start, opened, lead=False), bracket]
        if body > behind:
            head.extend((" ", self._run(behind, body)))
        return [group(*head, *comments), " ", self._block(body)]

    def _key_widths(self, lines: list[list[tuple[int, int]]]) -> dict[int, int]:
        """For the keys of a train block, the width of the longest in the same paragraph."""
        widths: dict[int, int] = {}
        paragraph: list[int] = []
        for line in [*lines, []]:
            if len(line) == 1 and (not paragraph or line[0][0] not in self.blank_before):
                paragraph.append(line[0][0])
                continue
            width = max((len(self.tokens[start].text) for start in paragraph), default=0)
            widths.update(dict.fromkeys(paragraph, width))
            paragraph = [line[0][0]] if len(line) == 1 else []
        width = max((len(self.tokens[start].text) for start in paragraph), default=0)
        widths.update(dict.fromkeys(paragraph, width))
        return widths

    def _block(self, opened: int) -> Doc:
        close = self.pairs[opened]
        own_line = any(comment.own_line for comment in self.comments.get(close, ()))
        if close == opened + 1 and not own_line:
            return [self._token(opened), self._token(close)]
        starts = [start for line in self._lines(opened + 1, close) for start, _ in line]
        if not any(self.tokens[index].line_break for index in (*starts, close)):
            statements = [self._statement(start, self._end_of_statement(start, close)) for start in starts]
            return group(self._token(opened), Nest([Line(" "), _joined(statements)]), Line(" "), self._token(close))
        body = self._statements(opened + 1, close, align=self.braces[opened] == "train")
        return [self._token(opened), Nest([HardLine(), body]), HardLine(), self._token(close, lead=False)]

    # Runs of tokens

    def _run(self, begin: int, end: int, lead: bool = True) -> Doc:
        """Tokens of one statement or item, brackets whole: words of structure with expressions between them."""
        out: list[Doc] = []
        waiting: list[TrailingComment] = []
        index = begin
        while index < end:
            stop = index
            while stop < end and not self._is_structure(stop):
                stop = self._behind(stop)
            if stop > index:
                part = self._expression(index, stop, lead or index > begin)
                part = group(Nest(part)) if any(self._operators(index, stop)) else part
            else:
                stop = self._behind(index)
                part = self._element(index, lead or index > begin)
            if self._is_block(index) or self._leading(index):
                out.extend(waiting)
                waiting.clear()
            kept, comments = split_comments([part])
            out.extend(kept)
            waiting.extend(comments)
            if stop < end and self._spaced(stop - 1, stop):
                out.append(" ")
            index = stop
        return [*out, *waiting]

    def _is_structure(self, index: int) -> bool:
        return self.tokens[index].kind in _STRUCTURE or self._is_block(index)

    def _is_block(self, index: int) -> bool:
        return self.tokens[index].kind == "{" and self.braces[index] in ("block", "train")

    def _behind(self, index: int) -> int:
        """The index behind a token, or behind the bracket it opens."""
        return self.pairs[index] + 1 if self.tokens[index].kind in _OPENERS else index + 1

    def _expression(self, begin: int, end: int, lead: bool) -> Doc:
        """Operands with operators between them: the loosest may end lines, the tighter ones are groups of their own."""
        operators = list(self._operators(begin, end))
        if not operators:
            return self._operand(begin, end, lead)
        loosest = min(level for _, level in operators)
        out: list[Doc] = []
        start = begin
        for index in [index for index, level in operators if level == loosest] + [end]:
            part = self._expression(start, index, lead or start > begin)
            out.append(part if loosest == _COMMA_LEVEL else group(part))
            if index < end:
                blank = "" if self.tokens[index].kind == "," else " "
                out.extend((blank, self._token(index), Line(" ")))
            start = index + 1
        return out

    def _operators(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """The binary operators outside brackets, and the commas between imported names, with their levels."""
        index = begin
        while index < end:
            kind = self.tokens[index].kind
            if kind == ",":
                yield index, _COMMA_LEVEL
            elif kind in LEVELS and index > begin and not self._is_prefix(index):
                yield index, LEVELS[kind]
            index = self._behind(index)

    def _operand(self, begin: int, end: int, lead: bool) -> Doc:
        out: list[Doc] = []
        waiting: list[TrailingComment] = []
        index = begin
        while index < end:
            if self._leading(index):
                out.extend(waiting)
                waiting.clear()
            kept, comments = split_comments([self._element(index, lead or index > begin)])
            out.extend(kept)
            waiting.extend(comments)
            index = self._behind(index)
            if index < end and self._spaced(index - 1, index):
                out.append(" ")
        return [*out, *waiting]

    def _element(self, index: int, lead: bool) -> Doc:
        """A token, or a whole bracket."""
        kind = self.tokens[index].kind
        if self._is_block(index):
            return self._block(index)
        if kind in _OPENERS:
            return self._bracket(index, lead)
        return self._token(index, lead)

    def _bracket(self, opened: int, lead: bool) -> Doc:
        return group(self._open_bracket(opened, lead))

    def _open_bracket(self, opened: int, lead: bool) -> list[Doc]:
        """A bracket whose lines belong to the group around it."""
        close = self.pairs[opened]
        items: list[tuple[int, int]] = []
        start = index = opened + 1
        while index < close:
            if self.tokens[index].kind == ",":
                items.append((start, index))
                start = index + 1
            index = self._behind(index)
        trailing = bool(items) and start == close
        if start < close:
            items.append((start, close))
        pad = " " if self.braces.get(opened) == "overrides" else ""
        body: list[Doc] = [Line(pad)]
        for number, (begin, end) in enumerate(items):
            body.append(self._run(begin, end))
            if number + 1 < len(items):
                body.extend((self._token(end), Line(" ")))
        body.extend(self._last_comma(opened, len(items), close - 1 if trailing else None))
        body.extend(self._leading(close))
        if not items:
            return [self._token(opened, lead), Nest(body[1:]), self._token(close, lead=False)]
        return [self._token(opened, lead), Nest(body), Line(pad), self._token(close, lead=False)]

    def _last_comma(self, opened: int, count: int, written: int | None) -> list[Doc]:
        """The comma after the last item: of a tuple of one always, else where each item has a line of its own."""
        called = opened > 0 and opened not in self.starts and not self._spaced(opened - 1, opened)
        sole = self.tokens[opened].kind == "(" and not called and count == 1
        comma: Doc = Choice(",", "")
        if sole:
            comma = "," if written is not None else ""
        if count == 0:
            comma = ""
        return [comma] if written is None else self._around(written, comma)

    # Tokens and comments

    def _token(self, index: int, lead: bool = True) -> Doc:
        """A token with the comments around it; without those on lines before it if not `lead`."""
        text = self.tokens[index].text
        if self.tokens[index].kind == "index":
            text = "." + text[1:].lstrip()
        return self._around(index, text, lead)

    def _around(self, index: int, content: Doc, lead: bool = True) -> list[Doc]:
        out = self._leading(index) if lead else []
        out.append(content)
        out.extend(
            TrailingComment(comment.text.rstrip())
            for comment in self.comments.get(index + 1, ())
            if not comment.own_line
        )
        return out

    def _leading(self, index: int) -> list[Doc]:
        return [OwnLineComment(each.text.rstrip()) for each in self.comments.get(index, ()) if each.own_line]

    def _is_prefix(self, index: int) -> bool:
        """Whether the token is `not`, or a `-` with nothing to its left."""
        kind = self.tokens[index].kind
        if kind == "not":
            return True
        return kind == "-" and (index in self.starts or self.tokens[index - 1].kind not in _OPERANDS)

    def _spaced(self, left: int, right: int) -> bool:
        """Whether a blank stands between two neighbours."""
        before, after = self.tokens[left].kind, self.tokens[right].kind
        if after in (",", ":", ".", "index") or before == ".":
            return False
        if after == "(":
            return before not in _OPERANDS and before not in ("map", "fn")
        if after == "[":
            return before not in _OPERANDS and before not in _KINDS
        if after == "{":
            return self.braces[right] != "instance"
        if before == "..":
            return after in ("along", END)
        if after == "..":
            return before not in _OPERANDS
        return not (before == "-" and self._is_prefix(left))


def _joined(statements: list[Doc]) -> Doc:
    """Statements that share a line while it fits."""
    if len(statements) == 1:
        return statements[0]
    out: list[Doc] = [statements[0]]
    for each in statements[1:]:
        out.extend((Choice("", ";"), Line(" "), each))
    return group(*out)
