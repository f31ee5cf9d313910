"""Derivatives of functions: `grad`, `value_and_grad` and `vjp` as functions of Core (`loss_grad`), and what they call.

For a function, its active arguments and the results that have cotangents there are two functions: the *forward half*
(`loss_forward`), the primal with more results, and the *adjoint* (`loss_adjoint`), from what the forward half kept and
the cotangents to the arguments' cotangents. docs/derivatives.md states what holds. Called by `core.bind`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from presk.core.groups import partition
from presk.core.nodes import (
    Body,
    Call,
    Function,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Parameter,
    Ref,
    SetField,
)
from presk.core.nodes import Primal as PrimalOf
from presk.core.printer import bodies
from presk.core.sites import known_as
from presk.core.typing import operand_type
from presk.core.vjp.activity import Activity, Leaf, Path
from presk.core.vjp.adjoint import Adjoint
from presk.core.vjp.forward import forward_half
from presk.core.vjp.numbering import numbered
from presk.core.vjp.pullback import real_leaves
from presk.core.vjp.scope import Numbers, Primal, Scope, literal
from presk.core.vjp.shaping import renamed
from presk.core.vjp.writing import Derived, Seeds
from presk.shapes.types import REAL, ModuleOf, RecordOf, Stacked, Tensor, TupleOf, Type, leaves


def suffixed(name: str, suffix: str) -> str:
    """The name of a function made of another: `loss_grad`, `loss_grad@T=1`."""
    depth = 0
    for at, char in enumerate(name):
        depth += (char in "{[") - (char in "}]")
        if char == "@" and depth == 0:
            return f"{name[:at]}_{suffix}{name[at:]}"
    return f"{name}_{suffix}"


class FunctionScope(Scope):
    """The body of a function's adjoint: what it takes and what the forward half keeps become its parameters."""

    def __init__(self, primal: Primal, numbers: Numbers, functions: dict[str, Function]) -> None:
        parameters = (each.number for each in primal.function.parameters)
        super().__init__(
            primal, numbers, functions, frozenset((*parameters, *(let.number for let in primal.function.body.lets)))
        )

    def keep(self, ref: Ref, type_: Type) -> Operand:
        """A further result of the forward half."""
        self.kept[ref] = self.numbers.take(type_)
        return Ref(self.kept[ref])

    def parameter(self, ref: Ref) -> Operand:
        """A leaf of an argument."""
        self.taken[ref] = self.numbers.take(operand_type(ref, self.primal.types))
        return Ref(self.taken[ref])


