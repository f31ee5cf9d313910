"""Signatures of functions, and the matching of a call's arguments against them.

A signature's sizes are over its own dimension variables, written with the prefix `?`. `Solver` finds what they, the run
`..` and the tree variables are in a call: lone variables first, then those that occur linearly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from presk.shapes import constants, types
from presk.shapes.poly import Poly, variable
from presk.shapes.poly import number as size_of
from presk.shapes.types import Axis, ModuleOf, RecordOf, Run, Shape, Stacked, Tensor, TreeVariable, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import Note, fail
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


class Mismatch(Exception):
    """A value that can't be what is asked: a code, a sentence, a hint, and the solver's `subject` at that point."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.subject: Subject | None = None


@dataclass(frozen=True)
class Subject:
    """An argument and the parameter it is given for: where messages about it point."""

    argument: Span
    parameter: Span


@dataclass(frozen=True)
class Equation:
    """`pattern` must be `actual`, which is `what`; `asked` and `given` are the types they come from.

    Of a bound, `literal` says that it is a number's own: whether that suffices may be decided when the entry is bound.
    """

    pattern: Poly
    actual: Poly
    what: str
    asked: Type
    given: Type
    subject: Subject | None
    literal: bool = False


class Solver:
    """What a signature's variables are, found by matching its types against the actual ones.

    `subject` is what is being matched; a Mismatch carries it.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, Poly] = {}
        self.run: Shape | None = None
        self.trees: dict[str, Type] = {}
        self.equations: list[Equation] = []
        self.bounds: list[Equation] = []
        self.subject: Subject | None = None

    def match(self, pattern: Type, actual: Type, what: str) -> None:
        """Notes all that must hold for `actual` to stand where `pattern` is asked. Raises Mismatch."""
        try:
            self._match(pattern, actual, what)
        except Mismatch as error:
            error.subject = self.subject
            raise

    def _match(self, pattern: Type, actual: Type, what: str) -> None:
        match pattern, actual:
            case Tensor(), Tensor():
                self._match_tensor(pattern, actual, what)
            case TreeVariable(name), _:
                if not is_real_tree(actual):
                    hint = "a tree variable stands for parameters, whose leaves are real"
                    raise Mismatch("E3001", f"{what} is {types.show(actual)}, not a tree of reals", hint)
                bound = self.trees.setdefault(name, actual)
                if not same_tree(bound, actual):
                    raise Mismatch(
                        "E3001", f"{what} is {types.show(actual)}, but `{name}` is {types.show(bound)} already"
                    )
            case TupleOf(mine), TupleOf(theirs) if len(mine) == len(theirs):
                for at, (each, other) in enumerate(zip(mine, theirs, strict=True)):
                    self._match(each, other, f"item {at} of {what}")
            case RecordOf(mine), RecordOf(theirs) if [n for n, _ in mine] == [n for n, _ in theirs]:
                for (name, each), (_, other) in zip(mine, theirs, strict=True):
                    self._match(each, other, f"`{name}` of {what}")
            case ModuleOf(), ModuleOf() if pattern.name == actual.name:
                self._match_module(pattern, actual, what)
            case Stacked(mine, count), Stacked(theirs, other):
                self._equate(count, other, f"the number of layers of {what}", pattern, actual)
                self._match(mine, theirs, what)
            case _:
                raise Mismatch("E3001", f"{what} is {types.show(actual)}, not {self.show(pattern)}")

    def _equate(self, pattern: Poly, actual: Poly, what: str, asked: Type, given: Type) -> None:
        self.equations.append(Equation(pattern, actual, what, asked, given, self.subject))

    def mismatch(self, code: str, message: str, hint: str | None = None) -> Mismatch:
        """A Mismatch about what is being matched."""
        error = Mismatch(code, message, hint)
        error.subject = self.subject
        return error

    def match_number(self, pattern: Tensor, size: Poly, what: str) -> None:
        """Notes that a number known at binding is to stand where `nat < N` is asked."""
        assert pattern.bound is not None
        given = Tensor("nat", (), size + size_of(1))
        self.bounds.append(Equation(pattern.bound, size + size_of(1), what, pattern, given, self.subject, literal=True))

    def solve(self) -> None:
        """Finds the variables and checks every equation. Raises Mismatch."""
        pending = self.equations
        while True:
            rest = [each for each in pending if not self._about(each, self._bind)]
            if len(rest) == len(pending):
                break
            pending = rest
        for equation in pending:
            self._about(equation, self._check_equal)
        for bound in self.bounds:
            self._about(bound, self._check_bound)

    def _about(self, equation: Equation, step: Callable[[Equation], bool]) -> bool:
        try:
            return step(equation)
        except Mismatch as error:
            error.subject = equation.subject
            raise

    def _check_equal(self, equation: Equation) -> bool:
        expected = self._substituted(equation.pattern)
        unknown = any(name.startswith(DIMENSION) for name in expected.variables())
        if unknown or expected == equation.actual:
            return True
        asked, given = self.show(equation.asked), types.show(equation.given)
        hint = f"{given} stands where {asked} is asked: sizes must be equal, nothing is stretched"
        raise Mismatch("E3003", f"{equation.what} is {equation.actual}, not {expected}", hint)

    def _check_bound(self, equation: Equation) -> bool:
        name = equation.pattern.sole_variable
        if name is not None and name.startswith(DIMENSION) and name not in self.sizes:
            self.sizes[name] = equation.actual
        expected = self._substituted(equation.pattern)
        if static.at_most(equation.actual, expected):
            return True
        if equation.literal:
            if (equation.actual - expected).constant is None:
                return True
            number = equation.actual - size_of(1)
            raise Mismatch("E3007", f"{equation.what} is {number}, which is not < {expected}")
        message = f"{equation.what} is a nat < {equation.actual}, which is not certain to be < {expected}"
        raise Mismatch("E3007", message)

    def show(self, pattern: Type) -> str:
        """A pattern as far as it is known, without the variables' prefix."""
        return types.show(types.substitute(pattern, self.sizes))

    def _substituted(self, pattern: Poly) -> Poly:
        return pattern.substitute(self.sizes)

    def _bind(self, equation: Equation) -> bool:
        """Binds a variable that stands alone or is the only unknown and linear; whether it did."""
        pattern, actual = equation.pattern, equation.actual
        known = self._substituted(pattern)
        unknown = [name for name in known.variables() if name.startswith(DIMENSION)]
        if len(unknown) != 1:
            return False
        solution = known.solve(unknown[0], actual)
        if solution is None:
            return False
        if solution.constant is not None and (solution.whole is None or solution.whole < 0):
            message = f"no whole number `{unknown[0][1:]}` makes {known} equal to {actual}"
            raise Mismatch("E4003", message, f"{equation.what} is {actual}")
        self.sizes[unknown[0]] = solution
        return True

    def _match_tensor(self, pattern: Tensor, actual: Tensor, what: str) -> None:
        if pattern.kind != actual.kind and not (pattern.kind == "real" and actual.kind == "nat"):
            hint = (
                "`where(m, 1, 0)` makes numbers of a mask" if (pattern.kind, actual.kind) == ("real", "bool") else None
            )
            raise Mismatch("E3001", f"{what} is {types.show(actual)}, not {self.show(pattern)}", hint)
        axes, theirs = pattern.explicit, actual.axes
        missing = len(theirs) - len(axes)
        if missing < 0 or (missing > 0 and pattern.run is None) or any(isinstance(a, Run) for a in theirs[missing:]):
            raise Mismatch("E3003", f"{what} is {types.show(actual)}, not {self.show(pattern)}")
        if pattern.run is not None:
            self._match_run(theirs[:missing], what)
        for at, (mine, other) in enumerate(zip(axes, theirs[missing:], strict=True)):
            assert isinstance(other, Axis)
            if mine.name is not None and other.name is not None and mine.name != other.name:
                raise Mismatch(
                    "E3003",
                    f"{what} is {types.show(actual)}, whose axis `{other.name}` stands where `{mine.name}` is asked",
                    f"`rename(x, {other.name} = {mine.name})`",
                )
            name = mine.name or other.name
            which = f"axis `{name}`" if name else f"axis {at + missing}"
            self._equate(mine.size, other.size, f"the size of {which} of {what}", pattern, actual)
        if pattern.bound is not None and actual.bound is not None:
            self.bounds.append(Equation(pattern.bound, actual.bound, what, pattern, actual, self.subject))

    def _match_run(self, axes: Shape, what: str) -> None:
        if self.run is None:
            self.run = axes
            return
        mine, theirs = types.show(Tensor("real", self.run)), types.show(Tensor("real", axes))
        if len(self.run) != len(axes):
            raise Mismatch("E3003", f"`..` of {what} stands for {theirs[4:]}, but elsewhere for {mine[4:]}")
        merged = list(self.run)
        for at, (one, other) in enumerate(zip(self.run, axes, strict=True)):
            if isinstance(one, Run) or isinstance(other, Run):
                agree = one == other
            else:
                agree = one.size == other.size and (one.name is None or other.name is None or one.name == other.name)
                merged[at] = one if one.name is not None else other
            if not agree:
                raise Mismatch("E3003", f"`..` of {what} stands for {theirs[4:]}, but elsewhere for {mine[4:]}")
        self.run = tuple(merged)

    def _match_module(self, pattern: ModuleOf, actual: ModuleOf, what: str) -> None:
        for mine, theirs in zip(pattern.arguments, actual.arguments, strict=True):
            wanted, given = constants.as_size(mine), constants.as_size(theirs)
            if wanted is not None and given is not None:
                self._equate(wanted, given, f"a parameter of the module {what}", pattern, actual)
            elif mine != theirs:
                raise Mismatch("E3001", f"{what} is {actual.label}, not {self.show(pattern)}")


