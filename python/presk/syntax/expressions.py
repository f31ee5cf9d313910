"""Operators, calls, brackets and fields, tuples, records and updates.

Precedence, from loose to tight: `or`, `and`, `not`, comparisons (never chained), `+ -`, `* / //`, unary `-`, `**` (to
the right), then calls, brackets and fields. A line break that counts ends an expression, except before `.field`,
`else` and `with`, none of which can begin a statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from presk.syntax import tree
from presk.syntax.foreign import FOREIGN_OPERATORS, FOREIGN_PREFIXES, FOREIGN_VALUES
from presk.syntax.lexer import DECLARATION_WORDS, KEYWORDS
from presk.syntax.literals import LiteralReader
from presk.syntax.reader import NESTING_LIMIT
from presk.text.diagnostics import Diagnostic
from presk.text.lexer import END, Scan
from presk.text.spans import Source, Span

NOT_LEVEL, COMPARISON_LEVEL, MINUS_LEVEL, POWER_LEVEL = 3, 4, 7, 8

LEVELS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARISON_LEVEL),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//"), 6),
    "**": POWER_LEVEL,
}
_ALL_LEVELS = {**LEVELS, **{foreign: LEVELS[own] for foreign, (own, _) in FOREIGN_OPERATORS.items()}}

SHOWN_COMPARISON = 40
"""Characters of a comparison that a hint repeats; a longer one would hide what it says."""

_WITHOUT_POSTFIX = (tree.If, tree.Loop, tree.MapTrees, tree.Block)
"""Values in braces of their own: what follows is no call or index of theirs, only perhaps a field."""


class ExpressionReader(LiteralReader):
    """Reads expressions; every method starts at its first token and ends behind its last.

    `primaries` reads what begins with a token of a kind; blocks.py adds the constructs that have a block.
    """

    def __init__(self, source: Source, scan: Scan, found: list[Diagnostic]) -> None:
        super().__init__(source, scan, found)
        self.primaries: dict[str, Callable[[], tree.Expr]] = {
            "name": self._name,
            "self": self._name,
            "integer": self.nat,
            "decimal": self.real,
            "true": self.truth,
            "false": self.truth,
            "string": self._string,
            "(": self._parenthesized,
            "[": self._list,
        }

    def expression(self, floor: int = 0) -> tree.Expr:
        """An expression of operators that bind tighter than the level `floor`."""
        self.deepen()
        outer, self.height = self.height, 0
        start = self.token.start
        left = self._prefixed(floor)
        steps: list[tree.Step] = []
        while True:
            kind = self.token.kind
            level = _ALL_LEVELS.get(kind, 0)
            if level <= floor or (self.token.line_break and self.line_ends):
                break
            if steps and LEVELS[steps[-1].op] != level:
                left, steps = tree.Operation(steps[-1].span, left, tuple(steps)), []
            if kind in FOREIGN_OPERATORS:
                kind = self._foreign_operator()
            elif level == COMPARISON_LEVEL and steps:
                self._chained(steps[-1])
            if not steps:
                left, steps = _unfolded(left, level)
                self.grow()
            self.advance()
            steps.append(self._step(start, kind, level))
        if steps:
            left = tree.Operation(steps[-1].span, left, tuple(steps))
        if floor == 0 and self.token.kind in ("if", "?") and not self.at_line_end:
            self.fail("E1019", f"`{self.token.kind}` can't follow a value", hint="write `if c { a } else { b }`")
        self.height = max(outer, self.height)
        self.depth -= 1
        return left

    def _step(self, start: int, kind: str, level: int) -> tree.Step:
        """The right operand of an operator, and the operator."""
        height, self.height = self.height, 0
        operand = self.expression(level - 1 if level == POWER_LEVEL else level)
        self.join(height)
        return tree.Step(self.span_from(start), kind, operand)

    def _foreign_operator(self) -> str:
        own, hint = FOREIGN_OPERATORS[self.token.kind]
        self.report("E1014", f"PSK has no operator `{self.token.kind}`", self.span_of(self.token), hint)
        return own

    def _chained(self, before: tree.Step) -> None:
        text, middle = before.span.text, before.operand.span.text
        hint = "join two comparisons by `and`"
        if len(text) < SHOWN_COMPARISON:
            hint = f"write `{text} and {middle} {self.token.kind} …`"
        self.report("E1015", "comparisons can't be chained", self.span_of(self.token), hint)

    def _prefixed(self, floor: int) -> tree.Expr:
        token = self.token
        if token.kind == "-":
            self.advance()
            operand = self.expression(MINUS_LEVEL)
        elif token.kind == "not":
            if floor > NOT_LEVEL:
                self.report(
                    "E1010",
                    "`not` binds looser than the operator before it",
                    self.span_of(token),
                    "put it in parentheses",
                )
            self.advance()
            operand = self.expression(NOT_LEVEL)
        elif token.kind in FOREIGN_PREFIXES:
            self.report("E1014", f"PSK has no unary `{token.kind}`", self.span_of(token), FOREIGN_PREFIXES[token.kind])
            self.advance()
            operand = self.expression(MINUS_LEVEL)
        else:
            return self._postfixed()
        self.grow()
        return tree.Unary(self.span_from(token.start), token.kind, operand)

    def _postfixed(self) -> tree.Expr:
        start = self.token.start
        primary = self.primaries.get(self.token.kind)
        if primary is None:
            self._no_operand()
        base = primary()
        plain = not isinstance(base, _WITHOUT_POSTFIX)
        while True:
            kind = self.token.kind
            if kind in (".", "index"):
                base = self._field(base, start)
            elif not plain or self.at_line_end:
                break
            elif kind == "(":
                base = tree.Call(*self._call(base, start))
            elif kind == "[":
                base = self._brackets(base, start)
            elif kind == "{" and self.glued and self.previous.kind == "name":
                base = tree.Instance(*self._instance(base, start))
            else:
                break
            plain = True
            self.grow()
        return base

    def _no_operand(self) -> NoReturn:
        token = self.token
        if token.kind == "fn":
            self.fail(
                "E1019",
                "a function can't be written in an expression",
                hint="declare it and pass its name: there are no closures",
            )
        if token.kind in ("real", "nat", "bool"):
            hint = "integers are used as reals without a conversion" if token.kind == "real" else None
            self.fail("E1010", f"expected an expression, found the type `{token.kind}`", hint=hint)
        if token.kind == "index":
            self.fail("E1007", f"`{token.text}` is not a number", hint=f"write `0{token.text}`")
        if (
            token.kind in KEYWORDS
            and token.kind not in DECLARATION_WORDS
            and token.kind not in ("let", "else", "over", "in")
        ):
            self.fail("E1013", f"`{token.kind}` is a keyword of PSK, so it can't stand for a value")
        self.unexpected("an expression")

    # What follows an expression

    def _field(self, base: tree.Expr, start: int) -> tree.Expr:
        if isinstance(base, tree.NatLiteral):
            self.fail("E1007", f"`{base.text}.` is not a number", base.span, f"write `{base.text}.0`")
        token = self.advance()
        if token.kind == "index":
            return tree.TupleIndex(self.span_from(start), base, self.tuple_index(token))
        name = self.name("a field's name")
        return tree.Field(self.span_from(start), base, name.text, self.span_of(name))

    def _call(self, base: tree.Expr, start: int) -> tuple[Span, tree.Expr, tuple[tree.Argument, ...]]:
        arguments = self.arguments("argument")
        return self.span_from(start), base, arguments

    def _instance(self, base: tree.Expr, start: int) -> tuple[Span, tree.Expr, tuple[tree.Argument, ...]]:
        self.braces[self.index] = "instance"
        arguments = self.arguments("parameter")
        return self.span_from(start), base, arguments

    def arguments(self, what: str) -> tuple[tree.Argument, ...]:
        """Arguments in the bracket at hand, the positional ones first."""
        found = self.bracketed(self._argument, what)
        named = False
        for argument in found:
            if named and argument.name is None:
                self.report("E1022", f"a positional {what} can't follow one with a name", argument.span)
                break
            named = argument.name is not None
        return tuple(found)

    def _argument(self) -> tree.Argument:
        token = self.token
        if self.peek().kind == "=" and (token.kind == "name" or token.kind in KEYWORDS):
            name = self.name("an argument's name")
            self.advance()
            value = self.expression()
            return tree.Argument(self.span_from(token.start), name.text, value)
        value = self.expression()
        return tree.Argument(value.span, None, value)

    def _brackets(self, base: tree.Expr, start: int) -> tree.Expr:
        if self._at_index(1):
            items = tuple(self.bracketed(self.index_item, "index"))
            return tree.Index(self.span_from(start), base, items)
        axes = tuple(self.bracketed(self.axis_entry, "axis"))
        self.check_run(axes)
        return tree.Axes(self.span_from(start), base, axes)

    def _at_index(self, distance: int) -> bool:
        """Whether `axis =` stands that many tokens ahead."""
        token = self.peek(distance)
        if token.kind == "-":
            return self.peek(distance + 1).kind == "integer" and self.peek(distance + 2).kind == "="
        return self.peek(distance + 1).kind == "=" and (token.kind in ("name", "integer") or token.kind in KEYWORDS)

    def index_item(self) -> tree.IndexItem:
        """`axis = i` or `axis = a..b`."""
        start = self.token.start
        if not self._at_index(0):
            self.fail("E1027", "an index names its axis", hint="write `x[axis = i]` or `x[axis = a..b]`")
        axis = self.axis()
        self.advance()
        value = self.ranged()
        return tree.IndexItem(self.span_from(start), axis, value)

    def axis(self) -> str | int:
        """An axis: its name, or its position, negative from the end."""
        if self.token.kind in ("integer", "-"):
            minus = self.accept("-") is not None
            if self.token.kind != "integer":
                self.unexpected("an axis position")
            position = self.tuple_index(self.advance())
            return -position if minus else position
        return self.name("an axis name").text

    def axis_entry(self) -> tree.AxisEntry:
        """`name: size`, a size, a bare word, or `..`."""
        token = self.token
        if token.kind == ".." and self.peek().kind in (",", "]"):
            self.advance()
            return tree.RunItem(self.span_of(token))
        if token.kind in ("..", ":"):
            self.fail("E1027", "this is no slice of PSK", hint="write `x[axis = a..b]`; axes left out are kept whole")
        if self.peek().kind == ":" and (token.kind == "name" or token.kind in KEYWORDS):
            label = self.name("an axis name").text
            self.advance()
            size = self.expression()
            return tree.AxisItem(self.span_from(token.start), label, size)
        if token.kind in KEYWORDS and self.peek().kind in (",", "]") and token.kind not in ("true", "false", "self"):
            name = self.name("an axis name")
            span = self.span_of(name)
            return tree.AxisItem(span, None, tree.Name(span, name.text))
        size = self.expression()
        if self.token.kind in (":", "..", "="):
            self.fail("E1027", "this is no index of PSK", hint="write `x[axis = i]` or `x[axis = a..b]`")
        return tree.AxisItem(size.span, None, size)

    def check_run(self, axes: tuple[tree.AxisEntry, ...]) -> None:
        """Reports a `..` that isn't the first entry."""
        for entry in axes[1:]:
            if isinstance(entry, tree.RunItem):
                self.report("E1024", "`..` stands for leading axes, so it comes first", entry.span)

    def ranged(self) -> tree.Expr:
        """An expression or a range; its ends may be left out."""
        start = self.token.start
        first = None if self.token.kind == ".." else self.expression()
        if first is not None and not self.at(".."):
            return first
        self.advance()
        last = None if any(map(self.at, (",", "]", ")", "{", "along", END))) else self.expression()
        return tree.Range(self.span_from(start), first, last)

    # Primaries

    def _name(self) -> tree.Expr:
        token = self.advance()
        if token.text in FOREIGN_VALUES:
            self.report("E1019", f"PSK has no `{token.text}`", self.span_of(token), FOREIGN_VALUES[token.text])
        return tree.Name(self.span_of(token), token.text)

    def _parenthesized(self) -> tree.Expr:
        start = self.token.start
        items = self.bracketed(self.expression, "item")
        if len(items) == 1 and self.tokens[self.index - 2].kind != ",":
            return items[0]
        self.grow()
        return tree.Tuple(self.span_from(start), tuple(items))

    def _list(self) -> tree.Expr:
        token = self.token
        if not self.in_train:
            hint = "several tensors become one by `stack[n](a, b)`, several values are a tuple `(a, b)`"
            self.report("E1023", "a list stands in a train block only", self.span_of(token), hint)
        items = self.bracketed(self.expression, "item")
        self.grow()
        return tree.ListLiteral(self.span_from(token.start), tuple(items))

    def _string(self) -> tree.Expr:
        token = self.advance()
        if not self.in_train:
            self.report("E1023", "a string stands in an import or a train block only", self.span_of(token))
        return tree.StringLiteral(self.span_of(token), self.string_value(token))

    def record(self) -> tree.Expr:
        """`{x = a, y = b}`."""
        start = self.token.start
        self.braces[self.index] = "record"
        fields = self.bracketed(self._record_field, "field")
        self.grow()
        return tree.Record(self.span_from(start), tuple(fields))

    def _record_field(self) -> tuple[str, tree.Expr]:
        name = self.name("a field's name")
        if self.token.kind != "=":
            self.fail("E1028", f"the field `{name.text}` has no value", self.span_of(name), f"write `{name.text} = …`")
        self.advance()
        return name.text, self.expression()

    def holds_with(self, opened: int) -> bool:
        """Whether a `with` stands directly in the braces, which makes them an update."""
        level = 0
        for index in range(opened + 1, len(self.tokens)):
            kind = self.tokens[index].kind
            if kind in ("(", "[", "{"):
                level += 1
                if level > NESTING_LIMIT:
                    return False
            elif kind in (")", "]", "}"):
                level -= 1
                if level < 0:
                    return False
            elif level == 0 and kind in ("with", "let", ";", "=", "fn"):
                return kind == "with"
        return False

    def update(self) -> tree.Expr:
        """`{m with w = v, [seq = i] = u}`."""
        opened, start = self.index, self.token.start
        self.braces[opened] = "record"
        self.advance()
        outer, self.line_ends = self.line_ends, False
        base = self.expression()
        if self.token.kind != "with":
            self.unexpected("`with` and what changes")
        changes = self.changes(opened)
        self.line_ends = outer
        self.grow()
        return tree.Update(self.span_from(start), base, changes)

    def changes(self, opened: int) -> tuple[tree.FieldChange | tree.SliceChange, ...]:
        """What follows `with` or a brace, up to the brace that ends it."""
        changes: list[tree.FieldChange | tree.SliceChange] = []
        self.advance()
        while self.token.kind != "}":
            changes.append(self._change())
            if self.accept(",") is None and self.token.kind != "}":
                if self.token.kind == END or opened not in self.pairs:
                    self.not_closed(opened)
                self.unexpected("`,` or `}` behind this change")
        if not changes:
            self.fail("E1028", "an update changes at least one field", hint="write `{m with w = v}`")
        self.advance()
        return tuple(changes)

    def _change(self) -> tree.FieldChange | tree.SliceChange:
        start = self.token.start
        if self.token.kind == "[":
            items = tuple(self.bracketed(self.index_item, "index"))
            self.expect("=", "and the slice's new value")
            value = self.expression()
            return tree.SliceChange(self.span_from(start), items, value)
        path = [self.name("a field's name").text]
        while self.accept(".") is not None:
            path.append(self.name("a field's name").text)
        self.expect("=", "and the field's new value")
        value = self.expression()
        return tree.FieldChange(self.span_from(start), tuple(path), value)


def _unfolded(left: tree.Expr, level: int) -> tuple[tree.Expr, list[tree.Step]]:
    """Where an operation's first operand is one of its own level in parentheses: what that one starts with."""
    if isinstance(left, tree.Operation) and level not in (COMPARISON_LEVEL, POWER_LEVEL):
        if LEVELS[left.steps[0].op] == level:
            return left.first, list(left.steps)
    return left, []
