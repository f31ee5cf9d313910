"""What a call may be given, and how what doesn't fit is refused."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.exact.values import ExactArray
from presk.run.values import accept
from presk.shapes.poly import number
from presk.shapes.types import Axis, RecordOf, Stacked, Tensor, TupleOf
from presk.text.diagnostics import PreskError

REALS = Tensor("real", (Axis("batch", number(2)), Axis(None, number(3))))
NATS = Tensor("nat", (Axis("seq", number(3)),), number(5))
TRUTH = Tensor("bool", (Axis(None, number(2)),))
SCALAR = Tensor("real")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16])
def test_floats_cross_as_they_are_and_in_place(dtype: Any) -> None:
    array = np.arange(6).astype(dtype).reshape(2, 3)
    found = accept("x", REALS, array)
    assert found.dtype == dtype
    assert np.shares_memory(found, array)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(3, 2).T,
        np.arange(12.0).reshape(2, 6)[:, ::2],
        np.arange(6.0).reshape(2, 3).astype(">f8"),
        np.arange(6).reshape(2, 3),
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        np.arange(6).astype(np.float16).reshape(2, 3),
        [[0, 1.5, 2], [3, 4, 5]],
    ],
)
def test_other_layouts_and_integers_are_converted_exactly(array: Any) -> None:
    found = accept("x", REALS, array)
    assert found.flags.c_contiguous
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, np.asarray(array).astype(np.float64))


def test_exact_numbers_become_an_exact_array_and_cross_untouched() -> None:
    found = accept("x", REALS, np.array([[Fraction(1, 3), 2, 0.5]] * 2, dtype=object))
    assert isinstance(found, ExactArray)
    assert found.names == ("batch", None)
    assert accept("x", REALS, found, finite=True) is found
    assert float(accept("s", SCALAR, Fraction(1, 4))) == 0.25


def test_nats_are_copied() -> None:
    array = np.array([0, 4, 2])
    found = accept("i", NATS, array)
    assert found.dtype == np.int64
    assert not np.shares_memory(found, array)


def test_trees_come_out_in_their_types_order() -> None:
    of = RecordOf((("a", SCALAR), ("t", TupleOf((TRUTH, Stacked(RecordOf((("w", SCALAR),)), number(2)))))))
    found = accept("m", of, {"t": (np.array([True, False]), {"w": [1.0, 2.0]}), "a": 3})
    assert list(found) == ["a", "t"]
    assert isinstance(found["t"], tuple)
    np.testing.assert_array_equal(found["t"][1]["w"], [1, 2])


REFUSED: list[tuple[Any, Any, str, str]] = [
    (REALS, np.zeros((2, 4)), "E6001", "axis 1 of"),
    (REALS, np.zeros((1, 3)), "E6001", "axis `batch` of"),
    (REALS, np.zeros(3), "E6001", "2 axes"),
    (REALS, np.zeros((2, 3), bool), "E6001", "bool"),
    (REALS, np.zeros((2, 3), complex), "E6001", "complex"),
    (REALS, [[1, 2, 3], [4, 5]], "E6001", "no array"),
    (REALS, np.full((2, 3), 2**53 + 1), "E6001", str(2**53 + 1)),
    (REALS, [["a", "b", "c"]] * 2, "E6001", "elements of type"),
    (REALS, [[None, 1, 2]] * 2, "E6001", "NoneType at [batch = 0, 0]"),
    (REALS, np.array([[1, 2, 3], [4, float("nan"), 6]], object), "E6007", "[batch = 1, 1]"),
    (REALS, {"x": 1}, "E6030", "as a tree"),
    (NATS, [0, 5, 1], "E6002", "at [seq = 1] is 5, and must be below 5"),
    (NATS, [0, 1, -2], "E6002", "at [seq = 2] is -2, and nats begin at 0"),
    (NATS, np.array([0, 2**64 - 1, 0], np.uint64), "E6002", str(2**64 - 1)),
    (NATS, [0, 10**30, 0], "E6002", str(10**30)),
    (NATS, [0.0, 1.0, 2.0], "E6001", "float64"),
    (NATS, [True, False, True], "E6001", "bool"),
    (NATS, ExactArray.from_floats(np.zeros(3)), "E6001", "exact reals"),
    (TRUTH, [0, 1], "E6001", "int64"),
    (RecordOf((("weight", SCALAR),)), {"wieght": 1}, "E6030", "lacks `weight`"),
    (RecordOf((("w", SCALAR),)), 1.0, "E6030", "one array"),
    (TupleOf((SCALAR, SCALAR)), (1.0,), "E6030", "lacks `1`"),
]


@pytest.mark.parametrize(("of", "value", "code", "words"), REFUSED)
def test_what_does_not_fit_is_refused(of: Any, value: Any, code: str, words: str) -> None:
    with pytest.raises(PreskError) as caught:
        accept("x", of, value)
    assert caught.value.code == code
    assert words in str(caught.value)


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_the_reference_refuses_what_is_no_real_number(strange: float) -> None:
    array = np.zeros((2, 3))
    array[1, 2] = strange
    np.testing.assert_array_equal(accept("x", REALS, array), array)
    with pytest.raises(PreskError, match=r"\[batch = 1, 2\]") as caught:
        accept("x", REALS, array, finite=True)
    assert caught.value.code == "E6007"


def test_empty_tensors_take_empty_lists() -> None:
    for kind in ("real", "nat", "bool"):
        of = Tensor(kind, (Axis(None, number(0)),), number(5) if kind == "nat" else None)
        assert accept("x", of, []).shape == (0,)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3) | st.tuples(inner)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("of", [REALS, NATS, TRUTH, SCALAR, RecordOf((("a", SCALAR), ("b", NATS)))])
@given(json_values)
def test_anything_is_accepted_or_a_diagnostic(of: Any, value: object) -> None:
    with suppress(PreskError):
        accept("x", of, value, finite=True)


def test_a_field_without_leaves_may_be_left_out() -> None:
    """A file of arrays has nothing where a tree has no leaves."""
    nothing = RecordOf((("inner", RecordOf(())), ("pair", TupleOf(()))))
    of = RecordOf((("w", SCALAR), ("rotary", nothing)))
    assert accept("x", of, {"w": 1.0})["rotary"] == {"inner": {}, "pair": ()}
    with pytest.raises(PreskError) as caught:
        accept("x", of, {"rotary": {}})
    assert "lacks `w`" in str(caught.value)
