"""The session that checks functions with nothing bound: constants, module parameters and dimensions are variables."""

from __future__ import annotations

from presk.check import static
from presk.check.bound import BoundConstants
from presk.check.calls import elaborate, generic_instance
from presk.check.emit import Silent
from presk.check.recursion import CallGraph
from presk.check.scope import Declaration, Files
from presk.check.session import Instance, Session
from presk.check.signature import RUN
from presk.check.typing import TypeScope, module_type, number
from presk.check.values import SILENT, FunctionValue, Number
from presk.shapes import constants, types
from presk.shapes.constants import Constant
from presk.shapes.poly import Poly, variable
from presk.shapes.types import ModuleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import Diagnostic, PreskError, fail
from presk.text.spans import Span


class CheckSession(Session):
    """Checks each function once, at its own variables. What is wrong with one is kept in `found`.

    A function whose result is stated is not looked into where it is called, so that its faults are its own.
    """

    symbolic = True
    training = True

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.values = BoundConstants(files, {}, self.nesting)
        self.graph = CallGraph()
        self.found: list[Diagnostic] = []
        self.results: dict[Declaration, Type] = {}
        self.failed: set[Declaration] = set()
        self.open_functions: list[Declaration] = []
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
        """The stated result; where none is stated, the one found by checking the function, at this instance."""
        function = instance.function
        declaration = function.declaration
        if self.open_functions:
            self.graph.note(self.open_functions[-1], declaration, span)
        if instance.result is not None:
            return declaration.label, instance.result
        if declaration in self.open_functions:
            raise fail(SILENT, f"`{declaration.name}` calls itself", span)  # the graph of calls tells of it
        generic = self.generic(function)
        result = self.check_function(generic, span)
        sizes = _generic_sizes(generic, instance)
        runs = {RUN: instance.run or ()}
        return declaration.label, types.substitute(result, sizes, runs, dict(instance.trees))

    def ensure_checked(self, function: FunctionValue, owner: Declaration | None) -> None:
        """Checks a function that nothing has looked into yet; `owner` is the module whose function it is.

        Its calls are noted by that.
        """
        declaration = function.declaration
        if declaration in self.results:
            return
        span = declaration.node.span
        module = None if owner is None else self.generic_module(owner, span)
        self.check_function(generic_instance(self, FunctionValue(declaration, module), self.reserved), span)

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
        """Checks a function the first time; its result's type. Raises SILENT where it does not check."""
        declaration = generic.function.declaration
        if declaration not in self.results and declaration not in self.failed:
            self.open_functions.append(declaration)
            try:
                self.results[declaration] = elaborate(self, generic, Silent(), (None,) * len(generic.parameters)).type
            except PreskError as error:
                self.failed.add(declaration)
                self.found.extend(error.diagnostics)
            finally:
                self.open_functions.pop()
        if declaration in self.failed:
            raise fail(SILENT, f"`{declaration.name}` does not check", span)
        return self.results[declaration]


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
