"""Quantising an entry's weights: which parameters, their integers and scales, and the realization that names them.

The rule of the integers is `realization.quantized`'s; here it is applied to the trees of an entry's modules. Called by
`presk quantize`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from presk.core.nodes import Program
from presk.realization.model import Realization
from presk.realization.parameters import Leaf, leaves_of
from presk.realization.quantized import Quantized, quantize
from presk.run import trees
from presk.run.mode import in_standard_mode
from presk.text.diagnostics import PreskError, fail

LEAST_RANK = 2
"""Axes, layers aside, of a parameter that is quantised where no pattern says which are: weights, not biases."""

LAST_AXIS = -1
"""The axis of scales where none is named: a linear map's outputs."""


@dataclass(frozen=True, slots=True)
class Change:
    """One parameter quantised: its path, its integers, and how far these are off, over the largest weight."""

    name: str
    made: Quantized
    bytes_before: int
    error: float

    @property
    def bytes_after(self) -> int:
        """Bytes of the integers with their scales."""
        return self.made.stored().nbytes + self.made.scale.nbytes


@dataclass(frozen=True, slots=True)
class QuantizedWeights:
    """The trees with integers in them, by argument; the realization that names these; and what has changed."""

    weights: dict[str, Any]
    realization: Realization
    changes: tuple[Change, ...]


@in_standard_mode
def quantize_weights(
    program: Program,
    weights: Mapping[str, Any],
    realization: Realization,
    *,
    kind: str,
    pattern: str | None = None,
    axis: int = LAST_AXIS,
) -> QuantizedWeights:
    """Quantises parameters of an entry's simplified Core to `kind`, `int8` or `int4`, with scales along `axis`.

    `weights` are trees of float arrays by argument. `pattern`, as of file names (`*.w`), chooses among the paths that a
    realization would name; without one, every parameter of at least two axes. The realization is the one given with
    these parameters besides. Raises PreskError: E7002 where nothing is chosen, E7003 for weights that can't be
    quantised, E7001 where the realization has them in another type already.
    """
    leaves = [leaf for leaf in leaves_of(program) if leaf.path[0] in weights]
    chosen = [leaf for leaf in leaves if leaf.tensor.kind == "real" and _is_chosen(leaf, pattern)]
    if not chosen:
        raise _nothing(leaves, pattern)
    arrays = dict(trees.leaves(weights))
    changes = {leaf.full: _change(leaf, arrays[leaf.path], kind, axis) for leaf in chosen}
    said = {leaf.name: {"type": kind, "axis": changes[leaf.full].made.axis} for leaf in chosen}
    quantised = {name: _with(tree, (name,), changes) for name, tree in weights.items()}
    made = replace(realization, entry=program.entry.name, core=None, quant={**realization.quant, **said})
    return QuantizedWeights(quantised, made, tuple(changes.values()))


def _is_chosen(leaf: Leaf, pattern: str | None) -> bool:
    """Whether a parameter is one to be quantised; `*.w` is also the `w` of an entry's own module."""
    if pattern is None:
        return len(leaf.tensor.axes) >= LEAST_RANK
    return any(fnmatchcase(name, pattern) for name in (leaf.name, f".{leaf.name}"))


def _nothing(leaves: list[Leaf], pattern: str | None) -> PreskError:
    known = ", ".join(dict.fromkeys(f"`{leaf.name}`" for leaf in leaves if leaf.tensor.kind == "real"))
    what = "has two axes to be quantised by" if pattern is None else f"matches `{pattern}`"
    hint = f"there are {known}" if known else "the entry's modules have no parameters"
    return fail("E7002", f"no parameter {what} (condition 1)", hint=hint)


def _change(leaf: Leaf, array: Any, kind: str, axis: int) -> Change:
    if isinstance(array, Quantized):
        raise fail("E7003", f"`{leaf.name}` is {array.type} already", hint="quantise the weights it was made of")
    given = np.asarray(array)
    made = quantize(leaf.name, given, kind, axis, leaf.layers)
    wide = given.astype(np.float64)
    largest = float(np.max(np.abs(wide), initial=0.0))
    error = float(np.max(np.abs(made.values().astype(np.float64) - wide), initial=0.0))
    return Change(leaf.name, made, given.nbytes, error / largest if largest else 0.0)


def _with(tree: Any, path: tuple[str, ...], changes: Mapping[str, Change]) -> Any:
    """The tree with its changed leaves quantised."""
    quantised = iter(
        changes[full].made if (full := ".".join((*path, *inner))) in changes else leaf
        for inner, leaf in trees.leaves(tree)
    )
    return trees.map_leaves(tree, lambda _: next(quantised))
