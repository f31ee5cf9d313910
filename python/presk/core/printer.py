"""PSK-Core as text (docs/core.md): what `presk dump --stage core` shows and `core.reader` reads back.

Modules that occur in a type stand at the head, so that a text needs nothing else. Nothing is left out but the names of
functions' parameters, spans, and what follows by rule: the types of lets and attributes that have their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator

from presk.core.attributes import DRAW
from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Count,
    Each,
    Expression,
    Function,
    Injected,
    Let,
    Literal,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Parameter,
    Program,
    Ref,
    SetField,
    Source,
)
from presk.core.typing import operand_type
from presk.primitives.all import TABLE
from presk.primitives.attributes import COTANGENT
from presk.primitives.contractions import RUN_LABEL
from presk.primitives.table import Attribute, Keyword
from presk.shapes import constants
from presk.shapes.types import (
    Axis,
    ModuleOf,
    RecordOf,
    Run,
    Stacked,
    Tensor,
    TupleOf,
    Type,
    show,
    show_axis,
)

WIDTH = 100
"""A function's head or a loop's that is longer goes on another line."""

HEAD_WIDTH = 120
"""Parameters that need more stand one a line."""

NUMBERS = (DRAW, COTANGENT)
"""Attributes that are numbers and have no keyword in the table."""

SPECIAL = ("new", "out", "labels", *NUMBERS)
"""Attributes that have no keyword in the table: new axes, `ein`'s names, and these."""


def print_program(program: Program, *, names: bool = True) -> str:
    """The text of a program. Without `names`, lets, states and elements are numbers only (for the hash)."""
    heads = [_module_text(module) for module in modules_of(program)]
    functions = [_FunctionPrinter(function, names).text() for function in program.functions]
    return "\n".join([*heads, *([""] if heads else []), "\n".join(functions)])


def print_function(function: Function, *, names: bool = True) -> str:
    """The text of one function, which ends in a newline."""
    return _FunctionPrinter(function, names).text()


def print_let(let: Let, types: dict[int, Type]) -> str:
    """The first line of a let without indentation, for listings; `types` are those of the numbers in scope."""
    printer = _Lines(True, dict(types))
    printer.let(let, 0)
    return printer.lines[0]


def modules_of(program: Program) -> list[ModuleOf]:
    """Every module type that occurs, each behind those it contains."""
    found: dict[ModuleOf, None] = {}
    for function in program.functions:
        for each in _types_of(function):
            _collect(each, found)
    return list(found)


def bodies(body: Body) -> Iterator[Body]:
    """The body and all bodies inside it, in textual order."""
    yield body
    for let in body.lets:
        if isinstance(let.value, (Loop, MapTrees)):
            yield from bodies(let.value.body)


def show_operand(operand: Operand) -> str:
    """`%3`, `%0.w`, `real(%2)`, `0.5`, `nat(2)`, `true`."""
    match operand:
        case Ref(number, path):
            return "".join((f"%{number}", *(f".{name}" for name in path)))
        case Injected(inner):
            return f"real({show_operand(inner)})"
        case Literal(value, "real"):
            return constants.show(value)
        case Literal(value, "bool"):
            return "false" if value == constants.rational(0) else "true"
        case Literal(value, kind):
            return f"{kind}({constants.show(value)})"