def is_real_tree(each: Type) -> bool:
    """Whether every leaf is real, so that a tree variable may stand for the tree."""
    return isinstance(each, TreeVariable) or all(leaf.kind == "real" for _, leaf in types.leaves(each))


def same_tree(one: Type, other: Type) -> bool:
    """Whether two trees have the same fields and leaves, names of axes aside where one has none."""
    if isinstance(one, TreeVariable) or isinstance(other, TreeVariable):
        return one == other
    solver = Solver()
    try:
        solver.match(one, other, "")
        solver.solve()
    except Mismatch:
        return False
    return True


def names_kept(one: Type, other: Type) -> bool:
    """Whether the leaves of two trees of one shape have the same names of axes, and none where the other has none."""
    mine, theirs = list(types.leaves(one)), list(types.leaves(other))
    return len(mine) == len(theirs) and all(
        [axis.name if isinstance(axis, Axis) else axis for axis in a.axes]
        == [axis.name if isinstance(axis, Axis) else axis for axis in b.axes]
        for (_, a), (_, b) in zip(mine, theirs, strict=True)
    )


def meet(pattern: Type, actual: Type, what: str, span: Span, stated: Span | None = None) -> None:
    """Checks that a value of type `actual` may stand where `pattern` is stated, at `stated`. Raises PreskError."""
    if pattern == actual:
        return
    solver = Solver()
    try:
        solver.match(pattern, actual, what)
        solver.solve()
    except Mismatch as error:
        notes = () if stated is None else (Note("it is stated here", stated),)
        raise fail(error.code, error.message, span, error.hint, notes) from None
