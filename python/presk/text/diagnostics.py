"""Diagnostics: what a user is told when something is wrong.

Every user error is a `Diagnostic` with a stable code, one sentence, a span where there is one, and a hint where it
helps. `PreskError` carries one or several of them through Python. `InternalError` is presk's own fault: it says so,
and asks for a report. Nothing else may reach a user as an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from presk.text.spans import Span

SHOWN_LINE_LIMIT = 160
"""Characters of a source line that are shown; longer lines are cut around the caret."""


@dataclass(frozen=True, slots=True)
class Note:
    """A second place a diagnostic points at, with what is to be seen there."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error: a stable code, a sentence, where, and a way out."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    notes: tuple[Note, ...] = ()

    def render(self) -> str:
        """The text shown in a terminal: head, source line with carets, notes, hint."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.span is not None:
            lines.extend(_excerpt(self.span))
        for note in self.notes:
            lines.append(f"  note: {note.message}")
            if note.span is not None:
                lines.extend(_excerpt(note.span))
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """The diagnostic as plain data, for `--json`."""
        out: dict[str, object] = {"code": self.code, "message": self.message, "hint": self.hint}
        if self.span is not None:
            line, column = self.span.source.position(self.span.start)
            out["span"] = {"file": self.span.source.name, "line": line, "column": column}
        out["notes"] = [note.message for note in self.notes]
        return out


class PreskError(Exception):
    """One or several user errors. `code`, `span` and `hint` are the first one's."""

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        if not self.diagnostics:
            raise ValueError("a PreskError needs a diagnostic")
        super().__init__(self.render())

    def __reduce__(self) -> tuple[type[PreskError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)

    @property
    def code(self) -> str:
        """The first diagnostic's code, such as `E3003`."""
        return self.diagnostics[0].code

    @property
    def span(self) -> Span | None:
        """Where the first diagnostic points, if anywhere."""
        return self.diagnostics[0].span

    @property
    def hint(self) -> str | None:
        """The first diagnostic's way out, if it has one."""
        return self.diagnostics[0].hint

    def render(self) -> str:
        """All diagnostics as shown in a terminal."""
        return "\n".join(each.render() for each in self.diagnostics)


class InternalError(Exception):
    """A fault of presk itself, never of its user."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} (this is a fault of presk, please report it with the program that shows it)")


def placed(error: PreskError, span: Span) -> PreskError:
    """The error with `span` for what has no place yet: whoever computes sizes and types doesn't know where it is."""
    if all(each.span is not None for each in error.diagnostics):
        return error
    return PreskError([replace(each, span=each.span or span) for each in error.diagnostics])


def fail(
    code: str, message: str, span: Span | None = None, hint: str | None = None, notes: Iterable[Note] = ()
) -> PreskError:
    """A PreskError of one diagnostic, to be raised by the caller."""
    return PreskError(Diagnostic(code, message, span, hint, tuple(notes)))


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint naming the closest known words, or None where nothing is close."""
    close = difflib.get_close_matches(word, list(known), n=3, cutoff=0.6)
    if not close:
        return None
    return f"did you mean {' or '.join(f'`{each}`' for each in close)}?"


def counted(count: int, noun: str) -> str:
    """`1 operand`, `2 operands`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _excerpt(span: Span) -> list[str]:
    """The place, the source line and the carets under the spanned characters of its first line."""
    line, column = span.source.position(span.start)
    text = span.source.line(line).expandtabs(1)
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    cut = max(0, column - SHOWN_LINE_LIMIT // 2)
    shown = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[cut : cut + SHOWN_LINE_LIMIT]
    )
    width = min(width, max(1, len(shown) - (column - 1 - cut)))
    gutter = f"{line:>5} | "
    return [
        f"  --> {span.place}",
        f"{gutter}{shown}",
        f"{' ' * (len(gutter) - 2)}| {' ' * (column - 1 - cut)}{'^' * width}",
    ]
