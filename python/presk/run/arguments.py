"""Arguments of a call as a schedule's inputs: trees flattened, leaf after leaf, in declaration order.

A float array of the right shape passes through untouched: the extension reads it in place, or rounds it once to the
input's type. Everything else goes through `run.values`, which checks and explains. Exact numbers are rounded here,
once; a quantised input takes integers with scales, or quantises what it is given by the rule. Called by
`run.scheduled`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from presk.exact.values import ExactArray
from presk.kernel.nodes import Element
from presk.realization.quantized import Quantized, settle
from presk.run.record.schedule import Input
from presk.run.values import KEPT_FLOATS, accept
from presk.shapes.types import Stacked, Tensor, TupleOf, Type, fields_of

Array = NDArray[Any]

_FLOATS: frozenset[type[np.generic]] = frozenset(dtype.type for dtype in KEPT_FLOATS)
_NATS: frozenset[type[np.generic]] = frozenset((np.int64,))
_BOOLEANS: frozenset[type[np.generic]] = frozenset((np.bool_,))
_NOTHING: frozenset[type[np.generic]] = frozenset()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor of an argument, of the type `of`, and the input it becomes, or two where that is quantised.

    `taken` are the scalar types of arrays that are its input as they are, if they have its shape; indices are checked
    where they are read. `layers` are the leading axes that a quantised one's scales have too.
    """

    path: str
    of: Tensor
    shape: tuple[int, ...]
    taken: frozenset[type[np.generic]]
    element: Element
    layers: int

    def passes(self, value: Any, into: list[Array]) -> bool:
        """Whether the value is an input as it is; it is appended then."""
        if type(value) is not np.ndarray or value.shape != self.shape or value.dtype.type not in self.taken:
            return False
        into.append(value)
        return True

    def collect(self, value: Any, into: list[Array]) -> None:
        """Appends the inputs' arrays. Raises PreskError for what doesn't fit the tensor."""
        if self.taken is _FLOATS and self.passes(value, into):
            return
        value = accept(self.path, self.of, value)
        if isinstance(value, ExactArray):
            value = self.rounded(value)
        if self.element.scales is not None:
            found = settle(self.path, value, self.element.kind, self.element.scales[0], self.layers)
            into.extend((found.stored(), np.ascontiguousarray(found.scale)))
            return
        into.append(value.values() if isinstance(value, Quantized) else value)

    def rounded(self, value: ExactArray) -> Array:
        """Exact numbers in the input's type, rounded once: proven where they carry a radius."""
        kind = "f32" if self.element.scales is not None else self.element.kind
        return value.to_float(kind, proven=value.certified)


@dataclass(frozen=True, slots=True)
class Branch:
    """A tree of an argument, or of part of one: its fields in declaration order."""

    path: str
    of: Type
    fields: tuple[tuple[str, Plan], ...]
    names: frozenset[str]
    is_tuple: bool

    def passes(self, value: Any, into: list[Array]) -> bool:
        """Whether all leaves are inputs as they are; otherwise some may have been appended."""
        if self.is_tuple:
            if not _is_tuple_of(value, len(self.fields)):
                return False
            return all(inner.passes(each, into) for each, (_, inner) in zip(value, self.fields, strict=True))
        if not _is_dict_of(value, self.names):
            return False
        for name, inner in self.fields:  # noqa: SIM110 - in the time of a call, which a generator would double
            if not inner.passes(value[name], into):
                return False
        return True

    def collect(self, value: Any, into: list[Array]) -> None:
        """Appends the arrays of all leaves. Raises PreskError for a tree with other fields, and as the leaves do."""
        if self.is_tuple:
            items: Any = value if _is_tuple_of(value, len(self.fields)) else accept(self.path, self.of, value)
            for each, (_, inner) in zip(items, self.fields, strict=True):
                inner.collect(each, into)
            return
        given: Any = value if _is_dict_of(value, self.names) else accept(self.path, self.of, value)
        for name, inner in self.fields:
            inner.collect(given[name], into)


def _is_tuple_of(value: object, count: int) -> bool:
    return type(value) is tuple and len(cast(tuple[Any, ...], value)) == count


def _is_dict_of(value: object, names: frozenset[str]) -> bool:
    return type(value) is dict and cast(dict[Any, Any], value).keys() == names


Plan = Leaf | Branch
"""How one argument is taken apart."""


def plan(name: str, of: Type, inputs: Iterator[Input]) -> Plan:
    """The plan of an argument of the bound type `of`; its inputs are taken from the schedule's in order."""
    if isinstance(of, Tensor):
        element = next(inputs).element
        layers = 0 if element.scales is None else len(next(inputs).shape) - 1
        return Leaf(name, of, of.sizes, _taken(element), element, layers)
    fields = tuple((field, plan(f"{name}.{field}", inner, inputs)) for field, inner in fields_of(of) or ())
    return Branch(name, of, fields, frozenset(field for field, _ in fields), _is_tuple(of))


def _taken(element: Element) -> frozenset[type[np.generic]]:
    if element.kind == "bool":
        return _BOOLEANS
    if element.kind == "i64":
        return _NATS if element.bound is not None else _NOTHING
    return _FLOATS if element.scales is None else _NOTHING


@dataclass(frozen=True, slots=True)
class Bough:
    """A tree of a result, or a part of one: what its fields are called, or None of a tuple, and each of them.

    A field is None where it is a leaf.
    """

    names: tuple[str, ...] | None
    fields: tuple[Bough | None, ...]


def bough(of: Type) -> Bough | None:
    """How a result of the bound type `of` grows from its leaves; None where it is a leaf itself."""
    if isinstance(of, Tensor):
        return None
    fields = fields_of(of) or ()
    names = None if _is_tuple(of) else tuple(name for name, _ in fields)
    return Bough(names, tuple(bough(inner) for _, inner in fields))


def grown(of: Bough | None, leaves: Iterator[Array]) -> Any:
    """The tree of a result: records are dicts, tuples tuples."""
    if of is None:
        return next(leaves)
    values = [next(leaves) if each is None else grown(each, leaves) for each in of.fields]
    return tuple(values) if of.names is None else dict(zip(of.names, values, strict=True))


def _is_tuple(of: Type) -> bool:
    while isinstance(of, Stacked):
        of = of.element
    return isinstance(of, TupleOf)
