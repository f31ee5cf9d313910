"""What a train block names with keywords: learning rates and data sources, such as `cosine(peak = 3e-4)`.

Each has a row that says which keywords it takes and of what kind; a written one is read by its row. Used by
`check.training`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from presk.check import static
from presk.check.scope import File
from presk.check.session import Session
from presk.check.typing import TypeScope, number
from presk.check.values import Number
from presk.shapes import constants
from presk.shapes.constants import Constant, Rational
from presk.syntax import tree
from presk.text.diagnostics import did_you_mean, fail
from presk.text.spans import Span


@dataclass(frozen=True)
class Recipe:
    """A named choice with its keywords: an optimizer, a rate or a data source. Positional texts are in `texts`."""

    name: str
    numbers: Mapping[str, Constant]
    texts: tuple[str, ...] = ()
    words: Mapping[str, str | bool | tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Row:
    """What one name takes: the kinds of its keywords, those it needs, and what its one positional argument is."""

    keywords: Mapping[str, str]
    required: tuple[str, ...] = ()
    positional: str | None = None


RATES = {
    "constant": Row({"peak": "positive", "warmup": "count"}, ("peak",)),
    "linear": Row({"peak": "positive", "warmup": "count", "floor": "amount", "steps": "whole"}, ("peak",)),
    "cosine": Row({"peak": "positive", "warmup": "count", "floor": "amount", "steps": "whole"}, ("peak",)),
}
"""Learning rates. Their keywords may stand by position, in this order."""

SPLIT = {"split": "share", "shuffle": "flag", "stratify": "word"}
"""Of sources whose rows are one like another."""

DATA = {
    "tokens": Row({"tokenizer": "word", "context": "whole", "split": "share"}, positional="path"),
    "csv": Row({"x": "names", "y": "names", "standardize": "flag", **SPLIT}, positional="path"),
    "arrays": Row({"standardize": "flag", **SPLIT}, positional="path"),
    "synthetic": Row({**SPLIT, "count": "whole"}, positional="function"),
}
"""Data sources."""

WANTED = {
    "positive": "a positive number",
    "amount": "a number from 0",
    "share": "a number above 0 and at most 1",
    "whole": "a whole number from 1",
    "count": "a whole number from 0",
    "flag": "true or false",
    "word": "a name or a string",
    "names": "a string or a list of strings",
}
"""What each kind of keyword takes."""

RANGES: dict[str, Callable[[Rational], bool]] = {
    "positive": lambda given: given.value > 0,
    "amount": lambda given: given.value >= 0,
    "share": lambda given: 0 < given.value <= 1,
    "whole": lambda given: given.value.denominator == 1 and given.value >= 1,
    "count": lambda given: given.value.denominator == 1 and given.value >= 0,
}
"""Which numbers a kind takes."""


def split_call(written: tree.Expr, key: str) -> tuple[str, tuple[tree.Argument, ...]]:
    """The name and arguments of `name` or `name(…)`. Raises E8024 for anything else."""
    match written:
        case tree.Name(name=name):
            return name, ()
        case tree.Call(callee=tree.Name(name=name), arguments=arguments):
            return name, arguments
        case _:
            raise fail(
                "E8024", f"`{key}` is a name with keywords", written.span, f"such as `{key} = name(key = value)`"
            )


def read_rate(session: Session, file: File, written: tree.Expr) -> Recipe:
    """A learning rate: a positive number, or one of RATES. Raises PreskError: E8024, E8026."""
    is_number = not isinstance(written, (tree.Call, tree.Name))
    if isinstance(written, (tree.Call, tree.Name)):
        name, arguments = split_call(written, "lr") if isinstance(written, tree.Name) else _callee(written)
        if name in RATES:
            found = _read(session, file, name, RATES[name], arguments, "E8026", written.span)
            _require_order(found, written.span)
            return found
        is_number = name in static.FOLDED or _is_constant(file, name)
        if not is_number:
            hint = did_you_mean(name, RATES) or f"there are {', '.join(RATES)}, or a number"
            raise fail("E8026", f"there is no learning rate `{name}`", written.span, hint)
    value = number(TypeScope(session, file, {}), written)
    return Recipe("constant", {"peak": in_range(value, "positive", "lr", "E8026", written.span)})


def read_data(session: Session, file: File, written: tree.Expr) -> Recipe:
    """A data source. Raises PreskError: E8024, E8027."""
    name, arguments = split_call(written, "data")
    if name not in DATA:
        hint = did_you_mean(name, DATA) or f"there are {', '.join(DATA)}"
        raise fail("E8027", f"there is no data source `{name}`", written.span, hint)
    return _read(session, file, name, DATA[name], arguments, "E8027", written.span)


def in_range(value: Number, kind: str, what: str, code: str, span: Span) -> Constant:
    """The constant itself. Raises `code` where a number of this kind is something else."""
    given = value.value
    known = isinstance(given, Rational)
    if (known and not RANGES[kind](given)) or (not known and kind in ("whole", "count")):
        raise fail(code, f"`{what}` is {WANTED[kind]}, not {constants.show(given)}", span)
    return given


def string_list(written: tree.Expr) -> tuple[str, ...] | None:
    """The strings of `["a", "b"]`, or None for anything else."""
    if not isinstance(written, tree.ListLiteral):
        return None
    texts = [item.value for item in written.items if isinstance(item, tree.StringLiteral)]
    return tuple(texts) if len(texts) == len(written.items) else None


def _callee(written: tree.Call) -> tuple[str, tuple[tree.Argument, ...]]:
    return split_call(written, "lr")


def _is_constant(file: File, name: str) -> bool:
    declaration = file.declarations.get(name)
    return declaration is not None and isinstance(declaration.node, tree.Const)


def _read(
    session: Session, file: File, name: str, row: Row, arguments: tuple[tree.Argument, ...], code: str, span: Span
) -> Recipe:
    texts: list[str] = []
    numbers: dict[str, Constant] = {}
    words: dict[str, str | bool | tuple[str, ...]] = {}
    order = list(row.keywords)
    for place, argument in enumerate(arguments):
        if argument.name is None and row.positional is not None:
            texts.append(_positional(file, argument.value, row.positional, name, code))
            continue
        key = argument.name or (order[place] if place < len(order) else "")
        if key not in row.keywords:
            hint = did_you_mean(key, order) or f"it takes {', '.join(order)}"
            raise fail(code, f"`{name}` takes no `{key or argument.span.text}`", argument.span, hint)
        if key in numbers or key in words:
            raise fail(code, f"`{key}` is given twice", argument.span)
        kind, place_span = row.keywords[key], argument.value.span
        if kind in RANGES:
            given = number(TypeScope(session, file, {}), argument.value)
            numbers[key] = in_range(given, kind, key, code, place_span)
        else:
            words[key] = _word(argument.value, kind, key, code)
    for key in row.required:
        if key not in numbers:
            raise fail(code, f"`{name}` needs `{key}`", span)
    if row.positional is not None and len(texts) != 1:
        raise fail(code, f"`{name}` takes one {row.positional}", span)
    return Recipe(name, numbers, tuple(texts), words)


def _positional(file: File, written: tree.Expr, kind: str, name: str, code: str) -> str:
    if kind == "path" and isinstance(written, tree.StringLiteral):
        return written.value
    if kind == "function" and isinstance(written, tree.Name):
        declaration = file.declarations.get(written.name)
        if declaration is not None and isinstance(declaration.node, tree.Function):
            return written.name
    wanted = 'a path, such as `"data.csv"`' if kind == "path" else "a declared function's name"
    raise fail(code, f"`{name}` takes {wanted}", written.span)


def _word(written: tree.Expr, kind: str, key: str, code: str) -> str | bool | tuple[str, ...]:
    match written, kind:
        case tree.BoolLiteral(value=value), "flag":
            return value
        case (tree.Name(name=name), "word"):
            return name
        case (tree.StringLiteral(value=value), "word" | "names"):
            return value
        case _, "names" if texts := string_list(written):
            return texts
        case _:
            raise fail(code, f"`{key}` is {WANTED[kind]}", written.span)


def _require_order(rate: Recipe, span: Span) -> None:
    """A rate falls from its peak to its floor."""
    peak, floor = rate.numbers["peak"], rate.numbers.get("floor")
    if isinstance(peak, Rational) and isinstance(floor, Rational) and floor.value > peak.value:
        raise fail("E8026", f"the floor {constants.show(floor)} is above the peak {constants.show(peak)}", span)
