"""Progress of long work on stderr: a bar on a terminal, elsewhere a line every so often, nothing under `-q`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic

import click

SECONDS = 10.0
"""Between lines where there is no terminal."""

Tell = Callable[[int, int], None]
"""Told how many of how many parts are done."""


@contextmanager
def counting(what: str, quiet: bool) -> Generator[Tell]:
    """Gives what is to be told of progress."""
    if quiet:
        yield lambda _done, _whole: None
    elif sys.stderr.isatty():
        with _bar(what) as tell:
            yield tell
    else:
        yield _lines(what)


@contextmanager
def _bar(what: str) -> Generator[Tell]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def tell(done: int, whole: int) -> None:
            progress.update(task, completed=done, total=whole)

        yield tell


def _lines(what: str) -> Tell:
    last = monotonic()

    def tell(done: int, whole: int) -> None:
        nonlocal last
        if monotonic() - last >= SECONDS:
            last = monotonic()
            click.echo(f"{what}: {done} of {whole}", err=True)

    return tell
