"""The Core that commands work on: an entry's, or a train block's step. Called by `dump` and `realize`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from presk.api.program import Entry
    from presk.core.nodes import Program


def core_of_entry(
    file: str, entry: str | None, consts: dict[str, str], dims: dict[str, int], training: bool, quiet: bool
) -> tuple[Program, tuple[int, ...]]:
    """An entry's simplified Core; nothing is donated to it."""
    from presk.api.compiled import compile
    from presk.cli.choose import choose_entry
    from presk.run.registry import fastest

    chosen = choose_entry(file, entry, consts, quiet)
    return compile(chosen, backend=fastest(), dims=dims, training=training).core(), ()


def core_of_step(file: str, block: str, consts: dict[str, str]) -> tuple[Program, tuple[int, ...]]:
    """The step of a train block, and the parameters that are donated to it."""
    from presk.api.training import step_core
    from presk.train.step import DONATED

    return step_core(train_block(file, block, consts)), DONATED


def train_block(file: str, block: str, consts: dict[str, str]) -> Entry:
    """A train block of a program."""
    from presk.api.program import load
    from presk.cli.commands.train import sole_block

    program = load(file, consts)
    return program[sole_block(program, block)]
