"""Leafwise maps while recording: results of other shapes than their leaves, and maps inside of loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presk
from presk.core.reader import read_program
from presk.realization.model import Realization
from presk.run import registry
from presk.run.backend import Entry

MODULE = "module M { w: real[3, b: 2] = zeros; b: real[2] = zeros; s: real = zeros }\n"
PARAMETERS = {"w": np.arange(1.0, 7.0).reshape(3, 2), "b": np.array([2.0, -1.0]), "s": np.float64(0.5)}


def call(text: str, entry: str, *arguments: Any) -> Any:
    return presk.compile(presk.loads(MODULE + text)[entry], realize="f64")(*arguments)


def test_a_map_of_core_gives_a_number_and_a_leaf() -> None:
    text = """fn f(%0 : {w: real[3, b: 2], s: real}) -> ({w: real, s: real}, {w: real[3, b: 2], s: real}) {
      %1 = map %2 : real[..] in %0 {
        %3 = sum(%2)
        %4 = mul(2, %2)
        %5 = (%3, %4)
        %5
      }
      %1
    }"""
    entry = Entry("f", read_program(text))
    given = {name: PARAMETERS[name] for name in ("w", "s")}
    for backend in ("kernel", "native"):
        sums, doubled = registry.make(backend).prepare(entry, Realization("f64"))(given)
        assert {name: float(each) for name, each in sums.items()} == {"w": 21.0, "s": 0.5}
        np.testing.assert_array_equal(doubled["w"], 2 * PARAMETERS["w"])


def test_a_map_in_a_loop() -> None:
    found = call("fn f(m: M) -> M { fold m = m over i in 0..3 { map(p = m) { p / 2 } } }", "f", PARAMETERS)
    for name, each in PARAMETERS.items():
        np.testing.assert_array_equal(found[name], each / 8)


@pytest.mark.parametrize("plan", ["auto", "default"])
def test_of_two_products_that_are_added_one_joins_the_store(plan: str) -> None:
    program = presk.loads("fn f(a: real[4, 8], b: real[8, 8], c: real[4, 8]) { dot(a, b) + dot(c, b) }")
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(-4, 5, (4, 8)), rng.integers(-4, 5, (8, 8)), rng.integers(-4, 5, (4, 8))
    found = presk.compile(program["f"], realize="f64", plan=plan)(*(each.astype(np.float64) for each in (a, b, c)))
    np.testing.assert_array_equal(found, a @ b + c @ b)
