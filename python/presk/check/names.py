"""What names, fields and modules at stated parameters are."""

from __future__ import annotations

from presk.check.context import Context, field_of, rule
from presk.check.scope import Declaration
from presk.check.typing import find, module_arguments, module_type
from presk.check.values import (
    SILENT,
    Data,
    FileName,
    FunctionValue,
    Items,
    Method,
    ModuleName,
    PrimitiveName,
    Unknown,
    Value,
    describe,
    type_of,
)
from presk.primitives.all import TABLE
from presk.shapes import types
from presk.shapes.types import ModuleOf
from presk.syntax import tree
from presk.text.diagnostics import did_you_mean, fail


@rule(tree.Name)
def name(context: Context, node: tree.Name) -> Value:
    """What a name means: local, size, declaration, import, primitive, in this order."""
    text = node.name
    if text in context.values:
        value = context.values[text]
        if isinstance(value, Unknown):
            raise fail(SILENT, f"`{text}` does not check", node.span)
        return value
    known = context.size_name(text)
    if known is not None:
        return known
    declaration = context.file.declarations.get(text)
    if declaration is not None:
        match declaration.node:
            case tree.Const():
                return context.session.constant(declaration, node.span)
            case tree.Function():
                return FunctionValue(declaration)
            case tree.Module():
                return ModuleName(declaration, None)
            case _:
                raise fail("E3001", f"`{text}` is no value", node.span)
    if text in context.file.imports:
        return FileName(context.file.imports[text])
    if text in TABLE and not TABLE[text].internal:
        return PrimitiveName(text)
    local = [*context.values, *context.numbers, *context.dims, *context.file.declarations, *context.file.imports]
    hint = did_you_mean(text, local) or did_you_mean(text, TABLE) or _foreign_hint(text)
    raise fail("E2001", f"there is no `{text}` here", node.span, hint)


FOREIGN = {
    "view": "`split[…](x, axis = …)` and `merge[…](x, axes = …)` change a shape",
    "reshape": "`split[…](x, axis = …)` and `merge[…](x, axes = …)` change a shape",
    "einsum": "`ein[out axes](a, b)` contracts by name",
    "permute": "`transpose(x, (a, b))` reorders axes",
    "range": "a counter is written `over i in 0..N`",
    "len": "a size is a name of the signature, such as `T` of `seq: T`",
    "print": "a program has no output but its result; `presk run` and `f.trace` show values",
    "relu6": "`minimum(relu(x), 6)`",
    "clip": "`minimum(maximum(x, a), b)`",
    "clamp": "`minimum(maximum(x, a), b)`",
    "var": "`mean(square(x - mean(x)))`, the mean placed by its axes",
}


def _foreign_hint(text: str) -> str | None:
    return FOREIGN.get(text)


@rule(tree.Field)
def field(context: Context, node: tree.Field) -> Value:
    """A field, a function of a module, or a name of an imported file."""
    base = context.evaluate(node.base)
    match base:
        case FileName(file):
            return _of_file(context, node, find(file, (node.name,)), file.name)
        case ModuleName(declaration, module):
            if module is None:
                module = module_type(
                    context.session,
                    declaration,
                    module_arguments(context.type_scope(), declaration, None, node.span),
                    node.span,
                )
            method = _method(context, module, node.name)
            if method is None:
                raise _no_field(describe(base), node, [f.name for f in _functions(context, module)])
            return method
        case _:
            pass
    found = field_of(context, base, node.name)
    if found is not None:
        return found
    if isinstance(base, Data) and isinstance(base.type, ModuleOf):
        method = _method(context, base.type, node.name)
        if method is not None:
            return Method(method, base) if _takes_self(method) else method
        fields = [name for name, _ in base.type.fields]
        raise _no_field(describe(base), node, [*fields, *(f.name for f in _functions(context, base.type))])
    each = type_of(base)
    raise _no_field(describe(base), node, [name for name, _ in (types.fields_of(each) if each else None) or ()])


def _of_file(context: Context, node: tree.Field, declaration: object, file: str) -> Value:
    if isinstance(declaration, Declaration):
        match declaration.node:
            case tree.Const():
                return context.session.constant(declaration, node.span)
            case tree.Function():
                return FunctionValue(declaration)
            case tree.Module():
                return ModuleName(declaration, None)
            case _:
                pass
    raise fail("E2001", f"{file}.psk declares no value `{node.name}`", node.name_span)


def _functions(context: Context, module: ModuleOf) -> tuple[tree.Function, ...]:
    node = context.session.module_declaration(module).node
    assert isinstance(node, tree.Module)
    return node.functions


def _method(context: Context, module: ModuleOf, name: str) -> FunctionValue | None:
    return method_of(context.session.module_declaration(module), module, name)


def method_of(owner: object, module: ModuleOf, name: str) -> FunctionValue | None:
    """The function of a module by its name, or None."""
    assert isinstance(owner, Declaration) and isinstance(owner.node, tree.Module)
    for function in owner.node.functions:
        if function.name == name:
            return FunctionValue(Declaration(function, owner.file, f"{owner.label}.{name}"), module)
    return None


def _takes_self(function: FunctionValue) -> bool:
    node = function.declaration.node
    return isinstance(node, tree.Function) and node.takes_self


def _no_field(what: str, node: tree.Field, known: list[str]) -> Exception:
    hint = did_you_mean(node.name, known) or (f"it has {', '.join(known)}" if known else None)
    return fail("E2001", f"{what} has no `{node.name}`", node.name_span, hint)


@rule(tree.TupleIndex)
def tuple_index(context: Context, node: tree.TupleIndex) -> Value:
    """An item of a tuple."""
    base = context.evaluate(node.base)
    each = type_of(base)
    is_tuple = isinstance(base, Items) or isinstance(each, types.TupleOf)
    if isinstance(each, types.Stacked) and isinstance(each.element, types.TupleOf):
        is_tuple = True
    found = field_of(context, base, str(node.index)) if is_tuple else None
    if found is None:
        raise fail("E3001", f"{describe(base)} has no item {node.index}", node.span)
    return found


@rule(tree.Instance)
def instance(context: Context, node: tree.Instance) -> Value:
    """A module at stated parameters."""
    base = context.evaluate(node.base)
    if not isinstance(base, ModuleName):
        raise fail("E3001", f"{describe(base)} takes no module parameters", node.span)
    arguments = module_arguments(context.type_scope(), base.declaration, node.arguments, node.span)
    return ModuleName(base.declaration, module_type(context.session, base.declaration, arguments, node.span))
