"""Which rows train and which measure, and what is said of a split that misleads."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.train.programs import linear

import presk
from presk import draw
from presk.api.program import Program
from presk.shapes.poly import number
from presk.shapes.types import Axis, Tensor
from presk.text.diagnostics import PreskError
from presk.train.rows import ArrayRows, PickedRows
from presk.train.split import Split, deal

WANTED = {
    "x": Tensor("real", (Axis("batch", number(1)), Axis(None, number(2)))),
    "y": Tensor("nat", (Axis("batch", number(1)),), number(9)),
}


def fields(count: int, kinds: int = 3) -> dict[str, np.ndarray]:
    return {"x": np.arange(2.0 * count).reshape(count, 2), "y": np.arange(count) * kinds // max(count, 1)}


def test_a_split_in_order_is_the_first_rows() -> None:
    sides = deal(Split(Fraction(3, 4)), fields(10), WANTED, 0)
    assert (sides.train.tolist(), sides.measure.tolist()) == (list(range(7)), [7, 8, 9])


@given(st.integers(1, 60), st.fractions(Fraction(1, 50), 1), st.integers(0, 2**64 - 1), st.booleans())
def test_a_drawn_split_deals_each_row_once(count: int, share: Fraction, seed: int, stratified: bool) -> None:
    split = Split(share, True, "y" if stratified else None)
    sides = deal(split, fields(count), WANTED, seed)
    assert sorted([*sides.train.tolist(), *sides.measure.tolist()]) == list(range(count))
    assert len(sides.train) == int(count * share)
    assert (np.diff(sides.train) > 0).all() and (np.diff(sides.measure) > 0).all()
    again = deal(split, fields(count), WANTED, seed)
    assert again.train.tolist() == sides.train.tolist()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=80), st.fractions(Fraction(1, 50), 1))
def test_labels_have_their_share_on_both_sides(labels: list[int], share: Fraction) -> None:
    y = np.array(labels)
    sides = deal(Split(share, None, "y"), {"x": np.zeros((len(y), 2)), "y": y}, WANTED, 1)
    for label in set(labels):
        assert abs((y[sides.train] == label).sum() - (y == label).sum() * share) <= 1


def test_a_shuffled_split_is_what_the_page_says() -> None:
    order = draw.shuffle(draw.key(5, "split", ""), 0, 20)
    sides = deal(Split(Fraction(1, 2), True), fields(20), WANTED, 5)
    assert sides.train.tolist() == sorted(order[:10].tolist())


def test_labels_that_one_side_lacks_are_remarked_on() -> None:
    (said,) = deal(Split(Fraction(4, 5)), fields(60), WANTED, 0).remarks
    assert said.startswith("the rows that measure lack labels of `y`: 0, 1. `split` cuts in the rows' order")
    assert deal(Split(Fraction(4, 5), True), fields(60), WANTED, 0).remarks == ()
    assert deal(Split(), fields(60), WANTED, 0).remarks == ()
    mixed = {"x": np.zeros((60, 2)), "y": np.arange(60) % 3}
    assert deal(Split(Fraction(4, 5)), mixed, WANTED, 0).remarks == ()
    rare = {"x": np.zeros((60, 2)), "y": np.repeat([0, 1], [58, 2])}
    assert deal(Split(Fraction(4, 5)), rare, WANTED, 0).remarks == ()  # two rows needn't be on both sides


@pytest.mark.parametrize(("name", "says"), [("x", "`x` isn't one label a row"), ("z", "`z` is no field of the batch")])
def test_what_isn_t_a_label(name: str, says: str) -> None:
    with pytest.raises(PreskError, match=says) as caught:
        deal(Split(Fraction(1, 2), None, name), fields(9), WANTED, 0)
    assert caught.value.code == "E8034"


def test_rows_picked_are_those_of_the_whole() -> None:
    whole = ArrayRows({"x": np.arange(10)})
    picked = PickedRows(whole, np.array([2, 5, 7]))
    assert picked.count == 3
    assert picked.take(np.array([2, 0]))["x"].tolist() == [7, 2]
    assert picked.part(1, 3).take(np.array([0]))["x"].tolist() == [5]
    assert picked.hash() != PickedRows(whole, np.array([2, 5, 8])).hash()
    assert picked.hash() != PickedRows(ArrayRows({"x": np.arange(10) + 1}), picked.places).hash()


# From Python

X = np.linspace(-1, 1, 40).reshape(20, 2)
DATA = {"x": X, "y": X.sum(axis=1, keepdims=True) * 2}


def fit(**settings: Any) -> presk.Run:
    return presk.train(Program(linear(), "p")["fit"], data=DATA, realize="f64", quiet=True, **settings)


def measured(run: presk.Run) -> list[presk.Measurement]:
    return [each for each in run.history if isinstance(each, presk.Measurement)]


def test_arrays_measure(tmp_path: Any) -> None:
    held = fit(split=0.75, settings={"patience": 2})
    given_ = presk.train(
        Program(linear(), "p")["fit"],
        data={name: array[:15] for name, array in DATA.items()},
        measure={name: array[15:] for name, array in DATA.items()},
        realize="f64",
        quiet=True,
        settings={"patience": 2},
    )
    assert held.history == given_.history and len(measured(held)) == 5
    drawn = fit(split=0.75, shuffle=True)
    assert measured(drawn)[-1].loss != measured(held)[-1].loss
    folder = fit(split=0.75, out=tmp_path / "r")
    for run in (held, folder):
        best = min(measured(run), key=lambda each: each.loss)
        loss = presk.compile(Program(linear(), "p")["loss"], realize="f64")
        found, _ = loss(run.best, {name: array[15:] for name, array in DATA.items()})
        assert float(found) == pytest.approx(best.loss)
    assert (fit().best["w"] == fit().params["w"]).all()


def test_the_best_weights_are_not_the_last(tmp_path: Any) -> None:
    settings = {"lr": 0.5, "epochs": 8}  # swings
    run = fit(split=0.75, settings=settings)
    best = min(measured(run), key=lambda each: each.loss)
    assert best.step < measured(run)[-1].step
    stopped = fit(split=0.75, settings=settings, steps=best.step)
    assert (run.best["w"] == stopped.params["w"]).all() and not (run.best["w"] == run.params["w"]).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"split": 1.5}, "above 0 and at most 1, not 1.5"),
        ({"split": 0}, "above 0"),
        ({"split": 0.5, "measure": DATA}, "`measure` gives the rows that measure"),
        ({"stratify": "y", "split": 0.5}, "isn't one label a row"),
    ],
)
def test_splits_that_can_t_be(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(PreskError, match=says) as caught:
        fit(**settings)
    assert caught.value.code == "E8034"


def test_patience_without_rows_says_how_there_are_some() -> None:
    with pytest.raises(PreskError) as caught:
        fit(settings={"patience": 2})
    assert caught.value.code == "E8076"
    assert "presk.train(…, split=0.9)" in str(caught.value.diagnostics[0].hint)
    assert fit(settings={"patience": 2}, split=0.9)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_data_that_are_not_finite(value: float) -> None:
    x = X.copy()
    x[3, 1] = x[7, 0] = value
    with pytest.raises(PreskError) as caught:
        presk.train(Program(linear(), "p")["fit"], data=DATA | {"x": x}, quiet=True)
    assert caught.value.code == "E8033"
    assert "`x` of the data given is" in str(caught.value) and "in row 3, column 1; 2 rows of 20" in str(caught.value)
    with pytest.raises(PreskError, match="`y` of `measure` is nan in row 0, column 0"):
        presk.train(
            Program(linear(), "p")["fit"], data=DATA, measure=DATA | {"y": np.full((20, 1), np.nan)}, quiet=True
        )


def test_progress_is_shown_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    block = Program(linear(), "p")["fit"]
    presk.train(block, data=DATA)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[:2][0] == "3 parameters, 20 rows, 25 steps"
    assert "step 1  epoch 1  loss " in shown.err and 10 < len(shown.err.splitlines()) < 40
    presk.train(block, data=DATA, callbacks=[lambda _: None])
    presk.train(block, data=DATA, quiet=True)
    assert capsys.readouterr().err == ""
    presk.train(block, data=DATA, callbacks=[lambda _: None], quiet=False)
    assert "step 1" in capsys.readouterr().err
