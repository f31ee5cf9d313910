"""Writes docs/cli.md from the commands' own help. With `--check` it compares and writes nothing.

A test holds that the page is current.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import click

from presk.cli.application import COMMANDS, application

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 118, "terminal_width": 118}

HEAD = """\
# The command line

The commands' part of this page is made from their own help by `tools/cli.py`.

## What all commands share

Results go to stdout, notes and progress to stderr. A closed pipe is quiet.

| exit code | means |
|---|---|
| 0 | done |
| 1 | a diagnostic was printed, or a check found what it looks for (`diff`, `fmt --check`) |
| 2 | the command was called in a way it can't be: an unknown option, one that can't apply |
| 130 | interrupted |

With `--json` results and diagnostics are JSON on stdout: `{"diagnostics": [{"code": "E3003", "message": …}]}`. Machine
numbers stand as decimals with their hexadecimal form beside them, exact ones as strings of all their digits; NaN and
infinities are strings.

An entry is a function's name with its module's parameters: `mse`, `MiniGPT.apply`, `'Linear{3, 2}.apply'`,
`'adamw.step[MiniGPT]'`. Braces want quotes, or the shell takes them apart. A file with one function needs no `--entry`.

Completion for bash: `eval "$(_PRESK_COMPLETE=bash_source presk)"`; `zsh_source` and `fish_source` likewise. After
`--entry` it offers the entries of the program on the line.

The exact reference, `--backend interp`, computes with real numbers on one thread, and proves the digits it prints
([reference.md](reference.md)): `--realize`, `--plan` and `--threads` are read, so that a wrong one is refused, and
change nothing there.

`PRESK_THREADS` is the number of workers where `--threads` isn't given. `PRESK_DEBUG=1` shows a traceback where presk
itself is at fault.

## Inputs

`--input NAME=VALUE` gives one parameter of an entry:

| value | is |
|---|---|
| `x=@x.npy` | the array in the file |
| `x=@batch.npz`, `x=@w.safetensors` | a tree: names are dotted paths |
| `x=@rows.csv`, `x=@rows.csv:a,b` | the columns of a table, or those named: [rows, columns] |
| `x=@x.json`, `x=[[1, 2], [3, 4]]` | JSON: numbers, and lists of one length per axis |
| `b={"x": [1, 2], "y": 0}` | a record; with the keys `0`, `1` … a tuple |

A JSON number is the double nearest to it, a whole number exactly itself, and a string an exact number, such as `"1/3"`.
What a file is, is told by its first bytes. Nothing is ever unpickled.

What isn't given is made up, by one rule for every backend. A parameter's default comes first. A parameter that is a
module's tree is drawn by its initializers, as `init` in Python draws it. Every other leaf is a draw of the stream
`input` at step 0 under its dotted path (`batch.x`), with `--seed`; so it depends on its place alone, and row b of a
batch is the same at any batch size (docs/draws.md):

| leaf | value |
|---|---|
| real tensor | standard normal |
| real scalar | uniform in [1/16, 1) |
| nat | uniform below its bound |
| bool | true with probability 3/4; always in the first place of the last axis, so that no mask's row is empty |
| real leaf of a module's tree in a record or tuple (an optimizer's moments) | uniform in [1/16, 1): magnitudes |

The first module among an entry's parameters is drawn under its parameters' own paths (`blocks.att.q.w`), a further
one under its argument's name and those (`student.blocks.att.q.w`).
"""


def page() -> str:
    """The whole page."""
    root = click.Context(application, info_name="presk", **SETTINGS)
    parts = [HEAD]
    for name in COMMANDS:
        command = application.get_command(root, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=root)
        parts.append(f"\n## presk {name}\n\n```\n{command.get_help(context)}\n```\n")
    return "".join(parts)


def main() -> None:
    """Writes the page, or says that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/cli.md is out of date: run tools/cli.py")


if __name__ == "__main__":
    main()
