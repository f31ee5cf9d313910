"""What a training did to its data is kept with the weights, and done to what they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presk
from presk.text.diagnostics import PreskError
from presk.train.preparation import Preparation, Scaling

RNG = np.random.default_rng(3)
KINDS = np.repeat(["pear", "fig", "plum"], 30)
MIDDLES = [[100, 0, 0, 0], [200, 3, 0, 0], [300, 0, 5, 1]]
RAW = RNG.normal(size=(90, 4)) * [50, 1, 2, 0.1] + np.repeat(MIDDLES, 30, axis=0)


def fruit(examples: Path) -> presk.Entry:
    return presk.load(examples / "classifier" / "classifier.psk")["fruit"]


def trained(examples: Path, **settings: Any) -> presk.Run:
    data = {"x": RAW, "y": KINDS}
    return presk.train(fruit(examples), data=data, stratify="y", quiet=True, seed=2, **settings)


@pytest.mark.parametrize("kind", [str, object, "S", list])
def test_labels_may_be_texts(examples: Path, kind: Any) -> None:
    y = KINDS.tolist() if kind is list else KINDS.astype(kind)
    run = presk.train(fruit(examples), data={"x": RAW, "y": y}, stratify="y", quiet=True, steps=1)
    assert run.preparation.labels == {"y": ("fig", "pear", "plum")}


def test_a_prediction_from_raw_rows(examples: Path, tmp_path: Path) -> None:
    run = trained(examples, out=tmp_path / "r")
    of = Preparation.of(tmp_path / "r")
    assert of == run.preparation
    classify = presk.compile(presk.load(examples / "classifier" / "classifier.psk")["classify"])
    with pytest.warns(UserWarning, match="trained on standardized `x`"):
        weights = presk.load_file(tmp_path / "r")
    names = of.names(classify(weights, of.standardize(RAW)))
    assert (names == KINDS).mean() > 0.9
    assert (of.names(classify(weights, RAW)) == KINDS).mean() < 0.7  # raw rows mean nothing to these weights


def test_rows_that_measure_are_prepared_alike(examples: Path) -> None:
    held = {"x": RAW[::9], "y": KINDS[::9]}
    run = presk.train(fruit(examples), data={"x": RAW, "y": KINDS}, measure=held, quiet=True, seed=2)
    last = [each for each in run.history if isinstance(each, presk.Measurement)][-1]
    assert last.metrics["accuracy"] >= 0.9


def test_columns_are_scaled_by_the_rows_that_train(examples: Path) -> None:
    run = presk.train(fruit(examples), data={"x": RAW, "y": KINDS}, split=0.5, quiet=True, steps=1)
    assert run.preparation.scaling["x"] == Scaling.of(RAW[:45])


def test_what_doesn_t_fit() -> None:
    of = Preparation({"x": Scaling((1.0, 2.0), (2.0, 4.0))}, {"y": ("a", "b")})
    assert of.standardize([3.0, 6.0]).tolist() == [1.0, 1.0]
    assert of.standardize([[[3.0, 6.0]]]).shape == (1, 1, 2)
    assert of.standardize([5.0], "z").tolist() == [5.0]
    assert of.names([[1, 0]]).tolist() == [["b", "a"]]
    for wrong in (lambda: of.standardize([1.0, 2.0, 3.0]), lambda: of.names([2]), lambda: of.names([0], "x")):
        with pytest.raises(PreskError) as caught:
            wrong()
        assert caught.value.code == "E8035"


@pytest.mark.parametrize(
    "metadata", [{}, {"scaling": "{"}, {"scaling": "[1]"}, {"scaling": '{"x": 3}'}, {"labels": "7"}]
)
def test_other_weights_have_none(metadata: dict[str, str]) -> None:
    assert not Preparation.from_metadata(metadata)
