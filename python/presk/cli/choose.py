"""From a file and `--entry` to an entry, for every command that calls one."""

from __future__ import annotations

from collections.abc import Mapping

import click

from presk.api.program import Entry, load


def choose_entry(file: str, name: str | None, consts: Mapping[str, str], quiet: bool) -> Entry:
    """The entry named, or the file's sole one. E4021 lists the entries where there are several; notes go to stderr."""
    program = load(file, consts)
    if not quiet:
        for note in program.notes:
            click.echo(f"note: {note}", err=True)
    return program.sole_entry() if name is None else program[name]
