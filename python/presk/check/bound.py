"""Constants with their values: the session that binding and the command line's overrides start from."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from presk.check.nesting import Nesting
from presk.check.scope import Declaration, File, Files
from presk.check.session import Instance, Session
from presk.check.typing import TypeScope, number
from presk.check.values import Number
from presk.shapes import constants
from presk.shapes.constants import Constant
from presk.shapes.types import Type
from presk.syntax import tree
from presk.text.diagnostics import InternalError, PreskError, fail
from presk.text.spans import Span


class BoundConstants(Session):
    """Constants with their values, overrides before what is declared. It elaborates no functions."""

    symbolic = False
    training = False

    def __init__(self, files: Files, overrides: Mapping[str, Constant], nesting: Nesting | None = None) -> None:
        super().__init__(files, nesting)
        self.overrides = overrides
        self.defaults = BoundConstants(files, {}, self.nesting) if overrides else self
        self.begun: set[File] = set()
        self.constant_faults: dict[Declaration, PreskError] = {}

    def constant(self, declaration: Declaration, span: Span) -> Number:
        """The value of a constant. Raises PreskError at the constant's own place."""
        if declaration.file not in self.begun:
            self._begin(declaration.file)
        if declaration in self.constant_faults:
            raise self.constant_faults[declaration]
        if declaration not in self.constants:
            self.constants[declaration] = self._value(declaration)
        return self.constants[declaration]

    def _begin(self, file: File) -> None:
        """Takes a file's constants in the order of the text, so that a long chain of them is no deep one.

        What is wrong with one is told to whoever asks for it.
        """
        self.begun.add(file)
        for declaration in file.declarations.values():
            if isinstance(declaration.node, tree.Const):
                with suppress(PreskError):
                    self.constant(declaration, declaration.node.span)

    def instantiate(self, instance: Instance, span: Span) -> tuple[str, Type]:
        """Not of this session: see CheckSession and BindSession."""
        raise InternalError("constants call no functions")

    def _value(self, declaration: Declaration) -> Number:
        node = declaration.node
        assert isinstance(node, tree.Const)
        named = self.files.main.declarations.get(node.name)
        given = self.overrides.get(node.name) if named == declaration else None
        if given is None:
            return self._declared(declaration, node)
        declared = self.defaults.constant(declaration, node.span)
        whole = isinstance(given, constants.Rational) and given.value.denominator == 1
        if declared.nat and not whole:
            raise fail("E4003", f"the constant `{node.name}` is a nat, not {constants.show(given)}", node.span)
        return Number(given, declared.nat)

    def _declared(self, declaration: Declaration, node: tree.Const) -> Number:
        self.refuse_cycle(self.open_constants, declaration, "constant", "depends on")
        self.open_constants.append(declaration)
        try:
            return number(TypeScope(self, declaration.file, {}), node.value)
        except PreskError as error:
            self.constant_faults[declaration] = error
            raise
        finally:
            self.open_constants.pop()
