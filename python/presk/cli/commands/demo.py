"""`presk demo`: the tour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from presk.cli.options import QUIET

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "presk-demo"
"""Where the tour writes when no folder is named; with a number behind it where that is taken."""


@click.command("demo")
@click.option("--corpus", metavar="FILE", help="A text to learn.  [default: the source of Python's standard library]")
@click.option(
    "--steps", type=click.IntRange(1), metavar="N", help="Of training.  [default: as many as take 50 s, 1000 at most]"
)
@click.option("--seed", type=click.IntRange(0), metavar="N", default=1, show_default=True, help="Of all draws.")
@click.option("-o", "--out", metavar="DIR", help=f"The folder to write.  [default: {FOLDER}]")
@QUIET
def command(corpus: str | None, steps: int | None, seed: int, out: str | None, quiet: bool) -> None:
    """Take the tour.

    Trains a small language model on text, lets it write, trains its first steps again with other threads and on another
    backend and compares the bits, and measures how far f64, f32 and bf16 are from the exact result, with proof.
    """
    from pathlib import Path

    from presk.cli.demo.corpus import read_corpus
    from presk.cli.demo.screen import Screen
    from presk.cli.demo.tour import Settings, Tour

    settings = Settings(steps, seed)
    text, source = read_corpus(corpus, settings.characters)
    folder = _free_folder() if out is None else Path(out)
    Tour(Screen(quiet), settings, text, source, folder).take()


def _free_folder() -> Path:
    """The first of `presk-demo`, `presk-demo-2` … that isn't there."""
    from itertools import count
    from pathlib import Path

    names = (Path(FOLDER if number == 1 else f"{FOLDER}-{number}") for number in count(1))
    return next(path for path in names if not path.exists())
