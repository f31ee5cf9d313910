"""One primitive being called in a library: its attributes, its types, and its operands brought to the result's axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from presk.choose.libraries.library import DTYPES, Array, Library
from presk.core.nodes import Apply
from presk.exact.constants import round_constant
from presk.primitives.attributes import take_axes, take_axis, take_nat, take_order, take_real
from presk.primitives.table import Attributes
from presk.shapes.align import align
from presk.shapes.types import Shape, Tensor, Type


@dataclass(frozen=True)
class Task:
    """One primitive being called."""

    library: Library
    apply: Apply
    type: Type
    operands: Sequence[Type]
    dtype: str

    @property
    def functions(self) -> Any:
        """The library's functions, named as NumPy's are."""
        return self.library.functions

    @property
    def attributes(self) -> Attributes:
        """The primitive's attributes."""
        return dict(self.apply.attributes)

    @property
    def tensors(self) -> list[Tensor]:
        """The types of the operands that are tensors."""
        return [each for each in self.operands if isinstance(each, Tensor)]

    @property
    def result(self) -> Tensor:
        """The result's type, where it is one tensor."""
        assert isinstance(self.type, Tensor), "this primitive gives one tensor"
        return self.type

    @property
    def axis(self) -> int:
        """The number of the first operand's axis that `axis` names."""
        return take_axis(self.attributes, self.tensors[0])[0]

    @property
    def axes(self) -> tuple[int, ...]:
        """The numbers of the first operand's axes that `axis` names."""
        return take_axes(self.attributes, self.tensors[0])

    @property
    def order(self) -> tuple[int, ...]:
        """The first operand's axes in a new order."""
        return take_order(self.attributes, self.tensors[0], "order")

    def whole(self, name: str, default: int = 0) -> int:
        """A whole number among the attributes."""
        if name not in self.attributes:
            return default
        value = take_nat(self.attributes, name).whole
        assert value is not None, "sizes are bound"
        return value

    def real(self, name: str) -> float:
        """A real constant among the attributes, as the arithmetic type has it."""
        return float(round_constant(take_real(self.attributes, name), "f64" if self.dtype == "f64" else "f32"))

    def constant(self, array: np.ndarray[Any, Any]) -> Array:
        """An array that no operand gives; reals in the type of the statement."""
        return self.library.enter(array.astype(DTYPES[self.dtype]) if array.dtype.kind == "f" else array)

    def placed(self, value: Array, places: Sequence[int], rank: int) -> Array:
        """A value whose axes stand at these places of a shape of that rank, of size 1 elsewhere."""
        order = sorted(range(len(places)), key=places.__getitem__)
        moved = (
            value
            if order == list(range(len(order)))
            else self.functions.moveaxis(value, order, list(range(len(order))))
        )
        at: dict[int, int] = dict(zip(sorted(places), moved.shape, strict=True))
        leading = tuple(range(rank - len(places), rank))
        return (
            moved if tuple(sorted(places)) == leading else moved.reshape(tuple(at.get(each, 1) for each in range(rank)))
        )

    def aligned(self, values: Sequence[Array]) -> list[Array]:
        """The operands with the result's axes, of size 1 where one has none."""
        alignment = align([each.axes for each in self.tensors])
        rank = len(alignment.axes)
        return [self.placed(value, places, rank) for value, places in zip(values, alignment.places, strict=True)]

    def against(self, value: Array, axes: Shape, to: Shape) -> Array:
        """A value of these axes as one of the axes `to`, of size 1 where it has none."""
        return self.placed(value, align([to, axes]).places[1], len(to))


Rule: TypeAlias = Callable[..., Array]
"""From a task and the operands to the result."""
