"""Written types to types: axes and their names, module types, abbreviations, tree variables.

A `TypeScope` says what names mean in one place. In a signature, a name that means nothing else is a dimension variable,
collected in `dims`; everywhere else it is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from presk.check import static
from presk.check.scope import Declaration, File
from presk.check.values import SILENT, Data, FunctionType, Number, Unknown, Value, describe
from presk.primitives.all import TABLE
from presk.shapes import constants
from presk.shapes.align import Misaligned, check_distinct
from presk.shapes.poly import variable
from presk.shapes.types import (
    Axis,
    AxisOrRun,
    ModuleOf,
    RecordOf,
    Run,
    Shape,
    Tensor,
    TupleOf,
    Type,
    stack,
)
from presk.syntax import tree
from presk.text.diagnostics import InternalError, PreskError, counted, did_you_mean, fail, placed
from presk.text.spans import Span

if TYPE_CHECKING:
    from presk.check.session import Session

DIMENSION = "?"
"""Prefix of a signature's dimension variables, so that a caller's variables never meet a callee's."""


@dataclass
class TypeScope:
    """What names mean in a type. In an `open` scope an unknown name becomes a dimension variable.

    `unnamed` are variables that don't name the axis they stand alone for, `others` local names that are no numbers,
    `abbreviations` those resolved here already.
    """

    session: Session
    file: File
    numbers: Mapping[str, Number]
    trees: Mapping[str, Type] = field(default_factory=dict[str, Type])
    dims: dict[str, Number] = field(default_factory=dict[str, Number])
    open: bool = False
    unnamed: frozenset[str] = frozenset()
    run: Shape | None = None
    others: Mapping[str, Value] = field(default_factory=dict[str, Value])
    abbreviations: dict[Declaration, Type] = field(default_factory=dict["Declaration", "Type"])

    def within(self, file: File) -> TypeScope:
        """The same scope for an abbreviation declared in `file`: only dimension variables go along."""
        return TypeScope(
            self.session,
            file,
            {},
            {},
            self.dims,
            self.open,
            self.unnamed,
            self.run,
            abbreviations=self.abbreviations,
        )


def resolve(scope: TypeScope, written: tree.TypeExpr) -> Type:
    """The type that is written. Raises PreskError."""
    nesting = scope.session.nesting
    nesting.enter(written.span)
    try:
        return _resolve(scope, written)
    except PreskError as error:
        raise placed(error, written.span) from None
    finally:
        nesting.level -= 1


def _resolve(scope: TypeScope, written: tree.TypeExpr) -> Type:
    match written:
        case tree.TensorType():
            return _tensor(scope, written)
        case tree.TupleType(items=items):
            return TupleOf(tuple([resolve(scope, item) for item in items]))
        case tree.RecordType(fields=fields):
            for name, count in Counter(name for name, _ in fields).items():
                if count > 1:
                    raise fail("E2002", f"the field `{name}` is declared twice", written.span)
            return RecordOf(tuple([(name, resolve(scope, each)) for name, each in fields]))
        case tree.StackedType(element=element, count=count):
            return stack(resolve(scope, element), static.as_size(number(scope, count), count.span))
        case tree.NamedType():
            return _named(scope, written)
        case tree.FunctionType():
            raise InternalError("the parser reads a function type for a parameter only")


def resolve_function(scope: TypeScope, written: tree.FunctionType) -> FunctionType:
    """A function type with its parts resolved."""
    return FunctionType(
        tuple([resolve(scope, parameter) for parameter in written.parameters]), resolve(scope, written.result)
    )


def module_type(
    session: Session, declaration: Declaration, arguments: tuple[constants.Constant, ...], span: Span
) -> ModuleOf:
    """The parameter tree of a module at its parameters."""
    node = declaration.node
    assert isinstance(node, tree.Module)
    key = (declaration, arguments)
    if key in session.module_faults:
        raise session.module_faults[key]
    if key in session.modules:
        return session.modules[key]
    session.refuse_cycle(session.open_modules, declaration, "module", "contains")
    session.open_modules.append(declaration)
    try:
        scope = TypeScope(session, declaration.file, module_numbers(node, arguments))
        fields = tuple([(member.name, _member_type(scope, member)) for member in node.members])
        module = ModuleOf(declaration.label, arguments, fields)
    except PreskError as error:
        session.module_faults[key] = placed(error, node.name_span)
        raise session.module_faults[key] from None
    finally:
        session.open_modules.pop()
    session.declarations[declaration.label] = declaration
    session.modules[key] = module
    return module


def module_numbers(node: tree.Module, arguments: tuple[constants.Constant, ...]) -> dict[str, Number]:
    """What a module's parameters are at these arguments."""
    return {
        parameter.name: Number(argument, nat=parameter.kind == "nat")
        for parameter, argument in zip(node.parameters, arguments, strict=True)
    }


