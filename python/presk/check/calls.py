"""Calls of declared functions: arguments to parameters, what the signature's variables are, and the call itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from presk.check import static
from presk.check.context import Context, Counters, LeafBody, as_data, coerce, origin_of
from presk.check.draws import no_draw
from presk.check.emit import Emitter, Handle, NeedsLeaf
from presk.check.session import Instance, Session
from presk.check.signature import RUN, Parameter, Signature, signature_of
from presk.check.solver import Mismatch, Solver, Subject
from presk.check.typing import DIMENSION, TypeScope, module_numbers, number
from presk.check.values import (
    Abstract,
    Data,
    Fields,
    FunctionType,
    FunctionValue,
    Items,
    Number,
    Truth,
    Value,
    describe,
    show_function,
    type_of,
)
from presk.shapes import constants, types
from presk.shapes.poly import Poly, variable
from presk.shapes.poly import number as size_of
from presk.shapes.types import BOOL, HIDDEN, Axis, AxisOrRun, RecordOf, Run, Shape, Tensor, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import Note, PreskError, counted, did_you_mean, fail
from presk.text.spans import Span

WRITTEN_OUT = 64
"""Calls that are written out in one body of a map; one with more is written leaf by leaf, where a call is a call."""


@dataclass(frozen=True)
class Prepared:
    """A call whose arguments fit: the instance, the data arguments in order, and their types as the caller sees them.

    `original` are the caller's names of the run's axes, by the hidden or own names the callee knows them by.
    """

    instance: Instance
    arguments: tuple[Data, ...]
    original: Mapping[str, str | None]


def call_function(
    context: Context, function: FunctionValue, leading: Data | None, arguments: tuple[tree.Argument, ...], span: Span
) -> Data:
    """The value of a call. `leading` is the module's tree where it is a method's."""
    prepared = prepare(context, function, leading, arguments, span)
    instance = prepared.instance
    if context.leaf_body is not None:
        return _written_out(context, prepared, context.leaf_body, span)
    path = call_path(context, function, leading, span)
    name, result = context.session.instantiate(instance, span)
    refuse_draws(context, name, span)
    result = restore_names(result, prepared.original)
    handles = [argument.handle for argument in prepared.arguments]
    return Data(result, context.emitter.call(name, handles, path, result, span), origin_of(result))


def _written_out(context: Context, prepared: Prepared, body: LeafBody, span: Span) -> Data:
    """A call in the body of a map that Core holds: what it does instead, over the axes' names that it would have.

    Calls inside of calls may be more than anyone could write.
    """
    body.calls += 1
    if body.calls > WRITTEN_OUT:
        raise NeedsLeaf
    instance, emitter = prepared.instance, context.emitter
    handles = [
        emitter.renamed(given.handle, each, span)
        for given, (_, each) in zip(prepared.arguments, instance.parameters, strict=True)
    ]
    inside = elaborate(context.session, instance, emitter, handles, body)
    result = restore_names(inside.type, prepared.original)
    return Data(result, emitter.renamed(inside.handle, result, span), origin_of(result))


def refuse_draws(context: Context, name: str, span: Span) -> None:
    """Raises E3010 where a function that draws is called in the body of a map."""
    place = context.session.drawn_in(name)
    if place is None:
        return
    context.session.note_draw(place)
    if context.in_map:
        note = Note("it is called from the body of a `map` here", span)
        raise no_draw("what draws can't be called for the leaves of a tree", place, note)


def call_path(context: Context, function: FunctionValue, leading: Data | None, span: Span) -> str:
    """What the call adds to a draw's path. No two calls of a function add the same."""
    name = function.declaration.name
    path = f"{leading.origin}.{name}" if leading is not None and leading.origin else name
    node, paths = context.counters.function, context.session.paths
    if context.session.symbolic:
        paths.note(node, span, path)
        return path
    if context.in_map:
        return path  # nothing is drawn there
    number = paths.number(node, span)
    numbered = f"{path}~{number}" if number else path
    while numbered in context.counters.paths:
        number += 1
        numbered = f"{path}~{number}"
    context.counters.paths.add(numbered)
    return numbered


def prepare(
    context: Context, function: FunctionValue, leading: Data | None, arguments: tuple[tree.Argument, ...], span: Span
) -> Prepared:
    """Matches a call's arguments against the signature. Raises PreskError."""
    signature = session_signature(context.session, function)
    given = _evaluate(context, signature, leading, arguments, span)
    name = function.declaration.name
    solver = Solver()
    solver.trees.update(zip(signature.tree_variables, function.trees, strict=False))
    try:
        for parameter, (value, place) in zip(signature.parameters, given, strict=True):
            solver.subject = Subject(place, parameter.span)
            _match(solver, parameter, value, name, place)
        solver.solve()
    except Mismatch as error:
        subject = error.subject or Subject(span, signature.declaration.node.name_span)
        note = Note(f"`{name}` is declared here", subject.parameter)
        raise fail(error.code, error.message, subject.argument, error.hint, (note,)) from None
    _require_solved(solver, signature, name, span)
    return _instance(context, function, signature, solver, given)


