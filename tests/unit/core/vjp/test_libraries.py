"""Gradients of the models against PyTorch's and JAX's in float64, where these are installed.

The same Core is stated in the library (`choose.libraries`), and the library differentiates it by means of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import presk
from presk.choose import libraries
from presk.choose.conformance.cases import Case, cases, prepare
from presk.core.bind import bind
from presk.run import trees
from presk.text.diagnostics import PreskError

MODELS = [
    case
    for case in cases(("gradient",))
    if case.entry == "grad(loss)"
    and case.path.stem in ("regression", "02_mlp", "minigpt", "04_minigpt", "llama", "bert")
]


def objective(case: Case, library: libraries.Library) -> Any:
    """The objective as a function of the library's arrays; of (real, record) the real."""
    checked = presk.load(case.path, consts=dict(case.consts)).checked
    plain = replace(library, compile=lambda function: function)
    try:
        stated = libraries.state(bind(checked, "loss", dims=case.dims), plain, "f64")
    except PreskError as error:
        pytest.skip(str(error))

    def call(*arguments: Any) -> Any:
        found = stated(*arguments)
        return found[0] if isinstance(found, tuple) else found

    return call


def by_torch(case: Case, values: list[Any]) -> list[Any]:
    pytest.importorskip("torch", reason="torch isn't installed")
    library = libraries.MAKERS["torch"](None)
    arguments = libraries.arguments(library, values)
    parameters = [leaf.requires_grad_(True) for _, leaf in trees.leaves(arguments[0])]
    objective(case, library)(*arguments).backward()
    return [leaf.grad.numpy() for leaf in parameters]


def by_jax(case: Case, values: list[Any]) -> list[Any]:
    jax: Any = pytest.importorskip("jax", reason="jax isn't installed")
    library = libraries.MAKERS["jax"](None)
    gradient = jax.grad(objective(case, library))(*libraries.arguments(library, values))
    return [np.asarray(leaf) for _, leaf in trees.leaves(gradient)]


@pytest.mark.parametrize("by", [by_torch, by_jax])
@pytest.mark.parametrize("case", MODELS, ids=lambda case: case.name)
def test_gradients_are_the_librarys(case: Case, by: Any) -> None:
    values = prepare(case).values
    wanted = by(case, values)
    program = presk.load(case.path, consts=dict(case.consts))
    found = presk.compile(presk.grad(program["loss"]), realize="f64")(*values)
    for (path, leaf), expected in zip(trees.leaves(found), wanted, strict=True):
        np.testing.assert_allclose(leaf, expected, rtol=1e-9, atol=1e-12, err_msg=".".join(path))
