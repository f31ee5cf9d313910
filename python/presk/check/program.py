"""A checked program: loading, checking every declaration with nothing bound, and what there is to run.

`load` and `loads` give a `Checked` or raise a PreskError with all diagnostics, at most twenty. `check_source` gives
both, for tools that want to show what there is of a broken program.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from presk.check import callees, expressions, leaves, loops, names, slices, training
from presk.check.bound import BoundConstants
from presk.check.calls import session_signature
from presk.check.checking import CheckSession
from presk.check.initial import check_initializers
from presk.check.scope import DIAGNOSTIC_LIMIT, Declaration, File, Files, open_program, read_source
from presk.check.signature import Signature
from presk.check.typing import TypeScope, resolve
from presk.check.values import SILENT, FunctionType, FunctionValue, show_function
from presk.check.wellformed import check_defaults, check_module_defaults, repeated_names
from presk.shapes import constants, types
from presk.shapes.constants import Constant
from presk.shapes.types import Type
from presk.syntax import tree
from presk.syntax.content import content
from presk.text.diagnostics import Diagnostic, PreskError, did_you_mean
from presk.text.spans import Source

RULE_FILES = (callees, expressions, leaves, loops, names, slices)
"""The files whose import registers the elaborator's rules."""

HARMLESS = frozenset({"E2002", "E2005"})
"""Faults of a file's declarations that leave every name with a meaning: the rest is checked all the same."""

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
    """A program that checks. `overrides` replace constants' values when an entry is bound.

    `own` are the files it was checked with; an entry's name may open further ones of the library later.
    """

    files: Files
    session: CheckSession
    overrides: Mapping[str, Constant]
    trains: Mapping[str, training.TrainBlock] = field(default_factory=dict[str, training.TrainBlock])
    own: tuple[File, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that are no errors, such as a file that hides one of the library."""
        return tuple(self.files.notes)

    @property
    def hash(self) -> str:
        """A hash of what all its files declare and of the overrides; layout and comments don't count."""
        digest = hashlib.sha256(HASHED)
        for file in self.own:
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
        return tuple(_describe(self.session, function) for function in _functions(self.session, [self.files.main]))


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
    """The program of a source and its diagnostics, at most twenty, in the order of the text."""
    with _uncollected():
        return _check_source(source, path, consts)


@contextmanager
def _uncollected() -> Generator[None]:
    """Without the collector of cycles: what checking makes lives until its end, so that it would search in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _check_source(
    source: Source, path: Path | None, consts: Mapping[str, Constant] | None
) -> tuple[Checked, tuple[Diagnostic, ...]]:
    files = open_program(source, path, Path(source.name).stem)
    session = CheckSession(files)
    checked = Checked(files, session, dict(consts or {}))
    diagnostics = list(files.diagnostics)
    if all(each.code in HARMLESS for each in diagnostics):
        diagnostics.extend(_check_overrides(checked))
        imported = list(files.all)
        diagnostics.extend(_check_files(session, imported))
        checked.trains, found = training.check_trains(session, checked.overrides)
        diagnostics.extend(found)
        diagnostics.extend(_check_files(session, [file for file in files.all if file not in imported]))
        diagnostics.extend([*session.found, *session.graph.cycles()])
    checked.own = tuple(files.all)
    return checked, _ordered(files, diagnostics)


def _ordered(files: Files, diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each diagnostic once, by file and place; what only follows from others is left out."""
    places = {id(file.source): at for at, file in enumerate(files.all)}

    def place(each: Diagnostic) -> tuple[int, int]:
        return (-1, 0) if each.span is None else (places.get(id(each.span.source), len(places)), each.span.start)

    told = [each for each in diagnostics if each.code != SILENT] or diagnostics
    distinct = {(each.code, each.message, place(each)): each for each in told}
    return tuple(sorted(distinct.values(), key=place))[:DIAGNOSTIC_LIMIT]


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


def check_opened(checked: Checked, files: list[File]) -> None:
    """Checks files that were read into the program later. Raises PreskError."""
    if not files:
        return
    session, before = checked.session, len(checked.session.found)
    found = [*_check_files(session, files), *session.found[before:], *session.graph.cycles()]
    if found:
        raise PreskError(_ordered(checked.files, found))


def _check_files(session: CheckSession, files: list[File]) -> Iterator[Diagnostic]:
    """What is wrong with these files. The library is held by tests; of it, what is used is looked at where it is."""
    own = [file for file in files if file is session.files.main or not file.is_shipped]
    for file in own:
        for declaration in file.declarations.values():
            if declaration.file is not file:
                continue
            yield from repeated_names(declaration)
            try:
                _check_declaration(session, declaration)
            except PreskError as error:
                yield from error.diagnostics
    for function in _functions(session, own):
        try:
            check_defaults(session, function)
            session.check_function(session.generic(function), function.declaration.node.span)
        except PreskError as error:
            yield from error.diagnostics


def _check_declaration(session: CheckSession, declaration: Declaration) -> None:
    match declaration.node:
        case tree.Const(span=span):
            session.constant(declaration, span)
        case tree.TypeAlias(value=value):
            scope = TypeScope(session, declaration.file, {}, open=True)
            try:
                found = resolve(scope, value)
            except PreskError as error:
                session.alias_faults[declaration] = error
                raise
            if not scope.dims and all(leaf.run is None for _, leaf in types.leaves(found)):
                session.closed_aliases[declaration] = found
        case tree.Module(span=span):
            session.generic_module(declaration, span)
            check_module_defaults(session, declaration)
            check_initializers(session, declaration)
        case _:
            pass


def _functions(session: CheckSession, files: list[File]) -> Iterator[FunctionValue]:
    """Every function that these files declare, as a value at its own variables."""
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
    name = f"{owner}{node.name}{_variables(signature)}"
    shown = ", ".join(_show_parameter(parameter.name, parameter.type) for parameter in signature.parameters)
    result = session.results.get(function.declaration) if signature.result is None else signature.result
    given = "" if result is None else f" -> {types.show(result)}"
    dims = tuple(dim for dim in signature.dims)
    free = (*dims, "..") if signature.has_run else dims
    return EntryInfo(name, f"{name}({shown}){given}", free, node.doc)


def _variables(signature: Signature) -> str:
    return f"[{', '.join(signature.tree_variables)}]" if signature.tree_variables else ""


def _show_parameter(name: str, each: Type | FunctionType | None) -> str:
    match each:
        case None:
            return f"{name}: nat"
        case FunctionType():
            return f"{name}: {show_function(each)}"
        case _:
            return f"{name}: {types.show(each)}"
