"""Keys of a train block given otherwise."""

from __future__ import annotations

import pytest
from tests.unit.train.programs import linear

from presk.check.training import TrainBlock
from presk.shapes.constants import show
from presk.text.diagnostics import PreskError
from presk.train.overrides import override


def changed(**changes: str) -> TrainBlock:
    checked = linear("clip = 1.0\n")
    return override(checked, checked.trains["fit"], {key.replace("__", "."): text for key, text in changes.items()})


def numbers(given: dict[str, object]) -> dict[str, str]:
    return {name: show(value) for name, value in given.items()}  # type: ignore[arg-type]


def test_nothing_changes_nothing() -> None:
    checked = linear()
    assert override(checked, checked.trains["fit"], {}) is checked.trains["fit"]


def test_a_key_is_replaced_or_added() -> None:
    found = changed(batch="2 * 8", clip="1 / 3", patience="4", last="keep", freeze='["w"]')
    assert (found.settings["batch"], found.settings["patience"], found.keep_last) == (16, 4, True)
    assert (found.clip is not None and show(found.clip), found.freeze) == ("(1 / 3)", ("w",))
    assert found.settings["seed"] == 3


def test_a_keyword_is_replaced_or_added() -> None:
    found = changed(lr__peak="1e-3", lr__warmup="0", optimizer__beta1="0.5")
    assert numbers(dict(found.rate.numbers)) == {"peak": "0.001", "warmup": "0"}
    assert numbers(dict(found.optimizer.numbers)) == {"weight_decay": "0.01", "beta1": "0.5"}


def test_a_keyword_where_none_were() -> None:
    assert numbers(dict(changed(optimizer="sgd", optimizer__momentum="0.9").optimizer.numbers)) == {"momentum": "0.9"}
    assert numbers(dict(changed(lr="0.5", lr__peak="0.25").rate.numbers)) == {"peak": "0.25"}
    assert numbers(dict(changed(lr="linear(1, 10)", lr__warmup="5").rate.numbers)) == {"peak": "1", "warmup": "5"}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"batches": "3"}, "E8020"),
        ({"batch": "0"}, "E8028"),
        ({"optimizer": "adam"}, "E8025"),
        ({"optimizer__beta": "1"}, "E8025"),
        ({"lr__peek": "1"}, "E8026"),
        ({"batch__size": "3"}, "E8078"),
        ({"data__split": "0.5"}, "E8078"),
        ({"batch": "3 }"}, "E1012"),
        ({"batch": ""}, "E1010"),
        ({"accumulate": "4"}, "E8085"),
    ],
)
def test_what_can_not_be_set(changes: dict[str, str], code: str) -> None:
    with pytest.raises(PreskError) as caught:
        changed(**changes)
    assert caught.value.code == code, caught.value.render()
