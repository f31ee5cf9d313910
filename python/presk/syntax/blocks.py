"""Blocks and what has one: `if`, `fold`, `scan`, `map`; the patterns they and `let` bind.

A block is `let`s and a last expression, its value. An error in a statement is reported, and reading goes on with the
next.
"""

from __future__ import annotations

from typing import NoReturn

from presk.syntax import tree
from presk.syntax.expressions import LEVELS, ExpressionReader
from presk.syntax.foreign import FOREIGN_WORDS, STATEMENT_WORDS
from presk.syntax.lexer import DECLARATION_WORDS, KEYWORDS
from presk.text.cursor import UnreadableError
from presk.text.diagnostics import Diagnostic
from presk.text.lexer import END, Scan, Token
from presk.text.spans import Source, Span

_PATTERN = "a name, a tuple or a record of names"


class BlockReader(ExpressionReader):
    """Reads blocks, and the expressions that have one."""

    def __init__(self, source: Source, scan: Scan, found: list[Diagnostic]) -> None:
        super().__init__(source, scan, found)
        loops = {"fold": self._loop, "scan": self._loop}
        self.primaries.update(loops | {"if": self._if, "map": self._map, "{": self._braced})

    def block(self, owner: str) -> tree.Block:
        """`{ lets; result }`, the body of `owner`. After an error the result may be missing: `()` stands for it."""
        if self.token.kind != "{":
            self._no_block(owner)
        opened = self.index
        start = self.advance().start
        self.braces[opened] = "block"
        outer, self.line_ends = self.line_ends, True
        height, self.height = self.height, 0
        lets: list[tree.Let] = []
        result: tree.Expr | None = None
        errors = self.failures
        while not self._at_end_of_block(opened):
            if result is not None:
                self._not_last(result)
            result = self._statement(lets)
        end = self.advance()
        self.line_ends = outer
        self.grow()
        self.height = max(height, self.height)
        if result is None:
            span = Span(self.source, end.start, end.end)
            if self.failures == errors:
                self._no_result(lets, span)
            result = tree.Tuple(span, ())
        return tree.Block(self.span_from(start), tuple(lets), result)

    def _no_block(self, owner: str) -> NoReturn:
        hint = None
        if self.previous.kind == "}" and self.braces.get(self._opening(self.index - 1)) == "instance":
            hint = "a brace directly after a name holds module parameters: put a space before the block's"
        if self.token.kind == ":":
            hint = "a block stands in braces"
        self.unexpected(f"`{{` and the body of {owner}", hint)

    def _opening(self, closing: int) -> int:
        return next((opened for opened, close in self.pairs.items() if close == closing), -1)

    def _at_end_of_block(self, opened: int) -> bool:
        """Skips `;` and looks for the closing brace. Raises UnreadableError where that brace is forgotten."""
        while True:
            while self.accept(";") is not None:
                pass
            token = self.token
            if token.kind == "}":
                return True
            if token.kind in (END, "else"):
                self.not_closed(opened)
            if token.kind not in DECLARATION_WORDS or not token.line_break:
                return False
            if self.pairs.get(opened, -1) < self.index:
                self.not_closed(opened)
            hint = "functions, modules and constants stand at the top of a file, functions in a module too"
            self.report("E1019", "a declaration can't stand in a block", self.span_of(token), hint)
            self.recover(self.index)

    def _statement(self, lets: list[tree.Let]) -> tree.Expr | None:
        """Reads one statement; gives the value of an expression. Errors end it and are recovered from."""
        begin, depth, height = self.index, self.depth, self.height
        self.starts.add(begin)
        try:
            if self.token.kind == "let":
                lets.append(self._let())
                value = None
            elif self.token.kind == "name" and self.peek().kind == "=":
                self._assignment()
                value = None
            else:
                value = self._value()
            self.end_of_statement()
            return value
        except UnreadableError:
            self.depth, self.height = depth, height
            self.recover(begin)
            return None

    def _let(self) -> tree.Let:
        start = self.advance().start
        pattern = self.pattern()
        if self.token.kind == ":":
            self.fail("E1010", "expected `=`, found `:`", hint="a local's type follows from its value: leave it out")
        self.expect("=", "and the value")
        value = self.expression()
        return tree.Let(self.span_from(start), pattern, value)

    def _assignment(self) -> None:
        token = self.advance()
        self.report(
            "E1018",
            f"`{token.text}` can't be assigned to",
            self.span_of(token),
            f"bind it anew: `let {token.text} = …`",
        )
        self.advance()
        self.expression()

    def _value(self) -> tree.Expr:
        token, after = self.token, self.peek()
        if token.text in STATEMENT_WORDS and after.kind not in ("}", ";", END, *LEVELS) and not after.line_break:
            self.fail("E1019", f"PSK has no `{token.text}`", hint=FOREIGN_WORDS[token.text])
        if token.text == "return":
            self.fail("E1019", "PSK has no `return`", hint=FOREIGN_WORDS["return"])
        if token.kind in LEVELS and token.kind not in ("-", "not") and self.previous.kind != "{":
            hint = f"end the line before with `{token.kind}`, or put the whole in parentheses"
            self.fail("E1016", f"a statement can't begin with `{token.kind}`", hint=hint)
        return self.expression()

    def end_of_statement(self) -> None:
        """Checks that a statement, member or declaration ends here."""
        token = self.token
        if token.kind in (";", "}", END) or token.line_break:
            return
        if token.kind in ("let", "name", "integer", "decimal", "string", "self") or token.kind in DECLARATION_WORDS:
            before = self.previous
            if before.text not in FOREIGN_WORDS and token.text not in FOREIGN_WORDS:
                self.fail(
                    "E1020",
                    f"expected a line break or `;` before `{token.text}`",
                    hint="two statements need one between them",
                )
        if token.kind == "=":
            self.fail("E1018", "only a name can be bound", hint="`let x = …` binds, `==` compares")
        self.unexpected("a line break or `;`")

    def _not_last(self, value: tree.Expr) -> None:
        hint = "bind it by `let`, or delete it: only the last expression of a block is its value"
        if self.token.kind in LEVELS:
            hint = f"end the line with `{self.token.kind}` where the next one goes on, or put the whole in parentheses"
        elif value.span.text.startswith("-"):
            hint = "end the line before with `-` where this goes on, or put the whole in parentheses"
        self.report("E1016", "this expression isn't the last of its block, so its value is lost", value.span, hint)

    def _no_result(self, lets: list[tree.Let], span: Span) -> None:
        pattern = lets[-1].pattern if lets else None
        hint = "end it with an expression, its value"
        if isinstance(pattern, tree.NamePattern):
            hint = f"end it with an expression, such as `{pattern.name}`"
        self.report("E1017", "this block ends without a value", span, hint)

    # Expressions with a block

    def _braced(self) -> tree.Expr:
        """A record, an update, or a block that is no one's body."""
        first, second = self.peek(), self.peek(2)
        if self.holds_with(self.index):
            return self.update()
        if first.kind == "}":
            self.fail("E1028", "a record has at least one field", hint="`()` is the empty tuple")
        if second.kind == "=" and (first.kind == "name" or first.kind in KEYWORDS):
            return self.record()
        if first.kind == "name" and second.kind in (":", ","):
            hint = f"give each field its value: `{{{first.text} = …}}`"
            self.fail("E1028", "this is no record of values", hint=hint)
        return self.block("braces")

    def _if(self) -> tree.Expr:
        self.deepen()
        start = self.advance().start
        condition = self.expression()
        if self.token.kind == "=":
            self.report("E1018", "`=` stands where nothing is bound", self.span_of(self.token), "`==` compares")
            self.advance()
            self.expression()
        then = self.block("an `if`")
        if self.token.kind == "name" and self.token.text == "elif":
            self.unexpected("`else`")
        if not self.at("else"):
            span = Span(self.source, start, start + len("if"))
            self.fail("E1029", "this `if` has no `else`", span, "both ways need a value: write `else { … }`")
        self.advance()
        otherwise = self._if() if self.token.kind == "if" else self.block("an `else`")
        self.grow()
        self.depth -= 1
        return tree.If(self.span_from(start), condition, then, otherwise)

    def _loop(self) -> tree.Expr:
        token = self.advance()
        state = self.pattern("the state's name")
        self.expect("=", f"and the first state of this `{token.kind}`")
        first = self.expression()
        self.expect("over", f"and what each round of this `{token.kind}` takes")
        element = self.pattern("the element's name")
        self.expect("in", "and what to go over")
        source = self._loop_source()
        along = self.axis() if self.accept("along") is not None else None
        body = self.block(f"a `{token.kind}`")
        self.grow()
        return tree.Loop(self.span_from(token.start), token.kind, state, first, element, source, along, body)

    def _loop_source(self) -> tree.Expr:
        """What a loop goes over: a range, a value, or a tuple of these."""
        start = self.token.start
        if self.token.kind != "(" or self.tokens[self.behind(self.index)].kind not in ("{", "along"):
            return self.ranged()
        items = self.bracketed(self.ranged, "item")
        if len(items) == 1 and self.tokens[self.index - 2].kind != ",":
            return items[0]
        self.grow()
        return tree.Tuple(self.span_from(start), tuple(items))

    def behind(self, opened: int) -> int:
        """The index behind the bracket that closes the one at `opened`, whatever its kind, or of the end."""
        level = 0
        for index in range(opened, len(self.tokens)):
            kind = self.tokens[index].kind
            level += (kind in ("(", "[", "{")) - (kind in (")", "]", "}"))
            if level == 0:
                return min(index + 1, len(self.tokens) - 1)
        return len(self.tokens) - 1

    def _map(self) -> tree.Expr:
        token = self.advance()
        if self.token.kind != "(":
            self.unexpected("`(` and the trees to map over")
        bindings = self.bracketed(self._binding, "tree")
        if not bindings:
            self.fail("E1010", "a map goes over at least one tree", hint="write `map(p = tree) { … }`")
        body = self.block("a `map`")
        self.grow()
        return tree.MapTrees(self.span_from(token.start), tuple(bindings), body)

    def _binding(self) -> tuple[str, tree.Expr]:
        name = self.name("a leaf's name")
        self.expect("=", "and the tree it goes over")
        return name.text, self.expression()

    # Patterns

    def pattern(self, what: str = _PATTERN) -> tree.Pattern:
        """What a `let` or a loop binds."""
        start = self.token.start
        self.deepen()
        if self.token.kind == "(":
            items = self.bracketed(self.pattern, "name")
            single = len(items) == 1 and self.tokens[self.index - 2].kind != ","
            found = items[0] if single else tree.TuplePattern(self.span_from(start), tuple(items))
        elif self.token.kind == "{":
            self.braces[self.index] = "record"
            fields = tuple(self.bracketed(self._pattern_field, "field"))
            if not fields:
                self.fail("E1028", "a record pattern has at least one field", self.span_from(start))
            found = tree.RecordPattern(self.span_from(start), fields)
        else:
            token = self.name(what)
            found = tree.NamePattern(self.span_of(token), token.text)
        self.depth -= 1
        return found

    def _pattern_field(self) -> tuple[str, tree.Pattern]:
        token: Token = self.name("a field's name")
        if self.accept("=") is not None:
            return token.text, self.pattern()
        return token.text, tree.NamePattern(self.span_of(token), token.text)
