"""Kernel text to nodes, the inverse of `printer`. Called by tests, tools and whoever is given kernel text.

The grammar is docs/kernels.md's. Any text whatever ends in kernels or in a PreskError: E9201 for what the grammar
doesn't know, E9202 for what doesn't fit its place, E9206 past a limit. Whether a kernel may run is the verifier's to
say (`presk.kernel.native.verify`).
"""

from __future__ import annotations

from typing import NoReturn, cast

from presk.kernel import limits
from presk.kernel.elaborate import ELEMENTARY, VARIABLE_KINDS, Elaborator
from presk.kernel.lexer import tokens_of
from presk.kernel.nodes import (
    Access,
    Apply,
    Arithmetic,
    Assign,
    Axis,
    Buffer,
    BufferType,
    Element,
    ElementKind,
    For,
    FunctionName,
    If,
    Kernel,
    Output,
    Run,
    Statement,
    Store,
    Tile,
    Variable,
    VariableKind,
)
from presk.kernel.printer import IMPLIED_ARITHMETIC
from presk.kernel.raw import Raw, RawAccess, RawLiteral, RawOperation, RawTruth, RawVariable
from presk.text.cursor import Cursor, UnreadableError, describe
from presk.text.diagnostics import PreskError, fail
from presk.text.lexer import END, Token
from presk.text.spans import Source, Span

