"""Elements of exact tensors that are no plain ball, and what may be asked of any element.

A real element is an `arb`; or an `Interval`, whose bounds no ball can hold; or `Undefined`, which stands for a value
that isn't one (1 / 0) and passes through every operation unharmed, so that it matters only where a result depends on
it; or, while identical expressions are looked for, `Tracked`, a ball or interval that knows the expression it is of.
Nats and booleans are `int` and `bool`, or `Undefined`. The operators and the methods used by the rules mean the same on
all of them, so a rule needs no case for them: only its fast paths, which give flint whole lists of balls, step aside on
`Depends` or `NoBalls`.

Invariant: no `Undefined` is ever asked for its truth without `Depends` being raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeAlias, Union

from flint import arb

from presk.exact.intervals import Enclosure, Interval
from presk.text.spans import Span

Element: TypeAlias = Any
"""An `arb`, `Interval`, `Undefined` or `Tracked` real. Typed loosely: they share operators, not a base."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where in the program a value is made: a function's let, the primitive, and the source it stands in."""

    function: str
    let: int
    name: str | None
    primitive: str
    span: Span | None = None

    @property
    def label(self) -> str:
        """`loss/%17`, and the let's own name where it has one."""
        return f"{self.function}/%{self.let}" + (f" ({self.name})" if self.name else "")


class Depends(Exception):
    """A decision was asked of an element that has no value; carries the element."""

    def __init__(self, element: Undefined) -> None:
        super().__init__(element.reason)
        self.element = element


class Undefined:
    """An element without a value: where it arose, why, and at which row-major position of its let.

    `code` is that of the error where a result depends on it. `undecided`: it may well have a value, but the balls are
    too wide to tell; more bits can help. `alike`: two balls were the same bit for bit, so that knowing their
    expressions can. `open`: it has a value for certain, one of those a decision chooses from.
    """

    __slots__ = ("alike", "code", "open", "position", "reason", "site", "undecided")

    def __init__(
        self,
        site: Site,
        reason: str,
        position: int | None = None,
        *,
        code: str = "E6003",
        undecided: bool = False,
        alike: bool = False,
        open: bool = False,
    ) -> None:
        self.site = site
        self.reason = reason
        self.position = position
        self.code = code
        self.undecided = undecided
        self.alike = alike
        self.open = open

    def closed(self) -> Undefined:
        """The same without the promise of a value: what depends on it otherwise than by a choice may have none."""
        if not self.open:
            return self
        return Undefined(
            self.site, self.reason, self.position, code=self.code, undecided=self.undecided, alike=self.alike
        )

    def _itself(self, *_: object) -> Undefined:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _itself
    __pos__ = __neg__ = __abs__ = __pow__ = __rpow__ = _itself
    __lt__ = __le__ = __gt__ = __ge__ = _itself
    __eq__ = __ne__ = _itself  # type: ignore[assignment]
    __hash__ = object.__hash__
    mid = exp = expm1 = log = log1p = sqrt = rsqrt = sin = cos = tanh = erf = erfc = floor = _itself

    def __bool__(self) -> bool:
        raise Depends(self)


Term: TypeAlias = int
"""The number of an expression; equal numbers are identical expressions."""


