"""A watched evaluation: every primitive's value is seen in order, and what the watch gives is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb
from tests.unit.exact.building import bound

from presk.exact.context import Run
from presk.exact.elements import Site
from presk.exact.evaluate import evaluate
from presk.exact.reals import Reals
from presk.text.diagnostics import InternalError

PROGRAM = """
fn double(x: real[n]) -> real[n] { 2 * x }
fn f(x: real[n: 2]) -> real { fold s = 1 over i in 0..3 { s * sum(double(x)) } }
"""


def test_every_primitive_is_seen_in_the_order_of_evaluation() -> None:
    program = bound(PROGRAM)
    seen: list[tuple[str, str, float]] = []

    def watch(run: Run, site: Site, value: Any) -> Any:
        assert isinstance(value, Reals)
        seen.append((site.function, site.primitive, float(value.points()[0])))
        return value

    found = evaluate(program, [np.array([1.0, 2.0])], watch=watch)
    assert float(found) == 216
    assert seen == [
        step for s in (6.0, 36.0, 216.0) for step in (("double", "mul", 2.0), ("f", "sum", 6.0), ("f", "mul", s))
    ]


def test_what_the_watch_gives_is_used() -> None:
    program = bound(PROGRAM)

    def watch(run: Run, site: Site, value: Any) -> Any:
        return run.given([arb(10)]) if site.primitive == "sum" else value

    assert float(evaluate(program, [np.ones(2)], watch=watch)) == 1000
    assert float(evaluate(program, [np.ones(2)])) == 64, "an evaluation that isn't watched is another one"


def test_a_certified_evaluation_is_not_watched() -> None:
    with pytest.raises(InternalError):
        evaluate(bound(PROGRAM), [np.ones(2)], certify=True, watch=lambda run, site, value: value)