def session_signature(session: Session, function: FunctionValue) -> Signature:
    """The signature of a function, kept for the session."""
    key = (function.declaration, function.module)
    if key not in session.signatures:
        session.signatures[key] = signature_of(session, function.declaration, function.module)
    return session.signatures[key]


def _evaluate(
    context: Context, signature: Signature, leading: Data | None, arguments: tuple[tree.Argument, ...], span: Span
) -> list[tuple[Value, Span]]:
    """The value given for each parameter, with its place."""
    name = signature.declaration.name
    parameters = signature.parameters[1:] if leading is not None else signature.parameters
    names = [parameter.name for parameter in parameters]
    given: dict[str, tree.Argument] = {}
    for place, argument in enumerate(arguments):
        target = argument.name or (names[place] if place < len(names) else None)
        if target is None:
            raise fail(
                "E3002", f"`{name}` takes {counted(len(names), 'argument')}, not {len(arguments)}", argument.span
            )
        if target not in names:
            hint = did_you_mean(target, names) or f"it takes {', '.join(names)}"
            raise fail("E3002", f"`{name}` has no parameter `{target}`", argument.span, hint)
        if target in given:
            raise fail("E3002", f"`{target}` is given twice", argument.span)
        given[target] = argument
    values: list[tuple[Value, Span]] = [] if leading is None else [(leading, span)]
    for parameter in parameters:
        argument = given.get(parameter.name)
        if argument is not None:
            values.append((context.evaluate(argument.value), argument.value.span))
        elif parameter.default is not None:
            values.append((default_of(context.session, signature, parameter), span))
        else:
            raise fail("E3002", f"`{name}` needs its argument `{parameter.name}`", span, f"it takes {', '.join(names)}")
    return values


def default_of(session: Session, signature: Signature, parameter: Parameter) -> Value:
    """The value of a parameter that isn't given."""
    assert parameter.default is not None
    if isinstance(parameter.default, tree.BoolLiteral):
        return Truth(parameter.default.value)
    numbers: dict[str, Number] = {}
    if signature.module is not None:
        owner = session.module_declaration(signature.module).node
        assert isinstance(owner, tree.Module)
        numbers = module_numbers(owner, signature.module.arguments)
    return number(TypeScope(session, signature.declaration.file, numbers), parameter.default)


def _match(solver: Solver, parameter: Parameter, value: Value, function: str, place: Span) -> None:
    what = f"`{parameter.name}` of `{function}`"
    if parameter.kind == "static":
        if not isinstance(value, Number):
            raise solver.mismatch("E3005", f"{what} is a nat known at binding, not {describe(value)}")
        solver.sizes[DIMENSION + parameter.name] = static.as_size(value, place)
        return
    if parameter.kind == "function":
        if not isinstance(value, (FunctionValue, Abstract)):
            hint = "declare a `fn` that calls it and pass its name: there are no closures"
            raise solver.mismatch("E3001", f"{what} is a declared function's name, not {describe(value)}", hint)
        return
    assert parameter.type is not None and not isinstance(parameter.type, FunctionType)
    pattern = parameter.type
    if isinstance(value, Number) and isinstance(pattern, Tensor) and pattern.kind == "nat" and not pattern.axes:
        solver.match_number(pattern, static.as_size(value, place), what)
        return
    actual = _type_for(value, parameter.type)
    if actual is None:
        raise solver.mismatch("E3001", f"{what} is {solver.show(parameter.type)}, not {describe(value)}")
    solver.match(parameter.type, actual, what)


def _type_for(value: Value, pattern: Type) -> Type | None:
    """The type of a value where `pattern` is asked: a number is a nat where a nat is asked."""
    match value, pattern:
        case Number(nat=True), Tensor(kind="nat", axes=()):
            size = constants.as_size(value.value)
            return None if size is None else Tensor("nat", (), size + size_of(1))
        case Truth(), _:
            return BOOL
        case Items(items), TupleOf(wanted) if len(items) == len(wanted):
            found = [_type_for(item, each) for item, each in zip(items, wanted, strict=True)]
            return TupleOf(tuple(each for each in found if each is not None)) if None not in found else None
        case Fields(fields), RecordOf(wanted) if {name for name, _ in fields} == {name for name, _ in wanted}:
            named = dict(fields)
            parts = [(name, _type_for(named[name], each)) for name, each in wanted]
            return RecordOf(tuple((n, p) for n, p in parts if p is not None)) if all(p for _, p in parts) else None
        case _:
            return type_of(value)


