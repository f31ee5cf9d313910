"""Initializers of a module's parameters: what each leaf of its tree begins as.

`initializers` lists the leaves of a module's tree in declaration order with their expressions; drawing them is
`run.initial`'s. Overrides from outside (`head: Linear{D, V} with { w = zeros }`) replace those of the submodule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Union

from presk.check import static
from presk.check.checking import CheckSession
from presk.check.scope import Declaration
from presk.check.session import Session
from presk.check.typing import TypeScope, module_numbers, number
from presk.check.values import Number
from presk.primitives.all import TABLE
from presk.shapes import constants, types
from presk.shapes.constants import Constant
from presk.shapes.types import ModuleOf, Stacked, Tensor, Type
from presk.syntax import tree
from presk.text.diagnostics import counted, did_you_mean, fail


@dataclass(frozen=True, slots=True)
class Fill:
    """Every element is this constant."""

    value: Constant


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw of `normal` (std, mean) or `uniform` (lo, hi); `number` counts the draws of one initializer."""

    kind: str
    first: Constant
    second: Constant
    number: int


@dataclass(frozen=True, slots=True)
class Combine:
    """An elementwise primitive of initializers, in f64."""

    primitive: str
    operands: tuple[Initial, ...]


Initial = Union[Fill, Draw, Combine]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf: its path, the type of one layer's, the sizes of the stacks around it, and what it begins as."""

    path: tuple[str, ...]
    type: Tensor
    layers: tuple[int, ...]
    initial: Initial


DRAWS = {"normal": ("std", "mean"), "uniform": ("lo", "hi")}
"""The drawing initializers and their keywords."""

DEFAULTS = {"std": 1, "mean": 0, "lo": 0, "hi": 1}


def initializers(session: Session, module: ModuleOf) -> tuple[Leaf, ...]:
    """The leaves of a bound module's tree. Raises PreskError."""
    return tuple(_leaves(session, module, (), (), {}))


def check_initializers(session: CheckSession, declaration: Declaration) -> None:
    """Checks a module's initializers and overrides with nothing bound."""
    module = session.generic_module(declaration, declaration.node.span)
    for _ in _members(session, module, {}):
        pass


def _leaves(
    session: Session,
    module: ModuleOf,
    path: tuple[str, ...],
    layers: tuple[int, ...],
    overrides: Mapping[tuple[str, ...], Initial],
) -> Iterator[Leaf]:
    for name, each, initial, inner in _members(session, module, overrides):
        here = (*path, name)
        if initial is not None:
            tensor, stacks = _unstacked(session, module, name, each)
            yield Leaf(here, tensor, (*layers, *stacks), initial)
            continue
        element, stacks = each, ()
        while isinstance(element, Stacked):
            count = element.count.whole
            assert count is not None, "a bound module has numbers for sizes"
            element, stacks = element.element, (*stacks, count)
        assert isinstance(element, ModuleOf)
        yield from _leaves(session, element, here, (*layers, *stacks), inner)


def _unstacked(session: Session, module: ModuleOf, name: str, each: Type) -> tuple[Tensor, tuple[int, ...]]:
    """A parameter `real[n] * L` is a tensor with leading axes already: how many of them are layers."""
    assert isinstance(each, Tensor)
    node = session.module_declaration(module).node
    assert isinstance(node, tree.Module)
    written = next(member.type for member in node.members if member.name == name)
    depth = 0
    while isinstance(written, tree.StackedType):
        written, depth = written.element, depth + 1
    return Tensor(each.kind, each.axes[depth:]), each.sizes[:depth]


def _members(
    session: Session, module: ModuleOf, overrides: Mapping[tuple[str, ...], Initial]
) -> Iterator[tuple[str, Type, Initial | None, dict[tuple[str, ...], Initial]]]:
    """Each member: its name and type, its initializer where it is a tensor, else the overrides for what is inside."""
    declaration = session.module_declaration(module)
    node = declaration.node
    assert isinstance(node, tree.Module)
    numbers = module_numbers(node, module.arguments)
    scope = TypeScope(session, declaration.file, numbers)
    kinds = dict(module.fields)
    for member in node.members:
        each = kinds[member.name]
        given = {path[1:]: value for path, value in overrides.items() if path[0] == member.name}
        own = {change.path: _initial(scope, change.value) for change in member.overrides}
        for place, change in enumerate(member.overrides):
            _check_path(each, change)
            if any(change.path == earlier.path for earlier in member.overrides[:place]):
                raise fail("E2002", f"`{'.'.join(change.path)}` is given twice", change.span)
        if isinstance(each, Tensor):
            if member.overrides:
                raise fail("E3001", f"`{member.name}` is a parameter; `with` is for submodules", member.span)
            yield member.name, each, given.get(()) or _own(scope, member), {}
        elif member.initializer is not None:
            raise fail(
                "E3001", f"`{member.name}` is a submodule; its parameters have initializers of their own", member.span,
                "override one with `with { w = zeros }`",
            )  # fmt: skip
        elif not isinstance(_element(each), ModuleOf):
            raise fail(
                "E3001", f"a member of a module is a real tensor or a module, not {types.show(each)}", member.type.span
            )
        else:
            yield member.name, each, None, {**own, **given}


