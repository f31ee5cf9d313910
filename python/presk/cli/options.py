"""The options that several commands share, each with one meaning everywhere, and their readers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

NAME_AND_VALUE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)

SIZE_LIMIT = 1 << 63
"""A size or seed that wouldn't fit its 64 bits is refused where it is read."""

FILE = click.argument("file", metavar="FILE")
QUIET = click.option("-q", "--quiet", is_flag=True, help="No notes or progress on stderr.")
JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


def pairs(_ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE` options as a dict; a malformed or repeated one is a usage error."""
    found: dict[str, str] = {}
    for text in given:
        match = NAME_AND_VALUE.fullmatch(text)
        if match is None:
            raise click.BadParameter(f"`{text}` isn't of the form {parameter.metavar}", param=parameter)
        if match[1] in found:
            raise click.BadParameter(f"`{match[1]}` is given twice", param=parameter)
        found[match[1]] = match[2]
    return found


def sizes(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """`NAME=N` options whose values are sizes."""
    found: dict[str, int] = {}
    for name, text in pairs(ctx, parameter, given).items():
        digits = text.strip().replace("_", "")
        if not digits.isascii() or not digits.isdecimal() or len(digits) > 19 or int(digits) >= SIZE_LIMIT:
            raise click.BadParameter(f"`{text}` is no size for `{name}`", param=parameter)
        found[name] = int(digits)
    return found


CONSTS = click.option(
    "--const", "consts", metavar="NAME=N", multiple=True, callback=pairs, help="Override a constant: V=128, 0.1, 1/3."
)
DIMS = click.option(
    "--dim", "dims", metavar="NAME=N", multiple=True, callback=sizes, help="A free dimension's size: batch=4."
)
TRAINING = click.option("--training", is_flag=True, help="As in training: dropout draws its masks.")


def _entry_names(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Completes `--entry` with the entries of the program on the line; with nothing where it doesn't load.

    click has not parsed the line that far when it asks, so the program is found among the shell's words.
    """
    import os

    from presk.api.program import load
    from presk.text.diagnostics import PreskError

    files = [word for word in os.environ.get("COMP_WORDS", "").split() if word.endswith(".psk")]
    try:
        names = [entry.name for file in files for entry in load(file).entries()]
    except PreskError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def entry_option(help: str) -> Callable[[Command], Command]:
    """The option that names an entry."""
    return click.option("-e", "--entry", metavar="NAME", shell_complete=_entry_names, help=help)


ENTRY = entry_option("The function to call: 'Linear{3, 2}.apply'. The sole entry if there is one.")

_INPUT = click.option(
    "-i",
    "--input",
    "inputs",
    metavar="NAME=VALUE",
    multiple=True,
    callback=pairs,
    help="An argument: x=@x.npy, x=@batch.npz, or JSON such as t=[1,2]. Made up where it isn't given.",
)
_WEIGHTS = click.option(
    "--weights",
    metavar="FILE",
    help="The module's parameters: a safetensors file or a run's folder. Drawn where not given.",
)


RAW = click.option("--raw", is_flag=True, help="Take inputs as they are: a training's `standardize` isn't applied.")


def given_inputs(command: Command) -> Command:
    """The options that give an entry's arguments: `inputs` and `weights`."""
    return _INPUT(_WEIGHTS(command))


def _threads(_ctx: click.Context, _parameter: click.Parameter, given: int | None) -> int | None:
    """A number of workers. E9007 for one that no pool has, whatever the backend makes of it."""
    if given is None:
        return None
    from presk.run.machine import require_threads

    return require_threads(given, f"--threads is {given}")


THREADS = click.option(
    "--threads", type=int, callback=_threads, metavar="N", help="Workers.  [default: the cores there are]"
)

_RUNNING = (
    click.option("--backend", metavar="NAME", help="interp, kernel or native.  [default: native]"),
    click.option(
        "--realize",
        metavar="R",
        default="f32",
        show_default=True,
        help="f64, f32, bf16, f64+fma, f32+fma, bf16/f32 or @FILE.",
    ),
    click.option("--plan", metavar="PLAN", default="auto", show_default=True, help="auto, default, scalar or @FILE."),
    THREADS,
)

_BITS = click.option(
    "--bits", type=int, metavar="N", default=256, show_default=True, help="Precision of the reference."
)
_PRECISION = (
    click.option("--digits", type=int, metavar="N", help="Decimal digits the reference proves.  [default: 15]"),
    click.option("--bits", type=int, metavar="N", help="Bits of the reference: alone fixed, with --digits the first."),
    click.option("--max-bits", type=int, metavar="N", help="The most bits it takes by itself.  [default: 4096]"),
)
_CERTIFY = click.option(
    "--certify/--no-certify", default=None, help="Prove the reference's digits (default), or trust its midpoints."
)
_SEED = click.option("--seed", type=click.IntRange(0), metavar="N", default=0, show_default=True, help="Of all draws.")


def running(command: Command) -> Command:
    """The options that say where and how an entry is executed, on whatever backend, the reference on midpoints."""
    return _with(command, *_RUNNING, _BITS, _SEED)


def measuring(command: Command) -> Command:
    """The same for commands that measure from the certified reference."""
    return _with(command, *_RUNNING, *_PRECISION, _SEED)


def execution(command: Command) -> Command:
    """The same with `--no-certify`, for commands that show what the reference gives."""
    return _with(command, *_RUNNING, *_PRECISION, _CERTIFY, _SEED)


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    """The command with these options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command
