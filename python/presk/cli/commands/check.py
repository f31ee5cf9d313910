"""`presk check`: a program's syntax, names and shapes, with nothing bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from presk.cli.options import CONSTS, JSON, QUIET

if TYPE_CHECKING:
    from presk.api.program import Program


@click.command("check")
@click.argument("file", metavar="FILE", required=False)
@click.option("--docs", is_flag=True, help="With the entries' doc comments.")
@click.option("--primitives", is_flag=True, help="List the language's primitives instead.")
@CONSTS
@JSON
@QUIET
def command(file: str | None, docs: bool, primitives: bool, consts: dict[str, str], as_json: bool, quiet: bool) -> None:
    """Check a program with nothing bound; list its entries.

    Every declaration is checked for all sizes at once. The list shows each function with its types and, in braces, the
    dimensions that are free.
    """
    if primitives:
        if file is not None or docs or consts:
            raise click.UsageError("--primitives lists the language's own; it takes no file")
        _list_primitives(as_json)
        return
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    from presk.api.program import load

    program = load(file, consts)
    if not quiet:
        for note in program.notes:
            click.echo(f"note: {note}", err=True)
    if as_json:
        from presk.cli.output import print_json

        print_json(_as_data(program))
        return
    _list_entries(program, docs)


def _list_entries(program: Program, docs: bool) -> None:
    entries = program.entries()
    for entry in entries:
        free = f"   {{{', '.join(entry.free_dimensions)}}}" if entry.free_dimensions else ""
        click.echo(f"{entry.signature}{free}")
        if docs and entry.doc:
            click.echo(click.wrap_text(entry.doc, 100, "    ", "    ", preserve_paragraphs=True) + "\n")
    for name in program.trains:
        click.echo(f"train {name}")
    if not entries and not program.trains:
        click.echo("no functions")


def _as_data(program: Program) -> dict[str, object]:
    return {
        "entries": [
            {
                "name": entry.name,
                "signature": entry.signature,
                "free dimensions": list(entry.free_dimensions),
                "doc": entry.doc,
            }
            for entry in program.entries()
        ],
        "trains": list(program.trains),
        "modules": list(program.modules),
        "consts": program.consts,
        "hash": program.hash,
    }


def _list_primitives(as_json: bool) -> None:
    from presk.cli.output import print_json
    from presk.primitives.all import TABLE
    from presk.primitives.signature import show_signature

    shown = [row for row in TABLE.values() if not row.internal]
    if as_json:
        print_json(
            [
                {"name": row.name, "family": row.family, "signature": show_signature(row), "doc": row.doc}
                for row in shown
            ]
        )
        return
    for family in dict.fromkeys(row.family for row in shown):
        click.echo(f"{family}:")
        for row in shown:
            if row.family == family:
                click.echo(f"  {show_signature(row)}\n      {row.doc}")
