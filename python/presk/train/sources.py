"""Data sources: from what a train block's `data` says, or from arrays in memory, to rows that train and rows that
measure.

The objective's batch decides what is wanted: its leaves, each with a leading axis that counts rows, their kinds and
bounds, and those of their sizes that don't follow from the data. Everything is held against it here, once, before the
first step. Called by the loop's preparation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk.check.recipes import Recipe
from presk.run import array_files, trees
from presk.shapes.constants import Rational
from presk.shapes.types import Tensor
from presk.text.diagnostics import fail
from presk.text.files import is_folder, read_bytes, shown
from presk.train import tokenizers
from presk.train.batch_types import leaves, require_bounds, require_fields, require_finite, settle
from presk.train.preparation import LABELS, SCALING, Scaling, name_labels
from presk.train.rows import ArrayRows, Places, Rows, WindowRows
from presk.train.split import Split, deal
from presk.train.step import Task
from presk.train.synthetic import synthesized
from presk.train.tables import read_column, read_columns, read_table

Array = NDArray[Any]

WRITTEN = "written"
"""The note on files that are known by samples."""

NO_SPLIT = Split()
"""Nothing but what the block says."""


@dataclass(frozen=True)
class Data:
    """Rows that train, rows that measure (None where all train), and what a run keeps to read further data alike.

    `notes` are JSON texts by name: the tokenizer, the scaling of columns, the labels of a column, and when files that
    are known by samples were written. `remarks` are what a user should know of the split.
    """

    train: Rows
    measure: Rows | None
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    remarks: tuple[str, ...] = ()


def open_data(
    task: Task,
    given: Mapping[str, Any] | None,
    seed: int,
    measure: Mapping[str, Any] | None = None,
    split: Split = NO_SPLIT,
) -> Data:
    """The block's data, or the arrays given in their place; `measure` are arrays that measure. E803x, E807x, and E804x
    for tokens.
    """
    recipe = task.block.data
    if measure is not None:
        if split != NO_SPLIT:
            raise fail("E8034", "`measure` gives the rows that measure, so `split` has none to choose", hint="give one")
        split = Split(Fraction(1), False)
    if given is not None:
        data = _rows(task, _flat(given), recipe, "the data given", Opening(seed, split, measure))
    elif recipe is None:
        message = f"the train block `{task.block.name}` names no data, and none are given"
        raise fail("E8070", message, hint='`data = csv("…")`, or presk.train(…, data={"x": x, "y": y})')
    else:
        data = SOURCES[recipe.name](task, recipe, Opening(seed, split, measure))
    if not data.train.count:
        raise fail("E8075", "there are no rows to train on", hint="more data, or a larger `split`")
    written = data.train.written()
    return replace(data, notes={**data.notes, WRITTEN: json.dumps(written)}) if written else data


@dataclass(frozen=True)
class Opening:
    """What a source is opened with beside its recipe: the seed, and what a caller says of the rows that measure."""

    seed: int
    split: Split
    measure: Mapping[str, Any] | None


def _flat(tree: Mapping[str, Any]) -> dict[str, Array]:
    return {".".join(path): np.asarray(leaf) for path, leaf in trees.leaves(tree)}


def _rows(
    task: Task,
    fields: dict[str, Array],
    recipe: Recipe | None,
    source: str,
    opening: Opening,
    labels: Mapping[str, tuple[str, ...]] | None = None,
) -> Data:
    """Rows of arrays, held against the batch, split, and standardized where the recipe says so."""
    wanted = leaves(task.batch)
    others = None if opening.measure is None else _flat(opening.measure)
    labels = {**(labels or {}), **name_labels(wanted, [fields, *([] if others is None else [others])])}
    _require(task, fields, source)
    if others is not None:
        _require(task, others, "`measure`")
    split = opening.split.over(recipe)
    sides = deal(split, fields, wanted, opening.seed)
    notes = {LABELS: json.dumps(labels, ensure_ascii=False)} if labels else dict[str, str]()
    if recipe is not None and (recipe.words or {}).get("standardize") is True:
        scaling = _standardize(fields, sides.train, wanted.get("x"), source)
        notes[SCALING] = json.dumps({"x": scaling.note()})
        if others is not None:
            others["x"] = _scaled(scaling, others["x"])
    train, measure = sides.of(fields, drawn=split.draws)
    if others is not None:
        measure = ArrayRows(others)
    return Data(train, measure if measure.count else None, notes, sides.remarks)


def _require(task: Task, fields: Mapping[str, Array], source: str) -> None:
    require_fields(task.batch, fields, source)
    if len(next(iter(fields.values()))):
        require_finite(fields, source)
        require_bounds(settle(task.batch, fields, len(next(iter(fields.values())))), fields)


def _standardize(fields: dict[str, Array], train: Places, x: Tensor | None, source: str) -> Scaling:
    """Replaces `x` by its columns of mean 0 and deviation 1 over the rows that train. E8071 where it isn't real, E8073
    where it is too large.
    """
    if x is None or x.kind != "real":
        raise fail("E8071", "`standardize` is for a batch whose `x` is real")
    if not len(train):
        raise fail("E8075", "there are no rows to train on", hint="more data, or a larger `split`")
    values = fields["x"]
    try:
        scaling = Scaling.of(values.reshape(len(values), -1)[train].astype(np.float64))
    except OverflowError:
        message = f"the squares of a column of `x` of {source} are no f64 any more, so it can't be standardized"
        raise fail("E8073", message, hint="give the column in a larger unit") from None
    fields["x"] = _scaled(scaling, values)
    return scaling


def _scaled(scaling: Scaling, values: Array) -> Array:
    return scaling.apply(values.reshape(len(values), -1).astype(np.float64)).reshape(values.shape)


def _folder(task: Task) -> Path:
    """What paths are relative to: the program's folder."""
    path = task.block.file.path
    return Path() if path is None else path.parent


