"""PSK-Kernel nodes to kernel text, the inverse of `reader`. Called by the backends, by `dump` and by tests.

A real constant is printed without a point where its place wants a real anyway; where nothing says what is wanted (a
comparison of literals, a conversion's argument) it gets one, since digits alone would read as an integer there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from presk.kernel.literal import is_plain, print_real
from presk.kernel.nodes import (
    Access,
    Apply,
    Assign,
    Binary,
    Buffer,
    BufferType,
    Call,
    Constant,
    Expression,
    For,
    If,
    Integer,
    Kernel,
    Load,
    Splat,
    Statement,
    Store,
    Tile,
    Truth,
    Unary,
    Variable,
)

IMPLIED_ARITHMETIC = {"f64": "f64", "f32": "f32", "bf16": "f32"}
"""The arithmetic type that a first output of this element says; of any other, the head states it."""

COMPARISONS = frozenset(("<", "<=", "==", "!=", ">=", ">"))

CONVERSIONS = frozenset(("f64", "f32", "bf16"))

OPEN_OPERATORS = frozenset(("+", "-", "*"))
"""Operators of integers and of reals."""

OPEN_FUNCTIONS = frozenset(("max", "min", "abs"))
"""Functions of integers and of reals, `select` apart."""


def print_kernel(kernel: Kernel) -> str:
    """The text of a kernel, ended by a newline."""
    return "".join(line + "\n" for line in _Printer(kernel).lines())


def print_kernels(kernels: Iterable[Kernel]) -> str:
    """The texts of kernels, one after the other."""
    return "".join(map(print_kernel, kernels))


def print_type(buffer: BufferType) -> str:
    """A buffer's element and axes, as a kernel's head shows them."""
    element = buffer.element
    text: str = element.kind
    if element.bound is not None:
        text += f"<{element.bound}"
    if element.scales is not None:
        first, end = element.scales
        text += f"/{first}" if end == first + 1 else f"/{first}..{end}"
    if not buffer.axes:
        return text
    axes = (str(axis.size) if axis.name is None else f"{axis.name}: {axis.size}" for axis in buffer.axes)
    return f"{text}[{', '.join(axes)}]"


class _Printer:
    """The printing of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def lines(self) -> Iterable[str]:
        kernel = self.kernel
        yield self.head() + " {"
        for number, scratch in enumerate(kernel.scratch):
            yield f"  t{number} : {print_type(scratch)}"
        yield from self.block(kernel.body, "  ")
        yield "}"

    def head(self) -> str:
        kernel = self.kernel
        implied = IMPLIED_ARITHMETIC.get(kernel.outputs[0].type.element.kind)
        stated = "" if implied == kernel.arithmetic else f" in {kernel.arithmetic}"
        inputs = ", ".join(f"%{number} : {print_type(each)}" for number, each in enumerate(kernel.inputs))
        outputs: list[str] = []
        for number, output in enumerate(kernel.outputs, len(kernel.inputs)):
            shares = "" if output.shares is None else f" in %{output.shares}"
            outputs.append(f"%{number}{shares} : {print_type(output.type)}")
        return f"kernel {kernel.name}{stated} ({inputs}) -> {', '.join(outputs)}"

    def block(self, statements: Sequence[Statement], indent: str) -> Iterable[str]:
        for statement in statements:
            match statement:
                case Assign(variable, value):
                    yield f"{indent}{variable.kind}{variable.number} = {self.expression(value)}"
                case Store(access, value, vector):
                    sign = "<v=" if vector else "="
                    yield f"{indent}{self.access(access)} {sign} {self.expression(value)}"
                case For(counter, extent, body):
                    yield f"{indent}for i{counter} in 0..{extent} {{"
                    yield from self.block(body, indent + "  ")
                    yield indent + "}"
                case If(condition, body):
                    yield f"{indent}if {self.expression(condition)} {{"
                    yield from self.block(body, indent + "  ")
                    yield indent + "}"
                case Apply(function, sources, target, count):
                    taken = ", ".join(map(self.access, sources))
                    yield f"{indent}apply {function}({taken}) to {self.access(target)} over {count}"
                case Tile(rows, columns, depth, lanes):
                    runs = ", ".join(f"i{run.counter} in 0..{run.extent}" for run in (rows, columns, depth))
                    yield f"{indent}tile<{lanes}> {runs} {{"
                    yield f"{indent}  {self.tile(statement)}"
                    yield indent + "}"

    def tile(self, tile: Tile) -> str:
        """What a tile does at each of its places."""
        total, left, right = map(self.access, (tile.sum, tile.left, tile.right))
        product = f"fma({left}, {right})" if tile.fused else f"({left} * {right})"
        return f"{total} {'+=' if tile.continues else '='} {product}"

    def access(self, access: Access) -> str:
        buffer: Buffer = access.buffer
        return f"{buffer.space}{buffer.number}[{', '.join(map(self.expression, access.index))}]"

    def expression(self, value: Expression, pointed: bool = False) -> str:
        """The text of a value. `pointed` gives the literals it is made of a point."""
        match value:
            case Constant(real):
                return print_real(real, self.kernel.arithmetic, pointed=pointed)
            case Integer(integer):
                return str(integer)
            case Truth(truth):
                return "true" if truth else "false"
            case Variable(kind, number):
                return f"{kind}{number}"
            case Load(access, vector):
                return self.access(access) + _mark(vector)
            case Splat(operand):
                return f"splat({self.expression(operand, pointed)})"
            case Unary(operator, operand, vector):
                sign = "-" if operator == "-" else "not "
                return f"({sign}{self.expression(operand, pointed)}){_mark(vector)}"
            case Binary(operator, left, right, vector):
                if operator in COMPARISONS:
                    pointed = self.needs_points(left, right)
                first, second = self.expression(left, pointed), self.expression(right, pointed)
                return f"({first} {operator} {second}){_mark(vector)}"
            case Call(function, arguments, vector):
                return f"{function}({self.arguments(function, arguments, pointed)}){_mark(vector)}"

    def arguments(self, function: str, arguments: tuple[Expression, ...], pointed: bool) -> str:
        if function in CONVERSIONS:
            pointed = self.needs_points(*arguments)
        elif function not in OPEN_FUNCTIONS and function != "select":
            pointed = False
        texts = (
            self.expression(argument, pointed and not (function == "select" and position == 0))
            for position, argument in enumerate(arguments)
        )
        return ", ".join(texts)

    def needs_points(self, *operands: Expression) -> bool:
        """Whether real operands, printed plainly, would all read as integers: no text in them says what they are."""
        open_ones = list(operands)
        while open_ones:
            match open_ones.pop():
                case Constant(real):
                    if not is_plain(print_real(real, self.kernel.arithmetic, pointed=False).removeprefix("-")):
                        return False
                case Unary("-", operand, _) | Splat(operand):
                    open_ones.append(operand)
                case Binary(operator, left, right, _) if operator in OPEN_OPERATORS:
                    open_ones += (left, right)
                case Call(function, arguments, _) if function in OPEN_FUNCTIONS:
                    open_ones += arguments
                case Call("select", (_, first, second), _):
                    open_ones += (first, second)
                case _:
                    return False
        return True


def _mark(vector: bool) -> str:
    return "<v>" if vector else ""
