"""What a training did to its data before it read them, which whoever uses the weights must do as well: the scaling of
`standardize`, and the labels whose places the nats are.

A run keeps both as JSON in the metadata of its weights. Called by `sources`, the command line and the Python API.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from presk.shapes.types import Tensor
from presk.text.diagnostics import did_you_mean, fail
from presk.train.checkpoints import read_metadata

Array = NDArray[Any]

SCALING, LABELS = "scaling", "labels"
"""The notes of a run's metadata."""

TEXTS = "UTS"
"""NumPy's kinds of arrays of texts, beside objects that all are."""

LISTED = 12
"""Labels a note lists."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """The mean and deviation of each column over the training rows, which a standardized table is shifted and divided
    by.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @staticmethod
    def of(values: NDArray[np.float64]) -> Scaling:
        """Those of the columns of [rows, columns], from correctly rounded sums. A constant column has deviation 1.

        OverflowError where a column's numbers are too large for that.
        """
        columns = [column.tolist() for column in values.T]
        means = [math.fsum(column) / len(column) for column in columns]
        squares = [math.fsum((each - mean) ** 2 for each in c) / len(c) for c, mean in zip(columns, means, strict=True)]
        return Scaling(tuple(means), tuple(math.sqrt(each) or 1.0 for each in squares))

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns, each shifted to mean 0 and divided by its deviation."""
        return (values - np.array(self.mean)) / np.array(self.deviation)

    def fits(self, values: Array) -> bool:
        """Whether the last axis is the columns: any number of rows, or one row alone; or rows of a sole column."""
        return bool(values.ndim and values.shape[-1] == len(self.mean)) or len(self.mean) == 1

    def note(self) -> dict[str, list[float]]:
        """The scaling as the metadata have it."""
        return {"mean": list(self.mean), "deviation": list(self.deviation)}


@dataclass(frozen=True)
class Preparation:
    """What a training did to the fields of its batch, by their names. `presk.Preparation.of("runs/wine")` reads it.

    `scaling` has the standardized fields, `labels` those whose nats are the places of labels.
    """

    scaling: Mapping[str, Scaling] = field(default_factory=dict[str, Scaling])
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])

    def __bool__(self) -> bool:
        return bool(self.scaling or self.labels)

    @staticmethod
    def from_metadata(metadata: Mapping[str, str]) -> Preparation:
        """What the metadata of a run's weights say; nothing for other weights, and of a note that is damaged."""
        try:
            scaling = cast("dict[str, dict[str, list[float]]]", json.loads(metadata.get(SCALING, "{}")))
            labels = cast("dict[str, list[str]]", json.loads(metadata.get(LABELS, "{}")))
            return Preparation(
                {name: Scaling(tuple(each["mean"]), tuple(each["deviation"])) for name, each in scaling.items()},
                {name: tuple(map(str, each)) for name, each in labels.items()},
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return Preparation()

    @staticmethod
    def of(path: str | Path) -> Preparation:
        """That of a run's folder or of weights in it. E8001, E8003, E8081 where there are none."""
        return Preparation.from_metadata(read_metadata(Path(path)))

    def standardize(self, values: Any, name: str = "x") -> Array:
        """Raw values of a field as the training read them: the columns shifted and scaled, or, for a field that wasn't
        standardized, the values themselves.

        E8035 where the last axis isn't the columns.
        """
        array = np.asarray(values)
        scaling = self.scaling.get(name)
        if scaling is None:
            return array
        if not scaling.fits(array):
            message = f"`{name}` was standardized by {len(scaling.mean)} columns, and is of shape {list(array.shape)}"
            raise fail("E8035", message, hint="the last axis is the columns, as the training had them")
        return scaling.apply(array.astype(np.float64))

    def names(self, values: Any, name: str = "y") -> Array:
        """The labels that nats of a field stand for. E8035 where the field has none, or not so many."""
        labels = self.labels.get(name)
        if labels is None:
            hint = did_you_mean(name, self.labels) or (f"labels have {', '.join(self.labels)}" if self.labels else None)
            raise fail("E8035", f"the training had no labels of `{name}`", hint=hint)
        array = np.asarray(values)
        if array.dtype.kind not in "iu" or (array.size and not 0 <= array.min() <= array.max() < len(labels)):
            raise fail("E8035", f"`{name}` has {len(labels)} labels, and the values aren't nats below that")
        return np.array(labels, dtype=object)[array]

    def listed(self, name: str) -> str:
        """`0 = barolo, 1 = barbera`"""
        shown = [f"{at} = {label}" for at, label in enumerate(self.labels[name][:LISTED])]
        return ", ".join(shown) + (", …" if len(self.labels[name]) > LISTED else "")


def name_labels(wanted: Mapping[str, Tensor], sides: Sequence[dict[str, Array]]) -> dict[str, tuple[str, ...]]:
    """Texts where the batch has nats become their places among the sorted ones, in all `sides`: the labels by field."""
    found: dict[str, tuple[str, ...]] = {}
    for name in (each for each, tensor in wanted.items() if tensor.kind == "nat"):
        arrays = [fields[name] for fields in sides if name in fields]
        if not arrays or not all(_is_text(array) for array in arrays):
            continue
        texts = [array.astype(str) for array in arrays]
        labels = np.unique(np.concatenate([each.ravel() for each in texts]))
        for fields, each in zip((fields for fields in sides if name in fields), texts, strict=True):
            fields[name] = np.searchsorted(labels, each).astype(np.int64)
        found[name] = tuple(labels.tolist())
    return found


def _is_text(array: Array) -> bool:
    return array.dtype.kind in TEXTS or (array.dtype == object and all(isinstance(each, str) for each in array.flat))
