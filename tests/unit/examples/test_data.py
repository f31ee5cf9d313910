"""The data files that ship with the examples: made by the programs beside them, and what the training blocks say."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import pytest
from tests.unit.examples.running import EXAMPLES, load

TABLES = {"regression/points.csv": "make_points.py", "classifier/fruit.csv": "make_fruit.py"}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_what_its_maker_makes(table: str) -> None:
    path = EXAMPLES / table
    made = runpy.run_path(str(path.parent / TABLES[table]))["table"]()
    assert path.read_text(encoding="utf-8") == made


def test_fruits_are_the_kinds_the_classifier_tells_apart() -> None:
    with (EXAMPLES / "classifier" / "fruit.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    program = load("classifier/classifier.psk")
    assert sorted({row["kind"] for row in rows}) == ["apple", "lemon", "orange"]
    assert program.consts["K"] == "3"
    assert list(rows[0]) == ["mass", "width", "height", "yellow", "kind"]


def test_the_corpus_has_no_more_symbols_than_minigpt() -> None:
    text = (EXAMPLES / "minigpt" / "corpus.txt").read_text(encoding="utf-8")
    assert len(set(text)) <= int(load("minigpt/minigpt.psk").consts["V"])


@pytest.mark.parametrize(
    ("path", "train"),
    [
        ("minigpt/minigpt.psk", "tiny"),
        ("regression/regression.psk", "regression"),
        ("classifier/classifier.psk", "fruit"),
        ("cnn/cnn.psk", "bars"),
        ("lstm/lstm.psk", "waves"),
        ("vae/vae.psk", "ring"),
    ],
)
def test_an_example_that_learns_has_its_training_block_and_data(path: str, train: str) -> None:
    block = load(path).checked.trains[train]
    assert block.data is not None
    source = Path(EXAMPLES / path).parent / block.data.texts[0]
    assert block.data.name == "synthetic" or source.is_file()
