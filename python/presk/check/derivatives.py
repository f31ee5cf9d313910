"""`grad`, `value_and_grad`, `vjp`: typed here; what they compute is Core's to derive."""

from __future__ import annotations

from presk.check.calls import call_abstract, prepare, restore_names
from presk.check.context import Context, coerce
from presk.check.values import Abstract, Cotangent, Data, Derived, FunctionValue, Method, Number, Value, describe
from presk.shapes import constants, types
from presk.shapes.types import REAL, RecordOf, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import counted, fail
from presk.text.spans import Span

DERIVATIVES = ("grad", "value_and_grad", "vjp")
"""The names of the operators of language.md 6."""


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
    value = context.evaluate(functions[0])
    if not isinstance(value, (FunctionValue, Method, Abstract)):
        hint = "declare a `fn` that calls it"
        raise fail("E5002", f"`{kind}` takes a declared function, not {describe(value)}", functions[0].span, hint)
    return Derived(kind, value, wrt, single, place)


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
    """`grad(f)(arguments)`. Its Core isn't derived yet: binding refuses it (E5000)."""
    result, arguments = _primal(context, derived, node)
    gradient = _gradient(derived, arguments)
    if derived.kind == "vjp":
        if any(leaf.kind != "real" for _, leaf in types.leaves(result)):
            message = f"the function's result is {types.show(result)}, which has no derivative"
            raise fail("E5001", message, node.span, "only reals are differentiated")
    elif result != REAL and not _is_objective(result):
        message = f"`{derived.kind}` takes a scalar-valued function, but this one gives {types.show(result)}"
        hint = "`vjp(f)(x)(cotangent)` takes any result; an objective gives real or (real, record)"
        raise fail("E5002", message, node.span, hint)
    if not context.session.symbolic:
        raise not_built(node.span)
    if derived.kind == "vjp":
        return Cotangent(result, gradient)
    return Data(gradient if derived.kind == "grad" else TupleOf((result, gradient)), None)


def _primal(context: Context, derived: Derived, node: tree.Call) -> tuple[Type, list[Type | None]]:
    """The type of the function's result, and of each of its arguments: None where one is known at binding."""
    function, leading = derived.function, None
    if isinstance(function, Abstract):
        call_abstract(context, function, node.arguments, node.span)
        return function.signature.result, list(function.signature.parameters)
    if isinstance(function, Method):
        function, leading = function.function, function.tree
    prepared = prepare(context, function, leading, node.arguments, node.span)
    _, result = context.session.instantiate(prepared.instance, node.span)
    data = iter(prepared.arguments)
    parameters = prepared.instance.signature.parameters
    kinds = [next(data).type if parameter.kind == "data" else None for parameter in parameters]
    return restore_names(result, prepared.original), kinds if leading is None else kinds[1:]


def not_built(span: Span) -> Exception:
    """The diagnostic for derivatives, which can be checked but not yet computed."""
    return fail("E5000", "derivatives are not yet built", span, "the program checks; entries without derivatives run")


def _is_objective(result: Type) -> bool:
    """Whether a result is `(real, record)`, the record being carried along."""
    return (
        isinstance(result, TupleOf)
        and len(result.items) == 2
        and result.items[0] == REAL
        and isinstance(result.items[1], RecordOf)
    )


def _gradient(derived: Derived, arguments: list[Type | None]) -> Type:
    kinds: list[Type] = []
    for number in derived.wrt:
        if number >= len(arguments):
            message = f"there is no argument {number} to differentiate with respect to"
            raise fail("E5002", message, derived.place, f"the function takes {counted(len(arguments), 'argument')}")
        each = arguments[number]
        if each is None or any(leaf.kind != "real" for _, leaf in types.leaves(each)):
            shown = "known at binding" if each is None else types.show(each)
            hint = "`wrt` chooses a real argument"
            raise fail("E5001", f"argument {number} is {shown}: it has no derivative", derived.place, hint)
        kinds.append(each)
    return kinds[0] if derived.single else TupleOf(tuple(kinds))


def give_cotangent(context: Context, value: Cotangent, node: tree.Call) -> Value:
    """`vjp(f)(arguments)(cotangent)`."""
    if len(node.arguments) != 1 or node.arguments[0].name is not None:
        raise fail("E3002", "a vjp takes one cotangent", node.span)
    given = node.arguments[0].value
    coerce(context, context.evaluate(given), value.result, "the cotangent", given.span)
    return Data(value.gradient, None)
