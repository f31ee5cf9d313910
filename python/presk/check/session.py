"""What checking and binding have in common: the program's declarations and what a call or a constant means there.

A `Session` is one run of the elaborator over a program. `check.program` has the one that checks every function with
nothing bound; `core.bind` the one that makes Core of an entry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from presk.check.nesting import Nesting
from presk.check.operators import Operator
from presk.check.paths import CallPaths
from presk.check.scope import Declaration, Files
from presk.check.signature import Signature
from presk.check.values import Abstract, FunctionValue, Number
from presk.shapes.poly import Poly
from presk.shapes.types import ModuleOf, Shape, Type
from presk.syntax import tree
from presk.text.diagnostics import InternalError, PreskError, fail
from presk.text.spans import Span


@dataclass(frozen=True)
class Instance:
    """A function with everything its types depend on: what one binding of it is known by.

    `sizes` are its dimension variables and static nats by name, `run` the axes `..` stands for (hidden names given),
    `functions` what its function-typed parameters are.
    """

    function: FunctionValue
    signature: Signature
    sizes: tuple[tuple[str, Poly], ...]
    run: Shape | None
    trees: tuple[tuple[str, Type], ...]
    functions: tuple[tuple[str, FunctionValue | Abstract], ...]
    parameters: tuple[tuple[str, Type], ...] = field(compare=False)
    result: Type | None = field(compare=False)


class Session(ABC):
    """One run of the elaborator. `symbolic`: nothing is bound. `training`: dropout draws.

    `reals` says what has reals in it, of choices and of starts of loops: checking, which sees both ways, notes it and
    binding looks it up. `leaves` are the bodies of maps that were written for one leaf alone; `drawing` is where
    the function that is looked into draws.
    """

    symbolic: bool
    training: bool

    def __init__(self, files: Files, nesting: Nesting | None = None) -> None:
        self.files = files
        self.nesting = nesting or Nesting()
        self.paths = CallPaths()
        self.modules: dict[tuple[Declaration, tuple[object, ...]], ModuleOf] = {}
        self.module_faults: dict[tuple[Declaration, tuple[object, ...]], PreskError] = {}
        self.declarations: dict[str, Declaration] = {}
        self.open_modules: list[Declaration] = []
        self.open_aliases: list[Declaration] = []
        self.closed_aliases: dict[Declaration, Type] = {}
        self.alias_faults: dict[Declaration, PreskError] = {}
        self.open_constants: list[Declaration] = []
        self.constants: dict[Declaration, Number] = {}
        self.reals: dict[tuple[tree.Function, int, int], Type] = {}
        self.leaves = 0
        self.drawing: Span | None = None
        self.signatures: dict[tuple[Declaration, ModuleOf | None], Signature] = {}

    def refuse_cycle(self, chain: list[Declaration], declaration: Declaration, what: str, verb: str) -> None:
        """Raises E2006 where a declaration is being resolved already.

        The diagnostic is the same one wherever the cycle was entered: it starts at the member declared first.
        """
        if declaration not in chain:
            return
        cycle = chain[chain.index(declaration) :]
        first = min(cycle, key=lambda each: (each.file.source.name, each.node.span.start))
        at = cycle.index(first)
        message = f"the {what} `{first.name}` {verb} itself"
        if len(cycle) > 1:
            shown = [f"`{each.name}`" for each in [*cycle[at:], *cycle[:at], first]]
            message += f": {f' {verb} '.join(shown)}"
        raise fail("E2006", message, first.node.name_span)

    @abstractmethod
    def constant(self, declaration: Declaration, span: Span) -> Number:
        """The value of a constant."""

    @abstractmethod
    def instantiate(self, instance: Instance, span: Span) -> tuple[str, Type]:
        """The name and the result's type of a function at an instance."""

    def derive(self, operators: Sequence[Operator], instance: Instance, span: Span) -> tuple[str, Type]:
        """The name and result of the function that a derivative of a bound instance is; of `core.bind`'s session alone.

        The innermost operator comes first; what they choose are numbers of its data parameters.
        """
        raise InternalError("what isn't bound isn't derived")

    def note_draw(self, span: Span) -> None:
        """The function that is looked into draws there, or calls one that does."""
        self.drawing = self.drawing or span

    def drawn_in(self, name: str) -> Span | None:
        """Where a function that is bound draws, by its name; None where it doesn't."""
        return None

    def module_declaration(self, module: ModuleOf) -> Declaration:
        """The declaration of a module's type."""
        return self.declarations[module.name]
