"""What surrounds every command: exit codes, and what becomes of an exception.

Exit code 0; 1 for a diagnostic or a check that fails; 2 for a usage error; 130 on an interrupt, and likewise 143 and
129 for a SIGTERM and a SIGHUP that a command ends at by itself. A closed pipe is quiet: whoever read it had enough, and
the code is 0. An exception that is none of these is a fault of presk and says so in one
line; with `PRESK_DEBUG=1` it shows its traceback.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from io import TextIOWrapper
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from presk.text.diagnostics import Diagnostic

FAILED, INTERRUPTED = 1, 130
"""Exit codes; click gives 2 to usage errors."""

SIGNALLED = 128
"""Exit codes above this are a signal's number more."""

COMPLETION_VARIABLE = "_PRESK_COMPLETE"
"""What a shell sets to ask for completions; the name is click's for a program called presk."""


WAIT = 0.05
"""Seconds between looks at whether a call was interrupted."""

Result = TypeVar("Result")


class CheckFailedError(Exception):
    """A command did what it should and found what it was to find (files that differ): exit code 1, nothing to add."""


def run(arguments: Sequence[str]) -> int:
    """Runs the command line on these arguments and gives the exit code; no exception comes out of it."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    code = FAILED
    try:
        code = _guarded(list(arguments))
        sys.stdout.flush()
        return code
    except OSError as error:
        _discard_output()
        if error.errno == errno.EPIPE:
            return 0
        if error.errno == errno.EIO and code > SIGNALLED:
            return code  # the terminal whose end ended the command takes no last lines
        from presk.text.diagnostics import Diagnostic

        click.echo(Diagnostic("E8002", f"the output can't be written: {error.strerror}").render(), err=True)
        return FAILED


def _open_missing_streams() -> None:
    """Nothing in place of each standard stream that was closed before the process began (`>&-`).

    Otherwise Python has no object for it, and the next file that is opened takes its number.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as the process


def interruptible(call: Callable[[], Result]) -> Result:
    """The call's result, computed in a thread of its own, so that an interrupt reaches the command while machine code
    runs; the process ends without waiting for it.
    """
    results: list[Result] = []
    faults: list[BaseException] = []
    context = copy_context()

    def work() -> None:
        try:
            results.append(context.run(call))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
            faults.append(error)

    worker = Thread(target=work, daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(WAIT)
    if faults:
        raise faults[0]
    return results[0]


def _guarded(arguments: list[str]) -> int:
    try:
        return _invoke(arguments)
    except CheckFailedError:
        return FAILED
    except click.ClickException as error:
        error.show()
        if isinstance(error, click.UsageError):
            _hint_at_split_entry(arguments)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _farewell("interrupted")
        return INTERRUPTED
    except SystemExit as error:
        _farewell("ended by a signal")
        return error.code if isinstance(error.code, int) else FAILED
    except click.exceptions.Exit as error:
        return error.exit_code
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC):
            raise  # standard output's: a file's has become a diagnostic where it was written
        _report(arguments, error)
        return FAILED


def _farewell(word: str) -> None:
    """The last word of a command that a signal ends; its terminal may be gone."""
    with suppress(OSError):
        click.echo(word, err=True)


def _invoke(arguments: list[str]) -> int:
    """Runs the command, or answers a shell that asks for completions.

    Not through click's own `main`, which would take closed pipes and interrupts upon itself, differently by version.
    """
    from presk.cli.application import application

    wanted = os.environ.get(COMPLETION_VARIABLE)
    if wanted:
        from click.shell_completion import shell_complete

        return shell_complete(application, {}, "presk", COMPLETION_VARIABLE, wanted)
    with application.make_context("presk", arguments) as context:
        application.invoke(context)
    return 0


def _report(arguments: list[str], error: Exception) -> None:
    """Diagnostics as text on stderr; under `--json` as data on stdout, for they are then the answer."""
    from presk.text.diagnostics import Diagnostic, PreskError

    found: Sequence[Diagnostic]
    if isinstance(error, PreskError):
        found = error.diagnostics
    elif isinstance(error, MemoryError):
        found = [Diagnostic("E9004", "the memory doesn't suffice", hint="smaller dimensions, or fewer bits")]
    else:
        _confess(error)
        return
    if "--json" in arguments:
        import json

        click.echo(json.dumps({"diagnostics": [each.to_json() for each in found]}))
        return
    for each in found:
        click.echo(each.render(), err=True)


def _hint_at_split_entry(arguments: list[str]) -> None:
    from presk.cli.shell import split_entry_hint

    hint = split_entry_hint(arguments)
    if hint is not None:
        click.echo(hint, err=True)


def _confess(error: Exception) -> None:
    """The one line that says presk is at fault."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    click.echo(f"presk failed, and that is a fault of presk: {what[:400]}", err=True)
    if os.environ.get("PRESK_DEBUG"):
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True)
    else:
        click.echo(
            "Please report it with the command, the program and the output of `presk env`; PRESK_DEBUG=1 shows where.",
            err=True,
        )


def _discard_output() -> None:
    """Lets the interpreter flush into nothing at its end, where standard output can take no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
