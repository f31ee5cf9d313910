"""How a primitive is called, in one line: for docs, `presk check --primitives` and the hints of errors."""

from __future__ import annotations

from presk.primitives.table import Attribute, Keyword, Operand, Primitive
from presk.shapes import constants

BRACKETS = {"none": "", "sizes": "[name: size, …]", "labels": "[name]", "sizes_or_label": "[name: size, …, name]"}


def positional(primitive: Primitive) -> tuple[str, ...]:
    """Names of the arguments that may be given by position, in order; a variadic operand takes all that follow."""
    return primitive.positional or tuple(operand.name for operand in primitive.operands)


def show_signature(primitive: Primitive) -> str:
    """The call as one writes it, with kinds and defaults: `softmax(x: real, axis = -1, mask: bool?)`."""
    by_position = positional(primitive)
    operands = {operand.name: _show_operand(operand) for operand in primitive.operands}
    keywords = {keyword.name: _show_keyword(keyword, keyword.name in by_position) for keyword in primitive.keywords}
    shown = {**operands, **keywords}
    first = [shown[name] for name in by_position]
    rest = [text for name, text in {**keywords, **operands}.items() if name not in by_position]
    brackets = "[names]" if primitive.name == "ein" else BRACKETS[primitive.new_axes]
    arguments = ", ".join((*first, *rest))
    return f"{primitive.name}{brackets}({arguments})" if arguments or not brackets else f"{primitive.name}{brackets}"


def _show_operand(operand: Operand) -> str:
    text = f"{operand.name}: {'scalar ' if operand.scalar else ''}{operand.kind}"
    if operand.default is not None:
        text += f" = {constants.show(operand.default)}"
    return f"{text}?" if operand.optional else f"{text}, …" if operand.variadic else text


def _show_keyword(keyword: Keyword, by_position: bool) -> str:
    if keyword.kind == "names":
        return "old = new, …"
    if keyword.kind == "word":
        return f"{keyword.name} = {' | '.join(keyword.words)}"
    if keyword.required:
        wanted = {"axis": "axis", "axes": "axes", "order": "(axis, …)"}.get(keyword.kind, keyword.kind)
        return f"{keyword.name}: {wanted}" if by_position else f"{keyword.name} = {wanted}"
    return f"{keyword.name} = {_show_default(keyword.default)}"


def _show_default(value: Attribute) -> str:
    match value:
        case None:
            return "all"
        case constants.Rational() | constants.Symbolic() | constants.Apply():
            return constants.show(value)
        case _:
            return str(value)
