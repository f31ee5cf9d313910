"""The syntax tree as indented text, for `presk dump --stage ast`.

A node is its class's name with what it says itself; below it, indented, its children under their fields. Spans and
what is empty are left out. Written over the dataclasses' fields, so that a new kind of node needs nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import cast

from presk.syntax.tree import Node
from presk.text.spans import Span

INDENT = "  "


def show_tree(node: Node) -> str:
    """The whole tree below a node."""
    return "\n".join(_lines(node, 0, ""))


def _lines(node: Node, depth: int, label: str) -> Iterator[str]:
    values = {each.name: getattr(node, each.name) for each in fields(node)}
    plain = [f"{name}={value!r}" for name, value in values.items() if _is_plain(value)]
    yield f"{INDENT * depth}{label}{' '.join([type(node).__name__, *plain])}"
    for name, value in values.items():
        if not _is_plain(value):
            yield from _children(value, depth + 1, f"{name}: ")


def _children(value: object, depth: int, label: str) -> Iterator[str]:
    """The nodes in a field: one, or some inside of tuples, which may pair them with names."""
    if isinstance(value, Node):
        yield from _lines(value, depth, label)
    elif isinstance(value, tuple):
        items = cast(tuple[object, ...], value)
        named = bool(items) and isinstance(items[0], str)
        if named and not any(isinstance(item, (Node, tuple)) for item in items):
            yield f"{INDENT * depth}{label}{items[0]}"
        for item in items[1:] if named else items:
            yield from _children(item, depth, f"{label}{items[0]} = " if named else label)


def _is_plain(value: object) -> bool:
    """Whether a field is shown on its node's own line: words and numbers, and tuples of words."""
    if isinstance(value, tuple):
        items = cast(tuple[object, ...], value)
        return bool(items) and all(isinstance(item, str) for item in items)
    return value not in (None, "", False) and not isinstance(value, (Node, Span))