def _require_solved(solver: Solver, signature: Signature, name: str, span: Span) -> None:
    for dim in signature.dims:
        if DIMENSION + dim not in solver.sizes:
            raise fail("E3006", f"the dimension `{dim}` of `{name}` does not follow from the arguments", span)
    for tree_variable in signature.tree_variables:
        if tree_variable not in solver.trees:
            raise fail("E3006", f"the tree `{tree_variable}` of `{name}` does not follow from the arguments", span)
    if signature.has_run and solver.run is None:
        solver.run = ()


def _instance(
    context: Context, function: FunctionValue, signature: Signature, solver: Solver, given: list[tuple[Value, Span]]
) -> Prepared:
    run, original = hide_names(solver.run)
    outer = {RUN: solver.run or ()}
    inner = {RUN: run or ()}
    arguments: list[Data] = []
    parameters: list[tuple[str, Type]] = []
    functions: list[tuple[str, FunctionValue | Abstract]] = []
    for parameter, (value, place) in zip(signature.parameters, given, strict=True):
        if parameter.kind == "data":
            assert parameter.type is not None and not isinstance(parameter.type, FunctionType)
            seen = types.substitute(parameter.type, solver.sizes, outer, solver.trees)
            what = f"`{parameter.name}` of `{signature.declaration.name}`"
            arguments.append(coerce(context, value, seen, what, place))
            known = types.substitute(parameter.type, solver.sizes, inner, solver.trees)
            parameters.append((parameter.name, known))
        elif parameter.kind == "function":
            assert isinstance(value, (FunctionValue, Abstract)) and isinstance(parameter.type, FunctionType)
            wanted = substitute_function(parameter.type, solver.sizes, outer)
            functions.append((parameter.name, _as_stated(value, wanted)))
            if context.session.symbolic:
                _check_function(context, value, wanted, parameter.name, place)
    result = None
    if signature.result is not None:
        result = types.substitute(signature.result, solver.sizes, inner, solver.trees)
    sizes = tuple((dim, solver.sizes[DIMENSION + dim]) for dim in signature.dims)
    trees = tuple((name, solver.trees[name]) for name in signature.tree_variables)
    instance = Instance(
        function,
        signature,
        sizes,
        run if signature.has_run else None,
        trees,
        tuple(functions),
        tuple(parameters),
        result,
    )
    return Prepared(instance, tuple(arguments), original)


def hide_names(run: Shape | None) -> tuple[Shape | None, dict[str, str | None]]:
    """The run with hidden names for its unnamed axes, and what the caller calls those that were given one."""
    if run is None:
        return None, {}
    taken = {axis.name for axis in run if isinstance(axis, Axis)}
    axes: list[AxisOrRun] = []
    original: dict[str, str | None] = {}
    count = 0
    for axis in run:
        if isinstance(axis, Run) or axis.name is not None:
            axes.append(axis)
            continue
        count += 1
        while f"{HIDDEN}{count}" in taken:
            count += 1
        name = f"{HIDDEN}{count}"
        axes.append(Axis(name, axis.size))
        original[name] = None
    return tuple(axes), original


def restore_names(each: Type, original: Mapping[str, str | None]) -> Type:
    """The type with the caller's names of the run's axes."""
    if not original:
        return each

    def restore(tensor: Tensor) -> Tensor:
        axes = tuple(
            Axis(original[axis.name], axis.size)
            if isinstance(axis, Axis) and axis.name and axis.name in original
            else axis
            for axis in tensor.axes
        )
        return replace(tensor, axes=axes)

    return types.transform(each, restore, lambda size: size)


def substitute_function(each: FunctionType, sizes: Mapping[str, Poly], runs: Mapping[str, Shape]) -> FunctionType:
    """A function type with its variables replaced."""
    parameters = tuple(types.substitute(parameter, sizes, runs) for parameter in each.parameters)
    return FunctionType(parameters, types.substitute(each.result, sizes, runs))


def _as_stated(value: FunctionValue | Abstract, wanted: FunctionType) -> FunctionValue | Abstract:
    """A function that stands for a parameter: it gives what the parameter's type says."""
    return replace(value, stated=wanted.result) if isinstance(value, FunctionValue) else value


