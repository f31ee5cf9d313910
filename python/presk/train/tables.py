"""Tables: the columns of a CSV file as arrays of the types an objective's batch asks for.

The first line names the columns. What a batch has as reals is read as the nearest f64; nats are whole numbers, or,
where a cell is no number, labels: texts that become their place among the sorted ones. Every fault names the line and
the column. Called by `sources`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk.text.diagnostics import PreskError, did_you_mean, fail
from presk.text.files import read_bytes, shown

Array = NDArray[Any]

WHOLE = re.compile(r"[0-9]+")
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
MISSING = "leave the row out, or say what stands for a missing value"
WHOLE_LIMIT = 1 << 63
"""Nats are held as int64."""

TRUTHS = {"true": True, "false": False, "1": True, "0": False}

LISTED = 12
"""Columns or labels a message lists."""


@dataclass(frozen=True, slots=True)
class Table:
    """A file's cells as text: column by column, with the line each row begins on."""

    path: str
    columns: dict[str, list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        """The cells of a column. E8072 where there is none."""
        if name not in self.columns:
            hint = did_you_mean(name, self.columns) or f"it has {', '.join(list(self.columns)[:LISTED])}"
            raise fail("E8072", f"`{self.path}` has no column `{name}`", hint=hint)
        return self.columns[name]

    def refuse(self, row: int, column: str, what: str, hint: str | None = None) -> PreskError:
        """E8073: the fault of one cell."""
        return fail("E8073", f"line {self.lines[row]} of `{self.path}`, column `{column}`: {what}", hint=hint)


def read_table(path: Path) -> Table:
    """The table in a file. E8001 where it can't be read, E8073 for what is no table or has an empty cell."""
    name = shown(path)
    try:
        text = read_bytes(path, "the table").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise fail("E8073", f"byte {error.start} of `{name}` is not UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = [each.strip() for each in next(reader, list[str]())]
        if not head or len(set(head)) != len(head) or not all(head):
            what = "has no line of names" if not head else "names a column twice or not at all"
            raise fail("E8073", f"line 1 of `{name}` {what}", hint="the first line names the columns")
        rows: list[list[str]] = []
        lines: list[int] = []
        line = reader.line_num + 1
        for row in reader:
            if row:
                rows.append(_cells(name, head, row, line))
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise fail("E8073", f"line {reader.line_num} of `{name}`: {error}") from None
    return Table(name, {each: [row[at] for row in rows] for at, each in enumerate(head)}, lines)


def _cells(path: str, head: list[str], row: list[str], line: int) -> list[str]:
    """The cells of a row, without blanks around them."""
    cells = [each.strip() for each in row]
    if len(cells) != len(head):
        raise fail("E8073", f"line {line} of `{path}` has {len(cells)} cells, and there are {len(head)} columns")
    for column, cell in zip(head, cells, strict=True):
        if not cell:
            raise fail("E8073", f"line {line} of `{path}`, column `{column}`: the cell is empty", hint=MISSING)
    return cells


@dataclass(frozen=True, slots=True)
class Column:
    """A column's values, and the labels its nats stand for where it was text."""

    values: Array
    labels: tuple[str, ...] | None = None


def read_column(table: Table, name: str, kind: str) -> Column:
    """A column as `real`, `nat` or `bool`. E8072, E8073."""
    return READERS[kind](table, name)


def read_columns(table: Table, names: Sequence[str], kind: str) -> Array:
    """Several columns side by side, of shape [rows, columns]. E8072, E8073; labels stand in a column of their own."""
    found = [read_column(table, name, kind) for name in names]
    for name, each in zip(names, found, strict=True):
        if each.labels is not None:
            raise table.refuse(0, name, "labels are read from a column of their own", f'`y = "{name}"`')
    return np.stack([each.values for each in found], axis=-1)


def _reals(table: Table, name: str) -> Column:
    return Column(np.array(_each(table, name, _real, "no number"), dtype=np.float64))


def _nats(table: Table, name: str) -> Column:
    cells = table.column(name)
    if all(WHOLE.fullmatch(cell) for cell in cells):
        return Column(np.array(_each(table, name, _nat, "too large"), dtype=np.int64))
    labels = tuple(sorted(set(cells)))
    places = {label: at for at, label in enumerate(labels)}
    return Column(np.array([places[cell] for cell in cells], dtype=np.int64), labels)


def _truths(table: Table, name: str) -> Column:
    truths = _each(table, name, lambda cell: TRUTHS.get(cell.lower()), "neither true nor false")
    return Column(np.array(truths, dtype=np.bool_))


READERS: dict[str, Callable[[Table, str], Column]] = {"real": _reals, "nat": _nats, "bool": _truths}
"""How cells are read, by the kind of the batch's tensor."""


def _each(table: Table, name: str, read: Callable[[str], Any], wrong: str) -> list[Any]:
    """Every cell of a column, read. E8073 at the first that `read` gives None for."""
    found: list[Any] = []
    for row, cell in enumerate(table.column(name)):
        value = read(cell)
        if value is None:
            what = "is not a finite number" if NOT_FINITE.fullmatch(cell) else f"is {wrong}"
            hint = MISSING if NOT_FINITE.fullmatch(cell) else None
            raise table.refuse(row, name, f"`{shown(cell[:40])}` {what}", hint)
        found.append(value)
    return found


def _real(cell: str) -> float | None:
    try:
        value = float(cell) if "_" not in cell else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _nat(cell: str) -> int | None:
    return value if len(cell) < 20 and (value := int(cell)) < WHOLE_LIMIT else None
