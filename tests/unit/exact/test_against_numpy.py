"""Primitives against NumPy in float64, on random shapes, names and orders of axes (0 … 4 along each, empty ones too).

Operands take their axes in any order where names say which is which; the expectation places them by name itself,
knowing nothing of the alignment under test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.unit.exact.building import Given, exact, names_of, value

NAMES = ("batch", "seq", "heads", "hd", "k")
EXAMPLES = settings(max_examples=100)
TOLERANCE = {"rtol": 1e-12, "atol": 1e-13}

Shape = tuple[int, ...]
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
filled = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
seeds = st.integers(0, 2**32 - 1)


def reals(shape: Shape, seed: int) -> NDArray[np.float64]:
    """Numbers with few enough bits that equal ones occur."""
    source = np.random.default_rng(seed)
    return np.where(source.random(shape) < 0.3, np.round(source.normal(size=shape)), source.normal(size=shape))


@st.composite
def aligned(draw: st.DrawFn, operands: int = 2) -> tuple[Shape, tuple[str | None, ...], list[tuple[str | None, ...]]]:
    """A leading operand's sizes and names, and for each operand its names: all of them, or some in any order."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple))
    names = tuple(draw(st.permutations(NAMES)))[: len(sizes)]
    out: list[tuple[str | None, ...]] = [names]
    for _ in range(operands - 1):
        kept = draw(st.lists(st.sampled_from(names), unique=True, max_size=len(names)))
        out.append(tuple(kept))
    return sizes, names, out


def placed(array: NDArray[Any], own: tuple[str | None, ...], names: tuple[str | None, ...]) -> NDArray[Any]:
    """An operand with its axes in the result's order, of size 1 where it has none."""
    order = [own.index(name) for name in names if name in own]
    shape = [array.shape[own.index(name)] if name in own else 1 for name in names]
    return array.transpose(order).reshape(shape)


BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("name", BINARY)
@EXAMPLES
@given(aligned(), seeds, st.booleans())
def test_two_operands_by_name(name: str, case: Any, seed: int, swapped: bool) -> None:
    sizes, names, (whole, part) = case
    x = reals(sizes, seed)
    y = reals(tuple(sizes[names.index(each)] for each in part), seed + 1)
    if name in ("div", "pow"):
        x, y = np.abs(x) + 0.5, np.abs(y) + 0.5
    operands = [(x, whole), (y, part)]
    if swapped:
        operands.reverse()
    if len(part) == len(names):
        names = operands[0][1]
    found = value(name, *(Given(array, own) for array, own in operands))
    wanted = BINARY[name](*(placed(array, own, names) for array, own in operands))
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), **TOLERANCE)
    assert names_of(name, *(Given(array, own) for array, own in operands)) == names


@EXAMPLES
@given(filled, st.integers(0, 4), seeds, st.booleans())
def test_unnamed_operands_align_at_the_end(sizes: Shape, dropped: int, seed: int, swapped: bool) -> None:
    x, y = reals(sizes, seed), reals(sizes[dropped:], seed + 1)
    operands = (Given(y), Given(x)) if swapped else (Given(x), Given(y))
    found = value("sub", *operands)
    np.testing.assert_allclose(found, (y - x) if swapped else (x - y), **TOLERANCE)


@EXAMPLES
@given(aligned(3), seeds)
def test_where_by_name(case: Any, seed: int) -> None:
    sizes, names, (whole, left, right) = case
    source = np.random.default_rng(seed)
    mask = source.random(sizes) < 0.5
    x, y = (reals(tuple(sizes[names.index(each)] for each in own), seed + at) for at, own in enumerate((left, right)))
    found = value("where", Given(mask, whole), Given(x, left), Given(y, right))
    np.testing.assert_array_equal(found, np.where(mask, placed(x, left, names), placed(y, right, names)))


