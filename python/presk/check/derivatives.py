"""`grad`, `value_and_grad`, `vjp`: typed here; what they compute is Core's to derive."""

from __future__ import annotations

from presk.check.calls import Prepared, prepare, restore_names
from presk.check.context import Context, coerce
from presk.check.values import Cotangent, Data, Derived, FunctionValue, Method, Number, Value, describe
from presk.shapes import constants, types
from presk.shapes.types import REAL, RecordOf, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import fail
from presk.text.spans import Span

DERIVATIVES = ("grad", "value_and_grad", "vjp")
"""The names of the operators of language.md 6."""


def derive(context: Context, kind: str, node: tree.Call) -> Value:
    """`grad(f, wrt = …)`: a function made of one."""
    wrt: tuple[int, ...] = (0,)
    single = True
    functions: list[tree.Expr] = []
    for argument in node.arguments:
        if argument.name is None and not functions:
            functions.append(argument.value)
        elif argument.name == "wrt":
            wrt, single = _wrt(context, argument.value)
        else:
            raise fail("E3002", f"`{kind}` takes a function and `wrt`", argument.span, f"`{kind}(f, wrt = (0, 2))(…)`")
    if not functions:
        raise fail("E3002", f"`{kind}` takes a function", node.span, f"`{kind}(f)(arguments)`")
    value = context.evaluate(functions[0])
    if not isinstance(value, (FunctionValue, Method)):
        hint = "wrap it in a `fn`"
        raise fail("E5002", f"`{kind}` takes a declared function, not {describe(value)}", functions[0].span, hint)
    return Derived(kind, value, wrt, single)


def _wrt(context: Context, written: tree.Expr) -> tuple[tuple[int, ...], bool]:
    items = written.items if isinstance(written, tree.Tuple) else (written,)
    places: list[int] = []
    for item in items:
        value = context.evaluate(item)
        whole = value.value if isinstance(value, Number) and value.nat else None
        if not isinstance(whole, constants.Rational):
            raise fail("E5002", "`wrt` is the number of an argument, from 0, or a tuple of such", item.span)
        places.append(int(whole.value))
    if len(set(places)) != len(places) or not places:
        raise fail("E5002", "`wrt` names each argument once", written.span)
    return tuple(places), not isinstance(written, tree.Tuple)


def call_derived(context: Context, derived: Derived, node: tree.Call) -> Value:
    """`grad(f)(arguments)`. Its Core isn't derived yet: binding refuses it (E5000)."""
    function, leading = derived.function, None
    if isinstance(function, Method):
        function, leading = function.function, function.tree
    prepared = prepare(context, function, leading, node.arguments, node.span)
    gradient = _gradient(derived, prepared, node.span)
    _, result = context.session.instantiate(prepared.instance, node.span)
    result = restore_names(result, prepared.original)
    if derived.kind == "vjp":
        if not context.session.symbolic:
            raise not_built(node.span)
        return Cotangent(result, gradient)
    if result != REAL and not _is_objective(result):
        message = f"`{derived.kind}` takes a scalar-valued function, but this one gives {types.show(result)}"
        raise fail(
            "E5002",
            message,
            node.span,
            "`vjp(f)(x)(cotangent)` takes any result; an objective gives real or (real, record)",
        )
    if not context.session.symbolic:
        raise not_built(node.span)
    return Data(gradient if derived.kind == "grad" else TupleOf((result, gradient)), None)


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


def _gradient(derived: Derived, prepared: Prepared, span: Span) -> Type:
    kinds: list[Type] = []
    for place in derived.wrt:
        if place >= len(prepared.arguments):
            message = f"there is no argument {place} to differentiate with respect to"
            raise fail("E5002", message, span, f"the function takes {len(prepared.arguments)}")
        each = prepared.arguments[place].type
        if any(leaf.kind != "real" for _, leaf in types.leaves(each)):
            message = f"argument {place} is {types.show(each)}, which has no derivative"
            raise fail("E5001", message, span, "`wrt` chooses a real argument")
        kinds.append(each)
    return kinds[0] if derived.single else TupleOf(tuple(kinds))


def give_cotangent(context: Context, value: Cotangent, node: tree.Call) -> Value:
    """`vjp(f)(arguments)(cotangent)`."""
    if len(node.arguments) != 1 or node.arguments[0].name is not None:
        raise fail("E3002", "a vjp takes one cotangent", node.span)
    given = node.arguments[0].value
    coerce(context, context.evaluate(given), value.result, "the cotangent", given.span)
    return Data(value.gradient, None)
