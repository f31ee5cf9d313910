"""The kernels of an entry as text: what `presk dump --stage kernel` prints.

Two lines begin with `--`: how many kernels there are, how often one is launched, and the realization; and what fusion
saved. They are comments to whoever reads the rest as kernel text. Called by the command line.
"""

from __future__ import annotations

from collections.abc import Sequence

from presk.kernel import native
from presk.kernel.nodes import Kernel
from presk.kernel.printer import print_kernels


def print_dump(
    kernels: Sequence[Kernel], launches: int, realization: str, unfused: int, saved: int, *, expand: bool = False
) -> str:
    """The header and the kernels, each once, in the order of their first launches.

    `launches` counts every launch of one call, `realization` is its short name or its file's. `unfused` are the
    launches there would be if each primitive had its own, `saved` those that fusion saves of them. `expand` writes
    statements over runs out as loops.
    """
    shown = tuple(dict.fromkeys(kernels))
    share = round(100 * saved / unfused) if unfused else 0
    head = f"-- {_counted(len(shown), 'kernel')}, {_counted(launches, 'launch')}, {realization}\n"
    fusion = f"-- fusion: {_counted(unfused, 'launch')} without it, {saved} saved ({share}%)\n"
    text = print_kernels(shown)
    return head + fusion + (native.expand(text) if expand else text)


def _counted(number: int, word: str) -> str:
    plural = "es" if word.endswith("ch") else "s"
    return f"{number} {word}" if number == 1 else f"{number} {word}{plural}"
