"""What stands before the parentheses: a function, a module's tree, a primitive, a derivative."""

from __future__ import annotations

from presk.check.calls import call_abstract, call_function
from presk.check.context import Context, located, rule, with_reals
from presk.check.derivatives import call_derived, derive, give_cotangent
from presk.check.invoke import call_primitive
from presk.check.names import method_of
from presk.check.operators import DERIVATIVES
from presk.check.typing import TypeScope, resolve
from presk.check.values import (
    Abstract,
    Cotangent,
    Data,
    Derived,
    FunctionValue,
    Method,
    ModuleName,
    PrimitiveName,
    Value,
    describe,
)
from presk.primitives.all import TABLE
from presk.shapes.types import ModuleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import fail


@rule(tree.Call)
def call(context: Context, node: tree.Call) -> Value:
    """A call, by what stands before the parentheses."""
    callee = node.callee
    if isinstance(callee, tree.Name) and callee.name in DERIVATIVES and _is_free(context, callee.name):
        return derive(context, callee.name, node)
    if isinstance(callee, tree.Axes):
        return _call_with_brackets(context, callee, node)
    value = context.evaluate(callee)
    match value:
        case PrimitiveName(name):
            return call_primitive(context, name, None, node)
        case FunctionValue():
            result = call_function(context, value, None, node.arguments, node.span)
            return result if value.stated is None else with_reals(context, result, value.stated, node.span)
        case Method(function, leading):
            return call_function(context, function, leading, node.arguments, node.span)
        case Abstract():
            return call_abstract(context, value, node.arguments, node.span)
        case Derived():
            return call_derived(context, value, node)
        case Cotangent():
            return give_cotangent(context, value, node)
        case Data(type=ModuleOf() as module):
            return _apply_module(context, value, module, node)
        case ModuleName(declaration):
            raise fail(
                "E3001",
                f"`{declaration.name}` is a module; its tree is a parameter, not made by a call",
                callee.span,
                f"take it as a parameter: `m: {declaration.name}{{…}}`",
            )
        case _:
            raise fail("E3001", f"{describe(value)} can't be called", callee.span)


def _is_free(context: Context, name: str) -> bool:
    return name not in context.values and name not in context.file.declarations


def _apply_module(context: Context, value: Data, module: ModuleOf, node: tree.Call) -> Value:
    owner = context.session.module_declaration(module)
    function = method_of(owner, module, "apply")
    if function is None:
        assert isinstance(owner.node, tree.Module)
        known = ", ".join(each.name for each in owner.node.functions) or "none"
        raise fail("E2001", f"`{owner.name}` has no function `apply`", node.callee.span, f"its functions: {known}")
    return call_function(context, function, value, node.arguments, node.span)


def _call_with_brackets(context: Context, callee: tree.Axes, node: tree.Call) -> Value:
    base = context.evaluate(callee.base)
    match base:
        case PrimitiveName(name):
            return call_primitive(context, name, callee.axes, node)
        case FunctionValue(declaration, module):
            trees = tuple(_tree(context, entry) for entry in callee.axes)
            return call_function(context, FunctionValue(declaration, module, trees), None, node.arguments, node.span)
        case _:
            raise fail("E3001", f"{describe(base)} takes no brackets before a call", callee.span)


def _tree(context: Context, entry: tree.AxisEntry) -> Type:
    """The type a tree variable is given in brackets: `adamw.step[MiniGPT](…)`."""
    if isinstance(entry, tree.AxisItem) and entry.label is None:
        path = _path(entry.size)
        if path is not None:
            arguments = entry.size.arguments if isinstance(entry.size, tree.Instance) else None
            scope = TypeScope(context.session, context.file, context.numbers, context.trees, context.dims)
            return resolve(scope, tree.NamedType(entry.span, path, arguments))
    raise fail("E3001", "a tree's type is needed here", entry.span, "such as `adamw.step[MiniGPT](…)`")


def _path(written: tree.Expr) -> tuple[str, ...] | None:
    match written:
        case tree.Name(name=name):
            return (name,)
        case tree.Field(base=base, name=name):
            inner = _path(base)
            return None if inner is None else (*inner, name)
        case tree.Instance(base=base):
            return _path(base)
        case _:
            return None


@rule(tree.Axes)
def axes(context: Context, node: tree.Axes) -> Value:
    """New axes without a call, as in `zeros[n]` and `positions[seq: T]`."""
    base = context.evaluate(node.base)
    if not isinstance(base, PrimitiveName):
        hint = "an index names its axis: `x[seq = i]`" if isinstance(base, Data) else None
        raise fail("E3001", f"{describe(base)} takes no axes in brackets", node.span, hint)
    row = TABLE[base.name]
    if row.draws or any(not operand.optional and operand.default is None for operand in row.operands):
        raise fail("E3002", f"`{base.name}[…]` must be called", node.span, f"`{base.name}[…](…)`")
    with located(node.span):
        return call_primitive(context, base.name, node.axes, node)
