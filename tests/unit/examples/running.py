"""Programs run on the exact reference, with parameters and inputs drawn by NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import presk

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
LIBRARY = ROOT / "python" / "presk" / "std"
BITS = 96
"""More than float64 holds, so that what differs from a NumPy formula is NumPy's rounding."""

PROGRAMS = [*sorted(EXAMPLES.rglob("*.psk")), *sorted(LIBRARY.glob("*.psk"))]
"""Every program that ships."""


def name_of(path: Path) -> str:
    """A program's name in a test's name."""
    return path.relative_to(ROOT).as_posix()


def over(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with every leaf replaced."""
    if isinstance(tree, dict):
        return {key: over(each, change) for key, each in tree.items()}
    if isinstance(tree, tuple):
        return tuple(over(each, change) for each in tree)
    return change(tree)


def compiled(program: Any, entry: str, **options: Any) -> Any:
    """An entry on the reference."""
    return presk.compile(program[entry], backend="interp", **({"bits": BITS, "max_bits": 4096} | options))


def call(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """A call's result as a tree of NumPy arrays, exact numbers rounded to float64."""
    return over(function(*arguments, **keywords), np.asarray)


def drawn(function: Any, source: np.random.Generator, scale: float = 0.5) -> Any:
    """Parameters of the initial tree's shapes, none of them zero or one by its initializer."""
    return over(function.init(seed=0), lambda leaf: source.normal(size=np.shape(leaf)) * scale)


@functools.cache
def load(path: str | Path, **consts: int) -> Any:
    """A program by its path, or an example by its path below examples/. Loaded once: programs don't change."""
    return presk.load(EXAMPLES / path, consts=consts)