def module_arguments(
    scope: TypeScope, declaration: Declaration, written: tuple[tree.Argument, ...] | None, span: Span
) -> tuple[constants.Constant, ...]:
    """The parameters of a module as written behind its name, defaults filled in."""
    node = declaration.node
    assert isinstance(node, tree.Module)
    given: dict[str, tree.Expr] = {}
    names = [parameter.name for parameter in node.parameters]
    for place, argument in enumerate(written or ()):
        name = argument.name or (names[place] if place < len(names) else None)
        if name is None or name not in names or name in given:
            takes = f"takes the parameters {', '.join(names)}" if names else "takes no parameters"
            raise fail("E3002", f"`{node.name}` {takes}", argument.span)
        given[name] = argument.value
    values: list[constants.Constant] = []
    for parameter in node.parameters:
        expression = given.get(parameter.name)
        if expression is None:
            if parameter.default is None:
                raise fail(
                    "E3002",
                    f"`{node.name}` needs its parameter `{parameter.name}`",
                    span,
                    f"write `{node.name}{{{', '.join(names)}}}`",
                )
            value = number(TypeScope(scope.session, declaration.file, {}), parameter.default)
            place_span = parameter.default.span
        else:
            value, place_span = number(scope, expression), expression.span
        if parameter.kind == "nat":
            static.as_size(value, place_span)
        values.append(value.value)
    return tuple(values)


def number(scope: TypeScope, expression: tree.Expr) -> Number:
    """The number an expression of a type or a constant's declaration is."""
    match expression:
        case tree.NatLiteral(value=value):
            return Number(constants.rational(value), nat=True)
        case tree.RealLiteral(value=value):
            return Number(constants.rational(value), nat=False)
        case _:
            pass
    nesting = scope.session.nesting
    nesting.enter(expression.span)
    try:
        return _computed(scope, expression)
    except PreskError as error:
        raise placed(error, expression.span) from None
    finally:
        nesting.level -= 1


def _computed(scope: TypeScope, expression: tree.Expr) -> Number:
    match expression:
        case tree.Name():
            return _named_number(scope, expression)
        case tree.Unary(op="-", operand=operand):
            return static.fold("neg", (number(scope, operand),), expression.span)
        case tree.Operation(first=first, steps=steps) if all(step.op in static.ARITHMETIC for step in steps):
            result = number(scope, first)
            for step in steps:
                result = static.arithmetic(step.op, result, number(scope, step.operand), step.span)
            return result
        case tree.Call(callee=tree.Name(name=name), arguments=arguments) if name in static.FOLDED:
            if any(argument.name is not None for argument in arguments):
                raise fail("E3002", f"`{name}` takes no keywords here", expression.span)
            operands = [number(scope, argument.value) for argument in arguments]
            return fold_checked(name, operands, expression.span)
        case tree.Field(base=tree.Name(name=name), name=member) if name in scope.file.imports:
            return _constant_of(scope, scope.file.imports[name], member, expression.span)
        case _:
            hint = "made of numbers, constants, + - * / // ** and functions such as sqrt, exp and maximum"
            raise fail("E3005", "this must be a number known when the entry is bound", expression.span, hint)


def fold_checked(name: str, operands: list[Number], span: Span) -> Number:
    """`static.fold` with the number of operands checked."""
    if len(operands) != len(TABLE[name].operands):
        raise fail(
            "E3002", f"`{name}` takes {counted(len(TABLE[name].operands), 'operand')}, not {len(operands)}", span
        )
    return static.fold(name, operands, span)


def shape_of(scope: TypeScope, entries: tuple[tree.AxisEntry, ...], span: Span) -> Shape:
    """Written axes, with the naming rule of language.md 3."""
    counts = Counter(
        name.name for entry in entries if isinstance(entry, tree.AxisItem) for name in names_in(entry.size)
    )
    axes: list[AxisOrRun] = []
    for place, entry in enumerate(entries):
        if isinstance(entry, tree.RunItem):
            if place:
                raise fail("E3003", "`..` stands first among axes", entry.span)
            axes.extend(scope.run if scope.run is not None else _signature_run(scope, entry.span))
            continue
        size = static.as_size(number(scope, entry.size), entry.size.span)
        axes.append(Axis(entry.label or _own_name(scope, entry.size, counts), size))
    try:
        check_distinct(tuple(axes))
    except Misaligned as error:
        raise fail("E3003", error.message, span, "axis names of one tensor are distinct") from None
    return tuple(axes)


def names_in(expression: tree.Expr) -> Iterator[tree.Name]:
    """Every name in a size expression."""
    match expression:
        case tree.Name():
            yield expression
        case tree.Unary(operand=operand):
            yield from names_in(operand)
        case tree.Operation(first=first, steps=steps):
            yield from names_in(first)
            for step in steps:
                yield from names_in(step.operand)
        case tree.Call(arguments=arguments):
            for argument in arguments:
                yield from names_in(argument.value)
        case _:
            return


