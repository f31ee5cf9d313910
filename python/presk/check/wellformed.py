"""What a declaration must hold whatever it is used for: each name given once, defaults that fit their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from presk.check import static
from presk.check.calls import default_of, session_signature
from presk.check.scope import Declaration
from presk.check.session import Session
from presk.check.signature import Parameter, Signature
from presk.check.typing import TypeScope, number
from presk.check.values import FunctionType, FunctionValue, Number, Truth, describe
from presk.shapes import types
from presk.shapes.types import Tensor
from presk.syntax import tree
from presk.text.diagnostics import Diagnostic, Note, fail
from presk.text.spans import Span


def repeated_names(declaration: Declaration) -> Iterator[Diagnostic]:
    """An E2002 for each name that a function or module gives twice."""
    match declaration.node:
        case tree.Function() as function:
            yield from _in_function(function)
        case tree.Module(parameters=parameters, members=members, functions=functions):
            yield from _repeated("module parameter", [(each.name, each.span) for each in parameters])
            inside = [(each.name, each.name_span) for each in (*members, *functions)]
            inside.sort(key=lambda each: each[1].start)
            yield from _repeated("member", inside)
            for function in functions:
                yield from _in_function(function)
        case _:
            return


def _in_function(node: tree.Function) -> Iterator[Diagnostic]:
    yield from _repeated("parameter", [(each.name, each.span) for each in node.parameters])
    yield from _repeated("tree", [(name, node.name_span) for name in node.tree_variables])


def _repeated(what: str, names: Iterable[tuple[str, Span]]) -> Iterator[Diagnostic]:
    first: dict[str, Span] = {}
    for name, span in names:
        if name in first:
            note = Note("it is declared here", first[name])
            yield Diagnostic("E2002", f"the {what} `{name}` is declared twice", span, None, (note,))
        first.setdefault(name, span)


def check_module_defaults(session: Session, declaration: Declaration) -> None:
    """Checks the defaults of a module's parameters. Raises PreskError."""
    node = declaration.node
    assert isinstance(node, tree.Module)
    for parameter in node.parameters:
        if parameter.default is not None:
            value = number(TypeScope(session, declaration.file, {}), parameter.default)
            if parameter.kind == "nat":
                static.as_size(value, parameter.default.span)


def check_defaults(session: Session, function: FunctionValue) -> None:
    """Checks the defaults of a function's parameters. Raises PreskError."""
    signature = session_signature(session, function)
    for parameter in signature.parameters:
        if parameter.default is not None:
            _check_default(session, signature, parameter)


def _check_default(session: Session, signature: Signature, parameter: Parameter) -> None:
    assert parameter.default is not None
    span = parameter.default.span
    if isinstance(parameter.type, FunctionType):
        raise fail("E3002", "a function has no default", span, "pass its name where it is called")
    value = default_of(session, signature, parameter)
    if parameter.type is None:
        if not isinstance(value, Number):
            raise fail("E3001", f"the default of `{parameter.name}` is {describe(value)}, not a nat", span)
        static.as_size(value, span)
        return
    wanted = parameter.type
    assert isinstance(wanted, Tensor), "a parameter with a default is a scalar"
    if (wanted.kind == "bool") != isinstance(value, Truth):
        message = f"the default of `{parameter.name}` is {describe(value)}, not {types.show(wanted)}"
        raise fail("E3001", message, span)
    if wanted.bound is not None and isinstance(value, Number):
        room = (wanted.bound - static.as_size(value, span)).constant
        if room is not None and room < 1:
            raise fail("E3007", f"the default of `{parameter.name}` is not < {wanted.bound}", span)
