"""What the elaborator says while it walks a function: the seam between checking and binding.

`Emitter` is told every operation in order and gives a handle for each result. `Silent` listens while a program is only
checked; `core.build` makes PSK-Core of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from presk.primitives.table import Attribute
from presk.shapes.constants import Constant
from presk.shapes.types import ModuleOf, Type
from presk.text.spans import Span


class NeedsLeaf(Exception):
    """The body of a map holds what Core's maps don't, a loop say: it is to be written leaf by leaf (check.leaves)."""


Handle = object | None
"""An operand of what is being emitted, opaque to the elaborator."""

LoopSource = tuple[str, Handle, int | None]
"""`("tree", handle, None)`, `("tensor", handle, axis)` or `("count", None, start)`."""


class Emitter(Protocol):
    """Told what one function does. Types are the results' types."""

    def apply(
        self,
        primitive: str,
        operands: Sequence[Handle],
        attributes: Sequence[tuple[str, Attribute]],
        result: Type,
        span: Span,
    ) -> Handle: ...

    def literal(self, value: Constant, kind: str) -> Handle: ...

    def inject(self, operand: Handle, span: Span) -> Handle: ...

    def project(self, tree: Handle, field: str) -> Handle: ...

    def make_tuple(self, items: Sequence[Handle], result: Type, span: Span) -> Handle: ...

    def make_record(
        self, fields: Sequence[tuple[str, Handle]], module: ModuleOf | None, result: Type, span: Span
    ) -> Handle: ...

    def set_field(self, tree: Handle, path: tuple[str, ...], value: Handle, result: Type, span: Span) -> Handle: ...

    def call(self, function: str, operands: Sequence[Handle], path: str, result: Type, span: Span) -> Handle: ...

    def renamed(self, value: Handle, type: Type, span: Span) -> Handle:
        """The value with the axes' names that this type has."""
        ...

    def name(self, value: Handle, name: str) -> None:
        """The source names this value."""
        ...

    def open_loop(
        self, state: Type, state_name: str | None, elements: Sequence[tuple[str | None, Type]]
    ) -> tuple[Handle, tuple[Handle, ...]]:
        """Begins a loop's body; gives the handles of its state and elements."""
        ...

    def close_loop(
        self,
        kind: str,
        start: Handle,
        sources: Sequence[LoopSource],
        trips: int | None,
        along: str | None,
        body: Handle,
        result: Type,
        span: Span,
    ) -> Handle:
        """Ends the body begun last, with its result."""
        ...

    def open_map(self, parameters: Sequence[tuple[str, Type]]) -> tuple[Handle, ...]:
        """Begins the body of a leafwise map; gives the handles of its parameters."""
        ...

    def close_map(
        self, operands: Sequence[Handle], body: Handle, arity: int | None, result: Type, span: Span
    ) -> Handle:
        """Ends the map's body begun last."""
        ...

    def drop_map(self) -> None:
        """Forgets the map's body begun last."""
        ...


class Silent:
    """An emitter that remembers nothing: every handle is None."""

    def apply(
        self,
        primitive: str,
        operands: Sequence[Handle],
        attributes: Sequence[tuple[str, Attribute]],
        result: Type,
        span: Span,
    ) -> Handle:
        return None

    def literal(self, value: Constant, kind: str) -> Handle:
        return None

    def inject(self, operand: Handle, span: Span) -> Handle:
        return None

    def project(self, tree: Handle, field: str) -> Handle:
        return None

    def make_tuple(self, items: Sequence[Handle], result: Type, span: Span) -> Handle:
        return None

    def make_record(
        self, fields: Sequence[tuple[str, Handle]], module: ModuleOf | None, result: Type, span: Span
    ) -> Handle:
        return None

    def set_field(self, tree: Handle, path: tuple[str, ...], value: Handle, result: Type, span: Span) -> Handle:
        return None

    def call(self, function: str, operands: Sequence[Handle], path: str, result: Type, span: Span) -> Handle:
        return None

    def renamed(self, value: Handle, type: Type, span: Span) -> Handle:
        return None

    def name(self, value: Handle, name: str) -> None:
        return None

    def open_loop(
        self, state: Type, state_name: str | None, elements: Sequence[tuple[str | None, Type]]
    ) -> tuple[Handle, tuple[Handle, ...]]:
        return None, (None,) * len(elements)

    def close_loop(
        self,
        kind: str,
        start: Handle,
        sources: Sequence[LoopSource],
        trips: int | None,
        along: str | None,
        body: Handle,
        result: Type,
        span: Span,
    ) -> Handle:
        return None

    def open_map(self, parameters: Sequence[tuple[str, Type]]) -> tuple[Handle, ...]:
        return (None,) * len(parameters)

    def close_map(
        self, operands: Sequence[Handle], body: Handle, arity: int | None, result: Type, span: Span
    ) -> Handle:
        return None

    def drop_map(self) -> None:
        return None
