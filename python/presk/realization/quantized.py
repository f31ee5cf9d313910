"""Quantised arrays: integers with f32 scales, what they stand for, and how they are made and laid out.

The rule (docs/realizations.md): int8 −127 … 127 or int4 −7 … 7, symmetric, one scale for each index of one axis within
a layer; scale = max|w| / 127 or / 7 in f32, the quotient w / scale in f32 to the nearest integer, ties to even; a load
gives f32(q)·s, rounded once in f32. Called by the seam, the tensor files and `choose.quantize`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from presk.text.diagnostics import PreskError, fail

F32 = NDArray[np.float32]
Integers = NDArray[Any]
"""Elements of int8, or of ml_dtypes' int4."""

INT4 = np.dtype(ml_dtypes.int4)

LARGEST: Mapping[str, int] = {"int8": 127, "int4": 7}
"""The largest magnitude of each integer type; the type's own least value isn't used."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """An array of integers with scales: element i stands for f32(q[i]) · scale of i's index along `axis`.

    `q` is int8, or int4 (`ml_dtypes.int4`), of the parameter's shape; a stacked parameter's has its layers' axes first.
    `scale` is f32 of these layers' axes and the axis `axis`, which counts within a layer (negative: from the end).
    Raises PreskError E7003 where the parts don't belong together.
    """

    q: Integers
    scale: F32
    axis: int

    def __post_init__(self) -> None:
        q, scale = np.asarray(self.q), np.asarray(self.scale)
        if q.dtype != np.int8 and q.dtype != INT4:
            raise _malformed(f"integers are int8 or ml_dtypes.int4, not {q.dtype}")
        if scale.dtype != np.float32:
            raise _malformed(f"scales are float32, not {scale.dtype}", "round them where they are made")
        layers = scale.ndim - 1
        rank = q.ndim - layers
        stated = _whole(self.axis)
        if layers < 0 or rank < 1 or stated is None or not -rank <= stated < rank:
            raise _malformed(f"integers of shape {q.shape} with scales of shape {scale.shape} have no such axis")
        axis = stated % rank
        expected = (*q.shape[:layers], q.shape[layers + axis])
        if scale.shape != expected:
            raise _malformed(f"scales along axis {axis} of {q.shape} have the shape {expected}, not {scale.shape}")
        kind = "int8" if q.dtype == np.int8 else "int4"
        if q.size and q.astype(np.int8).min() < -LARGEST[kind]:
            raise _malformed(f"an integer is below -{LARGEST[kind]}, the least of {kind}")
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "axis", axis)

    @property
    def type(self) -> str:
        """`int8` or `int4`."""
        return "int8" if self.q.dtype == np.int8 else "int4"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array it stands for."""
        return self.q.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.q.size

    @property
    def layers(self) -> int:
        """The number of leading axes that are layers."""
        return self.scale.ndim - 1

    def values(self) -> F32:
        """What it stands for: f32(q)·s, in f32, of its shape."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.q.astype(np.float32) * _along(self.scale, self.axis, self.q.ndim)

    def stored(self) -> NDArray[Any]:
        """The integers as kernels and files have them: int8, or uint8 with two int4 a byte.

        The low nibble comes first along the last axis, whose rows are padded to a byte.
        """
        q = np.ascontiguousarray(self.q)
        if self.type == "int8":
            return q.reshape(self.q.shape)
        nibbles = q.astype(np.int8).view(np.uint8) & 0xF
        if nibbles.shape[-1] % 2:
            nibbles = np.concatenate((nibbles, np.zeros((*nibbles.shape[:-1], 1), np.uint8)), axis=-1)
        return nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)

    def __repr__(self) -> str:
        layers = f", {self.layers} of layers" if self.layers else ""
        return f"<presk.Quantized {self.type} {list(self.shape)}, scales along axis {self.axis}{layers}>"


def from_stored(stored: NDArray[Any], shape: tuple[int, ...], scale: F32, axis: int) -> Quantized:
    """The array whose `stored` integers these are. E7003 where they aren't of that shape."""
    if stored.dtype == np.int8:
        if stored.shape != shape:
            raise _malformed(f"integers of shape {stored.shape} were to be of shape {shape}")
        return Quantized(stored, scale, axis)
    *rows, last = shape or (0,)
    packed = (*rows, -(-last // 2))
    if stored.dtype != np.uint8 or stored.shape != packed:
        raise _malformed(f"int4 of shape {shape} are bytes of shape {packed}, not {stored.dtype} of {stored.shape}")
    nibbles = np.stack((stored & 0xF, stored >> 4), axis=-1).reshape(*rows, 2 * packed[-1])[..., :last]
    signed = (nibbles.astype(np.int8) ^ 8) - 8
    return Quantized(signed.astype(INT4), scale, axis)


def quantize(name: str, array: Any, kind: str, axis: int, layers: int = 0) -> Quantized:
    """A float array as integers of `kind`, `int8` or `int4`, with a scale for each index of `axis` in each layer.

    The first `layers` axes are layers; `axis` counts behind them, from the end where it is negative. A scale too small
    for f32 is 0, and so are its integers. E7003 for an axis it hasn't, and for what isn't finite in f32; `name` is the
    parameter's in the message.
    """
    given = np.asarray(array)
    rank = given.ndim - layers
    if not -rank <= axis < rank:
        raise _malformed(f"`{name}` of shape {given.shape} has no axis {axis} to be quantised along")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = given.astype(np.float32)
    strange = np.argwhere(~np.isfinite(narrow))
    if strange.size:
        at = tuple(int(each) for each in strange[0])
        raise _malformed(f"`{name}` is {given[at]} at {list(at)}, which is not finite in f32")
    axis %= rank
    others = tuple(layers + each for each in range(rank) if each != axis)
    largest = np.float32(LARGEST[kind])
    with np.errstate(under="ignore"):
        scale = np.max(np.abs(narrow), axis=others, initial=np.float32(0)) / largest
    spread = _along(scale, axis, given.ndim)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        quotient = np.where(spread > 0, narrow / spread, np.float32(0))
    # The clip matters for subnormal scales alone: elsewhere no quotient rounds beyond the largest.
    q = np.clip(np.rint(quotient), -largest, largest).astype(np.int8)
    return Quantized(q if kind == "int8" else q.astype(INT4), scale, axis)


def settle(name: str, value: Any, kind: str, axis: int, layers: int) -> Quantized:
    """The value of a parameter that is to be quantised so: quantised here, or held against it where it is already.

    E7003 where an array is quantised otherwise, and as for `quantize`.
    """
    if not isinstance(value, Quantized):
        return quantize(name, value, kind, axis, layers)
    if (value.type, value.axis, value.layers) != (kind, axis, layers):
        given = f"`{name}` is {value.type} along axis {value.axis}"
        raise _malformed(f"{given}, and the realization has it {kind} along axis {axis}", "quantise it so, or leave it")
    return value


def _whole(value: object) -> int | None:
    """A whole number of Python's or NumPy's; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    return value.__index__()


def _along(scale: F32, axis: int, rank: int) -> F32:
    """The scales with an axis of size 1 for each that they don't vary along."""
    layers = scale.ndim - 1
    inner = [1] * (rank - layers)
    inner[axis] = scale.shape[-1]
    return scale.reshape((*scale.shape[:-1], *inner))


def _malformed(sentence: str, hint: str | None = None) -> PreskError:
    return fail("E7003", sentence, hint=hint)
