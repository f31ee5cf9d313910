"""Types held against each other: what a signature's variables are in a call, and whether a value fits a stated type.

`Solver` finds what the variables, the run `..` and the trees are: lone variables first, then those that occur
linearly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from presk.check import static
from presk.check.typing import DIMENSION
from presk.shapes import constants, types
from presk.shapes.poly import Poly
from presk.shapes.poly import number as size_of
from presk.shapes.types import Axis, ModuleOf, RecordOf, Run, Shape, Stacked, Tensor, TreeVariable, TupleOf, Type
from presk.text.diagnostics import Note, fail
from presk.text.spans import Span


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
