"""A Schedule's text to nodes, the inverse of `text`. Called by tests, tools and whoever is given a schedule.

The grammar is docs/schedule.md's. Any text whatever ends in a schedule or in a PreskError: E9211 for what the grammar
doesn't know, E9215 past a limit, and the kernels' own codes behind the closing brace. Whether a schedule may run is the
Rust side's to say, which reads the same text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Literal, NoReturn, TypeAlias, cast

from presk.kernel.nodes import Element, ElementKind
from presk.kernel.reader import read_kernels
from presk.run.record.schedule import (
    Convert,
    Copy,
    Divided,
    Draw,
    Fixed,
    Input,
    Key,
    Launch,
    Mask,
    Name,
    Output,
    Region,
    Repeat,
    Sample,
    Schedule,
    SetCount,
    Space,
    Step,
    Swap,
    View,
)
from presk.text.cursor import Cursor, UnreadableError, describe
from presk.text.diagnostics import PreskError
from presk.text.lexer import Lexicon, Token, scan
from presk.text.spans import Source

LEXICON = Lexicon(
    re.compile(
        r"""[ \t\r]*+(?:
              (?P<newline>\n+|\Z)
            | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
            | (?P<number>[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)
            | (?P<string>"(?:[^"\\\n]|\\.)*")
            | (?P<operator>->|\.\.|[()\[\]{},:=<>+*/-])
            | (?P<bad_character>[^ \t\r\n])
          )""",
        re.VERBOSE,
    ),
    frozenset(),
)
"""A point belongs to a number where a digit follows: `0..4` is three tokens."""

NESTING = 60
"""Depth of loops."""

COUNTERS = 1 << 16
"""A counter's number is below this."""

RANK = 64
"""Axes of a buffer or a shape."""

BOUND = 1 << 62
"""The largest V of `i64<V>`."""

LARGEST = 1 << 64
"""Integers are below this."""

FLOATS = frozenset(("f64", "f32", "bf16"))

ELEMENTS = FLOATS | {"i64", "bool", "int8", "int4"}

NAMED = re.compile(r"([a-z])(0|[1-9][0-9]{0,9})")
"""A letter and a number: buffers, kernels and counters."""


def read_schedule(source: Source | str) -> Schedule:
    """The schedule of a text, its kernels included. Raises PreskError."""
    if isinstance(source, str):
        source = Source("<schedule>", source)
    # Whatever the schedule's own words can't be (a kernel's `%0` among them) is a token nobody expects.
    tokens = scan(source, LEXICON, lambda _, match: ("unknown", match["bad_character"])).tokens
    reader = _Reader(source, tokens)
    try:
        name, realization = reader.head()
        buffers = reader.buffers()
        steps = reader.steps()
        end = reader.close()
    except UnreadableError:
        raise PreskError(reader.diagnostics) from None
    blank = re.sub(r"[^\n]", " ", source.text[:end])
    kernels = read_kernels(Source(source.name, blank + source.text[end:]))
    inputs, outputs, constants, regions, arena = buffers
    return Schedule(name, realization, inputs, outputs, constants, regions, arena, kernels, steps)


Buffers: TypeAlias = tuple[tuple[Input, ...], tuple[Output, ...], tuple[Fixed, ...], tuple[Region, ...], int]


