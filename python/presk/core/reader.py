"""Core text back to Core: the inverse of `core.printer`.

`read_program` gives a program that `core.verify` accepts, or raises PreskError: E9101 for text that is no Core text,
E9102 for nesting past the limit, E9103 for Core that breaks an invariant, and what names, constants and a primitive's
shape rule say otherwise. Types of lets are derived on the way. Any text whatever ends in one of these.
"""

from __future__ import annotations

from presk.core.nodes import (
    Body,
    Call,
    Count,
    Each,
    Expression,
    Function,
    Let,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Parameter,
    Primal,
    Program,
    SetField,
    Source,
)
from presk.core.read_apply import ApplyReader
from presk.core.typing import expression_type, source_trips
from presk.core.verify import CoreInvalid, verify
from presk.primitives.table import Misfit
from presk.shapes.types import ModuleOf, TupleOf
from presk.text import sources, spans
from presk.text.cursor import UnreadableError
from presk.text.diagnostics import PreskError, fail
from presk.text.lexer import END


def read_program(source: spans.Source | str) -> Program:
    """The program a text describes, verified. Raises PreskError."""
    if isinstance(source, str):
        source = spans.Source("<core>", source)
    refused = sources.verify(source)
    if refused:
        raise PreskError(refused)
    reader = _Reader(source)
    try:
        program = reader.program()
    except UnreadableError:
        raise PreskError(reader.diagnostics) from None
    try:
        verify(program)
    except CoreInvalid as error:
        place = reader.places.get((error.function, error.number))
        raise fail("E9103", error.message, place) from None
    return program


