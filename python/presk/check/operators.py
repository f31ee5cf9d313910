"""Entries that are derivatives: `grad(mse)`, `value_and_grad(loss, wrt = (0, 2))`, `vjp(f)`; they nest.

The arguments that `wrt` counts are those of the function within, a method's `self` among them. What a derivative gives
and takes is `derivatives`' matter; here names are read and what can't be differentiated is refused. Called by
`core.bind` and the API.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from presk.shapes import types
from presk.shapes.types import Type
from presk.text.diagnostics import counted, fail
from presk.text.spans import Source, Span

DERIVATIVES = ("grad", "value_and_grad", "vjp")
"""The names of the operators of language.md 6."""

COTANGENT = "cotangent"
"""The name of the last parameter of a vjp."""

NESTED_LIMIT = 8
"""Operators in one entry's name: each makes a function several times as long."""

_CALL = re.compile(rf"\s*({'|'.join(DERIVATIVES)})\s*\((.*)\)\s*", re.DOTALL)
_WRT = re.compile(r"(.*),\s*wrt\s*=\s*(\d{1,9}|\(\s*\d{1,9}(?:\s*,\s*\d{1,9})*\s*,?\s*\))\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Operator:
    """`grad`, `value_and_grad` or `vjp` with the arguments chosen; `single` where one was chosen, not a tuple."""

    kind: str
    wrt: tuple[int, ...] = (0,)
    single: bool = True

    def name(self, inner: str) -> str:
        """The entry's name over another."""
        if self.wrt == (0,) and self.single:
            return f"{self.kind}({inner})"
        if self.single:
            return f"{self.kind}({inner}, wrt = {self.wrt[0]})"
        listed = ", ".join(map(str, self.wrt))
        return f"{self.kind}({inner}, wrt = ({listed}{',' if len(self.wrt) == 1 else ''}))"


def split_operators(entry: str) -> tuple[tuple[Operator, ...], str]:
    """The operators of an entry's name, the innermost first, and the name of the function within. Raises PreskError."""
    found: list[Operator] = []
    while (match := _CALL.fullmatch(entry)) is not None:
        kind, entry = match[1], match[2]
        chosen = _WRT.fullmatch(entry)
        if chosen is None:
            found.append(Operator(kind))
            continue
        entry, numbers = chosen[1], chosen[2]
        found.append(Operator(kind, tuple(map(int, re.findall(r"\d+", numbers))), not numbers.startswith("(")))
    if len(found) > NESTED_LIMIT:
        place = Span(Source("<entry>", entry), 0, len(entry))
        raise fail("E4002", f"{len(found)} operators are nested in an entry's name; at most {NESTED_LIMIT} are", place)
    return tuple(reversed(found)), entry


def check_operator(operator: Operator, parameters: Sequence[Type | None], result: Type, span: Span) -> None:
    """Raises E5001 or E5002 where a function with these arguments, None where one is known at binding, isn't one to
    be differentiated so.
    """
    if len(set(operator.wrt)) != len(operator.wrt):
        raise fail("E5002", "`wrt` names each argument once", span)
    check_result(operator.kind, result, span)
    for number in operator.wrt:
        argument_type(number, parameters, span)


def argument_type(number: int, parameters: Sequence[Type | None], span: Span) -> Type:
    """The type of the argument differentiated with respect to. Raises E5001 or E5002."""
    if number >= len(parameters):
        message = f"there is no argument {number} to differentiate with respect to"
        raise fail("E5002", message, span, f"the function takes {counted(len(parameters), 'argument')}")
    each = parameters[number]
    if each is None or any(leaf.kind != "real" for _, leaf in types.leaves(each)):
        shown = "known at binding" if each is None else types.show(each)
        hint = "`wrt` chooses a real argument"
        raise fail("E5001", f"argument {number} is {shown}: it has no derivative", span, hint)
    return each


def check_result(kind: str, result: Type, span: Span) -> None:
    """Raises E5001 or E5002 for a result that a derivative of this kind isn't of."""
    if kind == "vjp":
        if any(leaf.kind != "real" for _, leaf in types.leaves(result)):
            message = f"the function's result is {types.show(result)}, which has no derivative"
            raise fail("E5001", message, span, "only reals are differentiated")
    elif result != types.REAL and not is_objective(result):
        message = f"`{kind}` takes a scalar-valued function, but this one gives {types.show(result)}"
        hint = "`vjp(f)(x)(cotangent)` takes any result; an objective gives real or (real, record)"
        raise fail("E5002", message, span, hint)


def is_objective(result: Type) -> bool:
    """Whether a result is `(real, record)`, the record being carried along."""
    return (
        isinstance(result, types.TupleOf)
        and len(result.items) == 2
        and result.items[0] == types.REAL
        and isinstance(result.items[1], types.RecordOf)
    )
