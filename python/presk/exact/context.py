"""What one evaluation knows everywhere (`Run`), and what one activation of a function knows (`Frame`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from flint import arb

from presk.exact.constants import ball_of_constant
from presk.exact.elements import Element, Site, Terms, Tracked, Undefined
from presk.exact.reals import Reals
from presk.shapes.constants import Constant

Watch: TypeAlias = Callable[["Run", Site, Any], Any]
"""Looks at the value of a primitive's let as it is computed, and gives the value that is used: the same, or another."""


class Run:
    """One evaluation of an entry at one precision.

    `certify`: radii are kept and decisions taken on balls. `terms`: expressions are tracked, to find identical ones.
    `seed`, `step`, `row_offset`: what draws depend on beside their place. `training`: dropout drops. `watch` sees every
    primitive's value, in the order of evaluation. `hulls`: masks that no ball decides and whose branches are apart.
    `rounds`: those of loops so far. `lost`: a loop's state has run away.
    """

    __slots__ = (
        "_constants",
        "bits",
        "certify",
        "hulls",
        "lost",
        "rounds",
        "row_offset",
        "seed",
        "step",
        "terms",
        "training",
        "watch",
    )

    def __init__(
        self,
        bits: int,
        *,
        certify: bool = False,
        tracked: bool = False,
        seed: int = 0,
        step: int = 0,
        row_offset: int = 0,
        training: bool = False,
        watch: Watch | None = None,
    ) -> None:
        self.bits = bits
        self.certify = certify
        self.terms = Terms() if tracked else None
        self.seed = seed
        self.step = step
        self.row_offset = row_offset
        self.training = training
        self.watch = watch
        self.hulls: list[Undefined] = []
        self.rounds = 0
        self.lost = False
        self._constants: dict[int, tuple[Constant, Reals]] = {}  # by identity: hashing one costs more than using it

    def reals(self, flat: list[Element], age: int = 1) -> Reals:
        """A computed tensor. Its radii are still to be dropped, unless this evaluation certifies."""
        return Reals(flat, settled=self.certify, age=age)

    def given(self, flat: list[arb]) -> Reals:
        """A tensor of balls that no operation of this evaluation made."""
        terms = self.terms
        if terms is None:
            return Reals(flat, settled=True, age=0)
        return Reals([Tracked(ball, terms, terms.of_ball(ball)) for ball in flat], settled=True, age=0)

    def scalar(self, value: Constant) -> Reals:
        """An exact constant as a scalar at this precision; a point where radii are dropped."""
        found = self._constants.get(id(value))
        if found is None:
            ball = ball_of_constant(value, self.bits)
            found = self._constants[id(value)] = (value, self.given([ball if self.certify else ball.mid()]))
        return found[1]

    def constant(self, value: Constant) -> Element:
        """The same as an element."""
        return self.scalar(value).entries()[0]


class Frame:
    """One activation of a function: its values by number, and where it stands for draws.

    `path`: the segments of the calls from the entry down. `indices`: those of the enclosing layers and loops.
    """

    __slots__ = ("indices", "path", "run", "values")

    def __init__(self, run: Run, size: int, path: tuple[str, ...], indices: tuple[int, ...]) -> None:
        self.run = run
        self.values: list[Any] = [None] * size
        self.path = path
        self.indices = indices
