"""From text to the syntax tree: the parser's entrance.

`parse` reads a file and recovers from errors, `parse_or_raise` raises them, `parse_expression` and `parse_entry` read
what people type outside a file. Called by the checker, the formatter, the API and the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from presk.syntax import tree
from presk.syntax.declarations import DeclarationReader
from presk.syntax.lexer import tokenize
from presk.text.cursor import ERROR_LIMIT, GiveUpError, UnreadableError
from presk.text.diagnostics import Diagnostic, PreskError
from presk.text.lexer import END
from presk.text.spans import Source, Span

Result = TypeVar("Result")


def parse(source: Source) -> tuple[tree.File, tuple[Diagnostic, ...]]:
    """The declarations of a file, and up to 20 errors in the order of the text.

    A declaration with an error in it is left out of the tree.
    """
    reader, found = read(source)
    empty = tree.File(Span(source, 0, len(source.text)), ())
    return (reader[1] if reader is not None else empty), found


def read(source: Source) -> tuple[tuple[DeclarationReader, tree.File] | None, tuple[Diagnostic, ...]]:
    """Like `parse`, with the reader, whose tokens the formatter needs; None where there were too many errors."""
    scan, found = tokenize(source)
    reader = DeclarationReader(source, scan, found)
    result = None
    try:
        result = reader, reader.file()
    except GiveUpError:
        pass
    return result, _in_order(found + reader.diagnostics)


def parse_or_raise(source: Source) -> tree.File:
    """The declarations of a file. Raises a PreskError of all its errors."""
    file, found = parse(source)
    if found:
        raise PreskError(found)
    return file


def parse_expression(source: Source, *, in_train: bool = False) -> tree.Expr:
    """One expression that is the whole text; `in_train` as a train block has them, with lists. Raises a PreskError."""

    def one(reader: DeclarationReader) -> tree.Expr:
        reader.in_train = in_train
        reader.line_ends = False
        reader.starts.add(0)
        value = reader.expression()
        if reader.token.kind != END:
            reader.unexpected("the end of the expression")
        return value

    return _whole(source, one)


def parse_entry(text: str) -> tree.Entry:
    """An entry's name: `mse`, `nn.Linear{3, 2}.apply`, `adamw.step[MiniGPT]`. Raises a PreskError."""
    return _whole(Source("<entry>", text), _entry)


def _whole(source: Source, rule: Callable[[DeclarationReader], Result]) -> Result:
    scan, found = tokenize(source)
    reader = DeclarationReader(source, scan, found)
    try:
        result = rule(reader)
    except (UnreadableError, GiveUpError):
        result = None
    errors = _in_order(found + reader.diagnostics)
    if errors or result is None:
        raise PreskError(errors)
    return result


def _entry(reader: DeclarationReader) -> tree.Entry:
    reader.line_ends = False
    parts: list[tree.EntryPart] = []
    while True:
        name = reader.name("an entry's name")
        arguments = None
        if reader.token.kind == "{":
            reader.braces[reader.index] = "instance"
            arguments = reader.arguments("parameter")
        parts.append(tree.EntryPart(reader.span_from(name.start), name.text, arguments))
        if reader.accept(".") is None:
            break
    trees: tuple[tree.TypeExpr, ...] = ()
    if reader.token.kind == "[":
        trees = tuple(reader.bracketed(reader.type, "type"))
    if reader.token.kind != END:
        hint = "an entry is a function's name, such as `Linear{3, 2}.apply` or `adamw.step[MiniGPT]`"
        reader.unexpected("the end of the entry", hint)
    return tree.Entry(reader.span_from(parts[0].span.start), tuple(parts), trees)


def _in_order(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    ordered = sorted(found, key=lambda each: each.span.start if each.span is not None else -1)
    return tuple(ordered[:ERROR_LIMIT])
