"""`presk dump`: what each pass makes of an entry."""

from __future__ import annotations

import click

from presk.cli.options import CONSTS, DIMS, ENTRY, FILE, QUIET, TRAINING

BUILT = ("ast", "core", "groups")
LATER = ("kernel", "schedule", "clif", "asm", "c")
"""Stages of the design whose passes this version doesn't have."""


@click.command("dump")
@FILE
@ENTRY
@click.option(
    "--stage", required=True, metavar="STAGE", type=click.Choice([*BUILT, *LATER]), help=f"One of {', '.join(BUILT)}."
)
@DIMS
@CONSTS
@TRAINING
@QUIET
def command(
    file: str,
    entry: str | None,
    stage: str,
    dims: dict[str, int],
    consts: dict[str, str],
    training: bool,
    quiet: bool,
) -> None:
    """Print what a pass made of an entry.

    ast: the file's syntax tree, which belongs to no entry. core: the entry at its sizes in A-normal form, simplified;
    sites are named by its numbers. groups: how it is cut into loop nests.
    """
    if stage == "ast":
        if entry is not None or dims or training:
            raise click.UsageError("the syntax tree is the file's: --entry, --dim and --training don't apply to it")
        _dump_tree(file)
        return
    if stage in LATER:
        from presk.text.diagnostics import fail

        raise fail("E9003", f"no pass makes the stage `{stage}` yet", hint=f"this version has {', '.join(BUILT)}")
    from presk.api.compiled import compile
    from presk.cli.choose import choose_entry
    from presk.run.registry import fastest

    chosen = choose_entry(file, entry, consts, quiet)
    program = compile(chosen, backend=fastest(), dims=dims, training=training).core()
    if stage == "core":
        from presk.core.printer import print_program

        click.echo(print_program(program).rstrip("\n"))
    else:
        from presk.core.group_text import print_groups

        click.echo(print_groups(program).rstrip("\n"))


def _dump_tree(file: str) -> None:
    from presk.cli.tree_text import show_tree
    from presk.syntax.parser import parse_or_raise
    from presk.text.files import read_bytes, shown
    from presk.text.sources import decode

    click.echo(show_tree(parse_or_raise(decode(shown(file), read_bytes(file, "the program")))))
