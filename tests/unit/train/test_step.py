"""The step of a train block: its text, and the functions it is bound to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.train.programs import BLOCK, LINEAR, linear

from presk.check.program import Checked, load, loads
from presk.realization.model import Realization
from presk.run import registry, trees
from presk.train.batch_types import leaves, settle
from presk.train.prepare import How, prepare
from presk.train.step import Task, bind_objective, bind_state, frozen_paths, initial, open_task, step_text


def task(checked: Checked, name: str = "fit") -> Task:
    return open_task(checked, checked.trains[name])


def test_the_text_is_a_function_of_the_objective_s_file() -> None:
    assert step_text(task(linear())) == (
        "fn train_step(m: Linear{I, O}, s: {m: Linear{I, O}, v: Linear{I, O}}, "
        "batch: {x: real[batch, I], y: real[batch, O]}, t: real, lr: real) {\n"
        "  let ((loss_, metrics), g) = value_and_grad(loss)(m, batch)\n"
        "  let norm = sqrt(total(map(g = g) { square(g) }))\n"
        "  let (new, s) = optimizer.step(m, g, s, t, lr, weight_decay = 0.01)\n"
        "  (new, s, {loss = loss_, norm = norm, metrics = metrics})\n"
        "}\n"
    )


def test_clipping() -> None:
    at = [line.strip() for line in step_text(task(linear("clip = 1 / 2\n"))).splitlines()]
    assert at[3:5] == ["let scale = 0.5 / maximum(norm, 0.5)", "let g = map(g = g) { g * scale }"]


def test_frozen_parameters_have_no_gradient_and_stay() -> None:
    at = [line.strip() for line in step_text(task(linear('freeze = ["b"]\n'))).splitlines()]
    assert at[0] == (
        "fn moved_loss(m: Linear{I, O}, batch: {x: real[batch, I], y: real[batch, O]}) "
        "{ loss({m with b = stop_gradient(m.b)}, batch) }"
    )
    assert at[2] == "let ((loss_, metrics), g) = value_and_grad(moved_loss)(m, batch)"
    assert at[5] == "let new = {new with b = m.b}"


def test_names_of_the_program_are_kept_clear_of() -> None:
    program = LINEAR.replace("fn loss", "fn optimizer")
    text = f"{program}const m = 1\nconst g = 2\n{BLOCK.replace('objective = loss', 'objective = optimizer')}\n}}\n"
    found = step_text(task(loads(text)))
    assert "value_and_grad(optimizer)(m_, batch)" in found
    assert "optimizer_.step(m_, g_, s, t, lr" in found


@pytest.mark.parametrize("example", ["regression", "minigpt", "classifier", "vae"])
def test_the_batch_s_type_is_the_objective_s_at_the_model(examples: Path, example: str) -> None:
    checked = load(examples / example / f"{example}.psk")
    found = task(checked, next(iter(checked.trains)))
    sizes = {name: [axis.size.whole for axis in each.explicit] for name, each in leaves(found.batch).items()}
    assert (
        sizes
        == {
            "regression": {"x": [None, 1], "y": [None, 1]},
            "minigpt": {"x": [None, 8], "y": [None, 8]},
            "classifier": {"x": [None, 4], "y": [None]},
            "vae": {"x": [None, 2]},
        }[example]
    )


def test_parameters_begin_as_init_of_an_entry_draws_them() -> None:
    import presk

    checked = linear()
    drawn = presk.compile(presk.loads(LINEAR)["loss"], dims={"I": 2, "O": 1, "batch": 4}).init(seed=3)
    for (path, leaf), (_, other) in zip(
        trees.leaves(initial(task(checked), 3, lambda _: "f32")), trees.leaves(drawn), strict=True
    ):
        assert leaf.tobytes() == other.tobytes(), path


def test_the_state_and_the_objective_are_bound() -> None:
    found = task(linear())
    assert bind_state(found).entry.name == "adamw.init[Linear{2, 1}]"
    arrays = {"x": np.zeros((4, 2)), "y": np.zeros((4, 1))}
    program = bind_objective(found, settle(found.batch, arrays, 4))
    assert program.entry.name == "loss"


def test_frozen_paths_are_those_a_pattern_fits() -> None:
    assert frozen_paths(task(linear('freeze = ["w", "b*"]\n'))) == [("w",), ("b",)]
    assert frozen_paths(task(linear())) == []


@pytest.mark.parametrize(("example", "block"), [("regression", "regression"), ("minigpt", "tiny")])
def test_nothing_but_what_is_measured_is_allocated(examples: Path, example: str, block: str) -> None:
    checked = load(examples / example / f"{example}.psk")
    how = How(registry.make("kernel"), Realization("f32"), "f32", steps=1)
    training = prepare(checked, checked.trains[block], how)
    outputs = training.step(training.batches.size).schedule.outputs  # type: ignore[attr-defined]
    assert [each.path for each in outputs if each.shares is None] == ["2.loss", "2.norm"]
