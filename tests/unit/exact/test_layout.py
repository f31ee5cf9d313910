"""Layout primitives and constants against NumPy, on random shapes; joins with axes in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.unit.exact.building import Given, axes, exact, names_of, value

from presk.shapes.constants import rational
from presk.shapes.poly import number
from presk.shapes.types import Axis

EXAMPLES = settings(max_examples=100)
filled = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
seeds = st.integers(0, 2**32 - 1)
Shape = tuple[int, ...]


def numbered(shape: Shape) -> NDArray[np.float64]:
    """0, 1, 2 …: every element tells where it was."""
    return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)


@EXAMPLES
@given(filled, seeds)
def test_transpose_and_flip(sizes: Shape, seed: int) -> None:
    x = numbered(sizes)
    order = tuple(np.random.default_rng(seed).permutation(len(sizes)).tolist())
    np.testing.assert_array_equal(value("transpose", Given(x), order=order), x.transpose(order))
    axis = seed % len(sizes)
    np.testing.assert_array_equal(value("flip", Given(x), axis=axis), np.flip(x, axis))


@EXAMPLES
@given(filled, seeds)
def test_slice_and_pad(sizes: Shape, seed: int) -> None:
    x = numbered(sizes)
    axis = seed % len(sizes)
    start = seed % (sizes[axis] + 1)
    stop = start + seed // 7 % (sizes[axis] - start + 1)
    cut = np.take(x, range(start, stop), axis=axis)
    np.testing.assert_array_equal(value("slice", Given(x), axis=axis, start=start, stop=stop), cut)
    before, after = seed % 3, seed // 3 % 3
    width = [(before, after) if at == axis else (0, 0) for at in range(len(sizes))]
    np.testing.assert_array_equal(value("pad", Given(x), axis=axis, before=before, after=after), np.pad(x, width))
    nats, truths = x.astype(np.int64), x > 2
    found = value("pad", Given(nats), axis=axis, before=before, after=after, value=rational(3))
    np.testing.assert_array_equal(found, np.pad(nats, width, constant_values=3))
    found = value("pad", Given(truths), axis=axis, before=before, after=after, value=rational(1))
    np.testing.assert_array_equal(found, np.pad(truths, width, constant_values=True))


@EXAMPLES
@given(filled, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), seeds)
def test_windows(sizes: Shape, width: int, stride: int, dilation: int, seed: int) -> None:
    axis = seed % len(sizes)
    reach = dilation * (width - 1) + 1
    sizes = (*sizes[:axis], sizes[axis] + reach, *sizes[axis + 1 :])
    x = numbered(sizes)
    every = np.lib.stride_tricks.sliding_window_view(x, reach, axis=axis)
    wanted = np.take(every, range(0, every.shape[axis], stride), axis=axis)[..., ::dilation]
    found = value("windows", Given(x), axis=axis, stride=stride, dilation=dilation, new=axes((width,), ("w",)))
    np.testing.assert_array_equal(found, wanted)


@EXAMPLES
@given(filled, seeds)
def test_split_then_merge_is_the_identity(sizes: Shape, seed: int) -> None:
    axis = seed % len(sizes)
    sizes = (*sizes[:axis], sizes[axis] * 2, *sizes[axis + 1 :])
    x = numbered(sizes)
    parts = (2, sizes[axis] // 2)
    split = value("split", Given(x), axis=axis, new=axes(parts))
    np.testing.assert_array_equal(split, x.reshape(*sizes[:axis], *parts, *sizes[axis + 1 :]))
    merged = value("merge", Given(split), axes=(axis, axis + 1), new=axes((sizes[axis],)))
    np.testing.assert_array_equal(merged, x)


@EXAMPLES
@given(st.permutations(["a", "b", "c", "d"]), st.integers(0, 4), seeds)
def test_broadcast_to_places_by_name(names: list[str], kept: int, seed: int) -> None:
    sizes = {"a": 2, "b": 3, "c": 1, "d": 2}
    own = tuple(np.random.default_rng(seed).permutation(names)[:kept].tolist())
    x = numbered(tuple(sizes[name] for name in own))
    found = value("broadcast_to", Given(x, own), new=axes([sizes[name] for name in names], names))
    order = [own.index(name) for name in names if name in own]
    shape = [sizes[name] if name in own else 1 for name in names]
    np.testing.assert_array_equal(found, np.broadcast_to(x.transpose(order).reshape(shape), found.shape))


@EXAMPLES
@given(st.permutations(["a", "b", "c"]), st.permutations(["a", "b", "c"]), seeds)
def test_concat_and_stack_match_by_name(first: list[str], second: list[str], seed: int) -> None:
    sizes = {"a": 2, "b": 3, "c": 1}
    axis = "abc"[seed % 3]
    x = numbered(tuple(sizes[name] for name in first))
    longer = sizes | {axis: sizes[axis] + 1}
    y = -numbered(tuple(longer[name] for name in second)) - 1
    order = [second.index(name) for name in first]
    found = value("concat", Given(x, tuple(first)), Given(y, tuple(second)), Given(x, tuple(first)), axis=axis)
    wanted = np.concatenate([x, y.transpose(order), x], axis=first.index(axis))
    np.testing.assert_array_equal(found, wanted)
    z = numbered(tuple(sizes[name] for name in second))
    new = (Axis("n", number(2)),)
    found = value("stack", Given(x, tuple(first)), Given(z, tuple(second)), new=new)
    np.testing.assert_array_equal(found, np.stack([x, z.transpose(order)]))
    assert names_of("stack", Given(x, tuple(first)), Given(z, tuple(second)), new=new) == ("n", *first)


@EXAMPLES
@given(filled, seeds)
def test_unstack(sizes: Shape, seed: int) -> None:
    x = numbered(sizes)
    axis = seed % len(sizes)
    pieces = exact("unstack", Given(x), axis=axis)
    assert len(pieces) == sizes[axis]
    for at, piece in enumerate(pieces):
        np.testing.assert_array_equal(np.asarray(piece), np.take(x, at, axis=axis))


@pytest.mark.parametrize(
    ("name", "given_operand", "keywords", "wanted"),
    [
        ("rename", Given(numbered((2, 3)), ("a", "b")), {"names": (("a", "b"), ("b", "a"))}, numbered((2, 3))),
        ("split_heads", Given(numbered((2, 6))), {"heads": 3}, numbered((2, 3, 2))),
        ("merge_heads", Given(numbered((2, 3, 2))), {}, numbered((2, 6))),
        ("stop_gradient", Given(numbered((2, 3))), {}, numbered((2, 3))),
        ("one_hot", Given(np.array([[2, 0]]), bound=3), {"new": axes((3,))}, np.array([[[0, 0, 1], [1, 0, 0]]])),
        ("full", Given(np.array(2.5)), {"new": axes((2, 2))}, np.full((2, 2), 2.5)),
    ],
)
def test_one_operand(name: str, given_operand: Given, keywords: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(value(name, given_operand, **keywords), wanted)


@pytest.mark.parametrize(
    ("name", "sizes", "wanted"),
    [
        ("positions", (4,), np.arange(4)),
        ("causal_mask", (3, 3), np.tril(np.ones((3, 3), bool))),
        ("causal_mask", (2, 4), np.tril(np.ones((2, 4), bool))),
        ("eye", (3, 2), np.eye(3, 2)),
        ("zeros", (2, 0), np.zeros((2, 0))),
        ("ones", (), np.ones(())),
    ],
)
def test_constants(name: str, sizes: Shape, wanted: Any) -> None:
    found = value(name, new=axes(sizes, [f"n{at}" for at in range(len(sizes))]))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
