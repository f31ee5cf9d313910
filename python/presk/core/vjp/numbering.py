"""Numbers of a function that a pass has written, in textual order: parameters first, a loop before its body."""

from __future__ import annotations

from dataclasses import replace

from presk.core.nodes import Body, Function, Injected, Let, Loop, MapTrees, Operand, Parameter, Ref
from presk.core.operands import with_operands


def numbered(function: Function) -> Function:
    """The function with its numbers counted from 0."""
    return _Numbering().function(function)


class _Numbering:
    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def declare(self, number: int) -> int:
        return self.numbers.setdefault(number, len(self.numbers))

    def function(self, function: Function) -> Function:
        parameters = tuple(self.parameter(each) for each in function.parameters)
        return replace(function, parameters=parameters, body=self.body(function.body))

    def parameter(self, parameter: Parameter) -> Parameter:
        return replace(parameter, number=self.declare(parameter.number))

    def body(self, body: Body) -> Body:
        return Body(tuple(self.let(let) for let in body.lets), self.operand(body.result))

    def let(self, let: Let) -> Let:
        value = with_operands(let.value, self.operand)
        number = self.declare(let.number)
        match value:
            case Loop():
                state, *elements = (self.parameter(each) for each in (value.state, *value.elements))
                value = replace(value, state=state, elements=tuple(elements), body=self.body(value.body))
            case MapTrees():
                parameters = tuple(self.parameter(each) for each in value.parameters)
                value = replace(value, parameters=parameters, body=self.body(value.body))
            case _:
                pass
        return replace(let, number=number, value=value)

    def operand(self, operand: Operand) -> Operand:
        match operand:
            case Ref(number, path):
                return Ref(self.numbers[number], path)
            case Injected(Ref(number, path)):
                return Injected(Ref(self.numbers[number], path))
            case _:
                return operand
