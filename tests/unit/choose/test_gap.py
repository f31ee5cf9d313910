"""The gap of a call, on a machine that rounds every value once: what it finds, states and certifies."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.unit.choose.rounding import Faulty, Rounding
from tests.unit.choose.running import compiled

import presk
from presk.choose.measure import Decided, OutputGap
from presk.choose.report import figure

LINEAR = "fn f(x: real[n]) -> real[n] { x * 3 }"
EPSILON = {"f64": 2.0**-53, "f32": 2.0**-24, "bf16": 2.0**-8}


@pytest.mark.parametrize("kind", EPSILON)
def test_one_operation_is_off_by_its_roundings(kind: str) -> None:
    x = np.random.default_rng(0).normal(size=200)
    whole = compiled(LINEAR, realize=kind).gap(x)
    product = compiled(LINEAR, realize=kind).gap(x, from_rounded=True)
    assert 0.5 * EPSILON[kind] < product.worst() <= EPSILON[kind]
    if kind == "f64":
        assert whole.worst() == product.worst(), "an f64 input isn't rounded"
    else:
        assert product.worst() < whole.worst() <= 2.01 * EPSILON[kind]
    (output,) = whole.outputs
    assert isinstance(output, OutputGap)
    assert output.radius is not None
    assert output.radius < 1e-70


def test_the_certificate_names_what_was_measured() -> None:
    f = compiled(LINEAR, realize="f32")
    x = np.array([0.1, 0.2])
    found = f.gap(x, seed=3)
    data = found.json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["hashes"]["program"] == f.entry.program.hash
    assert data["hashes"]["realization"] == presk.Realization("f32").hash
    assert data["realization"] == {"name": "f32", "default": "f32"}
    assert data["reference"] == {"bits": 256, "begun_at": 256, "proven": True, "inputs": "as given"}
    assert data["call"]["seed"] == 3
    assert data["outputs"][0]["relative"]["worst"] == found.worst()
    assert f.gap(x, seed=3).json() == data, "the same call has the same certificate"
    other = f.gap(x + 1e-12, seed=3).json()
    assert other["hashes"]["inputs"] != data["hashes"]["inputs"]
    assert other["hashes"]["core"] == data["hashes"]["core"]
    wider = compiled(LINEAR, realize="f64").gap(x).json()
    assert wider["hashes"]["result"] != data["hashes"]["result"]


def test_exact_inputs_are_read_exactly_and_have_a_hash() -> None:
    f = compiled(LINEAR, realize="f64")
    third = np.array([Fraction(1, 3)], dtype=object)
    found = f.gap(third)
    assert found.worst() == 0, "the machine's 1 is exact: the ball around it is no gap"
    assert 0 < found.bound() < 1e-76
    assert 0 < f.gap(np.array([Fraction(1, 7)], dtype=object)).worst() < 2.0**-52
    assert f.gap(np.array([Fraction(2, 6)], dtype=object)).hashes.inputs == found.hashes.inputs
    assert f.gap(np.array([1 / 3])).hashes.inputs != found.hashes.inputs


def test_nan_on_the_machine_is_named() -> None:
    def spoilt(array: Any) -> Any:
        array = array.copy()
        array[1:] = [np.nan, np.inf]
        return array

    found = compiled(LINEAR, realize="f32", backend=Faulty(spoilt)).gap(np.ones(3))
    assert found.worst("abs") == math.inf
    assert found.exceeds(1e300, "abs")
    text = str(found)
    assert "result: 1 of 3 elements are defined over ℝ, NaN on the machine, first at [n = 1]" in text
    assert "1 of 3 elements are defined over ℝ, infinite on the machine" in text
    assert found.json()["outputs"][0]["relative"]["worst"] == "inf"


def test_what_is_undefined_over_the_reals_is_an_error() -> None:
    with pytest.raises(presk.PreskError) as caught:
        compiled("fn f(x: real[n]) -> real[n] { log(x) }", realize="f32").gap(np.array([1.0, -1.0]))
    assert caught.value.code == "E6003"


def test_what_can_not_be_certified_is_an_error_unless_midpoints_will_do() -> None:
    f = compiled("fn f(x: real[n]) -> bool[n] { exp(log(x)) < x }", realize="f64")
    x = np.array([3.0])
    with pytest.raises(presk.PreskError) as caught:
        f.gap(x, bits=64)
    assert caught.value.code == "E6005"
    found = f.gap(x, bits=64, certify=False)
    assert not found.proven
    assert found.json()["reference"]["proven"] is False
    assert isinstance(found.outputs[0], Decided)


def test_decisions_that_differ() -> None:
    text = "fn f(x: real[n: 3]) -> nat < 3 { argmax(x + 1) }"
    close = np.array([1.0, 1.0 + 2.0**-30, 1.0])
    found = compiled(text, realize="f32").gap(close)
    assert found.worst() == math.inf
    assert "1 over ℝ and 2 on the machine" in str(found)
    assert compiled(text, realize="f64").gap(close).worst() == 0


def test_the_reference_has_no_gap() -> None:
    f = presk.compile(presk.loads(LINEAR)["f"], backend="interp")
    with pytest.raises(presk.PreskError) as caught:
        f.gap(np.ones(2))
    assert caught.value.code == "E9010"


def test_limits_hold_in_each_norm() -> None:
    found = compiled(LINEAR, realize="f32").gap(np.array([0.1, 100.1]))
    assert found.worst("max") <= found.worst("rel") < found.worst("abs")
    assert found.exceeds(found.worst("abs") / 2, "abs")
    assert not found.exceeds(found.worst("rel"), "rel")
    assert found.exceeds(math.nan), "a limit that is no number is met by nothing"


def test_it_shows_itself() -> None:
    backend = Rounding()
    found = compiled("norms/norms.psk", "layer_norm", realize="f32", dims={"N": 4, "batch": 2}, backend=backend)
    values = found.synthesize()
    gap = found.gap(**values, sites=True)
    assert repr(gap).startswith("<presk.Gap layer_norm: f32 on `rounding`, ")
    assert "rounding the inputs" in str(gap)
    assert gap._repr_html_().count("<table>") == 2
    assert backend.calls == 2, "the call, and the one that is looked into"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1.25e-7, "1.3e-07"),
        (1.0, "1.0e+00"),
        (9.99e-5, "1.0e-04"),
        (9.91e10, "1.0e+11"),
        (2.0, "2.0e+00"),
        (math.inf, "inf"),
        (None, "–"),
    ],
)
def test_figures_are_rounded_up(value: float | None, shown: str) -> None:
    assert figure(value) == shown
    if value and math.isfinite(value):
        assert value <= float(shown) <= 1.12 * value
