"""Whether a loop whose whole state is undefined stays so: then its other rounds needn't be run.

A body keeps an undefined state where every element of the next depends on this one through operations that pass
everything undefined on. Choices, masks, gathers and terms left out may not, nor does a body that starts afresh. Read
from Core, without values, when a state is first lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from presk.core import nodes
from presk.exact.elements import Undefined
from presk.exact.reals import Reals
from presk.exact.rules import contractions, elementwise
from presk.exact.rules.task import Value, children, entries
from presk.shapes.types import Tensor

if TYPE_CHECKING:
    from presk.exact.compile import CompiledFunction

Lost: TypeAlias = Any
"""Of a tensor whether all its elements are undefined for certain; of a tree a tree of that, or False."""

Functions: TypeAlias = "Mapping[str, CompiledFunction]"

CHOICES = {"where", "and", "or"}
TOTALS = {"sum", "mean", "prod", "max", "min", "total", "logsumexp"}
PASSING = {*elementwise.PLANNERS, *contractions.PLANNERS, *TOTALS} - CHOICES
"""Primitives all of whose elements are undefined where those of one operand are, there being some."""

LAID = {
    "split",
    "merge",
    "rename",
    "split_heads",
    "merge_heads",
    "transpose",
    "broadcast_to",
    "slice",
    "flip",
    "unstack",
}
MOVING = LAID | {"concat", "stack", "stop_gradient"}
"""Primitives that move elements: all are undefined where those of all operands are."""


def wholly(state: Value) -> bool:
    """Whether every element of a state is undefined, and there is one."""
    if isinstance(state, Reals):
        flat = state.entries()
        return bool(flat) and all(isinstance(each, Undefined) for each in flat)
    if isinstance(state, (dict, tuple)):
        parts = children(cast(Any, state))
        return bool(parts) and all(map(wholly, parts))
    return False


class Fate:
    """Whether a loop's next state, and a scan's result of a round, are undefined as a whole where its state is."""

    def __init__(self, loop: nodes.Loop, functions: Functions) -> None:
        self.loop = loop
        self.functions = functions

    @cached_property
    def sealed(self) -> bool:
        """Found when it is first asked for."""
        return everywhere(_body(self.loop.body, {self.loop.state.number: True}, self.functions))


def everywhere(lost: Lost) -> bool:
    """Whether all of a tree is lost."""
    if isinstance(lost, (dict, tuple)):
        parts = children(cast(Any, lost))
        return bool(parts) and all(map(everywhere, parts))
    return lost is True


def lost_like(tree: Value, element: Undefined) -> Value:
    """A tree with every element undefined."""
    if isinstance(tree, dict):
        return {name: lost_like(each, element) for name, each in cast(dict[str, Value], tree).items()}
    if isinstance(tree, tuple):
        return tuple(lost_like(each, element) for each in cast(tuple[Value, ...], tree))
    flat = [element] * len(entries(tree))
    return Reals(list(flat), settled=True, age=0) if isinstance(tree, Reals) else flat


def first_of(tree: Value) -> Undefined:
    """The first element of a state that is lost as a whole."""
    while isinstance(tree, (dict, tuple)):
        tree = children(cast(Any, tree))[0]
    return entries(tree)[0]


def _body(body: nodes.Body, known: dict[int, Lost], functions: Functions) -> Lost:
    known = dict(known)
    for let in body.lets:
        empty = isinstance(let.type, Tensor) and 0 in let.type.sizes
        known[let.number] = False if empty else _value(let.value, known, functions)
    return _operand(body.result, known)


def _operand(operand: nodes.Operand, known: dict[int, Lost]) -> Lost:
    if not isinstance(operand, nodes.Ref):
        return False
    found = known.get(operand.number, False)
    for name in operand.path:
        if isinstance(found, tuple):
            found = cast(tuple[Lost, ...], found)[int(name)]
        elif isinstance(found, dict):
            found = cast(dict[str, Lost], found)[name]
    return found


def _value(value: nodes.Expression, known: dict[int, Lost], functions: Functions) -> Lost:
    match value:
        case nodes.Apply(primitive, operands, attributes):
            lost = [everywhere(_operand(operand, known)) for operand in operands]
            if primitive in PASSING and "cotangent" not in dict(attributes):
                return any(lost)
            return primitive in MOVING and bool(lost) and all(lost)
        case nodes.Call(name, operands):
            function = functions[name].function
            given = [_operand(operand, known) for operand in operands]
            return _body(
                function.body, dict(zip((p.number for p in function.parameters), given, strict=True)), functions
            )
        case nodes.MakeTuple(items):
            return tuple(_operand(item, known) for item in items)
        case nodes.MakeRecord(fields):
            return {name: _operand(operand, known) for name, operand in fields}
        case nodes.Loop():
            return _loop(value, known, functions)
        case _:
            return False


def _loop(loop: nodes.Loop, known: dict[int, Lost], functions: Functions) -> Lost:
    """A loop whose start is lost, and whose body keeps it so, is lost."""
    if not loop.trips or not everywhere(_operand(loop.start, known)):
        return False
    return everywhere(_body(loop.body, {**known, loop.state.number: True}, functions))