def _element(each: Type) -> Type:
    while isinstance(each, Stacked):
        each = each.element
    return each


def _own(scope: TypeScope, member: tree.MemberDecl) -> Initial:
    if member.initializer is None:
        raise fail(
            "E3011",
            f"the parameter `{member.name}` has no initializer",
            member.span,
            f"`{member.name}: … = zeros`, or `normal(std = 0.02)`",
        )
    return _initial(scope, member.initializer)


def _check_path(each: Type, change: tree.FieldChange) -> None:
    current = _element(each)
    for name in change.path:
        known = dict(types.fields_of(current) or ())
        if name not in known:
            hint = did_you_mean(name, known)
            raise fail("E2001", f"{types.show(current)} has no parameter `{name}`", change.span, hint)
        current = _element(known[name])
    if not isinstance(current, Tensor):
        raise fail("E3001", f"`{'.'.join(change.path)}` is a submodule, not a parameter", change.span)


def _initial(scope: TypeScope, written: tree.Expr) -> Initial:
    return _Reader(scope).read(written)


class _Reader:
    """Reads one initializer; its draws are numbered in the order of the text."""

    def __init__(self, scope: TypeScope) -> None:
        self.scope = scope
        self.draws = 0

    def read(self, written: tree.Expr) -> Initial:
        match written:
            case tree.Name(name="zeros" | "ones" as name):
                return Fill(constants.rational(0 if name == "zeros" else 1))
            case tree.Name(name=name) if name in DRAWS:
                return self._draw(name, ())
            case tree.Call(callee=tree.Name(name=name), arguments=arguments) if name in DRAWS:
                return self._draw(name, arguments)
            case tree.Call(callee=tree.Name(name="constant"), arguments=(tree.Argument(name=None, value=value),)):
                return Fill(number(self.scope, value).value)
            case tree.Call(callee=tree.Name(name=name), arguments=arguments) if name in static.FOLDED:
                operands = tuple(self.read(argument.value) for argument in arguments)
                return self._combine(name, operands, written)
            case tree.Unary(op="-", operand=operand):
                return self._combine("neg", (self.read(operand),), written)
            case tree.Operation(first=first, steps=steps) if all(step.op in static.OPERATIONS for step in steps):
                value = self.read(first)
                for step in steps:
                    value = self._combine(static.OPERATIONS[step.op], (value, self.read(step.operand)), step)
                return value
            case tree.Axes() | tree.Call(callee=tree.Axes()):
                raise fail(
                    "E3012", "an initializer takes the parameter's own shape", written.span, "leave the brackets out"
                )
            case _:
                return Fill(number(self.scope, written).value)

    def _combine(self, name: str, operands: tuple[Initial, ...], written: tree.Node) -> Initial:
        if len(operands) != len(TABLE[name].operands):
            raise fail("E3002", f"`{name}` takes {counted(len(TABLE[name].operands), 'operand')}", written.span)
        fills = [Number(operand.value, nat=False) for operand in operands if isinstance(operand, Fill)]
        if len(fills) == len(operands):
            return Fill(static.fold(name, fills, written.span).value)
        return Combine(name, operands)

    def _draw(self, kind: str, arguments: tuple[tree.Argument, ...]) -> Draw:
        names = DRAWS[kind]
        given: dict[str, Constant] = {}
        for place, argument in enumerate(arguments):
            name = argument.name or (names[place] if place < len(names) else "")
            if name not in names or name in given:
                raise fail("E3002", f"`{kind}` takes {' and '.join(names)}", argument.span)
            given[name] = number(self.scope, argument.value).value
        first, second = (given.get(name, constants.rational(DEFAULTS[name])) for name in names)
        self.draws += 1
        return Draw(kind, first, second, self.draws - 1)
