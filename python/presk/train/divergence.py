"""Where a training's loss or gradient stopped being a number: the steps since a position that is still there run once
more, the last of them traced.

A step's parameters are donated, so those before it are gone when its loss is seen. Bits depend on nothing that another
run of the same steps could change, so the step that is traced is the one that failed. Called by the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from presk.choose.blame import Blame, blame
from presk.choose.contributions import Call
from presk.realization.mixed import expanded
from presk.realization.model import Plan
from presk.run.backend import Entry
from presk.run.values import accept
from presk.train.prepare import Training
from presk.train.rows import Array


def take_step(
    training: Training, parameters: Any, state: Any, rows: Mapping[str, Array], step: int
) -> tuple[Any, Any, Any]:
    """One step on these rows: parameters, state and what is measured."""
    size = len(next(iter(rows.values())))
    inputs = (training.tree(rows), np.array(float(step)), np.array(training.rate(step)))
    return training.step(size)(parameters, state, *inputs, seed=training.seed, step=step)


def find_fault(
    training: Training, parameters: Any, state: Any, after: int, failing: int, is_asked: Callable[[], bool]
) -> Blame | None:
    """The first operation of the step `failing` that spoils its result, from the position after the step `after`.

    None where none is seen, or where `is_asked` says that the user wants an end.
    """
    for step, rows in enumerate(training.batches.from_step(after + 1), after + 1):
        if is_asked():
            return None
        if step == failing:
            return _traced(training, parameters, state, rows, step)
        parameters, state, _ = take_step(training, parameters, state, rows, step)
    return None


def _traced(training: Training, parameters: Any, state: Any, rows: Mapping[str, Array], step: int) -> Blame | None:
    core = training.core(len(next(iter(rows.values()))))
    given = (parameters, state, training.tree(rows), np.array(float(step)), np.array(training.rate(step)))
    how = training.how
    names = ("", "", "batch", "step", "lr")
    accepted = [
        accept(name or each.name or "", each.type, value)
        for name, each, value in zip(names, core.entry.parameters, given, strict=True)
    ]
    call = Call(
        Entry(f"{training.task.block.name}.step", core),
        expanded(how.realization, core),
        how.plan or Plan(),
        accepted,
        training.seed,
        step,
        training=True,
        threads=how.threads,
    )
    return blame(how.backend, call)
