"""What sites contribute: an error put into one site is found there, and the parts add up to the gap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from flint import arb
from tests.unit.choose.rounding import Rounding
from tests.unit.choose.running import compiled

import presk
from presk.choose.contributions import Contributions
from presk.exact.elements import Site

CHAIN = """
fn f(x: real[n]) -> real {
  let a = cumsum(x, axis = -1)
  let b = cumsum(a, axis = -1)
  sum(b)
}
"""


def parts(f: Any, *args: Any, **options: Any) -> Contributions:
    found = f.gap(*args, sites=True, **options).contributions
    assert found is not None
    return found


def spoiling(let: int, by: float) -> Rounding:
    """A machine that is off by so much at the first element of one let."""

    def spoil(site: Site, flat: list[Any]) -> list[Any]:
        return [flat[0] + arb(by), *flat[1:]] if site.let == let else flat

    return Rounding(spoil)


@pytest.mark.parametrize(("let", "weight"), [(1, 4.0), (2, 1.0)])
def test_an_error_is_found_at_its_site_and_followed_to_the_result(let: int, weight: float) -> None:
    x = np.ones(4)
    found = parts(compiled(CHAIN, realize="f64", backend=spoiling(let, 2.0**-10)), x)
    first, *others = found.sites
    assert first.site == f"f/%{let}"
    assert first.name == "ab"[let - 1]
    assert first.effect == pytest.approx(weight * 2.0**-10 / 20)
    assert first.own == pytest.approx(2.0**-10 / {1: 4, 2: 10}[let])
    assert all(each.own == 0 for each in others)
    assert found.inputs == 0
    assert found.unexplained is not None
    assert found.unexplained < 1e-70, "the program is linear: its parts add up exactly"
    assert found.total == pytest.approx(first.effect)


@pytest.mark.parametrize("kind", ["f64", "f32", "bf16"])
@pytest.mark.parametrize(
    ("path", "entry", "dims"),
    [
        ("classifier/classifier.psk", "probabilities", {"batch": 4}),
        ("lstm/lstm.psk", "Forecast.apply", {"batch": 2, "T": 4}),
        ("norms/norms.psk", "layer_norm", {"batch": 2, "N": 8}),
        ("tutorial/03_attention.psk", "attention", {"B": 1, "T": 3}),
    ],
)
def test_parts_add_up_to_the_gap_to_first_order(kind: str, path: str, entry: str, dims: dict[str, int]) -> None:
    f = compiled(path, entry, realize=kind, dims=dims)
    gap = f.gap(**f.synthesize(), sites=True)
    found = gap.contributions
    assert found.total == pytest.approx(gap.worst("max"), rel=1e-6)
    assert found.unexplained <= 0.1 * found.total, "what is left is of second order"
    effects = [each.effect for each in found.sites]
    assert effects == sorted(effects, reverse=True)


def test_rounding_the_inputs_is_a_part_unless_the_reference_reads_them_rounded() -> None:
    f = compiled(CHAIN, realize="f32")
    x = np.array([0.1, 0.2, 0.3])
    assert parts(f, x).inputs == pytest.approx(2.7e-8, rel=0.7)
    assert parts(f, x, from_rounded=True).inputs is None


def test_a_wrong_decision_is_counted_and_followed() -> None:
    text = "fn f(x: real[n: 3], y: real[m: 3]) -> (real, nat < 3) { let i = argmax(x + 1); (y[m = i], i) }"
    x = np.array([1.0 + 2.0**-30, 1.0, 0.0])
    f = compiled(text, realize="f64", backend=Rounding(_to_f32))
    found = {each.primitive: each for each in parts(f, x, np.array([4.0, 2.0, 3.0])).sites}
    assert (found["argmax"].different, found["argmax"].effect) == (1, 0.5), "y[1] in the place of y[0]"
    assert found["argmax"].stored == "int64"
    assert (found["index"].different, found["index"].own, found["index"].effect) == (0, 0, 0)


def _to_f32(site: Site, flat: list[Any]) -> list[Any]:
    return [arb(float(np.float32(float(each)))) for each in flat] if site.primitive == "add" else flat


def test_lost_numbers_are_named_at_the_site_that_loses_them() -> None:
    text = "fn f(x: real[n]) -> real[n] { let a = cumsum(x, axis = -1); cumsum(a, axis = -1) }"
    f = presk.compile(presk.loads(text)["f"], realize="bf16", backend="kernel")
    found = parts(f, np.array([3e38, 3e38]))
    assert {each.site: each.lost for each in found.sites} == {"f/%1": 1, "f/%2": 1}
    assert found.total == math.inf


def test_an_error_that_leads_out_of_the_domain_has_no_effect_to_be_stated() -> None:
    text = "fn f(x: real[n]) -> real { let a = cumsum(x, axis = -1); let b = cumsum(a, axis = -1); sqrt(sum(b)) }"

    def spoil(site: Site, flat: list[Any]) -> list[Any]:
        moved = {1: -1.0, 2: 2.0}.get(site.let, 0.0)
        return [each + arb(moved) for each in flat]

    found = parts(compiled(text, realize="f64", backend=Rounding(spoil)), np.array([0.25, 0.25]))
    effects = {each.site: each.effect for each in found.sites}
    assert effects["f/%1"] is None
    assert effects["f/%2"] is not None
    assert found.unexplained is None


def test_progress_is_told() -> None:
    f = compiled(CHAIN, realize="f32")
    told: list[tuple[int, int]] = []
    f.gap(np.array([0.1, 0.7, 0.3]), sites=True, progress=lambda done, whole: told.append((done, whole)))
    assert told[0][0] == 0
    assert told[-1] == (told[-1][1], told[-1][1])
