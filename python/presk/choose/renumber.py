"""A copy of a loop's or map's body under numbers of its own, for passes that need one body twice in a function.

Numbers are unique in a function; what the body reads from around it keeps its numbers. Called by
`choose.conformance.cancellation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from presk.core.nodes import Body, Injected, Let, Loop, MapTrees, Operand, Parameter, Ref
from presk.core.operands import with_operands

Several = TypeVar("Several", Loop, MapTrees)


def renumbered(value: Several, fresh: Callable[[], int]) -> Several:
    """The loop or map with every number that it declares replaced by a fresh one."""
    return _Copy(fresh).several(value)


class _Copy:
    """`numbers` holds what the numbers declared so far have become."""

    def __init__(self, fresh: Callable[[], int]) -> None:
        self.fresh = fresh
        self.numbers: dict[int, int] = {}

    def several(self, value: Several) -> Several:
        if isinstance(value, Loop):
            state, *elements = map(self.parameter, (value.state, *value.elements))
            return replace(value, state=state, elements=tuple(elements), body=self.body(value.body))
        parameters = tuple(map(self.parameter, value.parameters))
        return replace(value, parameters=parameters, body=self.body(value.body))

    def body(self, body: Body) -> Body:
        return Body(tuple(map(self.let, body.lets)), self.operand(body.result))

    def let(self, let: Let) -> Let:
        value = with_operands(let.value, self.operand)
        match value:
            case Loop() as loop:
                value = self.several(loop)
            case MapTrees() as mapped:
                value = self.several(mapped)
            case _:
                pass
        return replace(let, number=self.declare(let.number), value=value)

    def parameter(self, parameter: Parameter) -> Parameter:
        return replace(parameter, number=self.declare(parameter.number))

    def declare(self, number: int) -> int:
        self.numbers[number] = self.fresh()
        return self.numbers[number]

    def operand(self, operand: Operand) -> Operand:
        match operand:
            case Ref(number, path):
                return Ref(self.numbers.get(number, number), path)
            case Injected(Ref(number, path)):
                return Injected(Ref(self.numbers.get(number, number), path))
            case _:
                return operand
