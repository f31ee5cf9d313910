"""How the tour looks: numbered steps, asides, tables, and a bar that lives where there is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

LINES = 10
"""Lines that stand for the bar where there is no terminal."""

MARGIN = 4

Tell = Callable[[int, str], None]
"""Told how many are done, and a word on it."""


class Screen:
    """The tour's output. `quiet` leaves out bars and what else is only for the waiting."""

    def __init__(self, quiet: bool) -> None:
        self.console = Console(highlight=False)
        self.quiet = quiet
        self._number = 0

    def step(self, title: str, what: str) -> None:
        """The head of the tour's next part."""
        self._number += 1
        self.console.print(f"\n[bold]{self._number}. {title}[/bold]  {what}")

    def aside(self, what: str) -> None:
        """A remark under a head."""
        for line in Text.from_markup(what, style="dim").wrap(self.console, self.console.width - MARGIN):
            line.rstrip()
            self.console.print(" " * MARGIN, line, sep="", soft_wrap=True)

    def table(self, *columns: str) -> Table:
        """An empty table: the first column to the left, the others to the right."""
        made = Table(title_justify="left")
        for at, column in enumerate(columns):
            made.add_column(column, justify="right" if at else "left")
        return made

    def show(self, table: Table) -> None:
        """A table, set in."""
        self.console.print(Padding(table, (0, 0, 0, MARGIN), expand=False))

    def text(self, text: str) -> None:
        """A text, its lines set in and without blanks at their ends."""
        for line in text.splitlines():
            self.console.print((" " * MARGIN + line).rstrip(), markup=False, soft_wrap=True)

    def waiting(self, what: str) -> AbstractContextManager[object]:
        """Something to look at while nothing comes."""
        return self.console.status(what) if self.console.is_terminal and not self.quiet else nullcontext()

    @contextmanager
    def counting(self, what: str, whole: int) -> Generator[Tell]:
        """A bar of `whole` on a terminal, elsewhere a line every so often."""
        if self.quiet:
            yield lambda _done, _word: None
        elif self.console.is_terminal:
            columns = (TextColumn("    {task.description}"), BarColumn(), MofNCompleteColumn())
            with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self.console) as progress:
                task = progress.add_task(what, total=whole)
                yield lambda done, word: progress.update(task, completed=done, description=word)
        else:
            every = max(1, whole // LINES)
            yield lambda done, word: self.aside(f"{done} of {whole}: {word}") if done % every == 0 else None


def since(began: float) -> str:
    """The time that has passed, for people."""
    return seconds(perf_counter() - began)


def seconds(took: float) -> str:
    """So many seconds, for people."""
    return f"{took:.1f} s" if took >= 1 else f"{took * 1000:.1f} ms"
