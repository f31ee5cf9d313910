"""Which rows train and which measure: the first ones of the file's order, drawn ones, or a share of each label.

A draw depends on the training's seed and the number of rows alone (docs/draws.md), so that a run that goes on has the
same rows on either side. Called by `sources`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from presk import draw
from presk.check.recipes import Recipe
from presk.exact.constants import round_constant
from presk.shapes.constants import Rational
from presk.shapes.types import Tensor
from presk.text.diagnostics import did_you_mean, fail
from presk.train.rows import Array, ArrayRows, PickedRows, Places, Rows

STREAM = "split"
"""The stream of the order in which rows are dealt out; its path is empty."""

EXPECTED = 3
"""A side that lacks a label is remarked on where so many of its rows would lie there by the share."""

LISTED = 5
"""Labels a remark lists."""


@dataclass(frozen=True, slots=True)
class Split:
    """How rows are split. None: as the block says, or else all train, in the file's order."""

    share: Fraction | None = None
    shuffle: bool | None = None
    stratify: str | None = None

    def over(self, recipe: Recipe | None) -> Split:
        """This, and for what it leaves open what a data source says."""
        said = Split() if recipe is None else _said(recipe)
        return Split(
            said.share if self.share is None else self.share,
            said.shuffle if self.shuffle is None else self.shuffle,
            said.stratify if self.stratify is None else self.stratify,
        )

    @property
    def part(self) -> Fraction:
        """The share of the rows that trains."""
        return Fraction(1) if self.share is None else self.share

    @property
    def draws(self) -> bool:
        """Whether rows are dealt out in a drawn order."""
        return bool(self.shuffle) or self.stratify is not None


def _said(recipe: Recipe) -> Split:
    share, words = recipe.numbers.get("split"), recipe.words or {}
    exact = None
    if share is not None:
        exact = share.value if isinstance(share, Rational) else Fraction(float(round_constant(share, "f64")))
    stratify = words.get("stratify")
    return Split(exact, words.get("shuffle") is True, None if stratify is None else str(stratify))


@dataclass(frozen=True, slots=True)
class Sides:
    """The places of the rows that train and of those that measure, in the file's order, and what to remark."""

    train: Places
    measure: Places
    remarks: tuple[str, ...] = ()

    def of(self, fields: Mapping[str, Array], *, drawn: bool) -> tuple[Rows, Rows]:
        """The rows of arrays on either side. What isn't drawn is a view of the arrays."""
        rows = ArrayRows(fields)
        if not drawn:
            at = len(self.train)
            return rows.part(0, at), rows.part(at, rows.count)
        return PickedRows(rows, self.train), PickedRows(rows, self.measure)


def deal(split: Split, fields: Mapping[str, Array], wanted: Mapping[str, Tensor], seed: int) -> Sides:
    """The two sides of these rows. E8034 where `stratify` names no labels."""
    count = len(next(iter(fields.values())))
    if not split.draws:
        at = int(count * split.part)
        sides = Sides(np.arange(at), np.arange(at, count))
        return Sides(sides.train, sides.measure, _remarks(sides, split, fields, wanted))
    order = draw.shuffle(draw.key(seed, STREAM, ""), 0, count)
    if split.stratify is None:
        at = int(count * split.part)
        return Sides(np.sort(order[:at]), np.sort(order[at:]))
    labels = np.asarray(fields[_labels(split.stratify, wanted)])[order]
    trains = np.zeros(count, dtype=np.bool_)
    before = taken = 0
    for label in np.unique(labels):  # each label's rows, in the drawn order, up to its share: within a row of it
        places = order[labels == label]
        before += len(places)
        most = int(before * split.part) - taken
        trains[places[:most]] = True
        taken += most
    return Sides(np.flatnonzero(trains), np.flatnonzero(~trains))


def _labels(name: str, wanted: Mapping[str, Tensor]) -> str:
    """The leaf whose values are labels: one nat or bool a row."""
    fits = [each for each, tensor in wanted.items() if _is_label(tensor)]
    if name in fits:
        return name
    what = "isn't one label a row" if name in wanted else "is no field of the batch"
    listed = ", ".join(f"`{each}`" for each in fits)
    hint = did_you_mean(name, fits) or (f"its labels are {listed}" if fits else "`shuffle = true` needs no labels")
    raise fail("E8034", f"`stratify` takes a nat or a bool for each row, and `{name}` {what}", hint=hint)


def _is_label(tensor: Tensor) -> bool:
    return tensor.kind in ("nat", "bool") and len(tensor.axes) == 1


def _remarks(sides: Sides, split: Split, fields: Mapping[str, Array], wanted: Mapping[str, Tensor]) -> tuple[str, ...]:
    """Labels that one side lacks: tables are often sorted by them, and a split in their order then misleads."""
    if not len(sides.train) or not len(sides.measure):
        return ()
    remarks: list[str] = []
    for name in (each for each, tensor in wanted.items() if _is_label(tensor)):
        labels, rows = np.unique(np.asarray(fields[name]), return_counts=True)
        for side, part, does in ((sides.train, split.part, "train"), (sides.measure, 1 - split.part, "measure")):
            there = np.unique(np.asarray(fields[name])[side])
            likely = [int(label) for label, count in zip(labels, rows, strict=True) if count * part >= EXPECTED]
            missing = [label for label in likely if label not in there]
            if missing:
                shown = ", ".join(map(str, missing[:LISTED])) + (" …" if len(missing) > LISTED else "")
                remarks.append(
                    f"the rows that {does} lack labels of `{name}`: {shown}. `split` cuts in the rows' order; "
                    f"`shuffle = true` draws them, `stratify = {name}` keeps each label's share"
                )
    return tuple(remarks)
