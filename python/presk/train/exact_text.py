"""Exact numbers in a checkpoint: trees whose leaves are the reference's numbers, as text in arrays of bytes.

A tensor file holds machine numbers, and a training on the reference goes on from the very numbers it had: each is its
mantissa and its exponent of two, of certified ones the radius's as well, which
is rounded up where it is read. Called by `checkpoints`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from flint import arb

from presk.exact.values import ExactArray
from presk.run import trees
from presk.text.diagnostics import fail

MARK = "#"
"""Behind the name of a leaf that holds text: no field of a program is called so."""


def is_exact(tree: object) -> bool:
    """Whether a tree has a leaf of exact numbers."""
    return any(isinstance(leaf, ExactArray) for _, leaf in trees.leaves(tree))


def to_text(tree: object) -> Any:
    """The tree with the text of each exact leaf in its place, under its name and the shape behind MARK."""
    found: list[tuple[trees.Path, Any]] = []
    for path, leaf in trees.leaves(tree):
        if isinstance(leaf, ExactArray):
            shape = ",".join(map(str, leaf.shape))
            text = "\n".join(_ball_text(each) if leaf.certified else _number_text(each.mid()) for each in leaf.balls())
            name = f"{path[-1]}{MARK}{shape}"
            found.append(((*path[:-1], name), np.frombuffer(text.encode(), np.uint8)))
        else:
            found.append((path, leaf))
    return trees.grow(found)


def from_text(tree: object) -> Any:
    """What `to_text` was given. E8081 where a text isn't one of numbers."""
    found: list[tuple[trees.Path, Any]] = []
    for path, leaf in trees.leaves(tree):
        name, mark, shape = path[-1].partition(MARK)
        if not mark:
            found.append((path, leaf))
            continue
        found.append(((*path[:-1], name), _read(leaf.tobytes().decode("ascii", "replace"), shape)))
    return trees.grow(found)


def _number_text(number: arb) -> str:
    mantissa, exponent = number.man_exp()
    return f"{int(mantissa):x} {int(exponent)}"


def _ball_text(ball: arb) -> str:
    return f"{_number_text(ball.mid())} {_number_text(ball.rad())}"


def _read(text: str, sizes: str) -> ExactArray:
    numbers: list[arb] = []
    certified = False
    try:
        shape = tuple(int(each) for each in sizes.split(",")) if sizes else ()
        for line in text.split("\n") if text else ():
            mantissa, exponent, *radius = line.split(" ")
            found = arb((int(mantissa, 16), int(exponent)))
            if radius:
                size, scale = radius
                found, certified = arb(found.man_exp(), (int(size, 16), int(scale))), True
            numbers.append(found)
    except (ValueError, OverflowError) as error:
        raise fail("E8081", "the checkpoint's exact numbers are damaged") from error
    if len(numbers) != prod(shape):
        raise fail("E8081", "the checkpoint's exact numbers are damaged")
    return ExactArray(numbers, shape, certified=certified)
