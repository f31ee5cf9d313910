"""Values given on the command line: `--input x=@x.npy`, `--input t=[1, 2]`, `--weights w.safetensors`.

JSON numbers are read as the doubles nearest to them, whole numbers exactly; a string is an exact number, `"1/3"` or
`"0.1"`. An object is a record, or a tuple where its keys are `0`, `1` …; a list is an array. Everything here is
untrusted text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

from presk.api.compiled import Compiled
from presk.api.constants import exact_number
from presk.run import array_files, trees
from presk.text.diagnostics import PreskError, fail
from presk.text.files import read_bytes, shown
from presk.train import checkpoints
from presk.train.tables import read_columns, read_table

FROM_FILE = "@"

TABLE = re.compile(r"(.*\.csv)(?::(.*))?")
"""A table's path, and the columns that are taken."""

FILES = (".npy", ".npz", ".safetensors", ".csv", ".json")
"""Names of files that can be inputs."""

RANK_LIMIT = 32
"""Levels of nested lists that are read as axes."""


def read_inputs(given: Mapping[str, str]) -> dict[str, Any]:
    """The values of `--input` options by parameter. E6033 for malformed text, E8001 and E8003 for files."""
    return {name: _read(name, text.strip()) for name, text in given.items()}


def _read(name: str, text: str) -> Any:
    if not text.startswith(FROM_FILE):
        return _from_json(name, text)
    table = TABLE.fullmatch(text[len(FROM_FILE) :])
    if table is not None:
        return _columns(Path(table[1]), table[2])
    path = Path(text[len(FROM_FILE) :])
    if path.suffix == ".json":
        return _from_json(name, read_bytes(path).decode("utf-8", errors="replace"))
    arrays = array_files.read(path)
    if array_files.SOLE in arrays:
        return arrays[array_files.SOLE]
    return trees.grow((tuple(key.split(".")), array) for key, array in arrays.items())


def _columns(path: Path, names: str | None) -> Any:
    """Columns of a CSV file side by side, [rows, columns]: all, or those named. E8072, E8073."""
    table = read_table(path)
    chosen = list(table.columns) if names is None else [each.strip() for each in names.split(",")]
    try:
        return read_columns(table, chosen, "real")
    except PreskError as error:
        if names is not None:
            raise
        (fault,) = error.diagnostics
        hint = f"`@{shown(path)}:{','.join(chosen[:2])}` takes these columns alone"
        raise fail(fault.code, fault.message, hint=hint) from None


def _from_json(name: str, text: str) -> Any:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        hint = f"a number, a list, an object, or a file: --input {name}=@{name}.npy"
        if Path(text).suffix in FILES:
            hint = f"a file: --input {name}=@{shown(text)}"
        raise fail("E6033", f"the value of `{name}` isn't JSON: {what}", hint=hint) from None
    return _tree((name,), data)


def _tree(path: trees.Path, data: object) -> Any:
    if len(path) > trees.DEPTH_LIMIT:
        raise _malformed(path, "is nested too deeply")
    if not isinstance(data, dict):
        return _array(path, data)
    fields = {key: _tree((*path, key), each) for key, each in cast(dict[str, object], data).items()}
    places = [str(at) for at in range(len(fields))]
    return tuple(fields[at] for at in places) if fields and set(fields) == set(places) else fields


def _array(path: trees.Path, data: object) -> Any:
    """The array of a number or of nested lists, float64, int64, bool, or of exact numbers as Python objects."""
    shape: list[int] = []
    level: list[object] = [data]
    while level and isinstance(level[0], list):
        lists = [cast(list[object], each) for each in level if isinstance(each, list)]
        shape.append(len(lists[0]))
        if len(lists) != len(level) or any(len(each) != shape[-1] for each in lists):
            raise _malformed(path, "has lists of different lengths")
        if len(shape) > RANK_LIMIT:
            raise _malformed(path, f"has more than {RANK_LIMIT} axes")
        level = [item for each in lists for item in each]
    flat = [_number(path, item) for item in level]
    kinds: set[type] = {type(item) for item in flat}
    if bool in kinds and len(kinds) > 1:
        raise _malformed(path, "mixes numbers and truth values")
    if Fraction in kinds or any(isinstance(item, int) and item.bit_length() > 63 for item in flat):
        exact = np.empty(len(flat), dtype=object)
        exact[:] = [item if isinstance(item, bool) else Fraction(item) for item in flat]
        return exact.reshape(shape)
    kind = np.bool_ if kinds == {bool} else np.int64 if kinds == {int} else np.float64
    return np.array(flat, dtype=kind).reshape(shape)


def _number(path: trees.Path, item: object) -> Any:
    if isinstance(item, str):
        try:
            return exact_number(".".join(path), item)
        except PreskError:
            shown = item if len(item) <= 40 else item[:37] + "..."
            raise _malformed(path, f'holds "{shown}", which is no exact number') from None
    if isinstance(item, (bool, int, float)):
        return item
    what = "null" if item is None else "a list beside numbers" if isinstance(item, list) else "an object inside a list"
    raise _malformed(path, f"holds {what}")


def _malformed(path: trees.Path, what: str) -> PreskError:
    return fail("E6033", f"`{'.'.join(path)}` {what}", hint='numbers, truth values or exact numbers such as "1/3"')


def read_weights(compiled: Compiled, path: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The entry's module parameters from a file, or from a run's folder, and the file's metadata. A usage error where
    they can't apply.
    """
    names = compiled.modules
    if not names:
        raise click.UsageError(f"--weights: `{compiled.entry.name}` takes no module")
    clash = [name for name in names if name in given]
    if clash:
        raise click.UsageError(f"--weights and --input both give `{clash[0]}`")
    tree, metadata = checkpoints.read_weights(Path(path))
    return ({names[0]: tree} if len(names) == 1 else tree), metadata
