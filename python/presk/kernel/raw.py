"""Expressions of kernel text as they are written, before literals are known to be integers or reals.

The reader makes them, `elaborate` turns them into nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from presk.kernel.nodes import Buffer, VariableKind


@dataclass(frozen=True, slots=True)
class RawLiteral:
    """A number, `inf` or `nan`, with its sign."""

    text: str
    negative: bool


@dataclass(frozen=True, slots=True)
class RawTruth:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class RawVariable:
    """A variable or a loop's counter."""

    kind: VariableKind
    number: int


@dataclass(frozen=True, slots=True)
class RawAccess:
    """An element of a buffer; `start` and `end` are offsets in the text."""

    buffer: Buffer
    index: tuple[Raw, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RawOperation:
    """An operation by its sign or its function's name: `neg`, `+`, `max`, `splat`; `form` says how it is written."""

    form: Literal["unary", "binary", "call"]
    name: str
    operands: tuple[Raw, ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """An expression, its range in the text, and whether it is marked `<v>`."""

    content: RawLiteral | RawTruth | RawVariable | RawAccess | RawOperation
    start: int
    end: int
    vector: bool = False
