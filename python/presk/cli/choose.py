"""From a file, `--entry` and the options of execution to a compiled entry, for every command that calls one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import click

from presk.api.compiled import Compiled, compile
from presk.api.generate import next_token
from presk.api.program import Entry, Program, load
from presk.run import registry


def choose_entry(file: str, name: str | None, consts: Mapping[str, str], quiet: bool) -> Entry:
    """The entry named, or the file's sole one. E4021 lists the entries where there are several; notes go to stderr."""
    program = _load(file, consts, quiet)
    return program.sole_entry() if name is None else program[name]


def choose_language_model(file: str, name: str | None, consts: Mapping[str, str], quiet: bool) -> Entry:
    """The `next_token` named, or the file's sole one. E4021 where there is none, or several."""
    program = _load(file, consts, quiet)
    return next_token(program if name is None else program[name])


def _load(file: str, consts: Mapping[str, str], quiet: bool) -> Program:
    """The file's program; its notes go to stderr."""
    program = load(file, consts)
    if not quiet:
        for note in program.notes:
            click.echo(f"note: {note}", err=True)
    return program


def choose_settings(
    entry: Entry,
    execution: Mapping[str, Any],
    dims: Mapping[str, int],
    training: bool,
    quiet: bool,
    *,
    measures: bool = False,
) -> Compiled:
    """The entry compiled under the options of `options.execution`, `options.measuring` or `options.running`.

    `measures`: the reference runs beside the backend. A usage error for options that don't apply to the backend.
    """
    backend: str | None = execution["backend"]
    name = registry.fastest() if backend is None else backend
    certify: bool | None = execution.get("certify")
    if certify and name != "interp" and not measures:
        raise click.UsageError(f"--certify is for the reference; `{name}` has no proof radii")
    made = compile(
        entry,
        realize=execution["realize"],
        backend=name,
        plan=execution["plan"],
        bits=execution["bits"],
        certify=certify is not False,
        digits=execution.get("digits"),
        max_bits=execution.get("max_bits"),
        dims=dims,
        threads=execution["threads"],
        training=training,
    )
    made.tell(lambda note: None if quiet else click.echo(f"note: {note}", err=True))
    return made


OPTIONS_OF_A_CALL = {
    *("seed", "step", "row_offset", "bits", "certify", "digits", "max_bits", "from_rounded", "sites", "progress")
}
"""What a call or a gap takes beside the entry's parameters."""


def by_place(compiled: Compiled, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by place as far as they go, the others by name: a parameter may be named as an option of a call is.

    A usage error where one of that name can't go by its place.
    """
    first = list(takewhile(values.__contains__, compiled.parameters))
    named = {name: each for name, each in values.items() if name not in first}
    for name in OPTIONS_OF_A_CALL.intersection(named):
        raise click.UsageError(f"the parameter `{name}` goes by its place: give those before it too")
    return [values[name] for name in first], named