def _check_function(
    context: Context, value: FunctionValue | Abstract, wanted: FunctionType, name: str, span: Span
) -> None:
    """Checks that a function may stand for a parameter of function type."""
    what = f"the function given for `{name}`"
    if isinstance(value, Abstract):
        if value.signature != wanted:
            message = f"{what} is {show_function(value.signature)}, not {show_function(wanted)}"
            raise fail("E3001", message, span)
        return
    inner = replace(context.inner(), counters=Counters(context.counters.function))
    stand_ins = {f"{index}": Data(each, None, origin_of(each)) for index, each in enumerate(wanted.parameters)}
    inner.values.update(stand_ins)
    arguments = tuple(tree.Argument(span, None, tree.Name(span, index)) for index in stand_ins)
    result = call_function(inner, value, None, arguments, span)
    coerce(context, result, wanted.result, f"the result of {what}", span)


def call_abstract(context: Context, function: Abstract, arguments: tuple[tree.Argument, ...], span: Span) -> Data:
    """A call of a parameter of function type, while a program is checked."""
    context.session.paths.note(context.counters.function, span, function.name)
    wanted = function.signature.parameters
    if len(arguments) != len(wanted) or any(argument.name is not None for argument in arguments):
        raise fail("E3002", f"`{function.name}` takes {counted(len(wanted), 'argument')} by position", span)
    for place, (argument, each) in enumerate(zip(arguments, wanted, strict=True)):
        coerce(context, context.evaluate(argument.value), each, f"argument {place} of `{function.name}`", argument.span)
    return Data(function.signature.result, None, origin_of(function.signature.result))


def elaborate(
    session: Session, instance: Instance, emitter: Emitter, handles: Sequence[Handle], within: LeafBody | None = None
) -> Data:
    """The body of a function at an instance, its parameters being these handles; the result has the stated type.

    `within` is the body of a map that it is written into. Raises PreskError: while checking, of all its lets that don't
    check.
    """
    context = _body_context(session, instance, emitter, within)
    for (name, each), handle in zip(instance.parameters, handles, strict=True):
        context.values[name] = Data(each, handle, origin_of(each))
    context.values.update(instance.functions)
    faults = context.counters.faults
    try:
        result = _body_result(context, instance)
    except PreskError as error:
        raise PreskError([*faults, *error.diagnostics]) from None
    if faults:
        raise PreskError(faults)
    return result


def _body_result(context: Context, instance: Instance) -> Data:
    node = context.counters.function
    value = context.evaluate(node.body)
    if instance.result is None:
        return as_data(context, value, node.body.result.span)
    stated = None if node.result is None else node.result.span
    return coerce(context, value, instance.result, f"the result of `{node.name}`", node.body.result.span, stated)


def _body_context(session: Session, instance: Instance, emitter: Emitter, within: LeafBody | None) -> Context:
    """Where a function's body begins: sizes, module parameters and trees have their meaning, values have none yet."""
    function, signature = instance.function, instance.signature
    node = function.declaration.node
    assert isinstance(node, tree.Function)
    numbers: dict[str, Number] = {}
    if function.module is not None:
        owner = session.module_declaration(function.module).node
        assert isinstance(owner, tree.Module)
        numbers.update(module_numbers(owner, function.module.arguments))
    statics = {parameter.name for parameter in signature.parameters if parameter.kind == "static"}
    sizes = {name: static.size_number(size) for name, size in instance.sizes}
    numbers.update({name: size for name, size in sizes.items() if name in statics})
    return Context(
        session,
        function.declaration.file,
        emitter,
        function.module,
        numbers,
        {name: size for name, size in sizes.items() if name not in statics},
        signature.naming,
        instance.run,
        dict(instance.trees),
        Counters(node),
        in_map=within is not None,
        leaf_body=within,
    )


def generic_instance(session: Session, function: FunctionValue, reserved: frozenset[str]) -> Instance:
    """A function at its own variables, as it is checked with nothing bound. `reserved` are the constants' variables."""
    signature = session_signature(session, function)
    own = {dim: variable(f"{dim}'" if dim in reserved else dim) for dim in signature.dims}
    sizes = {DIMENSION + dim: size for dim, size in own.items()}
    parameters: list[tuple[str, Type]] = []
    functions: list[tuple[str, FunctionValue | Abstract]] = []
    for parameter in signature.parameters:
        if isinstance(parameter.type, FunctionType):
            functions.append((parameter.name, Abstract(parameter.name, substitute_function(parameter.type, sizes, {}))))
        elif parameter.type is not None:
            parameters.append((parameter.name, types.substitute(parameter.type, sizes)))
    result = None if signature.result is None else types.substitute(signature.result, sizes)
    run = (Run(RUN),) if signature.has_run else None
    trees = tuple((name, types.TreeVariable(name)) for name in signature.tree_variables)
    return Instance(function, signature, tuple(own.items()), run, trees, tuple(functions), tuple(parameters), result)
