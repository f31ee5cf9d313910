"""Results as text and as data: arrays with their types, exact numbers with their proof radius.

In JSON a machine number stands as its shortest decimal with its hexadecimal form beside it, an exact one as a string
of all its digits beside the double nearest to it. What JSON has no number for (NaN, infinities) is a string.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from presk.exact.values import ExactArray
from presk.run import array_files, trees
from presk.shapes import types
from presk.shapes.types import Type
from presk.text.files import is_folder

Array = NDArray[Any]

SHOWN_DIGITS = 17
"""Digits of each number of an exact tensor in text; a scalar is shown in full."""

SHOWN_ELEMENTS = 1000
"""Elements of a tensor above which text shows its corners."""

DIGITS_PER_BIT = math.log10(2)


def content(path: Path) -> Mapping[str, Array]:
    """The arrays of a file, or of all tensor files in a folder."""
    return array_files.read_folder(path) if is_folder(path) else array_files.read(path)


def is_exact(leaf: object) -> bool:
    """Whether a leaf of a result is an array of exact numbers."""
    return isinstance(leaf, ExactArray)


def as_arrays(result: object) -> dict[str, Array]:
    """A result's leaves by dotted path as machine arrays, exact ones rounded to f64; a lone one is `result`."""
    return {".".join(path) or "result": np.asarray(leaf) for path, leaf in trees.leaves(result)}


def as_text(result: object, of: Type, bits: int) -> str:
    """Every leaf of a result under its path and type."""
    blocks: list[str] = []
    for (path, tensor), (_, leaf) in zip(types.leaves(of), trees.leaves(result), strict=True):
        head = types.show(tensor)
        blocks.append(f"{'.'.join(path)}: {head}" if path else head)
        blocks.append(_array_text(leaf, bits))
    return "\n".join(blocks)


def _array_text(leaf: Any, bits: int) -> str:
    if not is_exact(leaf):
        array = np.asarray(leaf)
        return np.array2string(array, threshold=SHOWN_ELEMENTS, floatmode="unique", max_line_width=100)
    mid = np.asarray(leaf.mid, dtype=object)
    digits = max(1, math.floor(bits * DIGITS_PER_BIT)) if mid.ndim == 0 else SHOWN_DIGITS
    formatter: Any = {"object": partial(in_digits, count=digits)}
    text = np.array2string(mid, threshold=SHOWN_ELEMENTS, formatter=formatter, max_line_width=100)
    worst = worst_radius(leaf)
    return text if worst is None else f"{text}\nproof radius at most {worst}"


def worst_radius(leaf: Any) -> str | None:
    """The greatest proof radius of an exact array, to two digits rounded up; None where none is kept."""
    import mpmath

    if not leaf.certified:
        return None
    radii = np.asarray(leaf.radius, dtype=object).ravel()
    greatest = max(radii, default=mpmath.mpf(0))
    return radius_text(greatest)


def radius_text(radius: Any, count: int = 2) -> str:
    """A proof radius to so many digits, rounded up: what is shown is a bound as well."""
    import mpmath

    half_a_digit = cast(Any, mpmath).mpf(10) ** (1 - count) / 2
    return "0" if radius == 0 else in_digits(radius * (1 + half_a_digit), count)


def as_json(result: object, of: Type, bits: int) -> object:
    """A result as plain data, nested as the result is."""
    found = [
        (path, _array_json(leaf, tensor, bits))
        for (path, tensor), (_, leaf) in zip(types.leaves(of), trees.leaves(result), strict=True)
    ]
    return trees.grow(found)


def _array_json(leaf: Any, of: types.Tensor, bits: int) -> dict[str, object]:
    names = [axis.name for axis in of.explicit]
    array = np.asarray(leaf)
    head: dict[str, object] = {"type": types.show(of), "names": names, "shape": list(array.shape)}
    if not is_exact(leaf):
        hexadecimal = {"hex": _nested(array, _hex)} if array.dtype.kind in "fV" else {}
        return head | {"storage": array.dtype.name, "values": _nested(array, plain)} | hexadecimal
    digits = math.ceil(bits * DIGITS_PER_BIT) + 1
    mid = np.asarray(leaf.mid, dtype=object)
    exact = {
        "bits": bits,
        "values": _nested(mid, partial(in_digits, count=digits)),
        "hex": _nested(array, _hex),
    }
    if leaf.certified:
        exact["radius"] = _nested(np.asarray(leaf.radius, dtype=object), partial(radius_text, count=5))
    return head | exact


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


def in_digits(value: Any, count: int) -> str:
    """An mpmath number to so many digits."""
    import mpmath

    shown: str = cast(Any, mpmath).nstr(value, count)
    return shown


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