class Deriver:
    """Makes the derivatives of a program's functions, each once. `made` are the new functions, callees first.

    `functions` are the program's, simplified; `taken` the names that are given already.
    """

    def __init__(self, functions: Iterable[Function], taken: Iterable[str] = ()) -> None:
        self.functions: dict[str, Function] = {each.name: each for each in functions}
        self.taken = set(taken)
        self.made: list[Function] = []
        self._derived: dict[tuple[str, frozenset[Leaf], Seeds], Derived] = {}
        self._results: dict[tuple[str, frozenset[Leaf]], frozenset[Path]] = {}

    # Operators

    def operator(self, kind: str, name: str, wrt: tuple[int, ...], single: bool, core: str | None = None) -> str:
        """The name of the function that `grad`, `value_and_grad` or `vjp` of a function is.

        `wrt` are numbers of its parameters, all of whose leaves are real. A vjp takes the cotangent last. `core` is the
        hash of the function's Core, by which files written for it are known.
        """
        function = self.functions[name]
        active = frozenset((at, path) for at in wrt for path, _ in leaves(function.parameters[at].type))
        seeds: Seeds
        if kind == "vjp":
            seeds = tuple((path, None) for path in real_leaves(function.result))
        else:
            seeds = ((() if function.result == REAL else ("0",), literal(1)),)
        derived = self.derive(name, active, seeds)
        chosen = "" if wrt == (0,) and single else f"[{', '.join(map(str, wrt))}]"
        made = _Operator(self, function, derived).function(kind, wrt, single)
        of = known_as(function)
        marked = made if core is None else replace(made, primal=PrimalOf(of, (), core))
        return self._add(marked, suffixed(name, f"{kind}{chosen}"))

    # Functions that are called

    def results(self, name: str, active: frozenset[Leaf]) -> frozenset[Path]:
        """The active leaves of a function's result."""
        key = (name, active)
        if key not in self._results:
            function = self.functions[name]
            activity = Activity(types_in(function), active, self.results)
            self._results[key] = frozenset(activity.body(function.body))
        return self._results[key]

    def derive(self, name: str, active: frozenset[Leaf], seeds: Seeds) -> Derived:
        """The derivative of a function with respect to some leaves of its parameters."""
        key = (name, active, seeds)
        if key not in self._derived:
            self._derived[key] = self._derive(self.functions[name], active, seeds)
        return self._derived[key]

    def _derive(self, function: Function, active: frozenset[Leaf], seeds: Seeds) -> Derived:
        types = types_in(function)
        activity = Activity(types, active, self.results)
        activity.body(function.body)
        primal, roots = primal_of(function, types)
        writing = Adjoint(self, primal, activity.active)
        scope = FunctionScope(primal, Numbers(max((*types, -1)) + 1), self.functions)
        result = dict(leaves(function.result))
        cotangents: dict[Path, Operand] = {}
        parameters: list[Parameter] = []
        for path, constant in seeds:
            if constant is None:
                parameters.append(scope.declare(result[path]))
            cotangents[path] = Ref(parameters[-1].number) if constant is None else constant
        writing.body(scope, function.body, cotangents)
        given = tuple(leaf for leaf in _ordered(function, active) if leaf in scope.cotangents)
        made = scope.let(MakeTuple(tuple(scope.cotangents[leaf] for leaf in given)))
        kept = list(scope.kept)
        adjoint = Function(
            function.name,
            tuple(
                Parameter(number, None, scope.numbers.types[number])
                for number in (*scope.taken.values(), *scope.kept.values(), *(each.number for each in parameters))
            ),
            scope.type_of(made),
            Body(tuple(scope.lets), made),
        )
        forward: str | None = None
        if kept:
            half = forward_half(writing, suffixed(function.name, "forward"), kept, self.functions, roots)
            forward = self._add(half, half.name)
        name = self._add(numbered(adjoint), suffixed(function.name, "adjoint"))
        taken = tuple((ref.number, ref.path) for ref in scope.taken)
        return Derived(forward, name, taken, len(kept), seeds, given)

    def kept_alone(self, forward: str) -> str:
        """The name of a forward half that gives what it keeps and not the result."""
        half = self.functions[forward]
        pair = next(let.value for let in half.body.lets if Ref(let.number) == half.body.result)
        assert isinstance(pair, MakeTuple) and isinstance(half.result, TupleOf), "a forward half gives a pair"
        body = Body(half.body.lets, pair.items[1])
        return self._add(replace(half, body=body, result=half.result.items[1]), forward.replace("_forward", "_kept"))

    def _add(self, function: Function, name: str) -> str:
        """Takes a new function in under a name that is free."""
        while name in self.taken or name in self.functions:
            name += "'"
        made = replace(function, name=name)
        self.functions[name] = made
        self.made.append(made)
        return name


def types_in(function: Function) -> dict[int, Type]:
    """The type of every number in a function."""
    types: dict[int, Type] = {each.number: each.type for each in function.parameters}
    for body in bodies(function.body):
        for let in body.lets:
            types[let.number] = let.type
            match let.value:
                case Loop(state=state, elements=elements):
                    types |= {each.number: each.type for each in (state, *elements)}
                case MapTrees(parameters=parameters):
                    types |= {each.number: each.type for each in parameters}
                case _:
                    continue
    return types


def primal_of(function: Function, types: dict[int, Type]) -> tuple[Primal, tuple[int, ...]]:
    """A function as its adjoint sees it, and the roots of its groups."""
    lets = {let.number: let for body in bodies(function.body) for let in body.lets}
    groups = list(partition(function).groups)
    stored = frozenset(group.root for group in groups if group.kind not in ("view", "free"))
    roots = tuple(sorted(group.root for group in groups))
    inside = frozenset(member.number for group in groups for member in group.members if member.number not in roots)
    return Primal(function, lets, types, stored, inside), roots


def _ordered(function: Function, active: frozenset[Leaf]) -> list[Leaf]:
    """Active leaves in the order of the parameters."""
    return [
        (at, path)
        for at, parameter in enumerate(function.parameters)
        for path, _ in leaves(parameter.type)
        if (at, path) in active
    ]


class _Operator:
    """Writes a function that calls a forward half and an adjoint, and makes trees of what comes back."""

    def __init__(self, deriver: Deriver, function: Function, derived: Derived) -> None:
        self.deriver = deriver
        self.primal = function
        self.derived = derived
        types = {each.number: each.type for each in function.parameters}
        numbers = Numbers(len(types), dict(types))
        self.scope = Scope(
            Primal(function, {}, types, frozenset(), frozenset()), numbers, deriver.functions, frozenset()
        )

    def function(self, kind: str, wrt: tuple[int, ...], single: bool) -> Function:
        """The function of this kind."""
        derived, scope = self.derived, self.scope
        parameters = list(self.primal.parameters)
        if kind == "vjp":
            parameters.append(scope.declare(self.primal.result, "cotangent"))
        operands: list[Operand] = [Ref(at, path) for at, path in derived.taken]
        result: Operand | None = None
        if kind == "value_and_grad":
            called = scope.let(Call(derived.forward or self.primal.name, self.arguments(), ""))
            result = called if derived.forward is None else Ref(called.number, ("0",))
            operands += [Ref(called.number, ("1", str(at))) for at in range(derived.kept)]
        elif derived.forward is not None:
            called = scope.let(Call(self.deriver.kept_alone(derived.forward), self.arguments(), ""))
            operands += [Ref(called.number, (str(at),)) for at in range(derived.kept)]
        operands += [Ref(parameters[-1].number, path) for path, constant in derived.seeds if constant is None]
        gradients: dict[Leaf, Operand] = {}
        if derived.given:
            adjoint = scope.let(Call(derived.adjoint, tuple(operands), ""))
            gradients = {leaf: Ref(adjoint.number, (str(at),)) for at, leaf in enumerate(derived.given)}
        trees = [self.tree(self.primal.parameters[at].type, Ref(at), gradients) for at in wrt]
        kinds = [self.primal.parameters[at].type for at in wrt]
        made, type_ = trees[0], kinds[0]
        if not single:
            made, type_ = scope.let(MakeTuple(tuple(trees))), TupleOf(tuple(kinds))
        if kind == "value_and_grad":
            assert result is not None, "the forward half was called"
            made, type_ = scope.let(MakeTuple((result, made))), TupleOf((self.primal.result, type_))
        return numbered(Function(self.primal.name, tuple(parameters), type_, Body(tuple(scope.lets), made)))

    def arguments(self) -> tuple[Operand, ...]:
        """The primal's arguments."""
        return tuple(Ref(each.number) for each in self.primal.parameters)

    def tree(self, of: Type, at: Ref, gradients: dict[Leaf, Operand]) -> Operand:
        """The tree of an argument's type that holds its leaves' cotangents, 0 where there are none."""
        match of:
            case Tensor():
                found = gradients.get((at.number, at.path))
                return self.scope.zeros(of) if found is None else renamed(self.scope, found, of.axes)
            case TupleOf(items):
                inside = [self.tree(each, _below(at, str(place)), gradients) for place, each in enumerate(items)]
                return self.scope.let(MakeTuple(tuple(inside)))
            case RecordOf(fields) | ModuleOf(fields=fields):
                named = tuple((name, self.tree(each, _below(at, name), gradients)) for name, each in fields)
                return self.scope.let(MakeRecord(named, of if isinstance(of, ModuleOf) else None))
            case Stacked():
                made = at
                for path, leaf in leaves(of):
                    made = self.scope.let(SetField(made, path, self.tree(leaf, _below(at, *path), gradients)))
                return made
            case _:
                raise TypeError(of)


def _below(ref: Ref, *path: str) -> Ref:
    return Ref(ref.number, (*ref.path, *path))