_OPERATORS = frozenset(("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">=", ">"))
_VARIABLES = frozenset("insbvm")
_STORED_IN_LANES = frozenset(("f64", "f32", "bf16", "bool"))
_PRODUCTS = frozenset((("binary", "*"), ("call", "fma")))
_ELEMENTS = frozenset(("f64", "f32", "bf16", "i64", "bool", "int8", "int4"))


def read_kernels(source: Source | str) -> tuple[Kernel, ...]:
    """The kernels of a text. Raises PreskError."""
    if isinstance(source, str):
        source = Source("<kernel>", source)
    if len(source.text.encode("utf-8", "surrogatepass")) > limits.TEXT_BYTES:
        raise fail("E9206", f"kernel text exceeds {limits.TEXT_BYTES} bytes")
    reader = _Reader(source, tokens_of(source))
    kernels: list[Kernel] = []
    try:
        while not reader.at(END):
            kernels.append(reader.kernel())
    except UnreadableError:
        raise PreskError(reader.diagnostics) from None
    return tuple(kernels)


def read_kernel(source: Source | str) -> Kernel:
    """The one kernel of a text. Raises PreskError, also where there are none or several (E9201)."""
    kernels = read_kernels(source)
    if len(kernels) != 1:
        raise fail("E9201", f"expected a text of one kernel, found {len(kernels)}")
    return kernels[0]


class _Reader(Cursor):
    """A position in kernel text; `elaborator` knows the buffers of the kernel at hand."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.depth = 0
        self.inputs = 0
        self.elaborator = Elaborator(source, "f32", {})

    def expected(self, what: str) -> NoReturn:
        self.fail("E9201", f"expected {what}, found {describe(self.token)}")

    def expect(self, kind: str) -> Token:
        return self.accept(kind) or self.expected(f"`{kind}`")

    def is_word(self, word: str) -> bool:
        return self.at("name") and self.token.text == word

    def keyword(self, word: str) -> None:
        if not self.is_word(word):
            self.expected(f"`{word}`")
        self.advance()

    def integer(self, what: str) -> int:
        text = self.token.text
        if not self.at("number") or not text.isdigit() or len(text) > 20:
            self.expected(what)
        self.advance()
        return int(text)

    def limit(self, what: str, most: int) -> NoReturn:
        self.fail("E9206", f"{what} exceeds {most}")

    def enter(self) -> None:
        self.depth += 1
        if self.depth > limits.NESTING:
            self.limit("the depth of blocks and expressions", limits.NESTING)

    def kernel(self) -> Kernel:
        self.keyword("kernel")
        name = self.name()
        stated = self.stated_arithmetic()
        inputs = self.input_types()
        self.expect("->")
        at = self.token
        outputs = self.outputs(len(inputs))
        arithmetic = stated or IMPLIED_ARITHMETIC.get(outputs[0].type.element.kind)
        if arithmetic is None:
            message = "the first output doesn't say the arithmetic type; state it: `kernel name in f32 (…)`"
            self.fail("E9202", message, self.span_of(at))
        self.expect("{")
        buffers = {Buffer("%", number): each for number, each in enumerate(inputs)}
        buffers |= {Buffer("%", number): each.type for number, each in enumerate(outputs, len(inputs))}
        scratch = self.scratch()
        buffers |= {Buffer("t", number): each for number, each in enumerate(scratch)}
        self.inputs = len(inputs)
        self.elaborator = Elaborator(self.source, cast(Arithmetic, arithmetic), buffers)
        body = self.statements()
        self.expect("}")
        return Kernel(name, cast(Arithmetic, arithmetic), inputs, outputs, scratch, body)

    def name(self) -> str:
        if not self.at("name"):
            self.expected("the kernel's name")
        name = self.advance().text
        if not self.accept("["):
            return name
        if self.accept("]"):
            return name + "[]"
        name += "["
        while True:
            if not self.at("name") and not self.at("number"):
                self.expected("a word or a number in the kernel's name")
            name += self.advance().text
            if self.accept("]"):
                return name + "]"
            if not self.at(",") and not self.at(":"):
                self.expected("`,`, `:` or `]` in the kernel's name")
            name += self.advance().text + " "

    def stated_arithmetic(self) -> str | None:
        if not self.is_word("in"):
            return None
        self.advance()
        if self.token.text not in ("f32", "f64"):
            self.expected("`f32` or `f64`")
        return self.advance().text

    def numbered(self, number: int) -> None:
        if not self.at("parameter") or self.token.text != f"%{number}":
            self.expected(f"`%{number}`")
        self.advance()

    def input_types(self) -> tuple[BufferType, ...]:
        self.expect("(")
        inputs: list[BufferType] = []
        if self.accept(")"):
            return ()
        while True:
            self.numbered(len(inputs))
            self.expect(":")
            inputs.append(self.buffer_type(is_input=True))
            if len(inputs) > limits.BUFFERS:
                self.limit("the number of inputs", limits.BUFFERS)
            if not self.accept(","):
                self.expect(")")
                return tuple(inputs)

    def outputs(self, first: int) -> tuple[Output, ...]:
        outputs: list[Output] = []
        while True:
            self.numbered(first + len(outputs))
            shares = None
            if self.is_word("in"):
                self.advance()
                shares = self.parameter()
            self.expect(":")
            outputs.append(Output(self.buffer_type(is_input=False), shares))
            if len(outputs) > limits.BUFFERS:
                self.limit("the number of outputs", limits.BUFFERS)
            if not self.accept(","):
                return tuple(outputs)

    def parameter(self) -> int:
        number = _number(self.token.text[1:]) if self.at("parameter") else None
        if number is None:
            self.expected("a buffer such as `%0`")
        self.advance()
        return number

    def scratch(self) -> tuple[BufferType, ...]:
        scratch: list[BufferType] = []
        while self.at("name") and self.peek().kind == ":":
            if self.token.text != f"t{len(scratch)}":
                self.expected(f"`t{len(scratch)}`")
            self.advance()
            self.advance()
            scratch.append(self.buffer_type(is_input=False))
            if len(scratch) > limits.BUFFERS:
                self.limit("the number of scratch buffers", limits.BUFFERS)
        return tuple(scratch)

    def buffer_type(self, *, is_input: bool) -> BufferType:
        start = self.token.start
        element = self.element()
        axes: list[Axis] = []
        if self.accept("["):
            while True:
                name = None
                if self.at("name"):
                    name = self.advance().text
                    self.expect(":")
                axes.append(Axis(name, self.integer("the size of an axis")))
                if not self.accept(","):
                    break
                if len(axes) >= limits.RANK:
                    self.limit("the number of axes", limits.RANK)
            self.expect("]")
        self.check_type(BufferType(element, tuple(axes)), is_input, self.span_from(start))
        return BufferType(element, tuple(axes))

    def check_type(self, buffer: BufferType, is_input: bool, span: Span) -> None:
        elements = 0 if any(axis.size == 0 for axis in buffer.axes) else 1
        for axis in buffer.axes:
            elements *= axis.size
            if elements > limits.ELEMENTS or axis.size > limits.ELEMENTS:
                self.fail("E9206", f"the number of elements of a buffer exceeds {limits.ELEMENTS}", span)
        element = buffer.element
        if element.bound == 0:
            self.fail("E9202", "the bound V of i64<V is at least 1", span)
        if element.bound is not None and element.bound > limits.BOUND:
            self.fail("E9206", f"the bound V of i64<V exceeds {limits.BOUND}", span)
        if element.scales is None:
            return
        if not is_input:
            self.fail("E9202", "only inputs are quantised", span)
        first, end = element.scales
        if not first < end <= len(buffer.axes):
            self.fail("E9202", "the axes of the scales are not axes of the buffer", span)

    def element(self) -> Element:
        if not self.at("name") or self.token.text not in _ELEMENTS:
            self.expected("an element type: f64, f32, bf16, i64, i64<V, bool, int8/o or int4/o")
        kind = cast(ElementKind, self.advance().text)
        if kind == "i64" and self.accept("<"):
            return Element(kind, bound=self.integer("the bound V of i64<V"))
        if kind not in ("int8", "int4"):
            return Element(kind)
        self.expect("/")
        first = self.integer("the axis of the scales")
        end = self.integer("the end of the axes of the scales") if self.accept("..") else first + 1
        return Element(kind, scales=(first, end))

    def block(self) -> tuple[Statement, ...]:
        self.expect("{")
        statements = self.statements()
        self.expect("}")
        return statements

    def statements(self) -> tuple[Statement, ...]:
        self.enter()
        statements: list[Statement] = []
        while not self.at("}"):
            statements.append(self.statement())
        self.depth -= 1
        return tuple(statements)

    def statement(self) -> Statement:
        if self.is_word("for"):
            return self.for_loop()
        if self.is_word("apply"):
            return self.apply()
        if self.is_word("tile"):
            return self.tile()
        if self.is_word("if"):
            self.advance()
            condition = self.elaborator.condition(self.expression())
            return If(condition, self.block())
        if self.at("parameter") or (self.at("name") and _temporary(self.token.text) is not None):
            return self.store()
        variable = self.variable() if self.at("name") else None
        if variable is None:
            self.expected("a statement" if self.at("name") else "a statement or `}`")
        at = self.advance()
        if variable.kind == "i":
            self.fail("E9202", "a loop counter can't be assigned", self.span_of(at))
        if variable.number >= limits.VARIABLES:
            self.fail("E9206", f"the number of a variable exceeds {limits.VARIABLES - 1}", self.span_of(at))
        self.expect("=")
        return Assign(variable, self.elaborator.expression(self.expression(), VARIABLE_KINDS[variable.kind]))

    def variable(self) -> Variable | None:
        word = self.token.text
        number = _number(word[1:])
        return Variable(cast(VariableKind, word[0]), number) if word[0] in _VARIABLES and number is not None else None

    def store(self) -> Statement:
        raw = self.access()
        access = self.elaborator.access(raw)
        if raw.buffer.space == "%" and raw.buffer.number < self.inputs:
            self.elaborator.fault(f"%{raw.buffer.number} is an input and can't be stored to", raw)
        if self.accept("<v="):
            buffer = self.elaborator.buffers[raw.buffer]
            if buffer.element.kind not in _STORED_IN_LANES or not buffer.axes:
                name, wanted = f"{raw.buffer.space}{raw.buffer.number}", "a buffer of reals or truth values"
                self.elaborator.fault(f"a vector is stored along the last axis of {wanted}, which {name} isn't", raw)
            lanes = "mask" if buffer.element.kind == "bool" else "vector"
            return Store(access, self.elaborator.expression(self.expression(), lanes), vector=True)
        self.expect("=")
        kind = self.elaborator.element_kind(raw.buffer) or "real"
        return Store(access, self.elaborator.expression(self.expression(), kind))

    def for_loop(self) -> Statement:
        self.advance()
        counter, extent = self.counted()
        return For(counter, extent, self.block())

    def counted(self) -> tuple[int, int]:
        """`iN in 0..extent`"""
        variable = self.variable() if self.at("name") else None
        if variable is None or variable.kind != "i":
            self.expected("a loop counter such as `i0`")
        if variable.number >= limits.VARIABLES:
            self.limit("the number of a variable", limits.VARIABLES - 1)
        self.advance()
        self.keyword("in")
        if self.token.text != "0":
            self.expected("`0`, where every loop begins")
        self.advance()
        self.expect("..")
        return variable.number, self.integer("the number of rounds")

    def tile(self) -> Statement:
        self.advance()
        self.expect("<")
        lanes = self.integer("the lanes of a tile")
        self.expect(">")
        runs = [Run(*self.counted())]
        for _ in range(2):
            self.expect(",")
            runs.append(Run(*self.counted()))
        self.expect("{")
        total = self.access()
        elaborator = self.elaborator
        access = elaborator.access(total)
        if total.buffer.space == "%" and total.buffer.number < self.inputs:
            elaborator.fault(f"%{total.buffer.number} is an input and can't be stored to", total)
        continues = self.accept("+=") is not None
        if not continues:
            self.expect("=")
        fused, *factors = self.product()
        self.expect("}")
        left, right = map(elaborator.real_load, factors)
        return Tile(runs[0], runs[1], runs[2], lanes, access, left, right, continues, fused)

    def product(self) -> tuple[bool, RawAccess, RawAccess]:
        """`(%0[…] * %1[…])` or `fma(%0[…], %1[…])`: whether it is fused, and the factors."""
        at = self.token
        raw = self.expression()
        factors = _factors(raw)
        if factors is None:
            message = "expected the product of two elements: `(%0[…] * %1[…])` or `fma(%0[…], %1[…])`"
            self.fail("E9201", message, self.span_of(at))
        return factors

    def apply(self) -> Statement:
        self.advance()
        at = self.token
        if not self.at("name"):
            self.expected("an elementary function")
        function = self.advance().text
        if function not in ELEMENTARY:
            self.fail("E9202", f"`{function}` is no elementary function", self.span_of(at))
        self.expect("(")
        sources = [self.run()]
        if function == "pow":
            self.expect(",")
            sources.append(self.run())
        self.expect(")")
        self.keyword("to")
        target = self.run(is_written=True)
        self.keyword("over")
        count = self.integer("the number of elements")
        return Apply(cast(FunctionName, function), tuple(sources), target, count)

    def run(self, *, is_written: bool = False) -> Access:
        """The first element of a run."""
        raw = self.access()
        access = self.elaborator.access(raw)
        buffer = self.elaborator.buffers[raw.buffer]
        name = f"{raw.buffer.space}{raw.buffer.number}"
        if buffer.element.kind != self.elaborator.arithmetic or not buffer.axes:
            real = self.elaborator.arithmetic
            message = f"a run lies along the last axis of a buffer of {real}, which {name} isn't"
            self.elaborator.fault(message, raw)
        if is_written and raw.buffer.space == "%" and raw.buffer.number < self.inputs:
            self.elaborator.fault(f"{name} is an input and can't be stored to", raw)
        return access

    def access(self) -> RawAccess:
        start = self.token.start
        if self.at("parameter"):
            buffer = Buffer("%", self.parameter())
        else:
            number = _temporary(self.token.text)
            if number is None:
                self.expected("a buffer")
            self.advance()
            buffer = Buffer("t", number)
        self.expect("[")
        return RawAccess(buffer, self.listed("]"), start, self.previous.end)

    def listed(self, close: str) -> tuple[Raw, ...]:
        """Expressions with commas between them, up to and with the closing bracket."""
        listed: list[Raw] = []
        if self.accept(close):
            return ()
        while True:
            listed.append(self.expression())
            if not self.accept(","):
                self.expect(close)
                return tuple(listed)

    def expression(self) -> Raw:
        self.enter()
        start = self.token.start
        vector = False
        if self.accept("("):
            content = self.parenthesised()
            vector = self.accept("<v>") is not None
        elif self.accept("-"):
            content = self.number(negative=True)
        elif self.at("number"):
            content = self.number(negative=False)
        elif self.at("parameter"):
            content = self.access()
            vector = self.accept("<v>") is not None
        elif self.at("name"):
            content, vector = self.named()
        else:
            self.expected("an expression")
        self.depth -= 1
        return Raw(content, start, self.previous.end, vector)

    def number(self, *, negative: bool) -> RawLiteral:
        if not self.at("number") and not self.is_word("inf"):
            self.expected("a number after `-`")
        return RawLiteral(self.advance().text, negative)

    def named(self) -> tuple[RawLiteral | RawTruth | RawVariable | RawAccess | RawOperation, bool]:
        word = self.token.text
        if word in ("inf", "nan"):
            self.advance()
            return RawLiteral(word, negative=False), False
        if word in ("true", "false"):
            self.advance()
            return RawTruth(word == "true"), False
        variable = self.variable()
        if variable is not None:
            self.advance()
            return RawVariable(variable.kind, variable.number), False
        if _temporary(word) is not None:
            return self.access(), self.accept("<v>") is not None
        at = self.advance()
        if not self.accept("("):
            self.fail("E9201", f"{describe(at)} is neither a variable nor a function's name", self.span_of(at))
        operation = RawOperation("call", word, self.listed(")"))
        return operation, self.accept("<v>") is not None

    def parenthesised(self) -> RawOperation:
        """After `(`. `(-1)` is the negation of 1, `(-1 + s0)` begins with −1."""
        start = self.token.start
        if self.accept("-"):
            if not self.at("number") and not self.is_word("inf"):
                return self.closed(RawOperation("unary", "-", (self.expression(),)))
            literal = self.number(negative=False)
            token = self.previous
            if self.at(")"):
                return self.closed(RawOperation("unary", "-", (Raw(literal, token.start, token.end),)))
            return self.binary(Raw(RawLiteral(literal.text, negative=True), start, token.end))
        if self.is_word("not"):
            self.advance()
            return self.closed(RawOperation("unary", "not", (self.expression(),)))
        return self.binary(self.expression())

    def binary(self, left: Raw) -> RawOperation:
        if self.token.kind not in _OPERATORS and not self.is_word("and") and not self.is_word("or"):
            self.expected("an operator")
        operator = self.advance().text
        return self.closed(RawOperation("binary", operator, (left, self.expression())))

    def closed(self, operation: RawOperation) -> RawOperation:
        self.expect(")")
        return operation


def _factors(raw: Raw) -> tuple[bool, RawAccess, RawAccess] | None:
    content = raw.content
    if not isinstance(content, RawOperation) or (content.form, content.name) not in _PRODUCTS or raw.vector:
        return None
    if len(content.operands) != 2 or any(each.vector for each in content.operands):
        return None
    left, right = (each.content for each in content.operands)
    if not isinstance(left, RawAccess) or not isinstance(right, RawAccess):
        return None
    return content.name == "fma", left, right


def _number(digits: str) -> int | None:
    """A number of digits alone, without leading zeros, below 2³²."""
    if not digits.isdigit() or not digits.isascii() or len(digits) > 10 or (len(digits) > 1 and digits[0] == "0"):
        return None
    number = int(digits)
    return number if number < 1 << 32 else None


def _temporary(word: str) -> int | None:
    """The number of a scratch buffer's name."""
    return _number(word[1:]) if word.startswith("t") else None