@pytest.mark.parametrize("name", ["and", "or", "not"])
@EXAMPLES
@given(shapes, seeds)
def test_logic(name: str, sizes: Shape, seed: int) -> None:
    source = np.random.default_rng(seed)
    x, y = source.random(sizes) < 0.5, source.random(sizes) < 0.5
    found = value(name, Given(x)) if name == "not" else value(name, Given(x), Given(y))
    np.testing.assert_array_equal(found, {"and": x & y, "or": x | y, "not": ~x}[name])


@EXAMPLES
@given(filled, seeds)
def test_nats_stay_nats(sizes: Shape, seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 9, sizes)
    y = x[..., :1].reshape(sizes[:-1])[..., None] + np.zeros(sizes, np.int64)
    for name, wanted in (("add", x + y), ("mul", x * y), ("lt", x < y), ("eq", x == y)):
        found = value(name, Given(x, bound=9), Given(y, bound=9))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


# Reductions

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "logsumexp": lambda x, axis: np.log(np.sum(np.exp(x), axis=axis)),
}


def some_axes(sizes: Shape, seed: int) -> tuple[int, ...]:
    """One axis at least, in increasing order."""
    source = np.random.default_rng(seed)
    count = int(source.integers(1, len(sizes) + 1))
    return tuple(sorted(source.choice(len(sizes), count, replace=False).tolist()))


@pytest.mark.parametrize("name", REDUCTIONS)
@EXAMPLES
@given(filled, seeds)
def test_reductions(name: str, sizes: Shape, seed: int) -> None:
    x, axes = reals(sizes, seed), some_axes(sizes, seed)
    np.testing.assert_allclose(value(name, Given(x), axis=axes), REDUCTIONS[name](x, axis=axes), **TOLERANCE)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_everything(name: str) -> None:
    x = reals((2, 3, 4), 5)
    np.testing.assert_allclose(value(name, Given(x)), REDUCTIONS[name](x, axis=(0, 1, 2)), **TOLERANCE)