class _Lines:
    """Writes lets line by line; `types` grows with them."""

    def __init__(self, names: bool, types: dict[int, Type]) -> None:
        self.names = names
        self.types = types
        self.lines: list[str] = []

    def body(self, body: Body, depth: int) -> None:
        for let in body.lets:
            self.let(let, depth)
            self.types[let.number] = let.type
        self.lines.append(f"{'  ' * depth}{show_operand(body.result)}")

    def let(self, let: Let, depth: int) -> None:
        indent = "  " * depth
        head = f"{indent}%{let.number}{self.name(let.name)} = "
        match let.value:
            case Loop():
                self.lines.append(self.loop_head(let.value, head, indent))
                inner, parameters = let.value.body, (let.value.state, *let.value.elements)
            case MapTrees(parameters, operands, inner):
                sources = [
                    f"{self.declared(each)} in {show_operand(of)}"
                    for each, of in zip(parameters, operands, strict=True)
                ]
                self.lines.append(f"{head}map {', '.join(sources)} {{")
            case _:
                self.lines.append(head + ("again " if let.again else "") + self.simple(let.value))
                return
        for each in parameters:
            self.types[each.number] = each.type
        self.body(inner, depth + 1)
        self.lines.append(f"{indent}}}")

    def loop_head(self, loop: Loop, head: str, indent: str) -> str:
        opening = f"{head}{loop.kind} {self.declared(loop.state)} = {show_operand(loop.start)}"
        sources = [
            f"{self.declared(element)} in {self.source(source, loop.trips)}"
            for element, source in zip(loop.elements, loop.sources, strict=True)
        ]
        along = f" along {loop.along}" if loop.along is not None else ""
        ending = f"{along}{' reversed' if loop.reversed else ''} {{"
        line = f"{opening} over {', '.join(sources)}{ending}"
        if len(line) <= WIDTH:
            return line
        separator = f",\n{indent}         "
        return f"{opening}\n{indent}    over {separator.join(sources)}{ending}"

    def source(self, source: Source, trips: int) -> str:
        match source:
            case Count(start):
                return f"{start}..{start + trips}"
            case Each(operand, axis):
                return show_operand(operand) + ("" if axis is None else f"[{self.axis(operand, axis)}]")

    def declared(self, parameter: Parameter) -> str:
        return f"%{parameter.number}{self.name(parameter.name)} : {show(parameter.type)}"

    def name(self, name: str | None) -> str:
        return f" {name}" if name is not None and self.names else ""

    def simple(self, value: Expression) -> str:
        match value:
            case Apply():
                return self.apply(value)
            case Call(function, operands, path):
                at = f" @{path}" if path else ""
                return f"call {function}({', '.join(show_operand(each) for each in operands)}){at}"
            case MakeTuple((item,)):
                return f"({show_operand(item)},)"
            case MakeTuple(items):
                return f"({', '.join(show_operand(each) for each in items)})"
            case MakeRecord(fields, module):
                inside = ", ".join(f"{name} = {show_operand(each)}" for name, each in fields)
                return f"{{{inside}}}" if module is None else f"make {module.label} {{{inside}}}"
            case SetField(base, path, new):
                place = "".join(f".{name}" for name in path)
                return f"{{{show_operand(base)} with {place} = {show_operand(new)}}}"
            case _:
                raise TypeError(value)

    def apply(self, apply: Apply) -> str:
        attributes = dict(apply.attributes)
        operands = [show_operand(operand) for operand in apply.operands]
        labels = attributes.get("labels")
        if isinstance(labels, tuple):
            for at, row in enumerate(labels):
                if isinstance(row, tuple) and row != self.own_names(apply.operands[at]):
                    operands[at] += f"[{', '.join(row)}]"
        for keyword in TABLE[apply.primitive].keywords:
            if keyword.name in attributes and keyword.name not in SPECIAL:
                value = attributes[keyword.name]
                if keyword.kind == "names" and isinstance(value, tuple):
                    operands += [f"{pair[0]} = {pair[1]}" for pair in value if isinstance(pair, tuple)]
                elif value != keyword.default:
                    operands.append(f"{keyword.name} = {self.attribute(apply, keyword, value)}")
        operands += [f"{name} = {attributes[name]}" for name in NUMBERS if name in attributes]
        return f"{apply.primitive}{_brackets(attributes)}({', '.join(operands)})"

    def attribute(self, apply: Apply, keyword: Keyword, value: Attribute) -> str:
        if value is None:
            return "*"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return self.axis(apply.operands[keyword.of], value) if keyword.kind == "axis" else str(value)
        if isinstance(value, str):
            return value
        if not isinstance(value, tuple):
            return constants.show(value)
        indices = [each for each in value if isinstance(each, int)]
        shown = ", ".join(self.axis(apply.operands[keyword.of], each) for each in indices)
        return shown if len(indices) == 1 else f"({shown})"

    def axis(self, operand: Operand, index: int) -> str:
        """An axis by its name, or by its position where it has none."""
        tensor = operand_type(operand, self.types)
        axis = tensor.axes[index] if isinstance(tensor, Tensor) and 0 <= index < len(tensor.axes) else None
        return axis.name if isinstance(axis, Axis) and axis.name is not None else str(index)

    def own_names(self, operand: Operand) -> tuple[str | None, ...]:
        """The names of an operand's axes, which are its labels unless others are written."""
        tensor = operand_type(operand, self.types)
        axes = tensor.axes if isinstance(tensor, Tensor) else ()
        return tuple(axis.name if isinstance(axis, Axis) else RUN_LABEL for axis in axes)


