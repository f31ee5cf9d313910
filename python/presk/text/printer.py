"""The base of printers that fit lines: documents, and the renderer that breaks them where a line grows too long.

A document is a text, a sequence of documents, or one of the nodes below. A `Group` is printed on one line if it fits
the width up to the next place where a line may end, and else broken at all of its own `Line`s. Comments are nodes of
their own: a trailing one waits for the end of its line, so whatever else comes on that line comes before it. Called
by the PSK formatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union

INDENT = 2
"""Columns of one level."""

COMMENT_GAP = 2
"""Blanks before a trailing comment."""

ALIGNED_UP_TO = 80
"""Comments of adjacent lines stand in one column, except behind lines longer than this."""


@dataclass(frozen=True, slots=True)
class Line:
    """A place where a line may end; `flat` is printed where it doesn't."""

    flat: str


@dataclass(frozen=True, slots=True)
class HardLine:
    """The end of a line, with an empty one behind it if `blank`."""

    blank: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A text that depends on whether the group around it is broken."""

    broken: str
    flat: str


@dataclass(frozen=True, slots=True)
class TrailingComment:
    """A comment at the end of the line."""

    text: str


@dataclass(frozen=True, slots=True)
class OwnLineComment:
    """A comment on a line of its own, wherever it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Nest:
    """A document indented by one level more."""

    content: Doc


@dataclass(frozen=True, slots=True)
class Group:
    """A document printed flat or broken; `broken` where something in it can't be printed flat. Made by `group`."""

    content: Doc
    broken: bool


Doc: TypeAlias = Union[
    str, list["Doc"], tuple["Doc", ...], Line, HardLine, Choice, TrailingComment, OwnLineComment, Nest, Group
]


def group(*content: Doc) -> Doc:
    """A group of these documents in a row.

    A trailing comment inside keeps it from being flat, but not one at its very end, which stands behind the group.
    """
    kept, comments = split_comments(content)
    made = Group(kept, _never_flat(kept))
    return [made, *comments] if comments else made


def split_comments(content: list[Doc] | tuple[Doc, ...]) -> tuple[list[Doc], list[TrailingComment]]:
    """The documents of a row without the trailing comments at its very end, and these."""
    kept = list(content)
    comments: list[TrailingComment] = []
    while kept:
        last = kept.pop()
        if isinstance(last, TrailingComment):
            comments.insert(0, last)
            continue
        if isinstance(last, (list, tuple)):
            inner, more = split_comments(last)
            comments[:0] = more
            if not inner:
                continue
            last = inner
        elif isinstance(last, Nest) and isinstance(last.content, (list, tuple)):
            inner, more = split_comments(last.content)
            comments[:0] = more
            last = Nest(inner)
        if last != "":
            kept.append(last)
            break
    return kept, comments


def _never_flat(doc: Doc) -> bool:
    if isinstance(doc, (str, Line, Choice)):
        return False
    if isinstance(doc, (list, tuple)):
        return any(map(_never_flat, doc))
    if isinstance(doc, Nest):
        return _never_flat(doc.content)
    if isinstance(doc, Group):
        return doc.broken
    return True


def render(doc: Doc, width: int) -> str:
    """The document in lines of at most `width` columns where that is possible, each ended by a newline."""
    return _Renderer(width).run(doc)


class _Renderer:
    """One rendering: the lines so far as code and comment, and the line at hand."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[tuple[str, str]] = []
        self.parts: list[str] = []
        self.column = 0
        self.indent = 0
        self.comments: list[str] = []
        self.line_due = False

    def run(self, doc: Doc) -> str:
        stack: list[tuple[int, bool, Doc]] = [(0, False, doc)]
        while stack:
            indent, flat, node = stack.pop()
            if isinstance(node, str):
                self._text(node, indent)
            elif isinstance(node, (list, tuple)):
                stack.extend([(indent, flat, each) for each in reversed(node)])
            elif isinstance(node, Line):
                if flat:
                    self._text(node.flat, indent)
                else:
                    self._end_line(indent)
            elif isinstance(node, HardLine):
                self._end_line(indent)
                if node.blank:
                    self.lines.append(("", ""))
            elif isinstance(node, Choice):
                self._text(node.flat if flat else node.broken, indent)
            elif isinstance(node, TrailingComment):
                self.comments.append(node.text)
            elif isinstance(node, OwnLineComment):
                self._own_line(node.text, indent)
            elif isinstance(node, Nest):
                stack.append((indent + INDENT, flat, node.content))
            else:
                flat = not node.broken and (flat or self._fits(node.content, stack))
                stack.append((indent, flat, node.content))
        if self.parts or self.comments:
            self._end_line(0)
        return "".join(line + "\n" for line in _with_comments(self.lines))

    def _text(self, text: str, indent: int) -> None:
        if not text:
            return
        if self.line_due:
            self._end_line(indent)
        if not self.parts:
            if text.isspace():
                return
            self.parts.append(" " * self.indent)
            self.column = self.indent
        self.parts.append(text)
        self.column += len(text)

    def _end_line(self, indent: int) -> None:
        self.line_due = False
        self.lines.append(("".join(self.parts).rstrip(), " ".join(self.comments)))
        self.comments = []
        self.parts = []
        self.indent = self.column = indent

    def _own_line(self, text: str, indent: int) -> None:
        if self.parts or self.comments:
            self._end_line(indent)
        self.line_due = False
        self._text(text, indent)
        self.line_due = True

    def _fits(self, content: Doc, rest: list[tuple[int, bool, Doc]]) -> bool:
        """Whether the content, printed flat, and what follows it up to a possible end of line stay within the width."""
        room = self.width - self.column
        below = len(rest)
        stack: list[tuple[bool, Doc]] = [(True, content)]
        while room >= 0:
            if not stack:
                if below == 0:
                    return True
                below -= 1
                stack.append(rest[below][1:])
                continue
            flat, node = stack.pop()
            if isinstance(node, str):
                room -= len(node)
            elif isinstance(node, (list, tuple)):
                stack.extend([(flat, each) for each in reversed(node)])
            elif isinstance(node, Line):
                if not flat:
                    return True
                room -= len(node.flat)
            elif isinstance(node, Choice):
                room -= len(node.flat if flat else node.broken)
            elif isinstance(node, (HardLine, OwnLineComment)):
                return True
            elif isinstance(node, Nest):
                stack.append((flat, node.content))
            elif isinstance(node, Group):
                stack.append((flat and not node.broken, node.content))
        return False


def _with_comments(lines: list[tuple[str, str]]) -> list[str]:
    """The lines with their trailing comments, those of adjacent lines in one column."""
    out: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end][1] and _alike(lines[start][0], lines[end][0]):
            end += 1
        if end == start:
            code, comment = lines[start]
            out.append(f"{code}{' ' * COMMENT_GAP}{comment}" if comment else code)
            start += 1
            continue
        column = max(len(code) for code, _ in lines[start:end]) + COMMENT_GAP
        out.extend(f"{code:<{column}}{comment}" for code, comment in lines[start:end])
        start = end
    return out


def _alike(first: str, other: str) -> bool:
    """Whether two lines are indented alike and short enough to have their comments aligned."""
    indents = {len(line) - len(line.lstrip()) for line in (first, other)}
    return len(indents) == 1 and max(len(first), len(other)) <= ALIGNED_UP_TO
