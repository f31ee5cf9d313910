"""The state of a function's derivation, and how a body's adjoint is gone through: from the last let to the first.

Cotangents are held leaf by leaf: `scope.cotangents` has one for each leaf of a number of the primal that has been
reached. What a body of a loop gives to values from around it stays there, for `loops` to sum. What each kind of let
passes on is said by `adjoint`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from presk.core.nodes import Body, Function, Injected, Let, Literal, Operand, Ref
from presk.core.typing import operand_type
from presk.core.vjp.activity import Leaf, Path
from presk.core.vjp.pieces import piece, whole
from presk.core.vjp.scope import Primal, Scope
from presk.core.vjp.shaping import renamed
from presk.shapes.types import Tensor, Type, leaves
from presk.text.diagnostics import InternalError

Seeds = tuple[tuple[Path, "Literal | None"], ...]
"""The leaves of a result that have a cotangent, in order, and what it is where it is a constant."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A function's derivative for some active arguments and some results.

    `forward` is the forward half, which gives (result, what is kept); None where nothing is kept: the function itself
    does. `adjoint` takes the parameters' leaves `taken`, what is kept, and a cotangent for each seed that is no
    constant; it gives the tuple of the cotangents of the leaves `given`. Leaves go by the parameter's number.
    """

    forward: str | None
    adjoint: str
    taken: tuple[Leaf, ...]
    kept: int
    seeds: Seeds
    given: tuple[Leaf, ...]


class Deriver(Protocol):
    """What an adjoint asks of `transform`."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """The program's functions by name, those made among them."""
        ...

    def derive(self, name: str, active: frozenset[Leaf], seeds: Seeds) -> Derived:
        """The derivative of a function that is called."""
        ...


@dataclass
class Writing(ABC):
    """The state of one function's derivation: what `forward` must know when the adjoint is written.

    `kept` are what each loop keeps of a round, by the loop's number, and under what name of the leading axis it is
    stacked; `calls` the derivative that each call takes part in.
    """

    deriver: Deriver
    primal: Primal
    active: set[Leaf]
    kept: dict[int, list[tuple[Ref, tuple[tuple[str, str], ...]]]] = field(
        default_factory=dict[int, "list[tuple[Ref, tuple[tuple[str, str], ...]]]"]
    )
    calls: dict[int, Derived] = field(default_factory=dict[int, Derived])

    def active_in(self, operand: Operand) -> list[Path]:
        """The active leaves of an operand, as paths from it."""
        if not isinstance(operand, Ref):
            return []
        tree = operand_type(operand, self.primal.types)
        return [path for path, _ in leaves(tree) if (operand.number, (*operand.path, *path)) in self.active]

    # Bodies

    def body(self, scope: Scope, body: Body, cotangents: Mapping[Path, Operand]) -> None:
        """Writes the adjoint of a body; `cotangents` are those of its result's leaves."""
        for path, value in cotangents.items():
            self.give(scope, within(body.result, path), value)
        for let in reversed(body.lets):
            self.settle(scope, let.number)
            paths = [path for path, _ in leaves(let.type) if (let.number, path) in scope.cotangents]
            found = {path: scope.cotangents.pop((let.number, path)) for path in paths}
            if found:
                scope.span = let.span
                self.let(scope, let, found)
        for number in dict.fromkeys(number for number, _ in scope.pieces):
            self.settle(scope, number)

    def settle(self, scope: Scope, number: int) -> None:
        """Puts the pieces of a number's cotangents together."""
        for leaf in [leaf for leaf in scope.pieces if leaf[0] == number]:
            of = real_type(operand_type(Ref(*leaf), self.primal.types))
            self.give(scope, Ref(*leaf), whole(scope, of, scope.pieces.pop(leaf)))

    def place(self, scope: Scope, to: Operand | None, axis: int, start: int, value: Operand) -> None:
        """Adds to the cotangent of a part of a leaf: from `start` on along an axis, or one position of it."""
        if isinstance(to, Ref) and (to.number, to.path) in self.active:
            of = real_type(operand_type(to, self.primal.types))
            scope.pieces.setdefault((to.number, to.path), []).append(piece(scope, of, axis, start, value))

    def give(self, scope: Scope, to: Operand | None, value: Operand) -> None:
        """Adds to the cotangent of a leaf of the primal, where it is active."""
        if not isinstance(to, Ref) or (to.number, to.path) not in self.active:
            return
        of = operand_type(to, self.primal.types)
        if not isinstance(of, Tensor):
            raise InternalError("a cotangent belongs to a tensor")
        value = renamed(scope, value, of.axes)
        before = scope.cotangents.get((to.number, to.path))
        scope.cotangents[to.number, to.path] = value if before is None else scope.apply("add", before, value)

    @abstractmethod
    def let(self, scope: Scope, let: Let, found: Mapping[Path, Operand]) -> None:
        """Passes a let's cotangents on."""


def within(operand: Operand, path: Path) -> Operand | None:
    """A component of an operand; None of what has no cotangent."""
    match operand:
        case Ref(number, before):
            return Ref(number, (*before, *path))
        case Injected() | Literal():
            return operand if not path else None


def checked(operand: Operand | None) -> Operand:
    """An operand that is there."""
    if operand is None:
        raise InternalError("a constant has no components")
    return operand


def real_type(of: Type) -> Tensor:
    """The type of a leaf."""
    if not isinstance(of, Tensor):
        raise InternalError("a leaf is a tensor")
    return of
