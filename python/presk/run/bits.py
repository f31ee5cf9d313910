"""The bits of arrays: their hash in one line, and where two sets of arrays first differ.

NaN payloads are no part of the bits, where NaNs appear is: every NaN counts as one and the same. Signed zeros are
told apart. Leaves are taken in the order given. Called by the command line and by whoever states or compares
parameter hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PREFIX = "sha256:"

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two sets of arrays differ.

    `index` and the elements are None where an array is missing or of another shape or type, which `what` says. `ulps`
    counts the numbers of the type between the two, and is None where one is a NaN or the type isn't a float.
    """

    name: str
    what: str
    index: tuple[int, ...] | None = None
    left: Any = None
    right: Any = None
    ulps: int | None = None


def hash_arrays(arrays: Mapping[str, Array]) -> str:
    r"""`sha256:…` over names, types, shapes and elements, in the order given.

    Hashed is `presk-bits-1\0`, then for each array the length (u32, little endian) of a head, the head
    `name\0type\0extents,by,comma\0`, and the elements, row-major and little endian.
    """
    digest = hashlib.sha256(b"presk-bits-1\0")
    for name, array in arrays.items():
        head = f"{name}\0{array.dtype.name}\0{','.join(map(str, array.shape))}\0".encode("utf-8", "surrogatepass")
        digest.update(len(head).to_bytes(4, "little") + head)
        flat = np.ascontiguousarray(_canonical(array)).reshape(-1)
        digest.update(flat.view(np.uint8).data if array.size else b"")  # bfloat16 has no buffer of its own
    return PREFIX + digest.hexdigest()


def first_difference(left: Mapping[str, Array], right: Mapping[str, Array]) -> Difference | None:
    """Where the two first differ, in the left one's order; None where every bit is equal."""
    for name, array in left.items():
        if name not in right:
            return Difference(name, "is in the first only")
        other = right[name]
        if array.shape != other.shape:
            return Difference(name, f"has the shapes {array.shape} and {other.shape}")
        if array.dtype.name != other.dtype.name:
            return Difference(name, f"has the types {array.dtype.name} and {other.dtype.name}")
        differs = _pattern(array) != _pattern(other)
        if differs.any():
            return _at(name, array, other, tuple(int(at) for at in np.argwhere(differs)[0]), int(differs.sum()))
    extra = next((name for name in right if name not in left), None)
    return None if extra is None else Difference(extra, "is in the second only")


def _at(name: str, left: Array, right: Array, index: tuple[int, ...], count: int) -> Difference:
    a, b = left[index], right[index]
    what = f"differs in {count} of {left.size} elements"
    ulps = None
    if _is_float(left) and not (np.isnan(a) or np.isnan(b)):
        ulps = abs(_rank(a) - _rank(b))
    return Difference(name, what, index, a, b, ulps)


def _is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _pattern(array: Array) -> Array:
    """The elements as unsigned integers where they are floats, NaNs made equal; as they are elsewhere."""
    if not _is_float(array) or array.dtype.itemsize not in _UNSIGNED:
        return array
    return _canonical(array).view(_UNSIGNED[array.dtype.itemsize])


def _canonical(array: Array) -> Array:
    """Little endian, with one NaN."""
    plain = np.ascontiguousarray(array).reshape(array.shape)
    plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    if not _is_float(plain):
        return plain
    unknown = np.isnan(plain)
    return np.where(unknown, plain.dtype.type(np.nan), plain) if unknown.any() else plain


def _rank(number: Any) -> int:
    """The place of a float among all of its type: neighbours differ by one, and both zeros are 0."""
    kind = _UNSIGNED[number.dtype.itemsize]
    bits = int(np.asarray(number).view(kind))
    top = 1 << (8 * number.dtype.itemsize - 1)
    return bits if bits < top else top - bits
