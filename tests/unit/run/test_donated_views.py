"""Results that are views of donated arguments come back in their own shapes, at every step of a chain of calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presk
from presk.core.bind import bind
from presk.realization.model import Realization
from presk.run import registry, trees
from presk.run.backend import Entry

VIEWS = {
    "split": "fn f(x: real[6], y: real[6]) -> (real[a: 2, b: 3], real[6]) { (split[a: 2, b: 3](x, axis = 0), y + 1) }",
    "merge": "fn f(x: real[a: 2, b: 3], y: real[6]) -> (real[6], real[6]) { (merge(x, axes = (a, b)), y * 2) }",
    "rename": "fn f(x: real[a: 6], y: real[6]) -> (real[b: 6], real[6]) { (rename(x, a = b), y * 2) }",
    "element": "fn f(x: real[1], y: real[6]) -> (real, real[6]) { (x[0 = 0], y * 2) }",
    "slice of one": "fn f(x: real[a: 1, 6], y: real[6]) -> (real[6], real[6]) { (x[a = 0], y * 2) }",
    "twice split": "fn f(x: real[6], y: real[6]) -> (real[a: 1, b: 2, c: 3], real[6]) "
    "{ (split[a: 1, b: 2, c: 3](x, axis = 0), y) }",
    "exchanged": "fn f(x: real[a: 2, b: 3], y: real[6]) -> (real[6], real[a: 2, b: 3]) "
    "{ (merge(x, axes = (a, b)), split[a: 2, b: 3](y, axis = 0)) }",
    "grown": "fn f(x: real, y: real[6]) -> (real[a: 1], real[6]) { (broadcast_to[a: 1](x), y) }",
    "nats": "fn f(x: nat[6] < 9, y: real[6]) -> (nat[a: 2, b: 3] < 9, real[6]) { (split[a: 2, b: 3](x, axis = 0), y) }",
    "truths": "fn f(x: bool[a: 2, b: 3], y: real[6]) -> (bool[6], real[6]) { (merge(x, axes = (a, b)), y) }",
    "record": "fn f(x: {u: real[6]}, y: real[6]) -> ({v: real[a: 3, b: 2]}, real[6]) "
    "{ ({v = split[a: 3, b: 2](x.u, axis = 0)}, y) }",
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("kind", ["f64", "f32", "bf16"])
def test_a_view_of_a_donated_array_has_the_results_shape(name: str, kind: str) -> None:
    program = bind(presk.loads(VIEWS[name]).checked, "f")
    entry = Entry("f", program)
    values: list[Any] = list(presk.compile(presk.loads(VIEWS[name])["f"]).synthesize(seed=3).values())
    wanted = registry.make("kernel").prepare(entry, Realization(kind))(*values)
    for backend in ("kernel", "native"):
        run = registry.make(backend).prepare(entry, Realization(kind), donate=(0, 1))
        given = run(*[trees.map_leaves(value, np.array) for value in values])
        for (path, found), (_, expected) in zip(trees.leaves(given), trees.leaves(wanted), strict=True):
            assert found.shape == expected.shape, path
            assert np.array_equal(np.asarray(found, np.float64), np.asarray(expected, np.float64))
