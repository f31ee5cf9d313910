"""A checked program: loading, checking every declaration with nothing bound, and what there is to run.

`load` and `loads` give a `Checked` or raise a PreskError with all diagnostics, at most twenty. `check_source` gives
both, for tools that want to show what there is of a broken program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from presk.check import callees, expressions, loops, slices, static, training
from presk.check.calls import elaborate, generic_instance, session_signature
from presk.check.emit import Silent
from presk.check.initial import check_initializers
from presk.check.scope import DIAGNOSTIC_LIMIT, Declaration, Files, open_program, read_source
from presk.check.session import Instance, Session
from presk.check.signature import RUN, Signature
from presk.check.typing import DIMENSION, TypeScope, module_type, number, resolve
from presk.check.values import FunctionType, FunctionValue, Number
from presk.shapes import constants, types
from presk.shapes.constants import Constant
from presk.shapes.poly import Poly, variable
from presk.shapes.types import ModuleOf, Type
from presk.syntax import tree
from presk.syntax.content import content
from presk.text.diagnostics import Diagnostic, PreskError, did_you_mean, fail
from presk.text.spans import Source, Span

RULE_FILES = (callees, expressions, loops, slices)
"""The files whose import registers the elaborator's rules."""

HASHED = b"presk-program-1\0"
"""What a program's hash begins with."""


@dataclass(frozen=True)
class EntryInfo:
    """An entry as `presk check` lists it: its name, signature, free dimensions and doc."""

    name: str
    signature: str
    free_dimensions: tuple[str, ...]
    doc: str


@dataclass
class Checked:
    """A program that checks. `overrides` replace constants' values when an entry is bound."""

    files: Files
    session: CheckSession
    overrides: Mapping[str, Constant]
    trains: Mapping[str, training.TrainBlock] = field(default_factory=dict[str, training.TrainBlock])

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that are no errors, such as a file that hides one of the library."""
        return tuple(self.files.notes)

    @property
    def hash(self) -> str:
        """A hash of what all files declare and of the overrides; layout and comments don't count."""
        digest = hashlib.sha256(HASHED)
        for file in self.files.all:
            digest.update(content(file.content))
        for name in sorted(self.overrides):
            digest.update(f"{name}={constants.show(self.overrides[name])}\0".encode())
        return f"sha256:{digest.hexdigest()}"

    @property
    def consts(self) -> dict[str, Constant]:
        """The constants of the main file with the values an entry is bound at."""
        session = BoundConstants(self.files, self.overrides)
        found: dict[str, Constant] = {}
        for name, declaration in self.files.main.declarations.items():
            if isinstance(declaration.node, tree.Const):
                found[name] = session.constant(declaration, declaration.node.span).value
        return found

    @property
    def modules(self) -> dict[str, tree.Module]:
        """The modules the main file declares or imports by name."""
        return {
            name: declaration.node
            for name, declaration in self.files.main.declarations.items()
            if isinstance(declaration.node, tree.Module)
        }

    def entries(self) -> tuple[EntryInfo, ...]:
        """What can be run: the functions and the modules' functions of the main file, in order."""
        return tuple(_describe(self.session, function) for function in _functions(self.session, own=True))


class ConstantSession(Session):
    """A session that knows what constants are; the base of the two that elaborate."""

    def instantiate(self, instance: Instance, span: Span) -> tuple[str, Type]:
        raise NotImplementedError


class BoundConstants(ConstantSession):
    """Constants with their values, overrides before what is declared."""

    symbolic = False
    training = False

    def __init__(self, files: Files, overrides: Mapping[str, Constant]) -> None:
        super().__init__(files)
        self.overrides = overrides

    def constant(self, declaration: Declaration, span: Span) -> Number:
        if declaration not in self.constants:
            self.constants[declaration] = self._value(declaration, span)
        return self.constants[declaration]

    def _value(self, declaration: Declaration, span: Span) -> Number:
        node = declaration.node
        assert isinstance(node, tree.Const)
        if declaration in self.open_constants:
            raise fail("E2006", f"the constant `{node.name}` depends on itself", span)
        self.open_constants.append(declaration)
        try:
            declared = number(TypeScope(self, declaration.file, {}), node.value)
        finally:
            self.open_constants.pop()
        given = self.overrides.get(node.name) if declaration.file is self.files.main else None
        if given is None:
            return declared
        whole = isinstance(given, constants.Rational) and given.value.denominator == 1
        if declared.nat and not whole:
            raise fail("E4003", f"the constant `{node.name}` is a nat, not {constants.show(given)}", node.span)
        return Number(given, declared.nat)