# Tables


def _csv(task: Task, recipe: Recipe, opening: Opening) -> Data:
    table = read_table(_folder(task) / recipe.texts[0])
    words = recipe.words or {}
    wanted = leaves(task.batch)
    fields: dict[str, Array] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for name in ("x", "y"):
        columns = words.get(name)
        if columns is None:
            continue
        kind = wanted[name].kind if name in wanted else "real"
        if isinstance(columns, tuple):
            fields[name] = read_columns(table, columns, kind)
        else:
            column = read_column(table, str(columns), kind)
            fields[name] = column.values
            if column.labels is not None:
                labels[name] = column.labels
    return _rows(task, fields, recipe, f"`{table.path}`", opening, labels)


# Arrays


def _arrays(task: Task, recipe: Recipe, opening: Opening) -> Data:
    path = _folder(task) / recipe.texts[0]
    if is_folder(path):
        fields = {each.stem: array_files.map_npy(each) for each in sorted(path.glob("*.npy"))}
        if not fields:
            raise fail("E8003", f"the folder `{shown(path)}` holds no npy file")
    elif path.suffix == ".npy":
        sole = list(leaves(task.batch))
        fields = {sole[0] if len(sole) == 1 else path.stem: array_files.map_npy(path)}
    else:
        fields = dict(array_files.read(path))
    return _rows(task, fields, recipe, f"`{shown(path)}`", opening)


# Tokens


def _tokens(task: Task, recipe: Recipe, opening: Opening) -> Data:
    split = opening.split.over(recipe)
    if split.draws or opening.measure is not None:
        message = "the rows of `tokens` that measure are the end of the text: they are neither drawn nor given"
        raise fail("E8034", message, hint="`split = 0.9`")
    path = _folder(task) / recipe.texts[0]
    context = _context(task, recipe)
    notes: dict[str, str] = {}
    if path.suffix == ".npy":
        symbols = array_files.map_npy(path)
        if symbols.ndim != 1 or symbols.dtype.kind not in "iu":
            raise fail("E8071", f"`{shown(path)}` isn't one axis of whole numbers: symbols", hint="or give it as text")
    else:
        data = read_bytes(path, "the text")
        choice = (recipe.words or {}).get("tokenizer", tokenizers.CHARS)
        tokenizer = tokenizers.named(str(choice), data, shown(path), _folder(task))
        tokenizers.require_fits(tokenizer, _bound(task), f"`{task.model.label}`")
        symbols = tokenizer.encode_bytes(data, shown(path))
        notes[tokenizers.METADATA] = tokenizer.to_metadata()
    cut = int(len(symbols) * split.part)
    names = tuple(leaves(task.batch))
    train, measure = (WindowRows(part, context, names) for part in (symbols[:cut], symbols[cut:]))
    return Data(train, measure if measure.count else None, notes)


def _context(task: Task, recipe: Recipe) -> int:
    """The length of a window. E8071 where the batch isn't one of tokens, or says another."""
    wanted = leaves(task.batch)
    if not set(wanted) <= {"x", "y"} or any(each.kind != "nat" or len(each.axes) != 2 for each in wanted.values()):
        hint = "`batch: {x: nat[batch, seq: T] < V, y: nat[batch, seq: T] < V}`"
        raise fail("E8071", "the batch isn't one of tokens, `x` and the same one place on, `y`", hint=hint)
    given = recipe.numbers.get("context")
    asked = int(given.value) if isinstance(given, Rational) else None
    sizes = {axis.size.whole for each in wanted.values() for axis in each.explicit[-1:]}
    stated = sizes.pop() if len(sizes) == 1 else None
    if asked is None and stated is None:
        raise fail("E8071", "how long is a window?", hint="`tokens(…, context = 64)`")
    if asked is not None and stated is not None and asked != stated:
        raise fail("E8071", f"a window has {asked} tokens, and the batch has {stated}", hint="`context` is that size")
    return asked or stated or 0


def _bound(task: Task) -> int:
    """How many symbols the batch's nats can be."""
    bounds = [tensor.bound.whole for tensor in leaves(task.batch).values() if tensor.bound is not None]
    return min((bound for bound in bounds if bound is not None), default=0)


# Made up


def _synthetic(task: Task, recipe: Recipe, opening: Opening) -> Data:
    count = recipe.numbers.get("count")
    if not isinstance(count, Rational):
        raise fail("E8071", "how many rows are there?", hint=f"`synthetic({recipe.texts[0]}, count = 1024)`")
    fields = synthesized(task, recipe.texts[0], int(count.value), opening.seed)
    return _rows(task, fields, recipe, f"`{recipe.texts[0]}`", opening)


SOURCES: dict[str, Callable[[Task, Recipe, Opening], Data]] = {
    "tokens": _tokens,
    "csv": _csv,
    "arrays": _arrays,
    "synthetic": _synthetic,
}
"""What reads each source of `check.recipes.DATA`."""
