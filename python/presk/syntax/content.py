"""What a syntax tree says, as bytes: by it a program is known again however it is laid out.

Left out are spans, doc comments and the spelling of numbers (`1_000` is `1000`); comments, blank lines and needless
parentheses aren't in the tree to begin with. Everything else counts, names of locals too: two trees give the same bytes
if and only if they are the same program written down differently. Written over the dataclasses' fields, so that a new
kind of node needs nothing here. Called by `Checked.hash`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from typing import cast

from presk.syntax.tree import NatLiteral, Node, RealLiteral
from presk.text.diagnostics import InternalError
from presk.text.spans import Span

UNSAID: set[str] = {"doc"}
"""Fields that say nothing about what is computed."""

SPELLING: dict[type[Node], set[str]] = {NatLiteral: {"text"}, RealLiteral: {"text"}}
"""Fields that say a second time what another one says."""


def content(node: Node) -> bytes:
    """The bytes of a tree: its nodes in the order of the text, every item with its kind and length."""
    return b"".join(_items(node))


def _items(root: object) -> Iterator[bytes]:
    """Without recursion: a tree may be as deep as the parser lets it."""
    waiting: list[object] = [root]
    while waiting:
        item = waiting.pop()
        match item:
            case Node() as node:
                said = _said(node)
                yield _item("node", f"{type(node).__name__} {len(said)}")
                waiting.extend(reversed(said))
            case tuple():
                items = cast(tuple[object, ...], item)
                yield _item("several", str(len(items)))
                waiting.extend(reversed(items))
            case bool() | int() | str() | Fraction() | None as plain:
                yield _item(type(plain).__name__, str(plain))
            case other:
                raise InternalError(f"a syntax tree holds a {type(other).__name__}")


def _said(node: Node) -> list[object]:
    left_out = UNSAID | SPELLING.get(type(node), set[str]())
    values = [getattr(node, each.name) for each in fields(node) if each.name not in left_out]
    return [_without_spans(value) for value in values if not isinstance(value, Span)]


def _without_spans(value: object) -> object:
    """Names of an import stand beside their spans."""
    if not isinstance(value, tuple):
        return value
    return tuple(_without_spans(each) for each in cast(tuple[object, ...], value) if not isinstance(each, Span))


def _item(kind: str, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return f"{kind} {len(data)}:".encode() + data + b"\0"
