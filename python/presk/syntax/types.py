"""Types: tensors with axes and bounds, tuples, records, modules with their parameters, stacks, function types."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from presk.syntax import tree
from presk.syntax.blocks import BlockReader
from presk.syntax.expressions import COMPARISON_LEVEL, MINUS_LEVEL


class TypeReader(BlockReader):
    """Reads types; every method starts at its first token and ends behind its last."""

    def type(self) -> tree.TypeExpr:
        """A type, with `* L` behind it where it is stacked."""
        self.deepen()
        outer, self.height = self.height, 0
        start = self.token.start
        found = self._plain_type()
        while self.token.kind == "*" and not self.at_line_end:
            self.advance()
            count = self.expression(MINUS_LEVEL)
            found = tree.StackedType(self.span_from(start), found, count)
            self.grow()
        if self.token.kind in ("/", "//", "+", "-", "**") and not self.at_line_end:
            self.fail(
                "E1010",
                f"expected the end of this type, found `{self.token.kind}`",
                hint="put a count in parentheses: `T * (L + 1)`",
            )
        self.height = max(outer, self.height)
        self.depth -= 1
        return found

    def parameter_type(self) -> tree.TypeExpr:
        """A function parameter's type, which may be a function's."""
        return self._function_type() if self.token.kind == "fn" else self.type()

    def _plain_type(self) -> tree.TypeExpr:
        readers: dict[str, Callable[[], tree.TypeExpr]] = {
            "real": self._tensor,
            "nat": self._tensor,
            "bool": self._tensor,
            "name": self._named,
            "(": self._tuple,
            "{": self._record,
        }
        reader = readers.get(self.token.kind)
        if reader is None:
            self._no_type()
        return reader()

    def _no_type(self) -> NoReturn:
        if self.token.kind == "fn":
            message = "a function type is for a function's parameter only"
            self.fail("E1010", message, hint="there are no function values in records or results")
        self.unexpected(
            "a type", "the types are real, bool, nat, tensors such as `real[n, m]`, tuples, records, modules"
        )

    def _tensor(self) -> tree.TensorType:
        token = self.advance()
        axes: tuple[tree.AxisEntry, ...] | None = None
        if self.token.kind == "[" and not self.at_line_end:
            axes = tuple(self.bracketed(self.axis_entry, "axis"))
            if not axes:
                message = "a tensor has at least one axis"
                self.report("E1010", message, self.span_from(token.start), f"a scalar is `{token.kind}`")
            self.check_run(axes)
        bound = None
        if self.token.kind == "<" and not self.at_line_end:
            if token.kind != "nat":
                self.report("E1010", f"a bound is for `nat`, not for `{token.kind}`", self.span_of(self.token))
            self.advance()
            bound = self.expression(COMPARISON_LEVEL)
        return tree.TensorType(self.span_from(token.start), token.kind, axes, bound)

    def _named(self) -> tree.NamedType:
        start = self.token.start
        path = [self.advance().text]
        while self.accept(".") is not None:
            path.append(self.name("a type's name").text)
        arguments = None
        if self.token.kind == "{" and self.glued:
            self.braces[self.index] = "instance"
            arguments = self.arguments("parameter")
        elif self.token.kind == "[" and not self.at_line_end:
            hint = "a module's parameters stand in braces: `Linear{3, 2}`"
            self.unexpected("the end of this type", hint)
        return tree.NamedType(self.span_from(start), tuple(path), arguments)

    def _tuple(self) -> tree.TypeExpr:
        start = self.token.start
        items = self.bracketed(self.type, "type")
        if len(items) == 1 and self.tokens[self.index - 2].kind != ",":
            return items[0]
        self.grow()
        return tree.TupleType(self.span_from(start), tuple(items))

    def _record(self) -> tree.RecordType:
        start = self.token.start
        self.braces[self.index] = "record"
        fields = tuple(self.bracketed(self._field_type, "field"))
        if not fields:
            self.fail("E1028", "a record type has at least one field", self.span_from(start), "`()` is the empty tuple")
        self.grow()
        return tree.RecordType(self.span_from(start), fields)

    def _field_type(self) -> tuple[str, tree.TypeExpr]:
        name = self.name("a field's name")
        self.expect(":", "and the field's type")
        return name.text, self.type()

    def _function_type(self) -> tree.FunctionType:
        start = self.advance().start
        if self.token.kind != "(":
            self.unexpected("`(` and the types of the parameters")
        parameters = self.bracketed(self.type, "type")
        self.expect("->", "and the type of the result")
        result = self.type()
        self.grow()
        return tree.FunctionType(self.span_from(start), tuple(parameters), result)
