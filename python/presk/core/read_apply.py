"""Reading operands and primitives of Core text, between `core.read_types` and `core.reader`."""

from __future__ import annotations

from presk.core.attributes import DRAW, in_order
from presk.core.names import is_call_path, is_function_name
from presk.core.nodes import Apply, Injected, Literal, Operand, Ref
from presk.core.read_types import TypeReader
from presk.core.typing import operand_type
from presk.primitives.all import TABLE
from presk.primitives.attributes import BOTH, COTANGENT
from presk.primitives.axes import AxisSpec, resolve_axis
from presk.primitives.call import Given, normalize
from presk.primitives.table import Keyword, Misfit, Primitive
from presk.shapes import constants
from presk.shapes.align import Misaligned
from presk.shapes.types import SIZE_LIMIT, Tensor, Type
from presk.text import spans
from presk.text.diagnostics import did_you_mean
from presk.text.lexer import END

NAMES = "names"
"""The keyword that stands for free ones, `rename(x, a = b)`."""


class ApplyReader(TypeReader):
    """Reads operands and what stands behind a primitive's name; `types` are those of the numbers in scope."""

    def __init__(self, source: spans.Source) -> None:
        super().__init__(source)
        self.types: dict[int, Type] = {}

    # Names

    def function_name(self) -> str:
        """A function's name as written, up to the parenthesis of its operands."""
        start = self.token
        depth = 0
        while self.token.kind != END and (depth or self.token.kind != "("):
            depth += (self.token.kind in ("{", "[")) - (self.token.kind in ("}", "]"))
            self.advance()
        span = spans.Span(self.source, start.start, max(start.end, self.previous.end))
        name = " ".join(span.text.split())
        if not is_function_name(name):
            self.fail("E9101", "a function's name is wanted here", span, "such as `Linear{3, 2}.apply`")
        return name

    def call_path(self) -> str:
        """`blocks.att.step`, as written behind `@`."""
        start = self.token
        while self.token.kind in ("name", "path", "~", "number") and self.token.start == self.previous.end:
            self.advance()
        span = spans.Span(self.source, start.start, max(start.start, self.previous.end))
        if not span.text or not is_call_path(span.text):
            self.fail("E9101", "a draw's path is wanted behind `@`", self.span_of(start), "such as `@blocks.att.step`")
        return span.text

    def let_number(self) -> int:
        """`%7` where a let or parameter is named."""
        token = self.token
        ref = self.ref()
        if ref.path:
            self.fail("E9101", "a number without a path is wanted here", self.span_of(token), "such as `%3`")
        return ref.number

    # Operands

    def ref(self) -> Ref:
        """`%3`, `%0.w`."""
        token = self.expect("ref", "an operand such as `%3`")
        number, *path = token.text[1:].split(".")
        if len(number) > len(str(SIZE_LIMIT)) or int(number) >= SIZE_LIMIT:
            self.fail("E9101", "this number is too large", self.span_of(token))
        return Ref(int(number), tuple(path))

    def operand(self) -> Operand:
        """`%0.w`, `real(%2)`, `0.5`, `nat(2)`, `true`."""
        match self.token.kind:
            case "ref":
                return self.ref()
            case "real":
                self.advance()
                self.expect("(")
                inner = self.ref()
                self.expect(")")
                return Injected(inner)
            case "nat":
                self.advance()
                self.expect("(")
                value = self.constant()
                self.expect(")")
                return Literal(value, "nat")
            case "true" | "false":
                return Literal(constants.rational(int(self.advance().kind == "true")), "bool")
            case kind if kind in ("name", "number", "(", "-"):
                return Literal(self.constant())
            case _:
                return self.unexpected("an operand such as `%3`")

    def type_of(self, operand: Operand, place: spans.Span) -> Type:
        """The type of an operand that stands at this place."""
        try:
            return operand_type(operand, self.types)
        except Misfit as error:
            self.fail(error.code, error.message, place, error.hint)

    def axis_of(self, operand: Operand, place: spans.Span) -> int:
        """An axis, by its name or position, of the operand that stands at this place."""
        start = self.token
        spec = self.axis_name()
        found = self.type_of(operand, place)
        if not isinstance(found, Tensor):
            self.fail("E3001", "only a tensor has axes", self.span_of(start))
        try:
            return resolve_axis(found, spec)
        except Misfit as error:
            self.fail(error.code, error.message, self.span_of(start), error.hint)

    # Primitives

    def apply(self) -> Apply:
        """`sum(%3, axis = batch)`, `ein[i, j](%0, %1[i, j])`, `zeros[n: 3]()`."""
        start = self.token
        name = self.word("a primitive, `call`, `make`, `fold`, `scan`, `map`, `(` or `{`")
        primitive = TABLE.get(name)
        if primitive is None:
            self.fail("E2001", f"there is no primitive `{name}`", self.span_of(start), did_you_mean(name, TABLE))
        given: dict[str, Given] = {}
        pairs: list[tuple[str, str]] = []
        if self.accept("["):
            if name == "ein":
                given["out"] = (self.labels(),)
            else:
                given["new"] = self.axes()
        operands: list[Operand] = []
        places: list[spans.Span] = []
        labels: list[tuple[str, ...] | None] = []

        def item() -> None:
            if self.peek().kind == "=":
                self.keyword(primitive, given, pairs)
                return
            begin = self.token.start
            operands.append(self.operand())
            places.append(self.span_from(begin))
            labels.append(self.labels() if self.accept("[") else None)

        self.expect("(")
        self.listed(")", item)
        if any(row is not None for row in labels) or name == "ein":
            given["labels"] = tuple(labels)
        if pairs:
            given[NAMES] = tuple(pairs)
        marks = {mark: given.pop(mark) for mark in (DRAW, COTANGENT) if mark in given}
        kinds = [self.type_of(operand, place) for operand, place in zip(operands, places, strict=True)]
        try:
            attributes = normalize(primitive, kinds, given)
        except Misfit as error:
            self.fail(error.code, error.message, self.span_from(start.start), error.hint)
        except Misaligned as error:
            self.fail("E3003", error.message, self.span_from(start.start), error.hint)
        attributes |= {mark: value for mark, value in marks.items() if isinstance(value, (int, str))}
        return Apply(name, tuple(operands), in_order(primitive, attributes))

    def labels(self) -> tuple[str, ...]:
        """Names up to the closing bracket; `..` is a run's."""
        found: list[str] = []
        self.listed("]", lambda: found.append(self.advance().text if self.token.kind == ".." else self.word("an axis")))
        return tuple(found)

    def keyword(self, primitive: Primitive, given: dict[str, Given], pairs: list[tuple[str, str]]) -> None:
        """`axis = (batch, 1)`, `std = 0.02`, `ties = first`; of rename the pairs `a = b`."""
        token = self.token
        name = self.word()
        self.expect("=")
        rows = {each.name: each for each in primitive.keywords}
        if NAMES in rows:
            pairs.append((name, self.word("an axis")))
            return
        row = rows.get(name)
        if row is None and name != DRAW and not (primitive.product and name == COTANGENT):
            hint = did_you_mean(name, rows)
            self.fail("E3002", f"{primitive.name} has no keyword `{name}`", self.span_of(token), hint)
        if name in given:
            self.fail("E3002", f"`{name}` is given twice", self.span_of(token))
        if row is not None:
            given[name] = self.keyword_value(row)
        elif name == COTANGENT and self.token.text == BOTH:
            given[name] = self.word()
        else:
            given[name] = self.whole()

    def keyword_value(self, keyword: Keyword) -> Given:
        """What stands behind `=`, by the keyword's kind."""
        match keyword.kind:
            case "axis" | "axes" | "order":
                if self.accept("*"):
                    return None
                if self.accept("("):
                    found: list[AxisSpec] = []
                    self.listed(")", lambda: found.append(self.axis_name()))
                    return tuple(found)
                return self.axis_name()
            case "nat":
                return self.whole()
            case "int":
                return -self.whole() if self.accept("-") else self.whole()
            case "real":
                return self.constant()
            case "word" | "names":
                return self.word()

    def axis_name(self) -> AxisSpec:
        """An axis's name or position."""
        return self.whole() if self.token.kind == "number" else self.word("an axis")
