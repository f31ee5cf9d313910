"""`presk fmt`: programs in their one layout."""

from __future__ import annotations

import click

from presk.cli.options import QUIET

STANDARD_INPUT = "-"


@click.command("fmt")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Change nothing; exit code 1 and the names of files that would change.")
@QUIET
def command(files: tuple[str, ...], check: bool, quiet: bool) -> None:
    """Format programs.

    Each file is replaced as a whole or left as it is; one that doesn't parse is left. `-` formats standard input to
    standard output.
    """
    import sys

    from presk.cli.guard import CheckFailedError
    from presk.syntax.formatter import format_source
    from presk.text.diagnostics import Diagnostic, PreskError
    from presk.text.files import read_bytes, shown, write_bytes
    from presk.text.sources import BYTES_LIMIT, decode

    problems: list[Diagnostic] = []
    changed: list[str] = []
    for file in files:
        piped = file == STANDARD_INPUT
        try:
            most = BYTES_LIMIT + 1
            data = sys.stdin.buffer.read(most) if piped else read_bytes(file, "the program", most)
            source = decode("<stdin>" if piped else shown(file), data)
            formatted = format_source(source)
            if piped and not check:
                click.echo(formatted, nl=False)
            elif formatted.encode() != data:
                changed.append(file)
                if not check:
                    write_bytes(file, formatted.encode())
        except PreskError as error:
            problems.extend(error.diagnostics)
    for file in changed:
        if check or not quiet:
            click.echo(f"{'would change' if check else 'formatted'} {shown(file)}", err=not check)
    if problems:
        raise PreskError(problems)
    if check and changed:
        raise CheckFailedError
