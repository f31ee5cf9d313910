"""The arguments of a call as a realization stores them, and their hash.

A realization rounds what it is given: tensors to the type their parameter rests in, single numbers to that type's
arithmetic, quantised weights to integers with scales. `rounded` gives the numbers that are left, for a reference that
is to read the same ones. Called by `choose.gap` and `choose.contributions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from presk.core.nodes import Parameter, Program
from presk.exact.values import ExactArray, Number
from presk.kernel.nodes import Element
from presk.realization.model import Plan, Realization
from presk.realization.quantized import Quantized, settle
from presk.run import trees
from presk.run.bits import hash_arrays
from presk.run.record.choices import choices
from presk.shapes import types
from presk.shapes.types import Tensor

DTYPES: Mapping[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16}
"""NumPy's types of storage by presk's names."""


def rounded(realization: Realization, program: Program, values: Sequence[Any]) -> list[Any]:
    """The arguments of an entry as the realization stores them: float arrays of the numbers a backend computes with.

    `values` are accepted ones (`run.values.accept`), one for each parameter. E7002 where the realization doesn't fit.
    """
    said = choices(realization, Plan("default"), program).parameter
    out: list[Any] = []
    for parameter, value in zip(program.entry.parameters, values, strict=True):
        kinds = iter(types.leaves(parameter.type, (name_of(parameter),)))

        def leaf(each: Any, kinds: Iterator[tuple[tuple[str, ...], Tensor]] = kinds) -> Any:
            path, tensor = next(kinds)
            if tensor.kind != "real":
                return each
            element, layers = said(".".join(path), tensor)
            return _stored(".".join(path), each, element, layers)

        out.append(trees.map_leaves(value, leaf))
    return out


def name_of(parameter: Parameter) -> str:
    """A parameter's name in paths."""
    return parameter.name or f"%{parameter.number}"


def _stored(name: str, value: Any, element: Element, layers: int) -> Any:
    if element.scales is not None:
        given = value if isinstance(value, Quantized) else _floats(value, "f64")
        return settle(name, given, element.kind, element.scales[0], layers).values()
    return _floats(value, element.kind)


def _floats(value: Any, kind: str) -> NDArray[Any] | Any:
    """Numbers rounded once, to nearest even; bf16 through f32."""
    if isinstance(value, Quantized):
        value = value.values()
    if isinstance(value, ExactArray):
        return value.to_float(kind)
    with np.errstate(over="ignore", under="ignore"):
        if kind == "bf16" and value.dtype != DTYPES["bf16"]:
            return value.astype(np.float32).astype(DTYPES["bf16"])
        return value.astype(DTYPES[kind])


def hash_of(program: Program, values: Sequence[Any]) -> str:
    """`sha256:…` over the bits of all arguments by their dotted paths, exact numbers by their digits."""
    found: dict[str, NDArray[Any]] = {}
    for parameter, value in zip(program.entry.parameters, values, strict=True):
        for path, leaf in trees.leaves(value, (name_of(parameter),)):
            found |= _bits(".".join(path), leaf)
    return hash_arrays(found)


def _bits(name: str, leaf: Any) -> dict[str, NDArray[Any]]:
    if isinstance(leaf, Quantized):
        return {name: leaf.stored(), f"{name}.scale": leaf.scale, f"{name}.axis": np.array(leaf.axis)}
    if isinstance(leaf, ExactArray):
        text = "\n".join([str(leaf.shape), *map(_digits, leaf.numbers())])
        return {f"{name}.exact": np.frombuffer(text.encode(), dtype=np.uint8)}
    return {name: np.asarray(leaf)}


def _digits(number: Number) -> str:
    """An exact number, or a ball's two: mantissa and exponent of each."""
    if isinstance(number, fmpq):
        return f"{number.p}/{number.q}"
    return " ".join(str(each) for part in (number.mid(), number.rad()) for each in part.man_exp())