class Terms:
    """Expressions seen in one evaluation, numbered. An exact ball is its own expression."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], Term] = {}
        self._kept: list[Enclosure] = []

    def of(self, *expression: object) -> Term:
        """The number of an operation on numbered operands."""
        return self._numbers.setdefault(expression, len(self._numbers))

    def of_ball(self, ball: Enclosure) -> Term:
        """The number of a ball that was not computed here: its value where exact, else the very object."""
        if isinstance(ball, arb) and ball.is_exact() and ball.is_finite():
            mantissa, exponent = ball.man_exp()
            return self.of("exact", int(mantissa), int(exponent))
        self._kept.append(ball)
        return self.of("ball", id(ball))


class Tracked:
    """A ball and the number of the expression it is the value of."""

    __slots__ = ("ball", "term", "terms")

    def __init__(self, ball: Enclosure, terms: Terms, term: Term) -> None:
        self.ball = ball
        self.terms = terms
        self.term = term

    def _make(self, ball: Enclosure, *expression: object) -> Tracked:
        term = self.terms.of_ball(ball) if ball.is_exact() and ball.is_finite() else self.terms.of(*expression)
        return Tracked(ball, self.terms, term)

    def apply(self, change: Callable[[Enclosure], Enclosure], *name: object) -> Tracked:
        """A function of this element, called `name`."""
        made = change(self.ball)
        return self if made is self.ball else self._make(made, *name, self.term)

    def _operand(self, other: object) -> Tracked | None:
        if isinstance(other, Tracked):
            return other
        if isinstance(other, (arb, int, Interval)):
            ball = arb(other) if isinstance(other, int) else other
            return Tracked(ball, self.terms, self.terms.of_ball(ball))
        return None


def _binary(name: str, apply: Callable[[Any, Any], Any], *, swapped: bool = False) -> Callable[[Tracked, object], Any]:
    commutes = name in ("add", "mul")

    def operate(self: Tracked, other: object) -> Any:
        found = self._operand(other)  # pyright: ignore[reportPrivateUsage]
        if found is None:
            return NotImplemented
        left, right = (found, self) if swapped else (self, found)
        pair = sorted((left.term, right.term)) if commutes else (left.term, right.term)
        return self._make(apply(left.ball, right.ball), name, *pair)  # pyright: ignore[reportPrivateUsage]

    return operate


def _unary(name: str, apply: Callable[[Any], Any]) -> Callable[[Tracked], Tracked]:
    def operate(self: Tracked) -> Tracked:
        return self._make(apply(self.ball), name, self.term)  # pyright: ignore[reportPrivateUsage]

    return operate


def _comparison(apply: Callable[[Any, Any], bool]) -> Callable[[Tracked, object], Any]:
    def operate(self: Tracked, other: object) -> Any:
        found = self._operand(other)  # pyright: ignore[reportPrivateUsage]
        return NotImplemented if found is None else apply(self.ball, found.ball)

    return operate


def _install() -> None:
    """Gives Tracked the operators and methods of a ball."""
    binary: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "truediv": lambda x, y: x / y,
        "pow": lambda x, y: x**y,
    }
    for name, apply in binary.items():
        setattr(Tracked, f"__{name}__", _binary(name, apply))
        setattr(Tracked, f"__r{name}__", _binary(name, apply, swapped=True))
    unary: dict[str, Callable[[Any], Any]] = {"pos": lambda x: +x, "neg": lambda x: -x, "abs": lambda x: abs(x)}
    for name, change in unary.items():
        setattr(Tracked, f"__{name}__", _unary(name, change))
    for name in ("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "erfc", "floor"):
        setattr(Tracked, name, _unary(name, methodcaller(name)))
    comparisons: dict[str, Callable[[Any, Any], bool]] = {
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
        "eq": lambda x, y: x == y,
        "ne": lambda x, y: x != y,
    }
    for name, compare in comparisons.items():
        setattr(Tracked, f"__{name}__", _comparison(compare))


_install()

Ball = Union[arb, Interval, Tracked]


def enclosure_of(element: Ball) -> Enclosure:
    """The ball or interval of an element that has one."""
    return element.ball if isinstance(element, Tracked) else element


def ball_of(element: Ball) -> arb:
    """The ball of an element that has one, around its interval where it is one."""
    found = element.ball if isinstance(element, Tracked) else element
    return found.hull if isinstance(found, Interval) else found


def through(change: Callable[[Enclosure], Enclosure], element: Any, *name: object) -> Any:
    """A function of one element's ball or interval; `name` with what decides it beside the element."""
    if isinstance(element, Undefined):
        return element
    if isinstance(element, Tracked):
        return element.apply(change, *name)
    return change(element)


def identical(left: Ball, right: Ball) -> bool:
    """Whether two elements are known to be one and the same value: one object, or one expression."""
    if left is right:
        return True
    return isinstance(left, Tracked) and isinstance(right, Tracked) and left.term == right.term
