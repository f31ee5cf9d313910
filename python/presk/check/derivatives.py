"""`grad`, `value_and_grad`, `vjp`: typed here; `core.vjp` derives what they compute."""

from __future__ import annotations

from dataclasses import dataclass, replace

from presk.check.calls import Prepared, call_abstract, call_path, prepare, refuse_draws, restore_names
from presk.check.context import Context, coerce
from presk.check.emit import Handle, NeedsLeaf
from presk.check.names import method_of
from presk.check.operators import Operator, argument_type, check_result
from presk.check.values import Abstract, Cotangent, Data, Derived, FunctionValue, Method, Number, Value, describe
from presk.shapes import constants
from presk.shapes.types import ModuleOf, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import fail
from presk.text.spans import Span


def derive(context: Context, kind: str, node: tree.Call) -> Value:
    """`grad(f, wrt = …)`: a function made of one."""
    wrt: tuple[int, ...] = (0,)
    single, place = True, node.span
    functions: list[tree.Expr] = []
    for argument in node.arguments:
        if argument.name is None and not functions:
            functions.append(argument.value)
        elif argument.name == "wrt":
            wrt, single = _wrt(context, argument.value)
            place = argument.value.span
        else:
            raise fail("E3002", f"`{kind}` takes a function and `wrt`", argument.span, f"`{kind}(f, wrt = (0, 2))(…)`")
    if not functions:
        raise fail("E3002", f"`{kind}` takes a function", node.span, f"`{kind}(f)(arguments)`")
    value = _applied(context, context.evaluate(functions[0]))
    if not isinstance(value, (FunctionValue, Method, Abstract, Derived)) or (
        isinstance(value, Derived) and value.kind == "vjp"
    ):
        hint = "declare a `fn` that calls it"
        raise fail("E5002", f"`{kind}` takes a declared function, not {describe(value)}", functions[0].span, hint)
    return Derived(kind, value, wrt, single, place)


def _applied(context: Context, value: Value) -> Value:
    """The function that a module's tree is, called: its `apply`."""
    if isinstance(value, Data) and isinstance(value.type, ModuleOf):
        function = method_of(context.session.module_declaration(value.type), value.type, "apply")
        return value if function is None else Method(function, value)
    return value


def _wrt(context: Context, written: tree.Expr) -> tuple[tuple[int, ...], bool]:
    items = written.items if isinstance(written, tree.Tuple) else (written,)
    places: list[int] = []
    for item in items:
        value = context.evaluate(item)
        whole = value.value if isinstance(value, Number) and value.nat else None
        if not isinstance(whole, constants.Rational) or whole.value < 0:
            raise fail("E5002", "`wrt` is the number of an argument, from 0, or a tuple of such", item.span)
        places.append(int(whole.value))
    if len(set(places)) != len(places) or not places:
        raise fail("E5002", "`wrt` names each argument once", written.span)
    return tuple(places), not isinstance(written, tree.Tuple)


def call_derived(context: Context, derived: Derived, node: tree.Call) -> Value:
    """`grad(f)(arguments)`; of a vjp what waits for its cotangent."""
    if context.leaf_body is not None:
        raise NeedsLeaf
    primal = _primal(context, derived, node)
    gradient = _gradient(derived, primal.arguments)
    result = primal.result
    check_result(derived.kind, result, node.span)
    if derived.kind == "vjp":
        return Cotangent(result, gradient, lambda cotangent: _emit(context, derived, primal, cotangent, node.span))
    made = _emit(context, derived, primal, None, node.span)
    return made or Data(gradient if derived.kind == "grad" else TupleOf((result, gradient)), None)


@dataclass(frozen=True)
class _Primal:
    """The function that is differentiated, called: its result, and the type of each argument in the parentheses.

    An argument's is None where it is known at binding. `prepared` is None of a function that isn't known yet; `leading`
    are the data arguments before the first in the parentheses. `operators` are what that function is under already,
    the innermost first: of `grad(grad(f))` one.
    """

    result: Type
    arguments: list[Type | None]
    prepared: Prepared | None
    path: str
    leading: int
    operators: tuple[Operator, ...] = ()


def _primal(context: Context, derived: Derived, node: tree.Call) -> _Primal:
    if isinstance(derived.function, Derived):
        return _derived(derived.function, _primal(context, derived.function, node), node)
    function, leading = derived.function, None
    if isinstance(function, Abstract):
        call_abstract(context, function, node.arguments, node.span)
        return _Primal(function.signature.result, list(function.signature.parameters), None, "", 0)
    if isinstance(function, Method):
        function, leading = function.function, function.tree
    prepared = prepare(context, function, leading, node.arguments, node.span)
    name, result = context.session.instantiate(prepared.instance, node.span)
    refuse_draws(context, name, node.span)
    data = iter(prepared.arguments)
    parameters = prepared.instance.signature.parameters
    kinds = [next(data).type if parameter.kind == "data" else None for parameter in parameters]
    first = 0 if leading is None else 1
    path = call_path(context, function, leading, node.span)
    return _Primal(restore_names(result, prepared.original), kinds[first:], prepared, path, first)


def _derived(derived: Derived, primal: _Primal, node: tree.Call) -> _Primal:
    """A function under one operator more."""
    check_result(derived.kind, primal.result, node.span)
    gradient = _gradient(derived, primal.arguments)
    result = gradient if derived.kind == "grad" else TupleOf((primal.result, gradient))
    return replace(primal, result=result, operators=(*primal.operators, _operator(derived, primal)))


def _operator(derived: Derived, primal: _Primal) -> Operator:
    """A derivative's operator, whose numbers are those of the function's data parameters."""
    if primal.prepared is None:
        return Operator(derived.kind, derived.wrt, derived.single)
    data = [parameter.kind == "data" for parameter in primal.prepared.instance.signature.parameters]
    wrt = tuple(sum(data[: primal.leading + number]) for number in derived.wrt)
    return Operator(derived.kind, wrt, derived.single)


def _emit(context: Context, derived: Derived, primal: _Primal, cotangent: Handle, span: Span) -> Data | None:
    """The call of the derivative's function; None while nothing is bound."""
    if context.session.symbolic or primal.prepared is None:
        return None
    prepared = primal.prepared
    operators = (*primal.operators, _operator(derived, primal))
    name, result = context.session.derive(operators, prepared.instance, span)
    result = restore_names(result, prepared.original)
    handles = [argument.handle for argument in prepared.arguments]
    handles += [cotangent] if derived.kind == "vjp" else []
    return Data(result, context.emitter.call(name, handles, primal.path, result, span))


def _gradient(derived: Derived, arguments: list[Type | None]) -> Type:
    kinds = [argument_type(number, arguments, derived.place) for number in derived.wrt]
    return kinds[0] if derived.single else TupleOf(tuple(kinds))


def give_cotangent(context: Context, value: Cotangent, node: tree.Call) -> Value:
    """`vjp(f)(arguments)(cotangent)`."""
    if len(node.arguments) != 1 or node.arguments[0].name is not None:
        raise fail("E3002", "a vjp takes one cotangent", node.span)
    given = node.arguments[0].value
    cotangent = coerce(context, context.evaluate(given), value.result, "the cotangent", given.span)
    return value.emit(cotangent.handle) or Data(value.gradient, None)
