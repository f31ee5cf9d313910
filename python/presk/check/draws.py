"""Which draw of a function's text a call is: the n-th of its primitive, from 0, in the order of the text.

A draw's key holds this number (language.md 7), so it must not depend on what a choice known at binding leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import cast

from presk.primitives.all import TABLE
from presk.syntax import tree
from presk.text.diagnostics import Note, PreskError, fail
from presk.text.spans import Span


def number_draws(function: tree.Function) -> dict[int, int]:
    """For each call of a drawing primitive, by the offset where it starts: its number among those of that primitive."""
    found: dict[str, list[int]] = {}
    for call in _calls(function.body):
        callee = call.callee.base if isinstance(call.callee, tree.Axes) else call.callee
        if isinstance(callee, tree.Name) and callee.name in TABLE and TABLE[callee.name].draws:
            found.setdefault(callee.name, []).append(call.span.start)
    return {start: place for starts in found.values() for place, start in enumerate(sorted(starts))}


def no_draw(message: str, span: Span, *notes: Note) -> PreskError:
    """The diagnostic for a draw in the body of a map."""
    return fail("E3010", message, span, "a draw needs axes of its own", notes)


def _calls(root: tree.Node) -> Iterator[tree.Call]:
    pending: list[object] = [root]
    while pending:
        each = pending.pop()
        match each:
            case tuple():
                pending.extend(cast("tuple[object, ...]", each))
            case tree.Node() as node:
                if isinstance(node, tree.Call):
                    yield node
                pending.extend(getattr(node, part.name) for part in fields(node) if part.name != "span")
            case _:
                pass
