"""What the text of a function says of its values, before any is computed: where two lets are one expression, which
products are squares, and what a mask's being true says of the numbers it compares.

Kept while a function is compiled, let by let. Numbers of lets are unique within a function but in the bodies of a map
over leaves, which are compiled once for every shape: where a number comes again, new facts begin (`again`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from presk.core.nodes import Apply, Let, Literal, Operand, Ref
from presk.core.operands import numbers_in
from presk.exact.context import Frame
from presk.shapes.types import Tensor, Type

COMPARISONS = {"gt": False, "ge": False, "lt": True, "le": True}
"""Comparisons that order their operands, and whether the second is the larger one."""

MASKS = {*COMPARISONS, "and", "or", "not"}
"""Primitives that a mask is made of, whose operands' types are kept."""

MOST_FACTORS = 16
"""Different factors of a product that is looked into; a product of more is a factor itself."""

Step: TypeAlias = Callable[[Frame], None]


@dataclass(frozen=True, slots=True)
class Ordered:
    """`greater` ≥ `less`, by a comparison of which `greater` is the `second` operand or the first.

    `path` leads from a mask to it, by operand positions.
    """

    greater: Operand
    less: Operand
    second: bool
    path: tuple[tuple[Let, int], ...]
    comparison: Let


class Facts:
    """The lets of a function as far as they have been compiled."""

    def __init__(self) -> None:
        self.lets: dict[int, Let] = {}
        self.steps: dict[int, Step] = {}
        self.operand_types: dict[int, tuple[Type, ...]] = {}
        self._same: dict[int, int] = {}
        self._first: dict[Hashable, int] = {}
        self._factors: dict[int, Counter[int]] = {}

    def again(self, let: Let) -> Facts:
        """These facts, or new ones where the let's number is taken."""
        return Facts() if let.number in self.lets else self

    def record(self, let: Let, step: Step, type_of: Callable[[Operand], Type]) -> None:
        """Takes a let in, with the step that computes it."""
        self.lets[let.number] = let
        self.steps[let.number] = step
        if not isinstance(let.value, Apply):
            return
        if let.value.primitive in MASKS:
            self.operand_types[let.number] = tuple(map(type_of, let.value.operands))
        key = self.key(let.value.primitive, *let.value.operands, attributes=let.value.attributes)
        self._same[let.number] = self._first.setdefault(key, let.number)
        if let.value.primitive == "mul":
            factors: Counter[int] = Counter()
            for operand in let.value.operands:
                factors += self._factors_of(operand, let)
            self._factors[let.number] = factors

    def key(self, primitive: str, *operands: Operand, attributes: Iterable[tuple[str, object]] = ()) -> Hashable:
        """What decides an expression's value, operands by the first let that computes them."""
        return primitive, tuple(map(self._plain, operands)), tuple(attributes)

    def _plain(self, operand: Operand) -> Hashable:
        if isinstance(operand, Ref) and not operand.path:
            return self.same(operand.number)
        return operand

    def same(self, number: int) -> int:
        """The first let that computes the same expression."""
        return self._same.get(number, number)

    def number_of(self, key: Hashable) -> int | None:
        """The first let that computes an expression."""
        return self._first.get(key)

    def _factors_of(self, operand: Operand, let: Let) -> Counter[int]:
        """An operand's factors, where it lies along the product as it is."""
        if not isinstance(operand, Ref) or operand.path:
            return Counter({-1: 1})
        known = self._factors.get(operand.number)
        if known is not None and len(known) <= MOST_FACTORS and self.lets[operand.number].type == let.type:
            return known
        return Counter({self.same(operand.number): 1})

    def is_square(self, number: int) -> bool:
        """Whether a let is a product in which every factor comes an even number of times."""
        factors = self._factors.get(number)
        let = self.lets.get(number)
        if factors is None or let is None or not isinstance(let.type, Tensor) or let.type.kind != "real":
            return False
        return sum(factors.values()) > 2 and all(count % 2 == 0 for count in factors.values()) and -1 not in factors

    # Masks

    def orders(self, mask: Operand, truth: bool) -> list[Ordered]:
        """What a mask of this truth says: comparisons that hold then, through `and`, `or` and `not`."""
        return self._orders(mask, truth, ())

    def _orders(self, mask: Operand, truth: bool, path: tuple[tuple[Let, int], ...]) -> list[Ordered]:
        let = self.lets.get(mask.number) if isinstance(mask, Ref) and not mask.path else None
        if let is None or not isinstance(let.value, Apply):
            return []
        name, operands = let.value.primitive, let.value.operands
        if name in COMPARISONS:
            x, y = operands
            swapped = COMPARISONS[name] == truth
            return [Ordered(y, x, True, path, let) if swapped else Ordered(x, y, False, path, let)]
        if name == "not":
            return self._orders(operands[0], not truth, (*path, (let, 0)))
        if (name == "and" and truth) or (name == "or" and not truth):
            return [
                found
                for at, operand in enumerate(operands)
                for found in self._orders(operand, truth, (*path, (let, at)))
            ]
        return []

    # What depends on what

    def ancestors(self, operand: Operand) -> set[int]:
        """The numbers an operand is computed from, its own included."""
        if isinstance(operand, Literal):
            return set()
        ref = operand if isinstance(operand, Ref) else operand.operand
        found: set[int] = set()
        waiting = [ref.number]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                let = self.lets.get(number)
                waiting += [] if let is None else numbers_in(let.value)
        return found
