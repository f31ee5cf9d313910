"""Files, imports and declarations: which name means what in which file.

`open_program` reads a file and all it imports, reports cycles and missing files, and gives each declaration a label
that is unique in the program: its bare name, or `file.name` where two files declare the same name. Used by
`check.program`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from presk.primitives.all import TABLE
from presk.syntax import tree
from presk.syntax.parser import parse
from presk.text.diagnostics import Diagnostic, Note, PreskError, did_you_mean, fail
from presk.text.sources import decode
from presk.text.spans import Source, Span

LIBRARY = Path(__file__).resolve().parent.parent / "std"
"""The folder of the library that ships with the package."""

FILE_LIMIT = 4 << 20
"""Bytes of one source file; a larger one is refused (E2007)."""

DIAGNOSTIC_LIMIT = 20
"""Diagnostics reported at once."""

Declared = Union[tree.Const, tree.TypeAlias, tree.Module, tree.Function, tree.Train]


@dataclass(eq=False)
class File:
    """One source file: its declarations and imports by name. Train blocks have names of their own."""

    source: Source
    path: Path | None
    name: str
    content: tree.File
    declarations: dict[str, Declaration] = field(default_factory=dict[str, "Declaration"])
    imports: dict[str, File] = field(default_factory=dict[str, "File"])
    trains: dict[str, Declaration] = field(default_factory=dict[str, "Declaration"])

    @property
    def is_shipped(self) -> bool:
        """Whether it is one of the library's."""
        return self.path is not None and self.path.parent == LIBRARY


@dataclass(eq=False)
class Declaration:
    """A declaration and the file whose names its text sees. `label` is unique in the program.

    Two of the same node are the same.
    """

    node: Declared
    file: File
    label: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Declaration) and self.node is other.node

    def __hash__(self) -> int:
        return id(self.node)

    @property
    def name(self) -> str:
        """The bare name."""
        return self.node.name


@dataclass(eq=False)
class Files:
    """A program's files: the main one first. `notes` are remarks for the user, not errors."""

    main: File
    all: list[File]
    notes: list[str]
    diagnostics: list[Diagnostic]


class _Opener:
    """Reads files depth first; `stack` holds the chain of imports being read, to find cycles."""

    def __init__(self) -> None:
        self.opened: dict[Path, File] = {}
        self.stack: list[Path] = []
        self.files: list[File] = []
        self.notes: list[str] = []
        self.diagnostics: list[Diagnostic] = []

    def open(self, source: Source, path: Path | None, name: str) -> File:
        content, diagnostics = parse(source)
        self.diagnostics.extend(diagnostics)
        file = File(source, path, name, content)
        if path is not None:
            self.opened[path] = file
            self.stack.append(path)
        self.files.append(file)
        for node in content.declarations:
            if isinstance(node, tree.Import):
                self._import(file, node)
        for node in content.declarations:
            if not isinstance(node, tree.Import):
                self._declare(file, node)
        if path is not None:
            self.stack.pop()
        return file

    def open_named(self, file: File, name: str, span: Span | None) -> File | None:
        """The file `name.psk` beside `file`, or in the library."""
        beside = None if file.path is None else file.path.parent / f"{name}.psk"
        shipped = LIBRARY / f"{name}.psk"
        if beside is not None and _is_there(beside) and beside.resolve() != file.path:
            if _is_there(shipped) and beside.resolve() != shipped:
                note = f"`{name}` is {beside}, which wins over the library's {name}.psk"
                self.notes.extend([note] if note not in self.notes else [])
            return self._open_path(beside, name, span)
        if _is_there(shipped):
            return self._open_path(shipped, name, span)
        if beside is not None and _is_there(beside):
            return self._open_path(beside, name, span)
        known = sorted(each.stem for each in LIBRARY.glob("*.psk"))
        hint = (
            did_you_mean(name, known)
            or f"the library has {', '.join(known)}; a file of your own stands beside this one"
        )
        self.diagnostics.append(Diagnostic("E2003", f"there is no file {name}.psk to import", span, hint))
        return None

    def _open_path(self, path: Path, name: str, span: Span | None) -> File | None:
        try:
            resolved = path.resolve()
            there_is = path.exists()
            is_file = path.is_file()
        except (OSError, ValueError, RuntimeError) as error:
            self.diagnostics.append(Diagnostic("E2003", f"{str(path)!r} can't be read: {error}", span))
            return None
        if not is_file:
            what = "is not a file" if there_is else "doesn't exist"
            self.diagnostics.append(Diagnostic("E2003", f"{str(path)!r} {what}", span))
            return None
        if resolved in self.stack:
            cycle = [each.name for each in [*self.stack[self.stack.index(resolved) :], resolved]]
            what = "these files import each other" if len(cycle) > 2 else "a file imports itself"
            self.diagnostics.append(Diagnostic("E2004", f"{what}: {' imports '.join(cycle)}", span))
            return None
        if resolved in self.opened:
            return self.opened[resolved]
        try:
            source = read_source(path, span)
        except PreskError as error:
            self.diagnostics.extend(error.diagnostics)
            return None
        return self.open(source, resolved, name)

    def _import(self, file: File, node: tree.Import) -> None:
        if node.is_path:
            if file.path is None and not Path(node.target).is_absolute():
                base = Path.cwd()
            else:
                base = file.path.parent if file.path is not None else Path()
            stem = Path(node.target).stem
            target = self._open_path(base / node.target, stem, node.span)
            name = node.alias or stem
        else:
            target = self.open_named(file, node.target, node.span)
            name = node.alias or node.target
        if target is None:
            return
        if node.names is None:
            self._check_free(file, name, node.span)
            file.imports[name] = target
            return
        for imported, span in node.names:
            declaration = target.declarations.get(imported)
            if declaration is None:
                hint = did_you_mean(imported, target.declarations)
                self.diagnostics.append(Diagnostic("E2001", f"{target.name}.psk declares no `{imported}`", span, hint))
                continue
            self._check_free(file, imported, span)
            file.declarations[imported] = declaration

    def _declare(self, file: File, node: Declared) -> None:
        if isinstance(node, tree.Train):
            if node.name in file.trains:
                note = Note("it is declared here", file.trains[node.name].node.name_span)
                message = f"the train block `{node.name}` is declared twice"
                self.diagnostics.append(Diagnostic("E2002", message, node.name_span, None, (note,)))
            file.trains[node.name] = Declaration(node, file, node.name)
            return
        if node.name in TABLE and not TABLE[node.name].internal:
            self.diagnostics.append(
                Diagnostic(
                    "E2005", f"`{node.name}` is a primitive's name", node.name_span, "a declaration needs another name"
                )
            )
        self._check_free(file, node.name, node.name_span)
        file.declarations[node.name] = Declaration(node, file, node.name)

    def _check_free(self, file: File, name: str, span: Span) -> None:
        earlier = file.declarations.get(name)
        if earlier is not None:
            note = Note("it is declared here", earlier.node.name_span)
            self.diagnostics.append(Diagnostic("E2002", f"`{name}` is declared twice", span, None, (note,)))
        elif name in file.imports:
            self.diagnostics.append(Diagnostic("E2002", f"`{name}` is imported already", span))


