"""The log of a training: a line every so many steps on stdout, and a bar on stderr where that is a terminal."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from presk.train.events import Event, Remark, Shown, Start, Step

if TYPE_CHECKING:
    from rich.progress import Progress

Tell = Callable[[Event], None]


@contextmanager
def log(quiet: bool, to_stderr: bool) -> Generator[Tell]:
    """Gives what is to be told of events. `to_stderr`: stdout is for the answer alone."""
    if quiet:
        yield lambda _event: None
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield _Log(to_stderr, progress).tell
    else:
        yield _Log(to_stderr, None).tell


class _Log:
    def __init__(self, to_stderr: bool, progress: Progress | None) -> None:
        self.to_stderr = to_stderr
        self.progress = progress
        self.shows = Shown()
        self.task: Any = None

    def tell(self, event: Event) -> None:
        if self.progress is not None:
            self.advance(self.progress, event)
        if self.shows(event):
            self.show(event.line(), to_stderr=isinstance(event, Start | Remark))

    def advance(self, progress: Progress, event: Event) -> None:
        match event:
            case Start(step=step, last=last):
                self.task = progress.add_task("loss", total=last, completed=step)
            case Step(step=step, loss=loss):
                progress.update(self.task, completed=step, description=f"loss {loss:.4f}")
            case _:
                return

    def show(self, line: str, *, to_stderr: bool = False) -> None:
        """A line above the bar where there is one, so that the two don't meet on a terminal."""
        with _unread():
            if self.progress is not None and (to_stderr or self.to_stderr or sys.stdout.isatty()):
                self.progress.console.print(line, markup=False, highlight=False)
            else:
                click.echo(line, err=to_stderr or self.to_stderr)


@contextmanager
def _bar() -> Generator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.start()
    try:
        yield progress
    finally:
        with _unread():
            progress.stop()


@contextmanager
def _unread() -> Generator[None]:
    """Lets go of what a terminal that is gone won't take."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise
