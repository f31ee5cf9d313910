"""Folds: a row to one value, element by element in increasing index.

Each is told when its loops begin, at every element, and when they have ended. A sum may be interleaved: element i goes
to partial sum i mod p, and the partials are added in increasing order at the end. NaN is above +∞ to argmax and
argmin; max and min give NaN where there is one. Called by `passes`, made by `rows`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from presk.kernel.lower.code import Code
from presk.kernel.lower.index import Position, plus, remainder
from presk.kernel.lower.reals import Reals
from presk.kernel.nodes import (
    Access,
    Axis,
    Binary,
    BinaryOperator,
    BufferType,
    Call,
    Constant,
    Element,
    Expression,
    FunctionName,
    Integer,
    Load,
    Truth,
    Variable,
)

BETTER: dict[tuple[bool, bool], BinaryOperator] = {
    (True, True): ">=",
    (True, False): ">",
    (False, True): "<=",
    (False, False): "<",
}
"""How an element compares that takes the place of what was found, for the largest or not, the last or not."""

Term = Callable[[], Expression]
"""Writes the element that is at hand."""


class Fold(ABC):
    """One fold, told in order: `start`, `step` at each element, `finish`."""

    @abstractmethod
    def start(self, code: Code) -> None:
        """Before the loops."""

    @abstractmethod
    def step(self, code: Code) -> None:
        """At an element."""

    @abstractmethod
    def finish(self, code: Code) -> Expression:
        """The value, behind the loops."""


class Sum(Fold):
    """Σ, in the kernel's arithmetic type; rounded to the type the nest computes in when it is done."""

    def __init__(self, reals: Reals, term: Term) -> None:
        self.reals = reals
        self.term = term
        self.total = Variable("s", 0)

    def start(self, code: Code) -> None:
        self.total = code.let("real", Constant(0.0))

    def step(self, code: Code) -> None:
        code.assign(self.total, Binary("+", self.total, self.term()))

    def finish(self, code: Code) -> Expression:
        return code.shared("real", self.reals.rounded(self.total))


class InterleavedSum(Fold):
    """Σ over p partial sums; `position` is the element's place in its row."""

    def __init__(self, reals: Reals, term: Term, position: Callable[[], Position], partials: int) -> None:
        self.reals = reals
        self.term = term
        self.position = position
        self.partials = Partials(partials)

    def start(self, code: Code) -> None:
        self.partials.start(code)

    def step(self, code: Code) -> None:
        place = code.shared("nat", remainder(self.position().index, self.partials.count))
        self.partials.store(code, place, Binary("+", self.partials.load(place), self.term()))

    def finish(self, code: Code) -> Expression:
        return code.shared("real", self.reals.rounded(self.partials.finish(code)))


class Partials:
    """p partial sums in scratch."""

    def __init__(self, count: int) -> None:
        self.count = count

    def start(self, code: Code) -> None:
        """All of them 0."""
        self.buffer = code.scratch(BufferType(Element(code.arithmetic), (Axis(None, self.count),)))
        with code.loop(self.count) as counter:
            code.store(self.buffer, (counter,), Constant(0.0))

    def load(self, place: Expression) -> Expression:
        """The partial at `place`."""
        return Load(Access(self.buffer, (place,)))

    def store(self, code: Code, place: Expression, value: Expression) -> None:
        """A new value for it."""
        code.store(self.buffer, (place,), value)

    def finish(self, code: Code) -> Variable:
        """Their sum, from the first to the last."""
        total = code.let("real", self.load(Integer(0)))
        with code.loop(self.count - 1) as counter:
            code.assign(total, Binary("+", total, self.load(plus(counter, Integer(1)))))
        return total


class Extreme(Fold):
    """The largest or smallest: IEEE 754's maximum and minimum, which NaN passes through."""

    def __init__(self, function: FunctionName, term: Term) -> None:
        self.function: FunctionName = function
        self.term = term
        self.found = Variable("s", 0)

    def start(self, code: Code) -> None:
        self.found = code.let("real", Constant(-math.inf if self.function == "max" else math.inf))

    def step(self, code: Code) -> None:
        code.assign(self.found, Call(self.function, (self.found, self.term())))

    def finish(self, code: Code) -> Expression:
        return self.found


class Product(Fold):
    """∏"""

    def __init__(self, reals: Reals, term: Term) -> None:
        self.reals = reals
        self.term = term
        self.found = Variable("s", 0)

    def start(self, code: Code) -> None:
        self.found = code.let("real", Constant(1.0))

    def step(self, code: Code) -> None:
        code.assign(self.found, self.reals.binary("*", self.found, self.term()))

    def finish(self, code: Code) -> Expression:
        return self.found


class Logic(Fold):
    """Whether any holds, or all."""

    def __init__(self, is_any: bool, term: Term) -> None:
        self.is_any = is_any
        self.term = term
        self.found = Variable("b", 0)

    def start(self, code: Code) -> None:
        self.found = code.let("bool", Truth(not self.is_any))

    def step(self, code: Code) -> None:
        code.assign(self.found, Binary("or" if self.is_any else "and", self.found, self.term()))

    def finish(self, code: Code) -> Expression:
        return self.found


class PositionOfExtreme(Fold):
    """The place of the largest or smallest, NaN being above +∞; of equals the last or the first."""

    def __init__(self, is_max: bool, is_last: bool, term: Term, position: Callable[[], Position]) -> None:
        self.is_max = is_max
        self.is_last = is_last
        self.term = term
        self.position = position
        self.found = Variable("s", 0)
        self.place = Variable("n", 0)

    def start(self, code: Code) -> None:
        self.found = code.let("real", Constant(-math.inf if self.is_max else math.nan))
        self.place = code.let("nat", Integer(0))

    def step(self, code: Code) -> None:
        element = code.shared("real", self.term())
        better = code.let("bool", self.is_better(element))
        code.assign(self.place, Call("select", (better, self.position().index, self.place)))
        code.assign(self.found, Call("select", (better, element, self.found)))

    def is_better(self, element: Expression) -> Expression:
        """Whether the element takes the place of what was found."""
        compared: Expression = Binary(BETTER[self.is_max, self.is_last], element, self.found)
        if self.is_max:
            rises = _is_nan(element) if self.is_last else Binary("and", _is_nan(element), _is_number(self.found))
        else:
            rises = _is_nan(self.found) if self.is_last else Binary("and", _is_nan(self.found), _is_number(element))
        return Binary("or", compared, rises)

    def finish(self, code: Code) -> Expression:
        return self.place


class Pick(Fold):
    """The element at one place of the row."""

    def __init__(self, place: Term, term: Term, position: Callable[[], Position]) -> None:
        self.place = place
        self.term = term
        self.position = position
        self.found = Variable("s", 0)

    def start(self, code: Code) -> None:
        self.wanted = code.shared("nat", self.place())
        self.found = code.let("real", Constant(0.0))

    def step(self, code: Code) -> None:
        hit = Binary("==", self.position().index, self.wanted)
        code.assign(self.found, Call("select", (hit, self.term(), self.found)))

    def finish(self, code: Code) -> Expression:
        return self.found


def _is_nan(value: Expression) -> Expression:
    return Binary("!=", value, value)


def _is_number(value: Expression) -> Expression:
    return Binary("==", value, value)