class CheckSession(ConstantSession):
    """Checks functions with nothing bound: constants, module parameters and dimensions are variables."""

    symbolic = True
    training = True

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.values = BoundConstants(files, {})
        self.results: dict[tuple[Declaration, ModuleOf | None], Type] = {}
        self.open_functions: list[Declaration] = []
        self.failed: set[Declaration] = set()
        self.reserved = frozenset(
            declaration.label
            for file in files.all
            for declaration in file.declarations.values()
            if isinstance(declaration.node, tree.Const)
        )

    def constant(self, declaration: Declaration, span: Span) -> Number:
        """A nat constant is a variable, so that a program checks for every value; a real one its value."""
        if declaration not in self.constants:
            value = self.values.constant(declaration, span)
            node = declaration.node
            assert isinstance(node, tree.Const)
            if value.nat and isinstance(node.value, tree.NatLiteral):
                value = static.size_number(variable(declaration.label))
            elif not isinstance(node.value, (tree.NatLiteral, tree.RealLiteral)):
                value = number(TypeScope(self, declaration.file, {}), node.value)
            self.constants[declaration] = value
        return self.constants[declaration]

    def instantiate(self, instance: Instance, span: Span) -> tuple[str, Type]:
        """The stated result; where none is stated, the one found by checking the function once."""
        name = instance.function.declaration.label
        self.forbid_recursion(instance.function, span)
        if instance.result is not None:
            return name, instance.result
        generic = self.generic(instance.function)
        result = self.check_function(generic, span)
        sizes = _generic_sizes(generic, instance)
        runs = {RUN: instance.run or ()}
        result = types.substitute(result, sizes, runs, dict(instance.trees))
        return name, result

    def forbid_recursion(self, function: FunctionValue, span: Span) -> None:
        """Raises E2006 where a function is called while it is being checked; deep chains are followed by checking."""
        declaration = function.declaration
        node = declaration.node
        assert isinstance(node, tree.Function)
        if declaration in self.open_functions:
            cycle = [*self.open_functions[self.open_functions.index(declaration) :], declaration]
            chain = " calls ".join(f"`{each.name}`" for each in cycle)
            raise fail("E2006", f"recursion: {chain}", span, "loops are `fold` and `scan`")
        if node.result is not None and declaration not in self.failed:
            self.check_function(self.generic(function), span)

    def generic(self, function: FunctionValue) -> Instance:
        """The function at its own variables."""
        module = function.module
        if module is not None:
            module = self.generic_module(self.module_declaration(module), function.declaration.node.span)
        return generic_instance(self, FunctionValue(function.declaration, module), self.reserved)

    def generic_module(self, declaration: Declaration, span: Span) -> ModuleOf:
        """A module at its own parameters as variables."""
        node = declaration.node
        assert isinstance(node, tree.Module)
        arguments: list[Constant] = []
        for parameter in node.parameters:
            name = f"{parameter.name}'" if parameter.name in self.reserved else parameter.name
            arguments.append(constants.Symbolic(variable(name)))
        return module_type(self, declaration, tuple(arguments), span)

    def check_function(self, generic: Instance, span: Span) -> Type:
        """Checks a function once; its result's type. Raises PreskError the first time, E2009 where it failed before."""
        declaration = generic.function.declaration
        key = (declaration, generic.function.module)
        if key in self.results:
            return self.results[key]
        if declaration in self.failed:
            raise fail("E2009", f"`{declaration.name}` does not check", span)
        self.open_functions.append(declaration)
        try:
            self.results[key] = elaborate(self, generic, Silent(), (None,) * len(generic.parameters)).type
        except PreskError:
            self.failed.add(declaration)
            raise
        finally:
            self.open_functions.pop()
        return self.results[key]


def load(path: str | Path, consts: Mapping[str, Constant] | None = None) -> Checked:
    """The program of a file, checked. Raises PreskError with all diagnostics."""
    where = Path(path)
    return _raise_or_give(*check_source(read_source(where), where, consts))


def loads(text: str, name: str = "<string>", consts: Mapping[str, Constant] | None = None) -> Checked:
    """The program of a text, checked. Imports are found beside the current folder and in the library."""
    return _raise_or_give(*check_source(Source(name, text), None, consts))


def _raise_or_give(checked: Checked, diagnostics: tuple[Diagnostic, ...]) -> Checked:
    if diagnostics:
        raise PreskError(diagnostics)
    return checked


def check_source(
    source: Source, path: Path | None = None, consts: Mapping[str, Constant] | None = None
) -> tuple[Checked, tuple[Diagnostic, ...]]:
    """The program of a source and its diagnostics, at most twenty."""
    files = open_program(source, path, Path(source.name).stem)
    session = CheckSession(files)
    checked = Checked(files, session, dict(consts or {}))
    diagnostics = list(files.diagnostics)
    if not diagnostics:
        diagnostics.extend(_check_overrides(checked))
        diagnostics.extend(_check_all(session))
        checked.trains, found = training.check_trains(session)
        diagnostics.extend(found)
    return checked, tuple(_distinct(diagnostics))[:DIAGNOSTIC_LIMIT]


