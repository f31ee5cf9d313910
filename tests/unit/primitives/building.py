"""Types written as PSK writes them, and a primitive called on them as the checker does."""

from __future__ import annotations

import re

from presk.primitives.all import TABLE
from presk.primitives.call import Given, injected, normalize, result_type
from presk.primitives.new_axes import OPEN
from presk.primitives.table import Misfit
from presk.shapes.align import Misaligned
from presk.shapes.poly import Poly, number, variable
from presk.shapes.types import Axis, AxisOrRun, Run, Shape, Tensor, Type, show

RUN = Run("..")
TYPE = re.compile(r"(real|nat|bool)(?:\[(.*)\])?(?: < (.+))?")


def tensor(text: str) -> Tensor:
    """`real[.., a: 2, 3, n]`, `nat[b] < V`: a bare word is a size, sums and products of two are read."""
    matched = TYPE.fullmatch(text)
    assert matched is not None, text
    kind, axes, bound = matched.groups()
    return Tensor(kind, axes_of(axes or ""), size(bound) if bound else None)


def axes_of(text: str) -> Shape:
    """`.., a: 2, 3`; `?` is a size that follows from the operands."""
    out: list[AxisOrRun] = []
    for part in filter(None, (word.strip() for word in text.split(","))):
        name, _, rest = part.rpartition(":")
        out.append(RUN if part == ".." else Axis(name.strip() or None, size(rest.strip())))
    return tuple(out)


def size(text: str) -> Poly:
    """A number, a variable, or two of them added, multiplied or divided."""
    for operator, combine in (("+", Poly.__add__), ("*", Poly.__mul__), ("/", Poly.__truediv__)):
        left, found, right = text.partition(f" {operator} ")
        if found:
            return combine(size(left), size(right))
    return OPEN if text == "?" else number(int(text)) if text.isdigit() else variable(text)


def typed(name: str, *operands: str | Type, **given: Given) -> str:
    """The result's type as text. Raises Misfit, a misalignment as E3003."""
    types = [tensor(each) if isinstance(each, str) else each for each in operands]
    row = TABLE[name]
    try:
        targets = injected(row, types)
        return show(result_type(row, targets, normalize(row, targets, given)))
    except Misaligned as error:
        raise Misfit("E3003", error.message, error.hint) from None
