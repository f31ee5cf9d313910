"""Quantised arrays: the rule of their integers and scales, their bytes, and what isn't one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import presk
from presk.realization.quantized import LARGEST, Quantized, from_stored, quantize, settle
from presk.text.diagnostics import PreskError

INT4 = ml_dtypes.int4
KINDS = st.sampled_from(["int8", "int4"])
SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)
NUMBERS = st.floats(-(2.0**100), 2.0**100, width=32)


@st.composite
def weights(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], str, int, int]:
    array = draw(hnp.arrays(np.float32, SHAPES, elements=NUMBERS))
    layers = draw(st.integers(0, array.ndim - 1))
    return array, draw(KINDS), draw(st.integers(0, array.ndim - layers - 1)), layers


@given(weights())
def test_each_element_follows_the_rule(given_: tuple[np.ndarray[Any, Any], str, int, int]) -> None:
    array, kind, axis, layers = given_
    made = quantize("w", array, kind, axis, layers)
    assert (made.type, made.axis, made.layers, made.shape) == (kind, axis, layers, array.shape)
    for at in np.ndindex(*array.shape):
        index = (*at[:layers], at[layers + axis])
        one = array[
            tuple(slice(each, each + 1) if here in held(layers, axis) else slice(None) for here, each in enumerate(at))
        ]
        scale = np.float32(np.max(np.abs(one)) / np.float32(LARGEST[kind]))
        assert made.scale[index] == scale
        q = int(made.q[at])
        if scale:
            quotient = Fraction(float(np.float32(array[at] / scale)))
            assert q == max(-LARGEST[kind], min(LARGEST[kind], round(quotient)))
        else:
            assert q == 0
        assert made.values()[at] == np.float32(np.float32(q) * scale)


def held(layers: int, axis: int) -> set[int]:
    """The axes along which scales vary."""
    return {*range(layers), layers + axis}


@given(weights())
def test_bytes_read_back(given_: tuple[np.ndarray[Any, Any], str, int, int]) -> None:
    array, kind, axis, layers = given_
    made = quantize("w", array, kind, axis, layers)
    stored = made.stored()
    assert stored.dtype == (np.int8 if kind == "int8" else np.uint8)
    assert stored.shape == (*array.shape[:-1], array.shape[-1] if kind == "int8" else -(-array.shape[-1] // 2))
    again = from_stored(stored, array.shape, made.scale, axis)
    assert np.array_equal(again.q.astype(np.int8), made.q.astype(np.int8))
    assert again.type == kind


def test_int4_is_two_to_a_byte_low_nibble_first_rows_padded() -> None:
    made = Quantized(np.array([[1, -2, 7], [-7, 0, -1]], INT4), np.ones(2, np.float32), 0)
    assert made.stored().tolist() == [[0xE1, 0x07], [0x09, 0x0F]]


def test_ties_go_to_even_and_the_largest_to_the_largest() -> None:
    w = np.array([127, 0.5, 1.5, 2.5, -0.5, -126.5, -127], np.float64)
    assert quantize("w", w[:, None], "int8", 1).q[:, 0].tolist() == [127, 0, 2, 2, 0, -126, -127]
    assert quantize("w", np.array([[7, 3.5, -2.5]]), "int4", 0).q.astype(np.int8).tolist() == [[7, 4, -2]]


def test_weights_are_narrowed_to_f32_first() -> None:
    w = np.array([[1.0, 1.0 + 2.0**-40]])
    assert quantize("w", w, "int8", 0).scale[0] == np.float32(1) / np.float32(127)
    bf16 = np.array([[0.75, -0.3]], ml_dtypes.bfloat16)
    assert np.array_equal(quantize("w", bf16, "int8", 0).q, quantize("w", bf16.astype(np.float32), "int8", 0).q)


def test_scales_that_f32_hardly_holds() -> None:
    least = 2.0**-149
    assert quantize("w", np.full((1, 2), 190 * least), "int8", 0).q.tolist() == [[127, 127]]
    assert quantize("w", np.full((1, 2), 60 * least), "int8", 0).q.tolist() == [[0, 0]]
    assert quantize("w", np.zeros((2, 2)), "int4", 1).values().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e39])
def test_what_is_not_finite_in_f32_is_refused(strange: float) -> None:
    with pytest.raises(PreskError) as caught:
        quantize("head.w", np.array([[0.0, strange]]), "int8", 0)
    assert caught.value.code == "E7003"
    assert "`head.w`" in str(caught.value)
    assert "[0, 1]" in str(caught.value)


def test_axes_count_within_a_layer_and_from_the_end() -> None:
    w = np.arange(24.0).reshape(2, 3, 4)
    made = quantize("w", w, "int8", -1, 1)
    assert (made.axis, made.scale.shape) == (1, (2, 4))
    assert Quantized(made.q, made.scale, -1).axis == 1
    for axis in (2, -3):
        with pytest.raises(PreskError):
            quantize("w", w, "int8", axis, 1)


Q, S = np.zeros((3, 2), np.int8), np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("q", "scale", "axis"),
    [
        (Q, S, 0),
        (Q, S, 2),
        (Q, S, -3),
        (Q, S, 1.0),
        (Q, S, True),
        (Q, S, None),
        (Q, S.astype(np.float64), 1),
        (Q, np.float32(1), 0),
        (Q, np.ones((3, 2, 1), np.float32), 0),
        (Q, np.ones((3, 2), np.float32), 1),
        (Q.astype(np.int32), S, 1),
        (Q.astype(np.uint8), S, 1),
        (np.full((3, 2), -128, np.int8), S, 1),
        (np.full((3, 2), -8, INT4), S, 1),
        ([[1, 2]], S, 1),
        ("w", S, 1),
    ],
)
def test_parts_that_do_not_belong_together(q: Any, scale: Any, axis: Any) -> None:
    with pytest.raises(PreskError) as caught:
        presk.Quantized(q, scale, axis)
    assert caught.value.code == "E7003"


def test_stored_bytes_of_another_shape() -> None:
    for stored, shape in (
        (Q, (2, 3)),
        (np.zeros((3, 1), np.uint8), (3, 3)),
        (np.zeros(3, np.uint8), ()),
        (np.zeros((3, 2), np.int16), (3, 2)),
    ):
        with pytest.raises(PreskError) as caught:
            from_stored(stored, shape, S, 1)
        assert caught.value.code == "E7003"


def test_a_parameter_is_quantised_or_held_against_its_realization() -> None:
    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    made = settle("w", w, "int8", 1, 0)
    assert settle("w", made, "int8", 1, 0) is made
    for kind, axis in (("int4", 1), ("int8", 0)):
        with pytest.raises(PreskError) as caught:
            settle("w", made, kind, axis, 0)
        assert caught.value.code == "E7003"
