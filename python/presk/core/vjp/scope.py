"""The bodies of an adjoint while they are written: lets one after another, and the forward half's values they read.

A `Scope` is one body. It gives the value that a number of the primal has in the adjoint (`value`): a parameter of the
function or of the loop is taken over; the root of a group is *kept*, which makes it a further result of the forward
half, stacked per round where it is a loop's; what no memory holds is computed again. Called by the modules of this
folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Union

from presk.core.attributes import in_order
from presk.core.nodes import (
    Apply,
    Expression,
    Function,
    Injected,
    Let,
    Literal,
    MakeTuple,
    Operand,
    Parameter,
    Ref,
    Source,
)
from presk.core.operands import with_operands
from presk.core.typing import Types, expression_type, operand_type
from presk.primitives.all import TABLE
from presk.primitives.attributes import COTANGENT
from presk.primitives.table import Attribute
from presk.shapes import constants
from presk.shapes.constants import Constant
from presk.shapes.types import Tensor, Type
from presk.text.diagnostics import InternalError
from presk.text.spans import Span

KEPT = "*"
"""The first step of a path to what a loop or a call of the forward half keeps: `%7.*.0` is its first."""

Number = Union[int, Fraction, Operand]
"""What stands for an operand while an adjoint is written: a number is a literal."""


@dataclass
class Numbers:
    """Numbers that are free, and the type of each that is taken, for one function."""

    next: int
    types: dict[int, Type] = field(default_factory=dict[int, Type])

    def take(self, type_: Type) -> int:
        """A new number of this type."""
        self.types[self.next] = type_
        self.next += 1
        return self.next - 1


@dataclass(frozen=True)
class Primal:
    """The function that is differentiated: its lets by number, and what becomes of a let's value.

    `stored` are the numbers that memory holds; `views` and `free` values cost nothing where they are read; every other
    primitive is inside of a group.
    """

    function: Function
    lets: Mapping[int, Let]
    types: Types
    stored: frozenset[int]
    interior: frozenset[int]


@dataclass(frozen=True, slots=True)
class Piece:
    """The positions `start` up to `start + size` of an axis; the value has the whole's axes but for that size."""

    axis: int
    start: int
    size: int
    value: Operand

    def apart(self, others: Sequence[Piece]) -> bool:
        """Whether it lies along the axis of others and meets none."""
        return all(
            self.axis == other.axis
            and (self.start + self.size <= other.start or other.start + other.size <= self.start)
            for other in others
        )


@dataclass(frozen=True)
class State:
    """A scope at one time, to be gone back to."""

    lets: int
    memo: dict[Ref, Operand]
    kept: dict[Ref, int]
    cotangents: dict[tuple[int, tuple[str, ...]], Operand]
    taken: dict[Ref, int]
    elements: list[tuple[Parameter, Source]]
    pieces: dict[tuple[int, tuple[str, ...]], list[Piece]]


