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

STEMS = ("regression", "02_mlp", "minigpt", "04_minigpt", "llama", "bert")
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


def by_torch(case: Case, values: list[Any]) -> dict[trees.Path, Any]:
    torch: Any = pytest.importorskip("torch", reason="torch isn't installed")
    library = libraries.MAKERS["torch"](None)
    arguments = libraries.arguments(library, values)
    parameters = {path: leaf.requires_grad_(True) for path, leaf in trees.leaves(arguments[0])}
    objective(case, library)(*arguments).backward()
    # PyTorch has no gradient of what the loss doesn't read.
    return {path: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for path, leaf in parameters.items()}


def by_jax(case: Case, values: list[Any]) -> dict[trees.Path, Any]:
    jax: Any = pytest.importorskip("jax", reason="jax isn't installed")
    library = libraries.MAKERS["jax"](None)
    gradient = jax.grad(objective(case, library))(*libraries.arguments(library, values))
    return {path: np.asarray(leaf) for path, leaf in trees.leaves(gradient)}


@pytest.mark.parametrize("by", [by_torch, by_jax])
@pytest.mark.parametrize("case", MODELS, ids=lambda case: case.name)
def test_gradients_are_the_librarys(case: Case, by: Any) -> None:
    values = prepare(case).values
    wanted = by(case, values)
    program = presk.load(case.path, consts=dict(case.consts))
    found = presk.compile(presk.grad(program["loss"]), realize="f64")(*values)
    leaves = dict(trees.leaves(found))
    assert leaves.keys() == wanted.keys()
    for path, leaf in leaves.items():
        np.testing.assert_allclose(leaf, wanted[path], rtol=1e-9, atol=1e-12, err_msg=".".join(path))
