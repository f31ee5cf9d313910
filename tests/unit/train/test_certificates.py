"""Trainings on the reference: midpoints that say they aren't proven, and certified ones that carry their radii."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flint import arb

import presk
from presk.run import trees
from presk.text.diagnostics import PreskError
from presk.train.certificates import shown
from presk.train.events import Event, Remark

EXAMPLE = "examples/regression/regression.psk:regression"


def fit(root: Path, **options: Any) -> tuple[Any, list[str]]:
    said: list[str] = []

    def tell(event: Event) -> None:
        if isinstance(event, Remark):
            said.append(event.text)

    return presk.train(str(root / EXAMPLE), backend="interp", callbacks=[tell], **options), said


def radii(params: Any) -> list[Any]:
    return [each for _, leaf in trees.leaves(params) for each in leaf.radius.reshape(-1).tolist()]


def test_midpoints_say_that_they_prove_nothing(root: Path) -> None:
    run, said = fit(root, steps=1, bits=64)
    assert any("not proven" in each for each in said)
    assert not any(leaf.certified for _, leaf in trees.leaves(run.params))
    with pytest.raises(PreskError):
        radii(run.params)


def test_radii_are_carried_from_step_to_step(root: Path) -> None:
    few, said = fit(root, steps=2, bits=128, certify=True)
    more, _ = fit(root, steps=8, bits=128, certify=True)
    points, _ = fit(root, steps=8, bits=300)
    assert any(each.startswith("proven: the parameters to within ") for each in said)
    assert 0 < max(radii(few.params)) < max(radii(more.params)) < 1e-30
    for (_, ball), (_, point) in zip(trees.leaves(more.params), trees.leaves(points.params), strict=True):
        for mid, radius, near in zip(*(each.reshape(-1) for each in (ball.mid, ball.radius, point.mid)), strict=True):
            assert abs(mid - near) <= radius


def test_a_resumed_training_keeps_its_radii(root: Path, tmp_path: Path) -> None:
    whole, _ = fit(root, steps=4, bits=100, certify=True)
    fit(root, steps=2, bits=100, certify=True, out=tmp_path / "r")
    rest, _ = fit(root, steps=4, bits=100, certify=True, out=tmp_path / "r", resume=True)
    for (_, one), (_, other) in zip(trees.leaves(whole.params), trees.leaves(rest.params), strict=True):
        assert one.mid.tolist() == other.mid.tolist()
        assert other.certified
    assert max(radii(whole.params)) <= max(radii(rest.params)) <= 1.01 * max(radii(whole.params))
    with pytest.raises(PreskError):
        fit(root, steps=5, bits=100, out=tmp_path / "r", resume=True)


def test_a_swamped_step_ends_the_training(root: Path) -> None:
    with pytest.raises(PreskError) as caught:
        fit(root, steps=60, bits=28, certify=True)
    assert caught.value.code in ("E6008", "E6005")
    with pytest.raises(PreskError) as caught:
        fit(root, steps=60, bits=40, certify=True)
    assert caught.value.code == "E6008"
    assert "step " in caught.value.diagnostics[0].message
    assert "at element [" in caught.value.diagnostics[0].message


def test_machine_backends_certify_nothing(root: Path) -> None:
    with pytest.raises(PreskError) as caught:
        presk.train(str(root / EXAMPLE), steps=1, certify=True)
    assert caught.value.code == "E6009"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ((0, 0), "0"),
        ((1, 0), "1.0e0"),
        ((1, -10), "9.8e-4"),
        ((1023, 0), "1.1e3"),
        ((99, 0), "9.9e1"),
    ],
)
def test_radii_are_shown_rounded_up(number: tuple[int, int], text: str) -> None:
    assert shown(arb(number)) == text