class Scope:
    """One body of an adjoint. `own` are the primal's numbers of this body.

    `pieces` are cotangents of parts of leaves, not yet put together. `kept` and `taken` are what a function's
    adjoint has as parameters, `elements` what a loop's goes over.
    """

    def __init__(
        self, primal: Primal, numbers: Numbers, functions: Mapping[str, Function], own: frozenset[int]
    ) -> None:
        self.primal = primal
        self.numbers = numbers
        self.functions = functions
        self.own = own
        self.lets: list[Let] = []
        self.memo: dict[Ref, Operand] = {}
        self.kept: dict[Ref, int] = {}
        self.taken: dict[Ref, int] = {}
        self.elements: list[tuple[Parameter, Source]] = []
        self.cotangents: dict[tuple[int, tuple[str, ...]], Operand] = {}
        self.pieces: dict[tuple[int, tuple[str, ...]], list[Piece]] = {}
        self.span: Span | None = None

    # What a body of a function, a loop or a map does in its own way

    def keep(self, ref: Ref, type_: Type) -> Operand:
        """The value of a leaf of the forward half, kept for this body."""
        raise NotImplementedError

    def parameter(self, ref: Ref) -> Operand:
        """The value of a leaf of what the body is given: a function's parameter, a loop's state or element."""
        raise NotImplementedError

    @property
    def outer(self) -> Scope | None:
        """The body around this one."""
        return None

    def chain(self) -> list[Scope]:
        """This body and those around it."""
        return [self] if self.outer is None else [self, *self.outer.chain()]

    def mark(self) -> State:
        """The state to go back to by `reset`."""
        return State(
            len(self.lets),
            dict(self.memo),
            dict(self.kept),
            dict(self.cotangents),
            dict(self.taken),
            list(self.elements),
            {leaf: list(pieces) for leaf, pieces in self.pieces.items()},
        )

    def reset(self, state: State) -> None:
        """Forgets what was written since the mark."""
        del self.lets[state.lets :]
        self.memo, self.kept = dict(state.memo), dict(state.kept)
        self.cotangents = dict(state.cotangents)
        self.taken, self.elements = dict(state.taken), list(state.elements)
        self.pieces = {leaf: list(pieces) for leaf, pieces in state.pieces.items()}

    # Values of the primal

    def value(self, operand: Operand) -> Operand:
        """What an operand of the primal, a tensor, is here."""
        match operand:
            case Literal():
                return operand
            case Injected(inner):
                found = self.value(inner)
                match found:
                    case Ref():
                        return Injected(found)
                    case Literal(value):
                        return Literal(value)
                    case Injected():
                        return found
            case Ref():
                if operand not in self.memo:
                    self._find(operand)
                return self.memo[operand]

    def _find(self, wanted: Ref) -> None:
        """Takes a tensor of the primal into the memo, and what it is computed of before it, however long that chain."""
        pending = [wanted]
        while pending:
            ref = pending[-1]
            missing = next((each for each in self._needed(ref) if each not in self.memo), None)
            if missing is not None:
                pending.append(missing)
                continue
            pending.pop()
            if ref not in self.memo:
                self.memo[ref] = self.look_up(ref)

    def _needed(self, ref: Ref) -> Iterator[Ref]:
        """The tensors of the primal that `look_up` asks this body for."""
        let = self.primal.lets.get(ref.number)
        if ref.number not in self.own or let is None or ref in self.memo:
            return
        match let.value:
            case MakeTuple(items) if (inside := self._item(items, ref)) is not None:
                yield inside
            case Apply(operands=operands) if ref.number not in self.primal.stored and Ref(ref.number) not in self.memo:
                for operand in operands:
                    if not isinstance(operand, Literal):
                        yield operand.operand if isinstance(operand, Injected) else operand
            case _:
                return

    def look_up(self, ref: Ref) -> Operand:
        """The value of a tensor of the primal, met for the first time."""
        if ref.number not in self.own:
            if self.outer is None:
                raise InternalError(f"%{ref.number} is no number of {self.primal.function.name}")
            return self.outer.value(ref)
        let = self.primal.lets.get(ref.number)
        if let is None:
            return self.parameter(ref)
        match let.value:
            case MakeTuple(items) if (inside := self._item(items, ref)) is not None:
                return self.value(inside)
            case Apply() as apply if ref.number not in self.primal.stored:
                whole = Ref(ref.number)
                made = self.memo.get(whole) or self.again(let, apply)
                self.memo[whole] = made
                return made if isinstance(made, Literal) or not ref.path else Ref(_number(made), ref.path)
            case _:
                pass
        return self.keep(ref, operand_type(ref, self.primal.types))

    def _item(self, items: Sequence[Operand], ref: Ref) -> Ref | None:
        """What a component of a tuple was made of, where it has that type."""
        item = items[int(ref.path[0])] if ref.path else None
        if not isinstance(item, Ref):
            return None
        inside = Ref(item.number, (*item.path, *ref.path[1:]))
        same = operand_type(inside, self.primal.types) == operand_type(ref, self.primal.types)
        return inside if same else None

    def kept_value(self, ref: Ref, type_: Type) -> Operand:
        """What a loop or call of this body keeps (KEPT), as `keep` gives it, once."""
        known = self.memo.get(ref)
        if known is None:
            known = self.memo[ref] = self.keep(ref, type_)
        return known

    def again(self, let: Let, apply: Apply) -> Ref:
        """A primitive of the forward half once more."""
        operands = tuple(self.value(operand) for operand in apply.operands)
        is_interior = let.number in self.primal.interior
        return self.let(Apply(apply.primitive, operands, apply.attributes), again=is_interior, name=let.name)

    # Writing

    def let(self, value: Expression, *, again: bool = False, name: str | None = None, type_: Type | None = None) -> Ref:
        """A new let at the end of the body. Nats that something else than a primitive takes are made reals before."""
        if not isinstance(value, Apply):
            value = with_operands(value, self.passed)
        found = type_ or expression_type(value, self.numbers.types, self.functions)
        number = self.numbers.take(found)
        self.lets.append(Let(number, name, value, found, self.span, again))
        return Ref(number)

    def passed(self, operand: Operand) -> Operand:
        """An operand of what isn't a primitive."""
        return self.let(Apply("inject", (operand.operand,))) if isinstance(operand, Injected) else operand

    def declare(self, type_: Type, name: str | None = None) -> Parameter:
        """A parameter of a function or loop that is being written."""
        return Parameter(self.numbers.take(type_), name, type_)

    def type_of(self, operand: Operand) -> Type:
        """The type of an operand of the adjoint."""
        return operand_type(operand, self.numbers.types)

    def tensor(self, operand: Operand) -> Tensor:
        """The type of an operand that is a tensor."""
        found = self.type_of(operand)
        if not isinstance(found, Tensor):
            raise InternalError("a tensor was expected in an adjoint")
        return found

    def apply(
        self, primitive: str, *operands: Number, cotangent: int | str | None = None, **attributes: Attribute
    ) -> Operand:
        """A primitive; attributes that aren't given have the table's defaults. Constants are computed exactly."""
        row = TABLE[primitive]
        given = tuple(each if isinstance(each, (Ref, Literal, Injected)) else literal(each) for each in operands)
        if primitive in FOLDED and all(isinstance(each, Literal) for each in given):
            return Literal(constants.apply(primitive, *(each.value for each in given if isinstance(each, Literal))))
        values: dict[str, Attribute] = {keyword.name: keyword.default for keyword in row.keywords}
        values |= attributes
        if cotangent is not None:
            values[COTANGENT] = cotangent
        return self.let(Apply(primitive, given, in_order(row, values)))

    def zeros(self, type_: Tensor) -> Operand:
        """Nothing but 0."""
        return self.apply("zeros", new=type_.axes) if type_.axes else literal(0)


def _number(operand: Operand) -> int:
    if not isinstance(operand, Ref):
        raise InternalError("a primitive's value is a let")
    return operand.number


FOLDED = frozenset(("neg", "mul", "div", "add", "sub"))
"""Arithmetic on exact constants that an adjoint carries out."""


def literal(value: int | Fraction | Constant) -> Literal:
    """A real constant."""
    return Literal(constants.rational(value) if isinstance(value, (int, Fraction)) else value)
