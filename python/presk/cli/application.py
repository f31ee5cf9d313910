"""The table of commands and the click group over it.

A row is a command's name and the sentence `presk --help` shows for it. The command itself is the object `command` of
`presk.cli.commands.<name>`, imported when it is named; a test holds that its own first sentence is the table's.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

COMMANDS = {
    "check": "Check a program with nothing bound; list its entries.",
    "fmt": "Format programs.",
    "run": "Call an entry once on given or made-up inputs.",
    "dump": "Print what a pass made of an entry.",
    "train": "Train a block of a program.",
    "generate": "Write text with a trained language model.",
    "bench": "Time calls of an entry on every backend, in f64, f32 and bf16.",
    "gap": "Measure how far a call is from the exact result.",
    "conformance": "Measure every primitive and example against the exact reference.",
    "realize": "Write a realization out for an entry.",
    "quantize": "Quantise weights to integers with scales.",
    "hash": "Print the hash of a result's, checkpoint's or program's content.",
    "diff": "Compare two results bit by bit.",
    "demo": "Take the tour.",
    "env": "Print versions, processor and caches, for bug reports.",
    "explain-error": "Explain a diagnostic's code.",
}
"""In the order of `presk --help`."""


class Commands(click.Group):
    """The group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"presk.cli.commands.{cmd_name.replace('-', '_')}")
        command = module.command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__}.command is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was named; an unknown one gets a hint."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from presk.text.diagnostics import did_you_mean

            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"there is no command `{args[0]}`" + (f": {hint}" if hint else "."), ctx)
        return super().resolve_command(ctx, args)


def _show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from presk import __version__

        click.echo(f"presk {__version__}")
        ctx.exit()


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Commands, context_settings=SETTINGS)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Print the version."
)
def application() -> None:
    """Programs over the exact real numbers.

    A program means a function over the reals; a realization says in which machine numbers it is computed, and how far
    from exact that is can be measured.
    """
