"""Reading the parts of Core text that hold no lets: names, sizes, exact constants, axes and types.

`TypeReader` is the base of `core.reader`'s reader and knows the modules declared so far. Every fault raises
`UnreadableError` with a diagnostic (E9101 for the text, E9102 for its depth); nesting is bounded by an explicit limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from fractions import Fraction
from typing import NoReturn

from presk.shapes import constants
from presk.shapes.align import Misaligned, check_distinct
from presk.shapes.constants import Constant, ConstantTooLarge, ConstantUndefined
from presk.shapes.poly import Poly, number
from presk.shapes.types import SIZE_LIMIT, Axis, AxisOrRun, ModuleOf, RecordOf, Run, Tensor, TupleOf, Type, stack
from presk.text.cursor import Cursor, describe, shown
from presk.text.diagnostics import did_you_mean
from presk.text.lexer import Lexicon, Token, scan
from presk.text.spans import Source, Span

DEPTH_LIMIT = 60
"""Brackets and bodies inside one another."""

DIGITS_LIMIT = 4000
"""Digits of a written constant, and decimal places."""

KEYWORDS = frozenset("fn module call make map fold scan over in along reversed with real nat bool true false".split())

LEXICON = Lexicon(
    re.compile(
        r"""[ \t]*(?:
            (?P<newline>[\r\n][\r\n\t ]*)
          | (?P<comment>--[^\n]*)
          | (?P<ref>%\d+(?:\.(?:[A-Za-z_][A-Za-z0-9_]*|\d+))*)
          | (?P<path>(?:\.(?:[A-Za-z_][A-Za-z0-9_]*|\d+))+)
          | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
          | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
          | (?P<operator>\.\.|->|[()\[\]{}<=:;,@*/+~'-])
          | (?P<bad_character>[^ \t\r\n])
        )""",
        re.VERBOSE | re.ASCII,
    ),
    KEYWORDS,
)


class TypeReader(Cursor):
    """A position in a Core text, with the modules declared before it."""

    def __init__(self, source: Source) -> None:
        self.faults: list[Span] = []

        def fault(kind: str, match: re.Match[str]) -> None:
            self.faults.append(Span(source, match.start(kind), match.end(kind)))

        super().__init__(source, scan(source, LEXICON, fault).tokens)
        self.modules: dict[str, ModuleOf] = {}
        self.depth = 0

    def begin(self) -> None:
        """Fails where the text has a character that is none of Core's."""
        if self.faults:
            self.fail("E9101", f"`{shown(self.faults[0].text)}` is no part of Core text", self.faults[0])

    # Words

    def expect(self, kind: str, instead_of: str | None = None) -> Token:
        """Takes a token of this kind. `instead_of` says what was wanted."""
        if self.token.kind != kind:
            self.unexpected(instead_of or f"`{kind}`")
        return self.advance()

    def unexpected(self, wanted: str) -> NoReturn:
        """Fails at the next token."""
        self.fail("E9101", f"{wanted} is wanted here, not {describe(self.token)}")

    def word(self, what: str = "a name") -> str:
        """Takes a name; keywords are names where only a name can stand."""
        if self.token.kind != "name" and self.token.kind not in KEYWORDS:
            self.unexpected(what)
        return self.advance().text

    def dotted(self, what: str) -> str:
        """`nn.Linear`, `blocks.att`."""
        name = self.word(what)
        return name + self.advance().text if self.token.kind == "path" else name

    def whole(self, what: str = "a whole number") -> int:
        """Takes a whole number below SIZE_LIMIT."""
        token = self.expect("number", what)
        if not token.text.isdigit():
            self.fail("E9101", f"{what} is wanted here, not `{token.text}`", self.span_of(token))
        if len(token.text) > len(str(SIZE_LIMIT)) or int(token.text) >= SIZE_LIMIT:
            self.fail("E9101", "this number is too large", self.span_of(token), f"sizes are below {SIZE_LIMIT}")
        return int(token.text)

    @contextmanager
    def deeper(self) -> Generator[None]:
        """One level deeper. Fails past DEPTH_LIMIT."""
        if self.depth >= DEPTH_LIMIT:
            self.fail("E9102", f"more than {DEPTH_LIMIT} brackets and bodies inside one another")
        self.depth += 1
        yield
        self.depth -= 1

    def listed(self, closing: str, item: Callable[[], None]) -> None:
        """Items separated by commas up to the closing bracket, which is taken."""
        while self.token.kind != closing:
            item()
            if self.token.kind != closing:
                self.expect(",", f"`,` or `{closing}`")
        self.advance()

    # Exact constants

    def constant(self) -> Constant:
        """`-0.5`, `(1 / 3)`, `sqrt(2)`: what `constants.show` writes."""
        start = self.token.start
        with self.deeper():
            function, arguments = self._application()
        if function is None:
            return arguments[0]
        span = self.span_from(start)
        try:
            return constants.apply(function, *arguments)
        except ConstantUndefined as error:
            self.fail("E4006", f"this constant is undefined: {error}", span)
        except ConstantTooLarge:
            self.fail("E4005", "this constant is too large to be kept exactly", span)

    def _application(self) -> tuple[str | None, tuple[Constant, ...]]:
        if self.accept("-"):
            return "neg", (self.constant(),)
        if self.token.kind == "number":
            return None, (self._decimal(),)
        if self.accept("("):
            left = self.constant()
            if self.accept(")"):
                return None, (left,)
            operator = self.advance()
            if operator.kind not in OPERATORS:
                self.fail("E9101", f"`+ - * /` or `)` is wanted here, not {describe(operator)}", self.span_of(operator))
            right = self.constant()
            self.expect(")")
            return OPERATORS[operator.kind], (left, right)
        token = self.token
        function = self.word("a constant")
        if function not in FUNCTIONS:
            hint = did_you_mean(function, FUNCTIONS)
            self.fail("E2001", f"there is no function `{function}` of constants", self.span_of(token), hint)
        self.expect("(")
        arguments: list[Constant] = []
        self.listed(")", lambda: arguments.append(self.constant()))
        if len(arguments) != FUNCTIONS[function]:
            wanted = FUNCTIONS[function]
            self.fail("E3002", f"`{function}` takes {wanted} operands, not {len(arguments)}", self.span_of(token))
        return function, tuple(arguments)

    def _decimal(self) -> Constant:
        token = self.advance()
        mantissa, _, exponent = token.text.lower().partition("e")
        if len(mantissa) > DIGITS_LIMIT or len(exponent) > 6 or abs(int(exponent or "0")) > DIGITS_LIMIT:
            self.fail("E4005", "this constant is too large to be kept exactly", self.span_of(token))
        return constants.rational(Fraction(token.text))

    # Axes and types

    def axes(self) -> tuple[AxisOrRun, ...]:
        """What stands in brackets, the opening one taken: `batch: 4, 3]` with `..` first for a leaf's run."""
        start = self.previous
        found: list[AxisOrRun] = []

        def item() -> None:
            if self.token.kind == "..":
                if found:
                    self.fail("E9101", "`..` stands first among axes")
                self.advance()
                found.append(Run("leaf"))
            else:
                found.append(self._axis())

        self.listed("]", item)
        try:
            check_distinct(tuple(found))
        except Misaligned as error:
            self.fail("E3003", error.message, self.span_from(start.start))
        return tuple(found)

    def _axis(self) -> Axis:
        if self.token.kind == "number":
            return Axis(None, self.size())
        name = self.word("an axis")
        self.expect(":")
        return Axis(name, self.size())

    def size(self) -> Poly:
        """A size: a whole number."""
        return number(self.whole("a size"))

    def type(self) -> Type:
        """`real[batch: 4]`, `nat < 3`, `(A, B)`, `{x: A}`, `Linear{3, 2}`, each perhaps `* 2`."""
        with self.deeper():
            found = self.plain_type()
        while self.token.kind == "*":
            if isinstance(found, Tensor):
                self.fail("E9101", "only trees are stacked by `*`; a tensor has axes")
            self.advance()
            found = stack(found, self.size())
        return found

    def plain_type(self) -> Type:
        """A type without `*`."""
        if self.token.kind in ("real", "nat", "bool"):
            return self._tensor()
        if self.accept("("):
            items: list[Type] = []
            self.listed(")", lambda: items.append(self.type()))
            return TupleOf(tuple(items))
        if self.accept("{"):
            return RecordOf(self.fields("}", ","))
        start = self.token
        label = self.module_label()[0]
        if label not in self.modules:
            hint = did_you_mean(label, self.modules)
            span = self.span_from(start.start)
            self.fail("E2001", f"no module `{label}` is declared before this", span, hint)
        return self.modules[label]

    def _tensor(self) -> Tensor:
        kind = self.advance().kind
        axes = self.axes() if self.accept("[") else ()
        if kind != "nat":
            return Tensor(kind, axes)
        self.expect("<", "the bound of a nat, `< V`,")
        return Tensor("nat", axes, self.size())

    def fields(self, closing: str, separator: str) -> tuple[tuple[str, Type], ...]:
        """`x: A, y: B` up to the closing bracket, which is taken."""
        found: dict[str, Type] = {}
        while self.token.kind != closing:
            token = self.token
            name = self.word("a field")
            if name in found:
                self.fail("E2002", f"the field `{name}` is declared twice", self.span_of(token))
            self.expect(":")
            found[name] = self.type()
            if self.token.kind != closing and self.accept(separator) is None and not self.token.line_break:
                self.unexpected(f"`{separator}` or `{closing}`")
        self.advance()
        return tuple(found.items())

    def module_label(self) -> tuple[str, str, tuple[Constant, ...]]:
        """`nn.Linear{3, 2}`: its label, its name and its parameters."""
        name = self.dotted("a type")
        arguments: list[Constant] = []
        if self.token.kind == "{" and self.token.start == self.previous.end:
            self.advance()
            self.listed("}", lambda: arguments.append(self.constant()))
        return ModuleOf(name, tuple(arguments), ()).label, name, tuple(arguments)

    def module(self) -> None:
        """`module Linear{3, 2} { w: real[3, 2]; b: real[2] }`, the keyword taken."""
        start = self.token
        label, name, arguments = self.module_label()
        if label in self.modules:
            self.fail("E2002", f"the module `{label}` is declared twice", self.span_from(start.start))
        self.expect("{")
        with self.deeper():
            self.modules[label] = ModuleOf(name, arguments, self.fields("}", ";"))


OPERATORS = {operator: function for function, operator in constants.INFIX.items()}
"""What stands between two constants in parentheses."""

FUNCTIONS = dict.fromkeys(
    "neg abs square sqrt rsqrt recip exp expm1 log log1p tanh sin cos erf erfc sigmoid softplus relu gelu gelu_tanh "
    "silu sign floor pi".split(),
    1,
) | dict.fromkeys("add sub mul div pow maximum minimum".split(), 2)
"""The primitives that make exact constants of exact constants, and `pi`, with the number of their operands."""
