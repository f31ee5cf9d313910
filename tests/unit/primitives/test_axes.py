"""Axes by name and by position, with and without a run."""

from __future__ import annotations

import pytest
from tests.unit.primitives.building import tensor

from presk.primitives.axes import AxisSpec, axis_label, resolve_axes, resolve_axis, resolve_order
from presk.primitives.table import Misfit


@pytest.mark.parametrize(
    ("shape", "spec", "index"),
    [
        ("real[a: 2, b: 3, 4]", "a", 0),
        ("real[a: 2, b: 3, 4]", "b", 1),
        ("real[a: 2, b: 3, 4]", 2, 2),
        ("real[a: 2, b: 3, 4]", -1, 2),
        ("real[a: 2, b: 3, 4]", -3, 0),
        ("real[.., a: 2, 3]", "a", 1),
        ("real[.., a: 2, 3]", -1, 2),
        ("real[.., a: 2, 3]", -2, 1),
    ],
)
def test_found(shape: str, spec: AxisSpec, index: int) -> None:
    assert resolve_axis(tensor(shape), spec) == index


@pytest.mark.parametrize(
    ("shape", "spec", "code", "message", "hint"),
    [
        ("real[seq: 2, b: 3]", "sqe", "E3004", "real[seq: 2, b: 3] has no axis `sqe`", "did you mean `seq`?"),
        ("real[2, 3]", "a", "E3004", "real[2, 3] has no axis `a`", "its axes have no names"),
        ("real", "a", "E3004", "real has no axis `a`", "a scalar has no axes"),
        ("real[2]", 1, "E3004", "real[2] has 1 axis, and none at position 1", None),
        ("real[2, 3]", -3, "E3004", "real[2, 3] has 2 axes, and none at position -3", None),
        ("real", -1, "E3004", "real has no axes, and none at position -1", None),
        ("real[.., 3]", 0, "E3003", "which axis of real[.., 3] is number 0 depends on", "name the axis"),
        ("real[.., 3]", -2, "E3003", "which axis of real[.., 3] is number -2 depends on", "name the axis"),
        ("real[..]", -1, "E3003", "depends on how many axes `..` stands for", "name the axis"),
    ],
)
def test_not_found(shape: str, spec: AxisSpec, code: str, message: str, hint: str | None) -> None:
    with pytest.raises(Misfit) as caught:
        resolve_axis(tensor(shape), spec)
    assert caught.value.code == code
    assert message in caught.value.message
    assert (hint or "") in (caught.value.hint or "")


def test_several_are_sorted_and_an_order_is_kept() -> None:
    shape = tensor("real[a: 2, b: 3, c: 4]")
    assert resolve_axes(shape, ("c", 0)) == (0, 2)
    assert resolve_order(shape, ("c", 0)) == (2, 0)
    assert resolve_axes(shape, "b") == (1,)
    assert resolve_axes(shape, ()) == ()


@pytest.mark.parametrize("specs", [("a", "a"), ("a", 0), (0, -3)])
def test_one_axis_twice_is_refused(specs: tuple[AxisSpec, ...]) -> None:
    with pytest.raises(Misfit, match=r"axis `a` of .* is given twice") as caught:
        resolve_axes(tensor("real[a: 2, b: 3, c: 4]"), specs)
    assert caught.value.code == "E3004"


def test_labels() -> None:
    shape = tensor("real[.., a: 2, 3]")
    assert axis_label(shape, 1) == "axis `a`"
    assert axis_label(shape, 2) == "axis -1"
    assert axis_label(tensor("real[2, 3]"), 1) == "axis 1"
