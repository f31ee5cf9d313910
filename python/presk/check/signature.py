"""Signatures of functions: their parameters, results and variables.

A signature's sizes are over its own dimension variables, written with the prefix `?`; `solver.py` finds what they are
in a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from presk.check import static
from presk.check.scope import Declaration
from presk.check.typing import (
    DIMENSION,
    TypeScope,
    find,
    module_numbers,
    names_in,
    resolve,
    resolve_function,
)
from presk.check.values import FunctionType, Number
from presk.shapes import types
from presk.shapes.poly import variable
from presk.shapes.types import ModuleOf, Tensor, TreeVariable, Type
from presk.syntax import tree
from presk.text.diagnostics import fail
from presk.text.spans import Span

if TYPE_CHECKING:
    from presk.check.session import Session

RUN = ".."
"""The label of a signature's run."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: data of the run, a nat known at binding (`static`), or a function."""

    name: str
    kind: Literal["data", "static", "function"]
    type: Type | FunctionType | None
    default: tree.Expr | None
    span: Span


@dataclass(frozen=True, eq=False)
class Signature:
    """What a function takes and gives. `dims` are its dimension variables in order, static nats among them.

    `naming` are those that name the axes they stand alone for. `result` is None where it isn't stated.
    """

    declaration: Declaration
    module: ModuleOf | None
    parameters: tuple[Parameter, ...]
    result: Type | None
    dims: tuple[str, ...]
    naming: frozenset[str]
    has_run: bool
    tree_variables: tuple[str, ...]

    @property
    def result_span(self) -> Span:
        """Where the result is stated, or the function's name."""
        node = self.declaration.node
        assert isinstance(node, tree.Function)
        return node.name_span if node.result is None else node.result.span


def signature_of(session: Session, declaration: Declaration, module: ModuleOf | None) -> Signature:
    """The signature of a function, at a module's parameters where it is a module's. Raises PreskError."""
    node = declaration.node
    assert isinstance(node, tree.Function)
    numbers: dict[str, Number] = {}
    if module is not None:
        owner = session.module_declaration(module).node
        assert isinstance(owner, tree.Module)
        numbers.update(module_numbers(owner, module.arguments))
    dims: dict[str, Number] = {}
    statics: dict[str, Number] = {}
    for parameter in node.parameters:
        if _is_static(parameter.type):
            statics[parameter.name] = static.size_number(variable(DIMENSION + parameter.name))
    written = [parameter.type for parameter in node.parameters] + ([node.result] if node.result else [])
    unnamed = frozenset(_module_names(declaration, written)) | statics.keys()
    trees: dict[str, Type] = {name: TreeVariable(name) for name in node.tree_variables}
    scope = TypeScope(session, declaration.file, numbers | statics, trees, dims, True, unnamed)
    parameters: list[Parameter] = []
    if node.takes_self:
        assert module is not None
        parameters.append(Parameter("self", "data", module, None, node.name_span))
    parameters.extend(_parameter(scope, each) for each in node.parameters)
    known = set(dims)
    result = None if node.result is None else resolve(scope, node.result)
    for name in dims:
        if name not in known:
            assert node.result is not None
            raise fail(
                "E3006",
                f"the dimension `{name}` occurs in the result of `{node.name}` only",
                node.result.span,
                "a dimension is bound by the arguments; a size of your choice is a parameter `n: nat`",
            )
    has_run = any(_has_run(parameter.type) for parameter in parameters)
    if result is not None and _has_run(result) and not has_run:
        assert node.result is not None
        raise fail("E3006", f"`..` occurs in the result of `{node.name}` only", node.result.span)
    order = (*(name for name in dims), *statics)
    return Signature(
        declaration, module, tuple(parameters), result, order, frozenset(dims) - unnamed, has_run, node.tree_variables
    )


def _parameter(scope: TypeScope, written: tree.FunctionParameter) -> Parameter:
    if _is_static(written.type):
        return Parameter(written.name, "static", None, written.default, written.span)
    if isinstance(written.type, tree.FunctionType):
        return Parameter(written.name, "function", resolve_function(scope, written.type), written.default, written.span)
    found = resolve(scope, written.type)
    if written.default is not None and not (isinstance(found, Tensor) and not found.axes):
        raise fail("E3002", "only a scalar parameter has a default", written.default.span)
    return Parameter(written.name, "data", found, written.default, written.span)


def _is_static(written: tree.TypeExpr) -> bool:
    return isinstance(written, tree.TensorType) and written.kind == "nat" and not written.axes and written.bound is None


def _has_run(each: Type | FunctionType | None) -> bool:
    if each is None or isinstance(each, FunctionType):
        return False
    return any(tensor.run is not None for _, tensor in types.leaves(each))


def _module_names(declaration: Declaration, written: list[tree.TypeExpr]) -> Iterator[str]:
    """Names that occur in the module types of a signature, abbreviations looked into."""
    pending, seen = list(written), set[str]()
    while pending:
        match pending.pop():
            case tree.NamedType(path=path, arguments=arguments):
                for argument in arguments or ():
                    yield from (name.name for name in names_in(argument.value))
                target = find(declaration.file, path)
                if target is not None and isinstance(target.node, tree.TypeAlias) and target.label not in seen:
                    seen.add(target.label)
                    pending.append(target.node.value)
            case tree.TupleType(items=items):
                pending.extend(items)
            case tree.RecordType(fields=fields):
                pending.extend(each for _, each in fields)
            case tree.StackedType(element=element, count=count):
                yield from (name.name for name in names_in(count))
                pending.append(element)
            case tree.FunctionType(parameters=parameters, result=result):
                pending.extend([*parameters, result])
            case tree.TensorType():
                pass