@pytest.mark.parametrize("ties", ["last", "first"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@EXAMPLES
@given(filled, seeds)
def test_positions_of_extremes(name: str, ties: str, sizes: Shape, seed: int) -> None:
    x, axes = np.round(reals(sizes, seed)), some_axes(sizes, seed)
    kept = tuple(at for at in range(len(sizes)) if at not in axes)
    rows = x.transpose((*kept, *axes)).reshape(*(sizes[at] for at in kept), -1)
    choose = np.argmax if name == "argmax" else np.argmin
    wanted = choose(rows, axis=-1) if ties == "first" else rows.shape[-1] - 1 - choose(rows[..., ::-1], axis=-1)
    np.testing.assert_array_equal(value(name, Given(x), axis=axes, ties=ties), wanted)


@pytest.mark.parametrize("name", ["any", "all"])
@EXAMPLES
@given(filled, seeds)
def test_logical_reductions(name: str, sizes: Shape, seed: int) -> None:
    x, axes = np.random.default_rng(seed).random(sizes) < 0.5, some_axes(sizes, seed)
    np.testing.assert_array_equal(value(name, Given(x), axis=axes), getattr(np, name)(x, axis=axes))


@EXAMPLES
@given(filled, seeds)
def test_cumsum_and_sort(sizes: Shape, seed: int) -> None:
    x = reals(sizes, seed)
    axis = seed % len(sizes)
    np.testing.assert_allclose(value("cumsum", Given(x), axis=axis), np.cumsum(x, axis=axis), **TOLERANCE)
    np.testing.assert_array_equal(value("sort", Given(x), axis=axis), np.sort(x, axis=axis))


# Rows


def softmax(x: NDArray[Any], axes: tuple[int, ...], mask: NDArray[Any] | None = None) -> NDArray[Any]:
    """softmax with refused positions at 0."""
    grown = np.exp(x) if mask is None else np.exp(x) * mask
    return grown / grown.sum(axis=axes, keepdims=True)


@EXAMPLES
@given(filled, seeds)
def test_softmax_and_log_softmax(sizes: Shape, seed: int) -> None:
    x, axes = reals(sizes, seed), some_axes(sizes, seed)
    np.testing.assert_allclose(value("softmax", Given(x), axis=axes), softmax(x, axes), **TOLERANCE)
    np.testing.assert_allclose(value("log_softmax", Given(x), axis=axes), np.log(softmax(x, axes)), **TOLERANCE)


@EXAMPLES
@given(aligned(), seeds)
def test_masked_softmax(case: Any, seed: int) -> None:
    sizes, names, (_, part) = case
    axis = names[seed % len(names)]
    x = reals(sizes, seed)
    mask = np.random.default_rng(seed).random([sizes[names.index(each)] for each in part]) < 0.6
    full = np.broadcast_to(placed(mask, part, names), sizes)
    at = names.index(axis)
    if not full.any(axis=at).all() or not x.size:
        return
    found = value("softmax", Given(x, names), Given(mask, part), axis=axis)
    np.testing.assert_allclose(found, softmax(x, (at,), full), **TOLERANCE)
    assert (found[~full] == 0).all()


@EXAMPLES
@given(filled, seeds, st.booleans())
def test_cross_entropy(sizes: Shape, seed: int, masked: bool) -> None:
    x = reals(sizes, seed)
    axis = seed % len(sizes)
    targets = np.random.default_rng(seed).integers(0, sizes[axis], sizes[:axis] + sizes[axis + 1 :])
    operands = [Given(x), Given(targets, bound=sizes[axis])]
    chosen = np.expand_dims(targets, axis)
    mask = None
    if masked:
        mask = np.random.default_rng(seed + 1).random(sizes) < 0.7
        np.put_along_axis(mask, chosen, True, axis)
        operands.append(Given(mask))
    wanted = -np.log(np.take_along_axis(softmax(x, (axis,), mask), chosen, axis)).squeeze(axis)
    np.testing.assert_allclose(value("cross_entropy", *operands, axis=axis), wanted, **TOLERANCE)


# Contractions


@EXAMPLES
@given(shapes, shapes, st.integers(0, 5), seeds)
def test_dot(left: Shape, right: Shape, inner: int, seed: int) -> None:
    x, w = reals((*left[:3], inner), seed), reals((inner, *right[:3]), seed + 1)
    np.testing.assert_allclose(value("dot", Given(x), Given(w)), np.tensordot(x, w, 1), **TOLERANCE)


@EXAMPLES
@given(st.lists(st.integers(0, 3), max_size=2).map(tuple), st.tuples(*[st.integers(0, 4)] * 3), st.booleans(), seeds)
def test_matmul(batch: Shape, ikj: tuple[int, int, int], shared: bool, seed: int) -> None:
    i, k, j = ikj
    a, b = reals((*batch, i, k), seed), reals((*(batch if shared else ()), k, j), seed + 1)
    np.testing.assert_allclose(value("matmul", Given(a), Given(b)), a @ b, **TOLERANCE)


@settings(max_examples=400)
@given(
    st.lists(st.sampled_from("ijklm"), unique=True, max_size=4),
    st.lists(st.sampled_from("ijklm"), unique=True, max_size=4),
    st.permutations("ijklm"),
    st.fixed_dictionaries({letter: st.integers(0, 3) for letter in "ijklm"}),
    st.integers(0, 31),
    seeds,
)
def test_ein(left: list[str], right: list[str], order: Any, sizes: dict[str, int], kept: int, seed: int) -> None:
    known = {*left, *right}
    out = [name for at, name in enumerate(order) if name in known and kept >> at & 1]
    a, b = (reals(tuple(sizes[name] for name in labels), seed + at) for at, labels in enumerate((left, right)))
    found = value("ein", Given(a), Given(b), out=(tuple(out),), labels=(tuple(left), tuple(right)))
    wanted = np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a, b)
    np.testing.assert_allclose(found, wanted, **TOLERANCE)


# Gathers


@EXAMPLES
@given(filled, shapes, seeds)
def test_take_and_embed(sizes: Shape, wanted: Shape, seed: int) -> None:
    x = reals(sizes, seed)
    axis = seed % len(sizes)
    index = np.random.default_rng(seed).integers(0, sizes[axis], wanted)
    found = value("take", Given(x), Given(index, bound=sizes[axis]), axis=axis)
    np.testing.assert_array_equal(found, np.take(x, index, axis=axis))
    rows = np.random.default_rng(seed).integers(0, sizes[0], wanted)
    np.testing.assert_array_equal(value("embed", Given(x), Given(rows, bound=sizes[0])), x[rows])


@EXAMPLES
@given(filled, st.integers(0, 4), seeds)
def test_gather(sizes: Shape, along: int, seed: int) -> None:
    x = reals(sizes, seed)
    axis = seed % len(sizes)
    index = np.random.default_rng(seed).integers(0, sizes[axis], (*sizes[:axis], along, *sizes[axis + 1 :]))
    found = value("gather", Given(x), Given(index, bound=sizes[axis]), axis=axis)
    np.testing.assert_array_equal(found, np.take_along_axis(x, index, axis))


@EXAMPLES
@given(filled, st.lists(st.integers(0, 3), max_size=2).map(tuple), seeds)
def test_scatter_add(sizes: Shape, wanted: Shape, seed: int) -> None:
    x = reals(sizes, seed)
    axis = seed % len(sizes)
    index = np.random.default_rng(seed).integers(0, sizes[axis], wanted)
    values = reals((*sizes[:axis], *wanted, *sizes[axis + 1 :]), seed + 1)
    expected = np.moveaxis(x.copy(), axis, 0)
    slices = np.moveaxis(values.reshape(*sizes[:axis], -1, *sizes[axis + 1 :]), axis, 0) if values.size else []
    for at, each in zip(index.reshape(-1).tolist(), slices, strict=False):
        expected[at] += each
    found = value("scatter_add", Given(x), Given(index, bound=sizes[axis]), Given(values), axis=axis)
    np.testing.assert_allclose(found, np.moveaxis(expected, 0, axis), **TOLERANCE)


@pytest.mark.parametrize("ties", ["last", "first"])
@EXAMPLES
@given(filled, seeds)
def test_top_k(ties: str, sizes: Shape, seed: int) -> None:
    x = np.round(reals(sizes, seed))
    axis = seed % len(sizes)
    k = seed % (sizes[axis] + 1)
    found = [np.asarray(each) for each in exact("top_k", Given(x), k=k, axis=axis, ties=ties)]
    count = sizes[axis]
    rank = np.arange(count) if ties == "first" else np.arange(count)[::-1]
    shaped = rank.reshape([-1 if at == axis else 1 for at in range(len(sizes))])
    order = np.lexsort((np.broadcast_to(shaped, sizes), -x), axis=axis)
    picked = np.take(order, range(k), axis=axis)
    np.testing.assert_array_equal(found[1], picked)
    np.testing.assert_array_equal(found[0], np.take_along_axis(x, picked, axis))


@EXAMPLES
@given(filled, seeds)
def test_index_and_updates(sizes: Shape, seed: int) -> None:
    x = reals(sizes, seed)
    axis = seed % len(sizes)
    at = seed % sizes[axis]
    index = Given(np.array(at), bound=sizes[axis])
    np.testing.assert_array_equal(value("index", Given(x), index, axis=axis), np.take(x, at, axis=axis))
    new = reals((*sizes[:axis], *sizes[axis + 1 :]), seed + 1)
    expected = np.moveaxis(x.copy(), axis, 0)
    expected[at] = new
    found = value("update_index", Given(x), Given(new), index, axis=axis)
    np.testing.assert_array_equal(found, np.moveaxis(expected, 0, axis))
    length = seed % (sizes[axis] - at + 1)
    run = reals((*sizes[:axis], length, *sizes[axis + 1 :]), seed + 2)
    expected = np.moveaxis(x.copy(), axis, 0)
    expected[at : at + length] = np.moveaxis(run, axis, 0)
    found = value("update_slice", Given(x), Given(run), axis=axis, start=at)
    np.testing.assert_array_equal(found, np.moveaxis(expected, 0, axis))
