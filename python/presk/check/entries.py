"""Entries by their names: `mse`, `Linear{3, 2}.apply`, `adamw.step[MiniGPT]`."""

from __future__ import annotations

from presk.check.names import method_of
from presk.check.program import Checked, check_opened
from presk.check.scope import Declaration, File, open_library
from presk.check.session import Session
from presk.check.solver import is_real_tree
from presk.check.typing import TypeScope, module_arguments, module_type, resolve
from presk.check.values import FunctionValue
from presk.shapes import types
from presk.shapes.constants import Constant
from presk.shapes.types import Type
from presk.syntax import tree
from presk.syntax.parser import parse_entry
from presk.text.diagnostics import PreskError, counted, did_you_mean, fail


def find_entry(session: Session, checked: Checked, entry: str) -> FunctionValue:
    """The function an entry's name means. Raises PreskError."""
    written = parse_entry(entry)
    file = checked.files.main
    parts = list(written.parts)
    if len(parts) > 1 and parts[0].name not in file.declarations:
        known = len(checked.files.all)
        library = open_library(checked.files, parts[0].name)
        check_opened(checked, checked.files.all[known:])
        if library is not None:
            inner_file, parts = library, parts[1:]
            return _in_file(session, checked, file, inner_file, parts, written)
    return _in_file(session, checked, file, file, parts, written)


def _in_file(
    session: Session,
    checked: Checked,
    names: File,
    file: File,
    parts: list[tree.EntryPart],
    written: tree.Entry,
) -> FunctionValue:
    """The function that `parts` name in `file`. Modules and sizes in the entry's name mean what they do in `names`."""
    declaration = file.declarations.get(parts[0].name)
    scope = TypeScope(session, names, {})
    function = None
    if declaration is not None and isinstance(declaration.node, tree.Function) and len(parts) == 1:
        if parts[0].arguments is not None:
            raise fail("E4002", f"`{declaration.name}` is a function, which takes no braces", written.span)
        function = FunctionValue(declaration)
    if declaration is not None and isinstance(declaration.node, tree.Module) and len(parts) == 2:
        if parts[1].arguments is not None:
            raise fail("E4002", f"`{parts[1].name}` is a function, which takes no braces", written.span)
        arguments = _arguments(scope, declaration, parts[0], written)
        module = module_type(session, declaration, arguments, written.span)
        function = method_of(declaration, module, parts[1].name)
    if function is None:
        known = [entry.name for entry in checked.entries()]
        others = f"its entries: {', '.join(known)}" if known else "it has no functions"
        hint = did_you_mean(written.span.text, known) or others
        raise fail("E4002", f"the program has no entry `{written.span.text}`", written.span, hint)
    return FunctionValue(function.declaration, function.module, _trees(scope, function, written))


def _trees(scope: TypeScope, function: FunctionValue, written: tree.Entry) -> tuple[Type, ...]:
    """What an entry's brackets say its tree variables are."""
    node = function.declaration.node
    assert isinstance(node, tree.Function)
    trees = tuple([resolve(scope, each) for each in written.trees])
    wanted = node.tree_variables
    if len(trees) != len(wanted):
        path = written.span.text.partition("[")[0]
        hint = f"write `{path}[{', '.join(wanted)}]` with modules for the trees" if wanted else f"write `{path}`"
        takes = counted(len(wanted), "tree") if wanted else "no trees"
        raise fail("E4002", f"`{node.name}` takes {takes} in brackets, not {len(trees)}", written.span, hint)
    for each in trees:
        if not is_real_tree(each):
            message = f"{types.show(each)} is no tree of reals"
            raise fail("E4002", message, written.span, "a tree variable stands for parameters")
    return trees


def _arguments(
    scope: TypeScope, declaration: Declaration, part: tree.EntryPart, written: tree.Entry
) -> tuple[Constant, ...]:
    """A module's parameters as an entry's name gives them."""
    try:
        return module_arguments(scope, declaration, part.arguments, written.span)
    except PreskError as error:
        if error.code != "E2001":
            raise
        hint = f"an entry has numbers or constants there, such as `{part.name}{{3, 2}}`"
        raise fail("E2001", error.diagnostics[0].message, error.span, hint) from None