class _Reader(ApplyReader):
    """Reads modules and functions; `types` are those of the numbers in scope."""

    def __init__(self, source: spans.Source) -> None:
        super().__init__(source)
        self.functions: dict[str, Function] = {}
        self.function = ""
        self.places: dict[tuple[str, int | None], spans.Span] = {}

    def program(self) -> Program:
        self.begin()
        while self.token.kind != END:
            if self.accept("module"):
                self.module()
            elif self.token.kind == "fn":
                self.read_function()
            else:
                self.unexpected("`fn` or `module`")
        if not self.functions:
            self.fail("E9101", "a Core text has at least one function: `fn name(%0 : real) -> real { %0 }`")
        return Program(tuple(self.functions.values()))

    def read_function(self) -> None:
        start = self.advance()
        name = self.function_name()
        self.function = name
        self.places[name, None] = self.span_from(start.start)
        if name in self.functions:
            self.fail("E2002", f"the function `{name}` stands here twice", self.span_from(start.start))
        self.expect("(")
        self.types = {}
        parameters: list[Parameter] = []
        self.listed(")", lambda: parameters.append(self.parameter()))
        self.expect("->")
        result = self.type()
        primal = self.primal() if self.token.kind == "name" and self.token.text == "of" else None
        body = self.body()
        self.functions[name] = Function(name, tuple(parameters), result, body, primal)

    def primal(self) -> Primal:
        """`of loss(%3, %5)`: whose forward half the function is, and the roots of that function's groups."""
        self.advance()
        name = self.function_name()
        self.expect("(")
        roots: list[int] = []
        self.listed(")", lambda: roots.append(self.let_number()))
        core = self.word().replace("_", ":", 1) if self.token.kind == "name" else None
        return Primal(name, tuple(roots), core)

    # Lets

    def parameter(self) -> Parameter:
        """`%7 block : Block`; its type is in scope from here on."""
        token = self.token
        number = self.let_number()
        name = None if self.token.kind == ":" else self.word()
        self.expect(":")
        parameter = Parameter(number, name, self.type())
        self.places.setdefault((self.function, number), self.span_of(token))
        self.types[number] = parameter.type
        return parameter

    def body(self) -> Body:
        """Lets and a result in braces. Their numbers stay in `types`: the verifier sees to scope."""
        self.expect("{")
        lets: list[Let] = []
        with self.deeper():
            while self.token.kind == "ref" and "=" in (self.peek(1).kind, self.peek(2).kind):
                lets.append(self.let())
            result = self.operand()
            self.expect("}", "`}` behind the body's result")
        return Body(tuple(lets), result)

    def let(self) -> Let:
        start = self.token
        number = self.let_number()
        name = None if self.token.kind == "=" else self.word()
        self.expect("=")
        again = self.token.kind == "name" and self.token.text == "again" and self.peek().kind != "("
        if again:
            self.advance()
        value = self.value()
        span = self.span_from(start.start)
        self.places.setdefault((self.function, number), span)
        try:
            found = expression_type(value, self.types, self.functions)
        except Misfit as error:
            self.fail(error.code, error.message, span, error.hint)
        self.types[number] = found
        return Let(number, name, value, found, span, again)

    def value(self) -> Expression:
        match self.token.kind:
            case "fold" | "scan":
                return self.loop()
            case "map":
                return self.leafwise()
            case "call":
                return self.call()
            case "make":
                return self.make()
            case "(":
                self.advance()
                items: list[Operand] = []
                self.listed(")", lambda: items.append(self.operand()))
                return MakeTuple(tuple(items))
            case "{":
                return self.set_field() if self.peek().kind == "ref" else self.record(None)
            case _:
                return self.apply()

    def call(self) -> Call:
        self.advance()
        function = self.function_name()
        self.expect("(")
        operands: list[Operand] = []
        self.listed(")", lambda: operands.append(self.operand()))
        return Call(function, tuple(operands), self.call_path() if self.accept("@") else "")

    def make(self) -> MakeRecord:
        start = self.advance()
        module = self.plain_type()
        if not isinstance(module, ModuleOf):
            self.fail("E9101", "`make` makes a module's tree", self.span_from(start.start))
        return self.record(module)

    def record(self, module: ModuleOf | None) -> MakeRecord:
        self.expect("{")
        fields: list[tuple[str, Operand]] = []

        def item() -> None:
            name = self.word("a field")
            self.expect("=")
            fields.append((name, self.operand()))

        self.listed("}", item)
        return MakeRecord(tuple(fields), module)

    def set_field(self) -> SetField:
        self.advance()
        base = self.operand()
        self.expect("with")
        path = self.expect("path", "a path such as `.w`").text.split(".")[1:]
        self.expect("=")
        value = self.operand()
        self.expect("}")
        return SetField(base, tuple(path), value)

    # Loops

    def loop(self) -> Loop:
        start = self.advance()
        opening = self.token
        state = self.parameter()
        del self.types[state.number]
        self.expect("=")
        first = self.operand()
        self.expect("over")
        elements: list[Parameter] = []
        taken: list[Source] = []
        stops: list[int | None] = []
        outer = dict(self.types)
        while True:
            elements.append(self.parameter())
            self.expect("in")
            inner, self.types = self.types, outer
            source, stop = self.source_of_loop()
            self.types = inner
            taken.append(source)
            stops.append(stop)
            if not self.accept(","):
                break
        along = self.word("an axis") if self.accept("along") else None
        backwards = self.accept("reversed") is not None
        trips = self.trips(tuple(taken), stops, self.span_from(opening.start))
        self.types[state.number] = state.type
        return Loop(start.kind, state, first, tuple(elements), tuple(taken), trips, self.body(), along, backwards)

    def source_of_loop(self) -> tuple[Source, int | None]:
        """`%0.blocks`, `%1[seq]` or `0..20`; of a counter also where it stops."""
        if self.token.kind == "number":
            start = self.whole()
            self.expect("..")
            return Count(start), self.whole()
        start = self.token.start
        operand = self.operand()
        place = self.span_from(start)
        if not self.accept("["):
            return Each(operand, None), None
        axis = self.axis_of(operand, place)
        self.expect("]")
        return Each(operand, axis), None

    def trips(self, sources: tuple[Source, ...], stops: list[int | None], span: spans.Span) -> int:
        """How many rounds the sources give, which must agree."""
        counts: set[int | None] = set()
        for source, stop in zip(sources, stops, strict=True):
            try:
                trips = source_trips(source, self.types)
            except Misfit as error:
                self.fail(error.code, error.message, span, error.hint)
            counts.add(stop - source.start if isinstance(source, Count) and stop is not None else trips)
        count = counts.pop()
        if counts or count is None or count < 0:
            self.fail("E3003", "the sources of a loop have one and the same number of elements", span)
        return count

    def leafwise(self) -> MapTrees:
        self.advance()
        parameters: list[Parameter] = []
        operands: list[Operand] = []
        outer = dict(self.types)
        while True:
            parameters.append(self.parameter())
            self.expect("in")
            inner, self.types = self.types, outer
            operands.append(self.operand())
            self.types = inner
            if not self.accept(","):
                break
        body = self.body()
        result = self.type_of(body.result, self.span_of(self.previous))
        arity = len(result.items) if isinstance(result, TupleOf) else None
        return MapTrees(tuple(parameters), tuple(operands), body, arity)