class _Reader(Cursor):
    """A position in a schedule's text."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.depth = 0

    # Words

    def expected(self, what: str) -> NoReturn:
        self.fail("E9211", f"expected {what}, found {describe(self.token)}")

    def expect(self, kind: str) -> Token:
        return self.accept(kind) or self.expected(f"`{kind}`")

    def word(self, what: str) -> str:
        if not self.at("name"):
            self.expected(what)
        return self.advance().text

    def accept_word(self, word: str) -> bool:
        found = self.at("name") and self.token.text == word
        if found:
            self.advance()
        return found

    def keyword(self, word: str) -> None:
        if not self.accept_word(word):
            self.expected(f"`{word}`")

    def string(self, what: str) -> str:
        if not self.at("string"):
            self.expected(what)
        try:
            text = json.loads(self.token.text)
            text.encode()
        except ValueError:
            self.fail("E9211", "the string holds an escape that is no character")
        self.advance()
        return text

    def integer(self, what: str) -> int:
        text = self.token.text
        if not self.at("number") or not text.isdigit() or len(text) > 20 or int(text) >= LARGEST:
            self.expected(what)
        self.advance()
        return int(text)

    def number(self) -> float | int:
        negative = self.accept("-") is not None
        text = self.token.text
        if self.at("name") and text in ("inf", "nan"):
            value: float | int = float(text)
        elif self.at("number") and text.isdigit() and len(text) <= 19:
            value = int(text)
            if not -(LARGEST >> 1) <= (-value if negative else value) < LARGEST >> 1:
                self.expected("a whole number of 64 bits")
        elif self.at("number") and not text.isdigit() and not math.isinf(float(text)):
            value = float(text)
        else:
            self.expected("a number")
        self.advance()
        return -value if negative else value

    def real(self) -> float:
        return float(self.number())

    def named(self, letters: str, what: str) -> tuple[str, int]:
        match = NAMED.fullmatch(self.token.text) if self.at("name") else None
        if match is None or match[1] not in letters or int(match[2]) >= LARGEST >> 32:
            self.expected(what)
        self.advance()
        return match[1], int(match[2])

    def counter(self) -> int:
        number = self.named("l", "a loop's counter")[1]
        if number >= COUNTERS:
            self.fail("E9215", f"the number of a loop's counter exceeds {COUNTERS - 1}", self.span_of(self.previous))
        return number

    # Buffers

    def head(self) -> tuple[str, str]:
        self.keyword("schedule")
        name = self.string("the entry's name")
        self.keyword("realized")
        realization = self.string("the realization's name")
        self.expect("{")
        return name, realization

    def close(self) -> int:
        """The offset behind the closing brace."""
        if not self.at("}"):
            self.expected("a step or `}`")
        return self.token.end

    def buffers(self) -> Buffers:
        inputs: list[Input] = []
        outputs: list[Output] = []
        constants: list[Fixed] = []
        regions: list[Region] = []
        arena = 0
        while True:
            if self.accept_word("input"):
                inputs.append(self.input(len(inputs)))
            elif self.accept_word("output"):
                outputs.append(self.output(len(outputs)))
            elif self.accept_word("constant"):
                self.numbered("c", len(constants))
                self.expect(":")
                element = self.element()
                self.expect("=")
                constants.append(Fixed(element, self.constant(element)))
            elif self.accept_word("arena"):
                arena = self.integer("the arena's bytes")
                self.keyword("bytes")
            elif self.accept_word("buffer"):
                regions.append(self.region(len(regions)))
            else:
                return tuple(inputs), tuple(outputs), tuple(constants), tuple(regions), arena

    def constant(self, element: Element) -> float | int:
        """A float's value is a float however it is written."""
        value = self.number()
        return float(value) if element.kind in FLOATS else value

    def input(self, number: int) -> Input:
        self.numbered("h", number)
        self.expect(":")
        element, shape = self.element(), self.sizes()
        path = self.string("the leaf's path")
        return Input(path, element, shape, self.accept_word("donated"))

    def output(self, number: int) -> Output:
        self.numbered("o", number)
        shares = self.named("h", "an input")[1] if self.accept_word("in") else None
        self.expect(":")
        element, shape = self.element(), self.sizes()
        return Output(self.string("the leaf's path"), element, shape, shares)

    def region(self, number: int) -> Region:
        self.numbered("a", number)
        self.expect(":")
        element = self.element()
        self.expect("[")
        count = self.integer("the number of elements")
        self.expect("]")
        self.keyword("at")
        return Region(element, count, self.integer("the first byte"))

    def numbered(self, letter: str, number: int) -> None:
        if not self.accept_word(f"{letter}{number}"):
            self.expected(f"`{letter}{number}`")

    def sizes(self) -> tuple[int, ...]:
        self.expect("[")
        sizes: list[int] = []
        while not self.accept("]"):
            if sizes:
                self.expect(",")
            if len(sizes) == RANK:
                self.fail("E9215", f"the number of axes exceeds {RANK}")
            sizes.append(self.integer("an axis's size"))
        return tuple(sizes)

    def element(self) -> Element:
        kind = self.token.text
        if not self.at("name") or kind not in ELEMENTS:
            self.expected("an element type")
        self.advance()
        if kind in ("int8", "int4"):
            self.expect("/")
            first = self.integer("the first axis of the scales")
            end = self.integer("the end of the scales' axes") if self.accept("..") else first + 1
            if not first < end <= RANK:
                self.fail("E9211", "the axes of the scales are no axes", self.span_of(self.previous))
            return Element(cast(ElementKind, kind), scales=(first, end))
        if kind == "i64" and self.accept("<"):
            bound = self.integer("the bound")
            if not 1 <= bound <= BOUND:
                self.fail("E9211", f"the bound of an i64<V> is 1 to {BOUND}", self.span_of(self.previous))
            self.expect(">")
            return Element("i64", bound)
        return Element(cast(ElementKind, kind))

    def view(self) -> View:
        space, number = self.named("hoac", "a buffer: `h`, `o`, `a` or `c` and its number")
        name = Name(cast(Space, space), number)
        strides: list[tuple[int, int]] = []
        while self.accept("+"):
            value = self.integer("an offset")
            if not self.accept("*"):
                return View(name, value, tuple(strides))
            counter = self.counter()
            if any(other == counter for other, _ in strides):
                self.fail("E9211", f"l{counter} occurs twice in one view", self.span_of(self.previous))
            strides.append((counter, value))
        return View(name, 0, tuple(strides))

    # Steps

    def steps(self) -> tuple[Step, ...]:
        steps: list[Step] = []
        while self.at("name"):
            rule = STEPS.get(self.token.text)
            if rule is None:
                self.fail("E9211", f"no step begins with {describe(self.token)}")
            self.advance()
            steps.append(rule(self))
        return tuple(steps)

    def launch(self) -> Step:
        number = self.named("k", "a kernel")[1]
        self.word("the kernel's name")
        self.expect("(")
        inputs = () if self.accept(")") else self.views()
        self.expect("->")
        self.expect("(")
        outputs = self.views()
        split = self.split()
        return Launch(number, inputs, outputs, split, self.string("the site"))

    def views(self) -> tuple[View, ...]:
        views = [self.view()]
        while self.accept(","):
            views.append(self.view())
        self.expect(")")
        return tuple(views)

    def split(self) -> Divided | Literal["whole"] | None:
        if self.accept_word("whole"):
            return "whole"
        if not self.accept_word("split"):
            return None
        self.keyword("at")
        depth = self.integer("a depth")
        workers = self.integer("the number of workers") if self.accept_word("over") else None
        if workers == 0:
            self.fail("E9211", "a loop is divided over one worker at least", self.span_of(self.previous))
        return Divided(depth, workers)

    def repeat(self) -> Step:
        counter = self.counter()
        self.keyword("in")
        if self.integer("0") != 0:
            self.fail("E9211", "a loop's counter begins at 0", self.span_of(self.previous))
        self.expect("..")
        trips = self.integer("the number of rounds")
        backward = self.accept_word("reversed")
        self.expect("{")
        self.depth += 1
        if self.depth > NESTING:
            self.fail("E9215", f"the depth of loops exceeds {NESTING}")
        steps = self.steps()
        self.depth -= 1
        self.expect("}")
        return Repeat(counter, trips, backward, steps)

    def convert(self) -> Step:
        count = self.integer("the number of elements")
        before = self.element()
        self.keyword("to")
        return Convert(before, self.element(), count, self.one_view(), self.target())

    def copy(self) -> Step:
        count = self.integer("the number of elements")
        return Copy(self.element(), count, self.one_view(), self.target())

    def count(self) -> Step:
        counter = self.counter()
        self.keyword("from")
        return SetCount(counter, self.integer("the first number"), self.target())

    def swap(self) -> Step:
        what = "a buffer of the arena"
        return Swap(Name("a", self.named("a", what)[1]), Name("a", self.named("a", what)[1]))

    def normal(self) -> Step:
        return Draw("normal", self.real(), self.real(), *self.shape(), self.element(), self.key(), self.target())

    def uniform(self) -> Step:
        ends = self.real(), self.real()
        self.keyword("within")
        within = self.real(), self.real()
        return Draw("uniform", *ends, *self.shape(), self.element(), self.key(), self.target(), within)

    def mask(self) -> Step:
        element, given = self.element(), self.one_view()
        return Mask(given, element, *self.shape(), self.element(), self.key(), self.target())

    def sample(self) -> Step:
        element, logits, scalars = self.element(), self.one_view(), self.element()
        self.expect("(")
        temperature = self.view()
        self.expect(",")
        top_p = self.view()
        self.expect(")")
        shape, rows = self.shape()
        self.keyword("axis")
        axis = self.integer("an axis")
        self.keyword("of")
        size = self.integer("the axis's size")
        self.keyword("top")
        top_k = self.integer("how many are allowed")
        key, target = self.key(), self.target()
        return Sample(element, shape, rows, axis, size, top_k, logits, scalars, temperature, top_p, key, target)

    def one_view(self) -> View:
        self.expect("(")
        view = self.view()
        self.expect(")")
        return view

    def target(self) -> View:
        self.expect("->")
        return self.one_view()

    def shape(self) -> tuple[tuple[int, ...], int | None]:
        sizes = self.sizes()
        return sizes, self.integer("the axis of rows") if self.accept_word("rows") else None

    def key(self) -> Key:
        self.keyword("key")
        stream, path = self.string("the stream"), self.string("the path")
        self.expect("[")
        counters: list[int] = []
        while not self.accept("]"):
            if counters:
                self.expect(",")
            counters.append(self.counter())
        return Key(stream, path, tuple(counters))


STEPS: dict[str, Callable[[_Reader], Step]] = {
    "launch": _Reader.launch,
    "loop": _Reader.repeat,
    "convert": _Reader.convert,
    "copy": _Reader.copy,
    "count": _Reader.count,
    "swap": _Reader.swap,
    "normal": _Reader.normal,
    "uniform": _Reader.uniform,
    "mask": _Reader.mask,
    "sample": _Reader.sample,
}
"""How each step reads on behind its first word."""
