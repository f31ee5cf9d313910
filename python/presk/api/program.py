"""Programs: loaded, checked, and asked for their entries.

`load` reads a file, `loads` a text; both check all of it with nothing bound. `program["Linear{3, 2}.apply"]` names an
entry, which `presk.compile` takes. Errors are `presk.PreskError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from presk.api.arguments import path as as_path
from presk.api.arguments import table
from presk.api.arguments import text as as_text
from presk.api.constants import Number, exact_constants
from presk.check import program as checking
from presk.check.bound import BoundConstants
from presk.check.entries import find_entry as find_entry_function
from presk.check.operators import split_operators
from presk.check.program import Checked, EntryInfo
from presk.shapes import constants
from presk.text.diagnostics import fail

FILE_AND_ENTRY = ".psk:"
"""Where `path.psk:Linear{3, 2}.apply` is cut."""


@dataclass(frozen=True, eq=False)
class Program:
    """A checked program. Made by `load` and `loads`; shows its entries in a notebook."""

    checked: Checked
    name: str

    def entries(self) -> tuple[EntryInfo, ...]:
        """What can be called: name, signature, free dimensions and doc of each function, in the file's order."""
        return self.checked.entries()

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the modules the file declares or imports by name."""
        return tuple(self.checked.modules)

    @property
    def consts(self) -> dict[str, str]:
        """The file's constants with the values an entry is bound at, as PSK writes them."""
        return {name: constants.show(value) for name, value in self.checked.consts.items()}

    @property
    def trains(self) -> tuple[str, ...]:
        """The names of the file's training blocks."""
        return tuple(self.checked.trains)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that are no errors, such as a file that hides one of the library."""
        return self.checked.notes

    @property
    def hash(self) -> str:
        """`sha256:…` of all the program's files and overridden constants."""
        return self.checked.hash

    def __getitem__(self, entry: str) -> Entry:
        """The entry of this name: a function with its module's parameters, `Linear{3, 2}.apply`, or a train block.

        Raises PreskError where the program has no such function; its sizes are checked when it is compiled.
        """
        name = as_text("entry", entry).strip()
        if name in self.checked.trains:
            return Entry(self, name)
        _, within = split_operators(entry)
        find_entry_function(BoundConstants(self.checked.files, self.checked.overrides), self.checked, within)
        return Entry(self, name)

    def sole_entry(self) -> Entry:
        """The entry of a program that has one. E4021 lists them where there are several."""
        entries = self.entries()
        if len(entries) == 1 and not entries[0].name.endswith("]"):
            return self[entries[0].name]
        if not entries:
            raise fail("E4021", f"`{self.name}` has no function to call")
        listed = ", ".join(f"`{each.name}`" for each in entries)
        raise fail(
            "E4021", f"`{self.name}` has several functions: {listed}", hint=f"name one: --entry '{entries[0].name}'"
        )

    def __repr__(self) -> str:
        lines = [f"<presk.Program {self.name}>", *(f"  {each.signature}" for each in self.entries())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'><code>{escape(each.signature)}</code></td>"
            f"<td style='text-align:left'>{escape(', '.join(each.free_dimensions))}</td>"
            f"<td style='text-align:left'>{escape(each.doc)}</td></tr>"
            for each in self.entries()
        )
        head = "<tr><th>entry</th><th>free dimensions</th><th></th></tr>"
        return f"<b>{escape(self.name)}</b><table>{head}{rows}</table>"


@dataclass(frozen=True, eq=False)
class Entry:
    """A function of a program by its name, to be compiled, or a train block, to be trained. Made by `program[name]`."""

    program: Program
    name: str

    def __repr__(self) -> str:
        return f"<presk.Entry {self.name} of {self.program.name}>"


def load(path: str | Path, consts: Mapping[str, Number] | None = None) -> Program:
    """The program of a file, checked.

    `consts` override the file's constants: numbers or texts such as "1/3"; a float means its shortest decimal. Raises
    PreskError with all that is wrong, at most twenty diagnostics.
    """
    return Program(checking.load(as_path("path", path), exact_constants(table("consts", consts))), str(path))


def loads(text: str, name: str = "<string>", consts: Mapping[str, Number] | None = None) -> Program:
    """The program of a text, checked. Imports are found in the current folder and the library. As `load` otherwise."""
    return Program(
        checking.loads(as_text("text", text), as_text("name", name), exact_constants(table("consts", consts))), name
    )


def find_entry(entry: Entry | str) -> Entry:
    """An entry given as one, or as text: `path.psk:Linear{3, 2}.apply`, or a path alone where the file has one
    function.
    """
    if isinstance(entry, Entry):
        return entry
    path, cut, name = as_text("entry", entry).partition(FILE_AND_ENTRY)
    if cut:
        return load(path + ".psk")[name]
    if entry.endswith(".psk"):
        return load(entry).sole_entry()
    raise fail(
        "E4021",
        f"`{entry}` names no file",
        hint="presk.compile('path.psk:function') or presk.compile(program['function'])",
    )