def find(file: File, path: tuple[str, ...]) -> Declaration | None:
    """The declaration a dotted name means in a file."""
    if len(path) == 1:
        return file.declarations.get(path[0])
    if len(path) == 2 and path[0] in file.imports:
        return file.imports[path[0]].declarations.get(path[1])
    return None


def _tensor(scope: TypeScope, written: tree.TensorType) -> Tensor:
    axes = () if written.axes is None else shape_of(scope, written.axes, written.span)
    if written.kind != "nat":
        return Tensor(written.kind, axes)
    if written.bound is None:
        raise fail(
            "E3008",
            "a nat of the run needs its bound",
            written.span,
            "write `nat[…] < V`; only a parameter `n: nat` has none",
        )
    bound = static.as_size(number(scope, written.bound), written.bound.span)
    return Tensor("nat", axes, bound)


def _named(scope: TypeScope, written: tree.NamedType) -> Type:
    path = written.path
    if len(path) == 1 and path[0] in scope.trees:
        return scope.trees[path[0]]
    declaration = find(scope.file, path)
    name = ".".join(path)
    if declaration is None:
        known = [*scope.file.declarations, *scope.file.imports, *scope.trees, "real", "nat", "bool"]
        raise fail("E2001", f"there is no type `{name}`", written.span, did_you_mean(path[-1], known))
    match declaration.node:
        case tree.Module():
            arguments = module_arguments(scope, declaration, written.arguments, written.span)
            return module_type(scope.session, declaration, arguments, written.span)
        case tree.TypeAlias(value=value):
            return _abbreviation(scope, declaration, value, written)
        case _:
            raise fail("E3001", f"`{name}` is no type", written.span)


def _abbreviation(scope: TypeScope, declaration: Declaration, value: tree.TypeExpr, written: tree.NamedType) -> Type:
    if written.arguments is not None:
        raise fail("E3002", f"the abbreviation `{declaration.name}` takes no parameters", written.span)
    if declaration in scope.session.alias_faults:
        raise scope.session.alias_faults[declaration]
    if declaration in scope.session.closed_aliases:
        return scope.session.closed_aliases[declaration]
    if declaration not in scope.abbreviations:
        scope.session.refuse_cycle(scope.session.open_aliases, declaration, "type", "contains")
        scope.session.open_aliases.append(declaration)
        try:
            scope.abbreviations[declaration] = resolve(scope.within(declaration.file), value)
        finally:
            scope.session.open_aliases.pop()
    return scope.abbreviations[declaration]


def _member_type(scope: TypeScope, member: tree.MemberDecl) -> Type:
    found = resolve(scope, member.type)
    if isinstance(found, Tensor) and found.kind != "real":
        raise fail("E3001", f"the parameter `{member.name}` is {found.kind}, but parameters are real", member.type.span)
    return found


def _named_number(scope: TypeScope, expression: tree.Name) -> Number:
    name = expression.name
    if name in scope.numbers:
        return scope.numbers[name]
    if name in scope.others:
        raise _no_number(name, scope.others[name], expression.span)
    declaration = scope.file.declarations.get(name)
    if declaration is not None and isinstance(declaration.node, tree.Const):
        return scope.session.constant(declaration, expression.span)
    if name not in scope.dims:
        if declaration is not None and not scope.open:
            raise fail("E3001", f"`{name}` is no number", expression.span)
        if not scope.open:
            known = [*scope.numbers, *scope.dims, *scope.file.declarations]
            raise fail("E2001", f"there is no number `{name}` here", expression.span, did_you_mean(name, known))
        scope.dims[name] = static.size_number(variable(DIMENSION + name))
    return scope.dims[name]


def _no_number(name: str, value: Value, span: Span) -> PreskError:
    """Why a local name is no size."""
    if isinstance(value, Unknown):
        return fail(SILENT, f"`{name}` does not check", span)
    hint = "a local of that name hides the size: give it another" if isinstance(value, Data) else None
    return fail("E3005", f"`{name}` is {describe(value)} here, not a number known at binding", span, hint)


def _constant_of(scope: TypeScope, file: File, name: str, span: Span) -> Number:
    declaration = file.declarations.get(name)
    if declaration is None or not isinstance(declaration.node, tree.Const):
        raise fail(
            "E2001", f"{file.name}.psk declares no constant `{name}`", span, did_you_mean(name, file.declarations)
        )
    return scope.session.constant(declaration, span)


def _own_name(scope: TypeScope, size: tree.Expr, counts: Counter[str]) -> str | None:
    """The name a lone variable gives its axis, or None."""
    if not isinstance(size, tree.Name) or size.name in scope.unnamed or counts[size.name] > 1:
        return None
    return size.name if size.name in scope.dims and size.name not in scope.numbers else None


def _signature_run(scope: TypeScope, span: Span) -> Shape:
    if not scope.open:
        raise fail("E3003", "`..` stands only where the function's signature has it", span)
    return (Run(".."),)