def _distinct(diagnostics: list[Diagnostic]) -> Iterator[Diagnostic]:
    seen: set[tuple[str, str, str]] = set()
    for each in diagnostics:
        key = (each.code, each.message, each.span.place if each.span else "")
        if key not in seen and each.code != "E2009":
            seen.add(key)
            yield each


def _check_overrides(checked: Checked) -> Iterator[Diagnostic]:
    known = [name for name, each in checked.files.main.declarations.items() if isinstance(each.node, tree.Const)]
    for name in checked.overrides:
        if name not in known:
            hint = did_you_mean(name, known) or (f"it has {', '.join(known)}" if known else "it has none")
            yield Diagnostic("E4007", f"the program declares no constant `{name}`", None, hint)
    try:
        _ = checked.consts
    except PreskError as error:
        yield from error.diagnostics


def _check_all(session: CheckSession) -> Iterator[Diagnostic]:
    for file in session.files.all:
        for declaration in file.declarations.values():
            if declaration.file is not file:
                continue
            try:
                _check_declaration(session, declaration)
            except PreskError as error:
                yield from error.diagnostics
    for function in _functions(session, own=False):
        try:
            session.check_function(session.generic(function), function.declaration.node.span)
        except PreskError as error:
            yield from error.diagnostics


def _check_declaration(session: CheckSession, declaration: Declaration) -> None:
    match declaration.node:
        case tree.Const(span=span):
            session.constant(declaration, span)
        case tree.TypeAlias(value=value):
            dims: dict[str, Number] = {}
            resolve(TypeScope(session, declaration.file, {}, {}, dims, open=True), value)
        case tree.Module(span=span):
            session.generic_module(declaration, span)
            check_initializers(session, declaration)
        case _:
            pass


def _functions(session: CheckSession, own: bool) -> Iterator[FunctionValue]:
    """Every function of the program (`own`: of the main file alone), as values at their own variables."""
    files = [session.files.main] if own else session.files.all
    for file in files:
        for declaration in file.declarations.values():
            if declaration.file is not file:
                continue
            if isinstance(declaration.node, tree.Function):
                yield FunctionValue(declaration)
            elif isinstance(declaration.node, tree.Module):
                try:
                    module = session.generic_module(declaration, declaration.node.span)
                except PreskError:
                    continue
                for function in declaration.node.functions:
                    label = f"{declaration.label}.{function.name}"
                    yield FunctionValue(Declaration(function, declaration.file, label), module)


def _describe(session: CheckSession, function: FunctionValue) -> EntryInfo:
    signature = session_signature(session, function)
    node = function.declaration.node
    assert isinstance(node, tree.Function)
    owner = "" if function.module is None else f"{function.module.label}."
    name = _plain(f"{owner}{node.name}{_variables(signature)}")
    shown = ", ".join(_show_parameter(parameter.name, parameter.type) for parameter in signature.parameters)
    result = (
        session.results.get((function.declaration, function.module)) if signature.result is None else signature.result
    )
    given = "" if result is None else f" -> {_plain(types.show(result))}"
    dims = tuple(dim for dim in signature.dims)
    free = (*dims, "..") if signature.has_run else dims
    return EntryInfo(name, f"{name}({shown}){given}", free, node.doc)


def _variables(signature: Signature) -> str:
    return f"[{', '.join(signature.tree_variables)}]" if signature.tree_variables else ""


def _show_parameter(name: str, each: Type | FunctionType | None) -> str:
    match each:
        case None:
            return f"{name}: nat"
        case FunctionType(parameters, result):
            inside = ", ".join(types.show(parameter) for parameter in parameters)
            return _plain(f"{name}: fn({inside}) -> {types.show(result)}")
        case _:
            return _plain(f"{name}: {types.show(each)}")


def _plain(text: str) -> str:
    return text.replace(DIMENSION, "").replace("'", "")


def _generic_sizes(generic: Instance, instance: Instance) -> dict[str, Poly]:
    """What a function's own variables are at an instance."""
    sizes: dict[str, Poly] = {}
    actual = dict(instance.sizes)
    for name, own in generic.sizes:
        key = own.sole_variable
        assert key is not None
        sizes[key] = actual[name]
    if generic.function.module is not None and instance.function.module is not None:
        for own, value in zip(generic.function.module.arguments, instance.function.module.arguments, strict=True):
            size, given = constants.as_size(own), constants.as_size(value)
            if size is not None and size.sole_variable is not None and given is not None:
                sizes[size.sole_variable] = given
    return sizes
