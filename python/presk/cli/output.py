"""Results as text and as data: arrays with their types, exact numbers with their proof radius.

An exact number has the digits that are proven of it, and no more. In JSON a machine number stands as its shortest
decimal with its hexadecimal form beside it, an exact one as a string beside the distance that is proven to hold it.
What JSON has no number for (NaN, infinities) is a string.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from presk.exact.proving import Proof
from presk.exact.values import SHOWN_DIGITS as ARRAY_DIGITS
from presk.exact.values import ExactArray
from presk.run import array_files, trees
from presk.shapes import types
from presk.shapes.types import Type
from presk.text.files import is_folder

Array = NDArray[Any]

RADIUS_DIGITS = 2

SHOWN_ELEMENTS = 1000
"""Elements of a tensor above which text shows its corners."""


def content(path: Path) -> Mapping[str, Array]:
    """The arrays of a file, or of all tensor files in a folder."""
    return array_files.read_folder(path) if is_folder(path) else array_files.read(path)


def is_exact(leaf: object) -> bool:
    """Whether a leaf of a result is an array of exact numbers."""
    return isinstance(leaf, ExactArray)


def as_arrays(result: object) -> dict[str, Array]:
    """A result's leaves by dotted path as machine arrays, exact ones rounded to f64; a lone one is `result`."""
    return {".".join(path) or "result": np.asarray(leaf) for path, leaf in trees.leaves(result)}


def as_text(result: object, of: Type, digits: int | None = None) -> str:
    """Every leaf of a result under its path and type, exact ones to `digits` digits at least if proven."""
    blocks: list[str] = []
    for (path, tensor), (_, leaf) in zip(types.leaves(of), trees.leaves(result), strict=True):
        head = types.show(tensor)
        blocks.append(f"{'.'.join(path)}: {head}" if path else head)
        blocks.append(_array_text(leaf, digits))
    return "\n".join(blocks)


def _array_text(leaf: Any, digits: int | None) -> str:
    if not is_exact(leaf):
        array = np.asarray(leaf)
        return np.array2string(array, threshold=SHOWN_ELEMENTS, floatmode="unique", max_line_width=100)
    if leaf.ndim == 0:
        return leaf.text()
    text = leaf.text(max(digits or 0, ARRAY_DIGITS), shown=SHOWN_ELEMENTS, width=100)
    if not leaf.certified:
        return text
    return f"{text}\nproof radius at most {worst_radius(leaf)}"


def worst_radius(leaf: ExactArray) -> str:
    """The greatest proof radius of an exact array, to two digits rounded up."""
    import mpmath

    greatest = max(np.asarray(leaf.radius, dtype=object).ravel(), default=mpmath.mpf(0))
    half_a_digit = cast(Any, mpmath).mpf(10) ** (1 - RADIUS_DIGITS) / 2
    return "0" if greatest == 0 else cast(str, cast(Any, mpmath).nstr(greatest * (1 + half_a_digit), RADIUS_DIGITS))


def proof_notes(proof: Proof, wanted: str | None) -> list[str]:
    """What certifying took where that was more than one evaluation, and whether what was wanted isn't proven."""
    notes: list[str] = []
    if proof.evaluations > 1:
        cost = f"{proof.evaluations} evaluations, {proof.factor:.1f} times the cost of the first"
        notes.append(f"proven at {proof.bits} bits, {proof.first} weren't enough ({cost})")
    if proof.short and wanted is not None:
        notes.append(f"{proof.bits} bits, the most (--max-bits), don't prove {wanted}: what is shown is proven")
    return notes


def as_json(result: object, of: Type) -> object:
    """A result as plain data, nested as the result is."""
    found = [
        (path, _array_json(leaf, tensor))
        for (path, tensor), (_, leaf) in zip(types.leaves(of), trees.leaves(result), strict=True)
    ]
    return trees.grow(found)


def _array_json(leaf: Any, of: types.Tensor) -> dict[str, object]:
    names = [axis.name for axis in of.explicit]
    head: dict[str, object] = {"type": types.show(of), "names": names, "shape": list(leaf.shape)}
    if not is_exact(leaf):
        array = np.asarray(leaf)
        hexadecimal = {"hex": _nested(array, _hex)} if array.dtype.kind in "fV" else {}
        return head | {"storage": array.dtype.name, "values": _nested(array, plain)} | hexadecimal
    exact: dict[str, object] = {"bits": leaf.bits, "proven": leaf.certified}
    shown = leaf.decimals()
    exact["values"] = _nested(shown, lambda each: each.middle)
    if leaf.certified:
        exact["radius"] = _nested(shown, lambda each: each.distance or "0")
    return head | exact | {"hex": _nested(leaf.nearest(), lambda each: None if each is None else _hex(each))}


def number(value: Any) -> object:
    """One number of an array as data: a float with its hexadecimal form."""
    if np.asarray(value).dtype.kind in "fV":
        return {"decimal": plain(value), "hex": _hex(value)}
    return plain(value)


def plain(value: Any) -> object:
    """A number as JSON has it."""
    kind = np.asarray(value).dtype.kind
    if kind == "b":
        return bool(value)
    if kind in "iu":
        return int(value)
    wide = float(value)
    if not math.isfinite(wide):
        return str(wide)
    return wide if isinstance(value, float) else float(str(value))


def _hex(value: Any) -> str:
    return float(value).hex()


def _nested(array: Array, show: Callable[[Any], object]) -> object:
    """Nested lists of the shown elements."""
    if array.ndim == 0:
        return show(array[()])
    if array.ndim == 1:
        return [show(each) for each in array]
    return [_nested(each, show) for each in array]


def print_json(data: object) -> None:
    """One JSON text on stdout."""
    click.echo(json.dumps(data, indent=2))