def _is_there(path: Path) -> bool:
    """Whether a file is there and can be looked at; its name may be too long for the system."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_source(path: Path, span: Span | None = None) -> Source:
    """The text of a file.

    Raises E2003 where it can't be read, E2007 where it is too large, E1001 where it isn't UTF-8.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise fail("E2003", f"{path} can't be read: {reason}", span) from None
    if len(data) > FILE_LIMIT:
        raise fail(
            "E2007", f"{path} has more than {FILE_LIMIT} bytes", span, "a program is text of a few hundred lines"
        )
    return decode(str(path), data)


def open_program(source: Source, path: Path | None, name: str) -> Files:
    """The program of a source and of all it imports, as far as it can be read."""
    opener = _Opener()
    main = opener.open(source, None if path is None else path.resolve(), name)
    _label(opener.files, main)
    return Files(main, opener.files, opener.notes, opener.diagnostics[:DIAGNOSTIC_LIMIT])


def open_library(files: Files, name: str) -> File | None:
    """The file an entry such as `adamw.step[P]` or a train block's optimizer names, read into the program, or None."""
    if name in files.main.imports:
        return files.main.imports[name]
    opener = _Opener()
    for file in files.all:
        if file.path is not None:
            opener.opened[file.path] = file
    found = opener.open_named(files.main, name, None)
    if found is None or opener.diagnostics:
        return None
    new = [file for file in opener.files if file not in files.all]
    taken = {declaration.label for file in files.all for declaration in file.declarations.values()}
    for file in new:
        _label_apart(file, taken)
    files.all.extend(new)
    return found


def _label_apart(file: File, taken: set[str]) -> None:
    """Labels for a file that the program doesn't import: `adamw.step`, whatever else is opened or was before."""
    for declaration in file.declarations.values():
        if declaration.file is file:
            label = f"{file.name}.{declaration.name}"
            while label in taken:
                label += "'"
            taken.add(label)
            declaration.label = label


def _label(files: list[File], main: File) -> None:
    """Labels: the bare name in the main file and wherever it is the only one of that name, else with the file's."""
    owners: dict[str, list[Declaration]] = {}
    for file in files:
        for declaration in file.declarations.values():
            if declaration.file is file:
                owners.setdefault(declaration.name, []).append(declaration)
    for name, declarations in owners.items():
        for declaration in declarations:
            if len(declarations) == 1 or declaration.file is main:
                declaration.label = name
                continue
            twins = [each.file for each in declarations if each.file.name == declaration.file.name]
            place = twins.index(declaration.file)
            declaration.label = f"{declaration.file.name}{place + 1 if place else ''}.{name}"
