"""Made-up inputs: their rule, and that they depend on their place and the seed alone."""

from __future__ import annotations

import numpy as np
import pytest

from presk import draw
from presk.run.synthesis import synthesize
from presk.shapes.poly import number
from presk.shapes.types import Axis, ModuleOf, RecordOf, Stacked, Tensor, TupleOf
from presk.text.diagnostics import PreskError


def tensor(kind: str, *sizes: int | tuple[str, int], bound: int | None = None) -> Tensor:
    axes = tuple(
        Axis(*((each[0], number(each[1])) if isinstance(each, tuple) else (None, number(each)))) for each in sizes
    )
    return Tensor(kind, axes, None if bound is None else number(bound))


LINEAR = ModuleOf("Linear", (), (("w", tensor("real", 3, 2)), ("b", tensor("real", 2))))


def test_a_real_tensor_is_the_draw_of_its_path() -> None:
    found = synthesize("batch", RecordOf((("x", tensor("real", 4, 3)),)), seed=5)
    np.testing.assert_array_equal(found["x"], draw.normal(draw.key(5, "input", "batch.x"), 0, (4, 3)))


def test_a_row_of_a_batch_is_the_same_at_any_size_and_place_of_the_axis() -> None:
    large = synthesize("x", tensor("real", ("batch", 7), 3), seed=1)
    small = synthesize("x", tensor("real", ("batch", 2), 3), seed=1)
    across = synthesize("x", tensor("real", 3, ("batch", 7)), seed=1)
    np.testing.assert_array_equal(large[:2], small)
    np.testing.assert_array_equal(across.T, large)


def test_scalars_and_moments_are_positive() -> None:
    for seed in range(50):
        scalar = synthesize("lr", tensor("real"), seed)
        assert scalar.shape == ()
        assert 0.0625 <= scalar < 1
    state = synthesize("s", RecordOf((("m", LINEAR), ("v", Stacked(LINEAR, number(4))))), seed=0)
    assert state["v"]["w"].shape == (4, 3, 2)
    assert all((leaf >= 0.0625).all() and (leaf < 1).all() for leaf in (state["m"]["w"], state["v"]["b"]))


def test_nats_are_below_their_bound_and_reach_all_of_it() -> None:
    found = synthesize("t", tensor("nat", 1000, bound=3), seed=0)
    assert found.dtype == np.int64
    assert set(found.tolist()) == {0, 1, 2}
    assert synthesize("t", tensor("nat", 5, bound=1), seed=0).tolist() == [0] * 5


def test_no_row_of_a_mask_is_empty() -> None:
    found = synthesize("mask", tensor("bool", 1000, 4), seed=0)
    assert found.dtype == np.bool_
    assert found[:, 0].all()
    assert 0.7 < found[:, 1:].mean() < 0.8
    assert synthesize("mask", tensor("bool", 4, 0), seed=0).shape == (4, 0)


def test_trees_keep_their_shape_and_empty_ones_stay() -> None:
    empty = ModuleOf("Dropout", (), ())
    found = synthesize("x", TupleOf((tensor("real", 2), RecordOf((("d", empty),)), TupleOf(()))), seed=0)
    assert isinstance(found, tuple)
    assert found[1:] == ({"d": {}}, ())
    stacked = synthesize("c", Stacked(TupleOf((tensor("real", 2), tensor("nat", bound=4))), number(3)), seed=0)
    assert isinstance(stacked, tuple)
    assert [leaf.shape for leaf in stacked] == [(3, 2), (3,)]


def test_a_nat_below_zero_has_no_value() -> None:
    with pytest.raises(PreskError) as caught:
        synthesize("t", tensor("nat", 2, bound=0), seed=0)
    assert caught.value.code == "E6002"
    assert synthesize("t", tensor("nat", 0, bound=0), seed=0).shape == (0,)
