"""The sizes that rules give are the shapes of what NumPy computes, on random shapes, with names and axes permuted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from presk.primitives.all import TABLE
from presk.primitives.call import injected, normalize, result_type
from presk.primitives.new_axes import OPEN
from presk.shapes.poly import number
from presk.shapes.types import Axis, Tensor, TupleOf, Type

Sizes = tuple[int, ...]

SHAPES = st.lists(st.integers(1, 4), max_size=4).map(tuple)
NON_SCALARS = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
ELEMENTWISE = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "lt", "ge"]


def named(sizes: Sequence[int], kind: str = "real", bound: int | None = None, prefix: str = "a") -> Tensor:
    axes = tuple(Axis(f"{prefix}{at}", number(each)) for at, each in enumerate(sizes))
    return Tensor(kind, axes, None if bound is None else number(bound))


def bare(sizes: Sequence[int], kind: str = "real", bound: int | None = None) -> Tensor:
    axes = tuple(Axis(None, number(each)) for each in sizes)
    return Tensor(kind, axes, None if bound is None else number(bound))


def called(name: str, *operands: Type, **given: Any) -> Type:
    row = TABLE[name]
    targets = injected(row, operands)
    return result_type(row, targets, normalize(row, targets, given))


def sizes(name: str, *operands: Type, **given: Any) -> Sizes:
    result = called(name, *operands, **given)
    assert isinstance(result, Tensor)
    return result.sizes


def axis_of(data: st.DataObject, shape: Sizes) -> int:
    return data.draw(st.integers(-len(shape), len(shape) - 1))


@given(SHAPES, st.data())
def test_elementwise_primitives_broadcast_trailing_axes(shape: Sizes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(shape)))
    name = data.draw(st.sampled_from(ELEMENTWISE))
    wanted = np.broadcast_shapes(shape, shape[start:])
    assert sizes(name, bare(shape), bare(shape[start:])) == wanted
    assert sizes(name, bare(shape[start:]), bare(shape)) == wanted
    assert sizes("where", bare(shape[start:], "bool"), bare(()), bare(shape)) == wanted


@given(SHAPES, st.data())
def test_elementwise_primitives_find_names(shape: Sizes, data: st.DataObject) -> None:
    whole = named(shape)
    order = data.draw(st.permutations(range(len(shape))))
    kept = order[: data.draw(st.integers(0, len(shape)))]
    part = Tensor("real", tuple(whole.axes[at] for at in kept))
    assert sizes("add", whole, part) == shape
    if len(kept) < len(shape):
        assert called("mul", part, whole) == whole


@given(NON_SCALARS, st.data())
def test_reductions(shape: Sizes, data: st.DataObject) -> None:
    chosen = tuple(data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, max_size=len(shape))))
    axes: Any = data.draw(st.sampled_from([None, chosen]))
    name = data.draw(st.sampled_from(["sum", "mean", "max", "min", "prod", "logsumexp"]))
    assert sizes(name, named(shape), axis=axes) == np.sum(np.zeros(shape), axis=axes).shape
    assert sizes("any", bare(shape, "bool"), axis=axes) == np.any(np.zeros(shape), axis=axes).shape
    result = called("argmax", named(shape), axis=axes)
    assert isinstance(result, Tensor)
    reduced = shape if axes is None else tuple(shape[at] for at in axes)
    assert result.bound == number(int(np.prod(reduced)))


@given(NON_SCALARS, st.data())
def test_one_axis(shape: Sizes, data: st.DataObject) -> None:
    axis, x = axis_of(data, shape), np.zeros(shape)
    before, after = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    start = data.draw(st.integers(0, shape[axis]))
    stop = data.draw(st.integers(start, shape[axis]))
    widths = [(0, 0)] * len(shape)
    widths[axis] = (before, after)
    assert sizes("cumsum", bare(shape), axis=axis) == np.cumsum(x, axis).shape
    assert sizes("sort", named(shape), axis=axis) == np.sort(x, axis).shape
    assert sizes("flip", named(shape), axis=axis) == np.flip(x, axis).shape
    assert sizes("pad", bare(shape), axis=axis, before=before, after=after) == np.pad(x, widths).shape
    assert sizes("slice", bare(shape), axis=axis, start=start, stop=stop) == x.take(range(start, stop), axis).shape
    pieces = called("unstack", bare(shape), axis=axis)
    assert isinstance(pieces, TupleOf)
    assert [piece.sizes for piece in pieces.items if isinstance(piece, Tensor)] == [
        each.shape for each in np.moveaxis(x, axis, 0)
    ]


@given(NON_SCALARS, SHAPES, st.data())
def test_gathers(shape: Sizes, index: Sizes, data: st.DataObject) -> None:
    axis, x = axis_of(data, shape), np.zeros(shape)
    indices = named(index, "nat", shape[axis], prefix="i")
    assert sizes("take", named(shape), indices, axis=axis) == np.take(x, np.zeros(index, int), axis).shape
    assert sizes("embed", bare(shape), bare(index, "nat", shape[0])) == x[np.zeros(index, int)].shape
    assert sizes("index", named(shape), bare((), "nat", 1), axis=axis) == np.take(x, 0, axis).shape
    along = list(shape)
    along[axis] = data.draw(st.integers(1, 5))
    wanted = np.take_along_axis(x, np.zeros(along, int), axis).shape
    assert sizes("gather", named(shape), named(along, "nat", shape[axis]), axis=axis) == wanted
    values = np.take(x, np.zeros(index, int), axis).shape
    assert sizes("scatter_add", named(shape), indices, bare(values), axis=axis) == shape


@given(NON_SCALARS, st.data())
def test_joining(shape: Sizes, data: st.DataObject) -> None:
    axis = axis_of(data, shape)
    others = [list(shape) for _ in range(data.draw(st.integers(0, 3)))]
    for other in others:
        other[axis] = data.draw(st.integers(0, 4))
    arrays = [np.zeros(each) for each in (shape, *others)]
    assert (
        sizes("concat", named(shape), *(bare(each) for each in others), axis=axis) == np.concatenate(arrays, axis).shape
    )
    whole = named(shape)
    order = data.draw(st.permutations(range(len(shape))))
    turned = Tensor("real", tuple(whole.axes[at] for at in order))
    assert sizes("stack", whole, turned, whole, new=(Axis("s", OPEN),)) == np.stack([np.zeros(shape)] * 3).shape


@given(NON_SCALARS, st.data())
def test_shapes_made_anew(shape: Sizes, data: st.DataObject) -> None:
    x = np.zeros(shape)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    assert sizes("transpose", named(shape), order=order) == x.transpose(order).shape
    first = data.draw(st.integers(0, len(shape) - 1))
    last = data.draw(st.integers(first, len(shape) - 1))
    merged = (*shape[:first], int(np.prod(shape[first : last + 1])), *shape[last + 1 :])
    axes = tuple(range(first, last + 1))
    flat = called("merge", named(shape), axes=axes, new=(Axis("flat", OPEN),))
    assert isinstance(flat, Tensor)
    assert flat.sizes == x.reshape(merged).shape
    inner = [Axis(f"n{at}", number(each)) for at, each in enumerate(shape[first : last + 1])]
    given_open = data.draw(st.integers(0, len(inner) - 1))
    inner[given_open] = Axis(f"n{given_open}", OPEN)
    assert sizes("split", flat, axis="flat", new=tuple(inner)) == shape


@given(NON_SCALARS, st.data())
def test_windows(shape: Sizes, data: st.DataObject) -> None:
    axis = axis_of(data, shape)
    window = data.draw(st.integers(1, shape[axis]))
    stride = data.draw(st.integers(1, 3))
    views = np.lib.stride_tricks.sliding_window_view(np.zeros(shape), window, axis)
    wanted = views[tuple(slice(None, None, stride if at == axis % len(shape) else 1) for at in range(len(shape)))].shape
    assert sizes("windows", named(shape), axis=axis, stride=stride, new=(Axis("w", number(window)),)) == wanted


@given(SHAPES, SHAPES, st.integers(1, 4))
def test_dot_is_tensordot(left: Sizes, right: Sizes, inner: int) -> None:
    wanted = np.tensordot(np.zeros((*left, inner)), np.zeros((inner, *right)), 1).shape
    assert sizes("dot", bare((*left, inner)), bare((inner, *right))) == wanted


@given(SHAPES, st.data())
def test_matmul(batch: Sizes, data: st.DataObject) -> None:
    i, k, j = (data.draw(st.integers(1, 4)) for _ in range(3))
    right = batch[data.draw(st.integers(0, len(batch))) :]
    wanted = np.matmul(np.zeros((*batch, i, k)), np.zeros((*right, k, j))).shape
    assert sizes("matmul", bare((*batch, i, k)), bare((*right, k, j))) == wanted


@given(st.data())
def test_ein_is_einsum(data: st.DataObject) -> None:
    size_of = {name: data.draw(st.integers(1, 4)) for name in "abcdef"}
    subsets = st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)
    left, right = data.draw(subsets), data.draw(subsets)
    known = sorted({*left, *right})
    out = data.draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    operands = [np.zeros([size_of[name] for name in each]) for each in (left, right)]
    wanted = np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", *operands).shape
    tensors = [bare(each.shape) for each in operands]
    assert sizes("ein", *tensors, out=(tuple(out),), labels=(tuple(left), tuple(right))) == wanted


@given(NON_SCALARS, st.data())
def test_rows(shape: Sizes, data: st.DataObject) -> None:
    axes = tuple(data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1)))
    rows = np.sum(np.zeros(shape), axis=axes).shape
    classes = int(np.prod([shape[at] for at in axes]))
    assert sizes("softmax", bare(shape), axis=axes) == shape
    assert sizes("cross_entropy", bare(shape), bare(rows, "nat", classes), axis=axes) == rows


@given(SHAPES, st.data())
def test_broadcast_to(shape: Sizes, data: st.DataObject) -> None:
    longer = (*data.draw(SHAPES), *shape)
    new = tuple(Axis(None, number(each)) for each in longer)
    assert sizes("broadcast_to", bare(shape), new=new) == np.broadcast_to(np.zeros(shape), longer).shape