class _FunctionPrinter(_Lines):
    def __init__(self, function: Function, names: bool) -> None:
        super().__init__(names, {each.number: each.type for each in function.parameters})
        self.function = function

    def text(self) -> str:
        parameters = [f"%{each.number} : {show(each.type)}" for each in self.function.parameters]
        opening = f"fn {self.function.name}("
        result = f"-> {show(self.function.result)}{_half_of(self.function)} {{"
        head = f"{opening}{', '.join(parameters)})"
        if len(head) + 1 + len(result) <= WIDTH:
            self.lines.append(f"{head} {result}")
        elif len(head) <= HEAD_WIDTH:
            self.lines += [head, f"    {result}"]
        else:
            self.lines += [
                opening,
                *(f"    {each}," for each in parameters[:-1]),
                f"    {parameters[-1]}",
                f") {result}",
            ]
        self.body(self.function.body, 1)
        return "\n".join((*self.lines, "}", ""))


def _half_of(function: Function) -> str:
    """` of loss(%3, %5)`: whose forward half a function is, and which lets are roots there."""
    if function.primal is None:
        return ""
    roots = ", ".join(f"%{number}" for number in function.primal.roots)
    core = "" if function.primal.core is None else f" {function.primal.core.replace(':', '_')}"
    return f" of {function.primal.name}({roots}){core}"


def _brackets(attributes: dict[str, Attribute]) -> str:
    """New axes, or the names of `ein`'s result, behind a primitive's name."""
    new, out = attributes.get("new"), attributes.get("out")
    if isinstance(new, tuple):
        return f"[{', '.join(show_axis(axis) for axis in new if isinstance(axis, (Axis, Run)))}]"
    if isinstance(out, tuple) and len(out) == 1 and isinstance(out[0], tuple):
        return f"[{', '.join(out[0])}]"
    return ""


def _module_text(module: ModuleOf) -> str:
    fields = [f"{name}: {show(each)}" for name, each in module.fields]
    line = f"module {module.label} {{ {'; '.join(fields)} }}" if fields else f"module {module.label} {{}}"
    if len(line) <= WIDTH:
        return line
    return "\n".join((f"module {module.label} {{", *(f"  {field}" for field in fields), "}"))


def _types_of(function: Function) -> Iterator[Type]:
    yield from (parameter.type for parameter in function.parameters)
    yield function.result
    for body in bodies(function.body):
        for let in body.lets:
            yield let.type
            if isinstance(let.value, Loop):
                yield from (each.type for each in (let.value.state, *let.value.elements))


def _collect(tree: Type, found: dict[ModuleOf, None]) -> None:
    match tree:
        case ModuleOf(fields=fields):
            if tree not in found:
                for _, each in fields:
                    _collect(each, found)
                found[tree] = None
        case RecordOf(fields):
            for _, each in fields:
                _collect(each, found)
        case TupleOf(items):
            for each in items:
                _collect(each, found)
        case Stacked(element):
            _collect(element, found)
        case _:
            return
