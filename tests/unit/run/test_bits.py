"""Hashes and first differences are about bits: NaN payloads don't count, signed zeros do."""

from __future__ import annotations

import hashlib
import struct

import ml_dtypes
import numpy as np
import pytest

from presk.run.bits import first_difference, hash_arrays

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


def _nan(payload: int) -> np.ndarray:
    return np.array([0x7FF8000000000000 + payload], np.uint64).view(np.float64)


def test_the_hash_is_the_sha256_of_the_documented_bytes() -> None:
    arrays = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array(7)}
    text = b"presk-bits-1\0"
    text += (len(b"w\0float32\x002,3\0")).to_bytes(4, "little") + b"w\0float32\x002,3\0"
    text += struct.pack("<6f", *range(6))
    text += (len(b"n\0int64\0\0")).to_bytes(4, "little") + b"n\0int64\0\0"
    text += struct.pack("<q", 7)
    assert hash_arrays(arrays) == f"sha256:{hashlib.sha256(text).hexdigest()}"


def test_what_counts_and_what_does_not() -> None:
    one = {"a": np.array([1.0, 2.0])}
    assert hash_arrays(one) == hash_arrays({"a": np.array([1.0, 2.0, 3.0])[:2]})
    assert hash_arrays(one) == hash_arrays({"a": np.array([1.0, 2.0], ">f8")})
    assert hash_arrays(one) != hash_arrays({"b": one["a"]})
    assert hash_arrays(one) != hash_arrays({"a": one["a"].astype(np.float32)})
    assert hash_arrays(one) != hash_arrays({"a": one["a"].reshape(2, 1)})
    assert hash_arrays({"a": np.array([0.0])}) != hash_arrays({"a": np.array([-0.0])})
    assert hash_arrays({"a": _nan(1)}) == hash_arrays({"a": _nan(2)})


@pytest.mark.parametrize("kind", FLOATS)
def test_neighbours_are_one_ulp_apart_across_zero_too(kind: type) -> None:
    step = {8: np.uint64, 4: np.uint32, 2: np.uint16}[np.dtype(kind).itemsize]
    smallest = np.array([1], step).view(kind)
    found = first_difference({"a": smallest}, {"a": -smallest})
    assert found is not None
    assert found.ulps == 2
    up = np.array([1.0], kind)
    above = (up.view(step) + step(3)).view(kind)
    found = first_difference({"a": up}, {"a": above})
    assert found is not None
    assert found.ulps == 3


def test_the_first_place_is_named() -> None:
    left = np.zeros((2, 3))
    right = left.copy()
    right[1, 0] = 1
    right[1, 2] = np.nan
    found = first_difference({"x": np.ones(1), "y": left}, {"x": np.ones(1), "y": right})
    assert found is not None
    assert (found.name, found.index, found.what) == ("y", (1, 0), "differs in 2 of 6 elements")
    assert found.ulps == 0x3FF0000000000000


def test_equal_is_equal_and_zeros_are_told_apart() -> None:
    assert first_difference({"a": _nan(1), "b": np.array(True)}, {"a": _nan(2), "b": np.array(True)}) is None
    found = first_difference({"a": np.array(0.0)}, {"a": np.array(-0.0)})
    assert found is not None
    assert (found.index, found.ulps) == ((), 0)
    found = first_difference({"a": _nan(1)}, {"a": np.array([1.0])})
    assert found is not None
    assert found.ulps is None


@pytest.mark.parametrize(
    ("left", "right", "what"),
    [
        ({"a": np.ones(1)}, {}, "in the first only"),
        ({}, {"a": np.ones(1)}, "in the second only"),
        ({"a": np.ones(1)}, {"a": np.ones(2)}, "shapes (1,) and (2,)"),
        ({"a": np.ones(1)}, {"a": np.ones(1, np.float32)}, "types float64 and float32"),
    ],
)
def test_what_cannot_be_compared_differs(left: dict, right: dict, what: str) -> None:
    found = first_difference(left, right)
    assert found is not None
    assert what in found.what


def test_bfloat16_has_a_hash_of_its_two_bytes() -> None:
    array = np.array([[1.0, -2.0]], ml_dtypes.bfloat16)
    head = b"a\0bfloat16\x001,2\0"
    text = b"presk-bits-1\0" + len(head).to_bytes(4, "little") + head + b"\x80\x3f\x00\xc0"
    assert hash_arrays({"a": array}) == f"sha256:{hashlib.sha256(text).hexdigest()}"
    assert hash_arrays({"a": array[0, 0]}) != hash_arrays({"a": array})
