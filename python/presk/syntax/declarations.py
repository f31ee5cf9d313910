"""Declarations: imports, constants, type abbreviations, modules, functions, train blocks; and the file they make.

A declaration in which an error was found is left out of the tree; reading goes on with the next statement, member or
declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NoReturn

from presk.syntax import tree
from presk.syntax.foreign import FOREIGN_WORDS
from presk.syntax.lexer import DECLARATION_WORDS
from presk.syntax.types import TypeReader
from presk.text.cursor import UnreadableError, describe, shown
from presk.text.lexer import END
from presk.text.spans import Span

_NO_DECLARATION = "the declarations are import, from, const, type, module, fn and train"


class DeclarationReader(TypeReader):
    """Reads whole files."""

    def file(self) -> tree.File:
        """All declarations up to the end."""
        readers: dict[str, Callable[[], tree.Declaration]] = {
            "import": self._import,
            "from": self._from,
            "const": self._const,
            "type": self._type_alias,
            "module": self._module,
            "fn": self._function,
            "train": self._train,
        }
        found: list[tree.Declaration] = []
        while self.token.kind != END:
            if self.accept(";") is not None:
                continue
            begin, errors = self.index, self.failures
            self.starts.add(begin)
            self.height = 0
            try:
                reader = readers.get(self.token.kind, self._no_declaration)
                declaration = reader()
                self.end_of_statement()
            except UnreadableError:
                self._next_declaration(begin)
                continue
            if self.failures == errors:
                found.append(declaration)
        return tree.File(Span(self.source, 0, len(self.source.text)), tuple(found))

    def _no_declaration(self) -> NoReturn:
        token = self.token
        if token.kind == "}":
            self.fail("E1012", "this `}` closes nothing", hint="delete it")
        if token.text in FOREIGN_WORDS:
            self.fail("E1019", f"PSK has no `{token.text}`", hint=FOREIGN_WORDS[token.text])
        if token.kind == "let":
            self.fail("E1010", "expected a declaration, found `let`", hint="a constant is declared by `const`")
        if token.kind == "name" and self.peek().kind == "=":
            self.fail(
                "E1010", f"expected a declaration, found {describe(token)}", hint=f"write `const {token.text} = …`"
            )
        self.fail("E1010", f"expected a declaration, found {describe(token)}", hint=_NO_DECLARATION)

    def _next_declaration(self, begin: int) -> None:
        """Goes on at the next line that begins with the word of a declaration."""
        self.depth = self.height = 0
        self.in_train = False
        self.recover(begin)
        while self.token.kind != END and not (self.token.line_break and self.token.kind in DECLARATION_WORDS):
            if self.token.kind == ";" and self.peek().kind in DECLARATION_WORDS:
                break
            self.recover(self.index)

    def _import(self) -> tree.Import:
        begin = self.index
        start = self.advance().start
        is_path = self.token.kind == "string"
        target = self._import_target()
        alias = self.name("the import's name").text if self.accept("as") is not None else None
        if is_path and alias is None:
            self.fail("E1026", "a file is imported under a name", hint=f'write `import "{shown(target)}" as …`')
        if self.token.kind == ",":
            self.fail("E1026", "an import names one file", hint="write one import a line")
        return tree.Import(self.span_from(start), target, is_path, alias, None, self.doc(begin))

    def _from(self) -> tree.Import:
        begin = self.index
        start = self.advance().start
        is_path = self.token.kind == "string"
        target = self._import_target()
        self.expect("import", "and the names to import")
        if self.token.kind in ("*", "("):
            self.fail("E1026", f"`{self.token.kind}` can't be imported", hint="list the names, separated by commas")
        names: list[tuple[str, Span]] = []
        while True:
            token = self.name("an imported name")
            names.append((token.text, self.span_of(token)))
            if self.token.kind == "as":
                self.fail("E1026", "names are imported as they are", hint="import the file and write `file.Name`")
            if self.accept(",") is None:
                break
        return tree.Import(self.span_from(start), target, is_path, None, tuple(names), self.doc(begin))

    def _import_target(self) -> str:
        if self.token.kind == "string":
            token = self.advance()
            path = self.string_value(token)
            if not path:
                self.fail("E1026", "an import names a file", self.span_of(token))
            return path
        name = self.name("a file's name").text
        if self.token.kind == ".":
            hint = 'a file in another folder is imported by its path: `import "models/bert.psk" as bert`'
            self.fail("E1026", "an import's name has no dots", hint=hint)
        return name

    def _const(self) -> tree.Const:
        begin = self.index
        start = self.advance().start
        name = self.name("a constant's name")
        if self.token.kind == ":":
            self.fail("E1010", "expected `=`, found `:`", hint="a constant's type follows from its value: leave it out")
        self.expect("=", "and the constant's value")
        value = self.expression()
        return tree.Const(self.span_from(start), name.text, self.span_of(name), value, self.doc(begin))

    def _type_alias(self) -> tree.TypeAlias:
        begin = self.index
        start = self.advance().start
        name = self.name("a type's name")
        self.expect("=", "and the type")
        value = self.type()
        return tree.TypeAlias(self.span_from(start), name.text, self.span_of(name), value, self.doc(begin))

    # Modules

    def _module(self) -> tree.Module:
        begin = self.index
        start = self.advance().start
        name = self.name("a module's name")
        parameters: list[tree.ModuleParameter] = []
        if self.at("{") and (self.glued or self._before_body()):
            if not self.glued:
                hint = f"write `module {name.text}{{…}} {{`: a module's parameters follow its name directly"
                self.report("E1025", "a space stands before this brace", self.span_of(self.token), hint)
            self.braces[self.index] = "instance"
            parameters = self.bracketed(self._module_parameter, "parameter")
            self._check_order(parameters)
        elif self.token.kind in ("(", "["):
            self.unexpected("`{`", f"a module's parameters stand in braces: `module {name.text}{{I, O}} {{ … }}`")
        members: list[tree.MemberDecl] = []
        functions: list[tree.Function] = []
        self._body(f"the module `{name.text}`", "block", lambda: self._member(members, functions))
        place = self.span_of(name)
        return tree.Module(
            self.span_from(start),
            name.text,
            place,
            tuple(parameters),
            tuple(members),
            tuple(functions),
            self.doc(begin),
        )

    def _before_body(self) -> bool:
        """Whether the brace at hand is followed by another one, the body."""
        after = self.tokens[self.behind(self.index)]
        return after.kind == "{" and not after.line_break

    def _module_parameter(self) -> tree.ModuleParameter:
        token = self.name("a parameter's name")
        kind, default = "nat", None
        if self.accept(":") is not None:
            if self.token.kind not in ("nat", "real"):
                self.unexpected("`nat` or `real`", "a module's parameters are nats and reals")
            kind = self.advance().kind
        if self.accept("=") is not None:
            default = self.expression()
        span = self.span_from(token.start)
        if kind == "nat" and default is not None:
            self.report(
                "E1010",
                f"the nat parameter `{token.text}` can't have a default",
                span,
                f"a real one is written `{token.text}: real = …`",
            )
        if kind == "real" and default is None:
            self.report(
                "E1010", f"the real parameter `{token.text}` has no default", span, f"write `{token.text}: real = …`"
            )
        return tree.ModuleParameter(span, token.text, kind, default)

    def _check_order(self, parameters: list[tree.ModuleParameter]) -> None:
        for before, after in pairwise(parameters):
            if before.kind == "real" and after.kind == "nat":
                self.report(
                    "E1022", f"the nat parameter `{after.name}` comes after a real one", after.span, "nats come first"
                )

    def _body(self, owner: str, kind: str, item: Callable[[], None]) -> None:
        """The braces of a module or train block; an item's error is recovered from at the next item."""
        if not self.at("{"):
            self.unexpected(f"`{{` and the body of {owner}")
        opened = self.index
        self.braces[opened] = kind
        self.advance()
        outer, self.line_ends = self.line_ends, True
        while True:
            while self.accept(";") is not None:
                pass
            if self.token.kind == "}":
                break
            self._check_open(opened)
            begin = self.index
            self.starts.add(begin)
            self.height = 0
            try:
                item()
                self.end_of_statement()
            except UnreadableError:
                self.depth = self.height = 0
                self.recover(begin)
        self.advance()
        self.line_ends = outer

    def _check_open(self, opened: int) -> None:
        """Raises UnreadableError where a body can't go on because its closing brace is forgotten."""
        token = self.token
        if token.kind == END:
            self.not_closed(opened)
        if not token.line_break or token.kind not in DECLARATION_WORDS:
            return
        margin = self.source.position(token.start)[1] == 1
        if token.kind != "fn" or (margin and self.pairs.get(opened, -1) < self.index):
            self.not_closed(opened)

    def _member(self, members: list[tree.MemberDecl], functions: list[tree.Function]) -> None:
        if self.token.kind == "fn":
            functions.append(self._function(in_module=True))
            return
        begin, token = self.index, self.token
        if token.text in FOREIGN_WORDS and self.peek().kind == "name":
            self.fail("E1019", f"PSK has no `{token.text}`", hint=FOREIGN_WORDS[token.text])
        if token.kind == "let":
            self.fail("E1010", "expected a member, found `let`", hint="a parameter is declared by `w: real[n] = zeros`")
        name = self.name("a member's name")
        if self.token.kind == "=":
            self.fail(
                "E1021",
                f"the parameter `{name.text}` has no type",
                self.span_of(name),
                f"write `{name.text}: real[…] = …`",
            )
        self.expect(":", "and the member's type")
        kind = self.type()
        if self.token.kind == "{" and not self.at_line_end:
            self.fail(
                "E1025",
                "a space stands before this brace",
                hint="a module's parameters follow its name without a space",
            )
        initializer = self.expression() if self.accept("=") is not None else None
        overrides: tuple[tree.FieldChange, ...] = ()
        if self.token.kind == "with":
            overrides = self._overrides()
        if self.token.kind == ",":
            self.unexpected("a line break or `;`", "members are separated by a line break or `;`")
        place = self.span_of(name)
        members.append(
            tree.MemberDecl(
                self.span_from(token.start), name.text, place, kind, initializer, overrides, self.doc(begin)
            )
        )

    def _overrides(self) -> tuple[tree.FieldChange, ...]:
        self.advance()
        if self.token.kind != "{":
            self.unexpected("`{` and the initializers", "write `with { w = zeros }`")
        opened = self.index
        self.braces[opened] = "overrides"
        outer, self.line_ends = self.line_ends, False
        changes = self.changes(opened)
        self.line_ends = outer
        for change in changes:
            if isinstance(change, tree.SliceChange):
                self.report("E1010", "an initializer is that of a whole parameter", change.span)
        return tuple(change for change in changes if isinstance(change, tree.FieldChange))

    # Functions

    def _function(self, in_module: bool = False) -> tree.Function:
        begin = self.index
        start = self.advance().start
        name = self.name("a function's name")
        variables: list[str] = []
        if self.token.kind == "[":
            variables = self.bracketed(lambda: self.name("a tree variable's name").text, "name")
        if self.token.kind != "(":
            self.unexpected("`(` and the parameters")
        takes_self = self.peek().kind == "self"
        if takes_self and not in_module:
            self.report("E1010", "`self` belongs to a module's functions", self.span_of(self.peek()))
        found = self.bracketed(self._parameter, "parameter")
        parameters = tuple(each for each in found if each is not None)
        if any(each is None for each in found[1:]):
            self.report("E1010", "`self` comes first", self.span_of(name))
        result = self._result()
        body = self.block(f"the function `{name.text}`")
        place = self.span_of(name)
        return tree.Function(
            self.span_from(start),
            name.text,
            place,
            tuple(variables),
            takes_self,
            parameters,
            result,
            body,
            self.doc(begin),
        )

    def _parameter(self) -> tree.FunctionParameter | None:
        """A parameter, or None for `self`."""
        if self.accept("self") is not None:
            return None
        token = self.name("a parameter's name")
        if self.token.kind != ":":
            hint = f"write `{token.text}: real[n]`: the types of parameters are stated"
            self.fail("E1021", f"the parameter `{token.text}` has no type", self.span_of(token), hint)
        self.advance()
        kind = self.parameter_type()
        default = self.expression() if self.accept("=") is not None else None
        return tree.FunctionParameter(self.span_from(token.start), token.text, kind, default)

    def _result(self) -> tree.TypeExpr | None:
        """`-> type`, or nothing."""
        if self.token.kind in ("->", ":", "=>"):
            if self.token.kind != "->":
                hint = "the type of the result follows `->`"
                self.report("E1021", f"expected `->`, found `{self.token.kind}`", self.span_of(self.token), hint)
            self.advance()
            return self.type()
        if self.token.kind in ("name", "real", "nat", "bool", "("):
            hint = "the type of the result follows `->`"
            self.report("E1021", f"expected `->`, found `{self.token.text}`", self.span_of(self.token), hint)
            return self.type()
        if self.token.kind == "=":
            self.fail(
                "E1021",
                "expected `->` or `{`, found `=`",
                hint="a function's value is the last expression of its braces",
            )
        return None

    # Training

    def _train(self) -> tree.Train:
        begin = self.index
        start = self.advance().start
        name = self.name("a train block's name")
        items: list[tree.TrainItem] = []
        self.in_train = True
        self._body(f"the train block `{name.text}`", "train", lambda: self._train_item(items))
        self.in_train = False
        return tree.Train(self.span_from(start), name.text, self.span_of(name), tuple(items), self.doc(begin))

    def _train_item(self, items: list[tree.TrainItem]) -> None:
        key = self.name("a train block's key")
        if self.token.kind == ":":
            self.fail("E1010", "expected `=`, found `:`", hint=f"write `{key.text} = …`")
        self.expect("=", "and the value")
        value = self.expression()
        if self.token.kind == ",":
            self.unexpected("a line break or `;`", "the lines of a train block end without a comma")
        items.append(tree.TrainItem(self.span_from(key.start), key.text, self.span_of(key), value))
