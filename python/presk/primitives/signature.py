"""How a primitive is called, in one line: for docs, `presk check --primitives` and the hints of errors."""

from __future__ import annotations

from presk.primitives.table import Attribute, Keyword, Operand, Primitive
from presk.shapes import constants

BRACKETS = {"none": "", "sizes": "[name: size, …]", "labels": "[name]", "sizes_or_label": "[name: size, …, name]"}
"""What stands in brackets, by `Primitive.new_axes`."""

OWN_BRACKETS = {
    "ein": "[name, …]",
    "one_hot": "[name: size]",
    "windows": "[name: size]",
    "positions": "[name: size]",
    "causal_mask": "[name: size, name: size]",
    "eye": "[name: size, name: size]",
}
"""The same where a primitive takes a fixed number of axes, or `ein`'s labels."""


def positional(primitive: Primitive) -> tuple[str, ...]:
    """Names of the arguments that may be given by position, in order; a variadic operand takes all that follow."""
    return primitive.positional or tuple(operand.name for operand in primitive.operands)


def show_signature(primitive: Primitive) -> str:
    """The call as one writes it: `top_k(x: real, k: nat, axis = -1)`. What has a `:` may be given by position."""
    by_position = positional(primitive)
    shown = {operand.name: _show_operand(operand, operand.name in by_position) for operand in primitive.operands}
    keywords = {keyword.name: _show_keyword(keyword, keyword.name in by_position) for keyword in primitive.keywords}
    first = [{**shown, **keywords}[name] for name in by_position]
    rest = [text for name, text in {**keywords, **shown}.items() if name not in by_position]
    brackets = OWN_BRACKETS.get(primitive.name, BRACKETS[primitive.new_axes])
    arguments = ", ".join((*first, *rest))
    return f"{primitive.name}{brackets}({arguments})" if arguments or not brackets else f"{primitive.name}{brackets}"


def _show_operand(operand: Operand, by_position: bool) -> str:
    name = f"{operand.name}: {'scalar ' if operand.scalar else ''}{operand.kind}" if by_position else operand.name
    if operand.default is not None:
        name += f" = {constants.show(operand.default)}"
    elif operand.optional:
        name += " = none"
    return f"{name}, …" if operand.variadic else name


def _show_keyword(keyword: Keyword, by_position: bool) -> str:
    if keyword.kind == "names":
        return "old = new, …"
    if keyword.kind == "word":
        return f"{keyword.name} = {' | '.join(keyword.words)}"
    kind = {"axis": "name", "axes": "name", "order": "(name, …)"}.get(keyword.kind, keyword.kind)
    if keyword.required:
        return f"{keyword.name}{':' if by_position else ' ='} {kind}"
    return f"{keyword.name}{f': {kind}' if by_position else ''} = {_show_default(keyword.default)}"


def _show_default(value: Attribute) -> str:
    match value:
        case None:
            return "all"
        case constants.Rational() | constants.Symbolic() | constants.Apply():
            return constants.show(value)
        case _:
            return str(value)
