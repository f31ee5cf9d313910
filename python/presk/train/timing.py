"""How long a step of a train block takes: medians by backend, realization and lanes, as `choose.bench` has of calls.

What is timed is what the loop runs on every batch: forward, backward and the optimizer, one call whose parameters and
state are donated and come back. Each step goes on from the one before, on one batch; reading data, checkpoints and
measurements are no part of it. Called by `presk bench --train`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from presk.check.program import Checked
from presk.check.training import TrainBlock
from presk.choose.bench import Case, Row, backend_of, plan_of, ratios, refused, timed
from presk.realization.model import Plan, Realization
from presk.text.diagnostics import PreskError
from presk.train.prepare import How, Training, prepare

UNREALIZED = Realization("f64")
"""Stands where the reference computes, which reads no realization."""


def measure(
    checked: Checked,
    block: TrainBlock,
    cases: Sequence[Case],
    *,
    plan: Plan,
    threads: int | None,
    repeat: int,
    tell: Callable[[int, int], None] = lambda _done, _whole: None,
) -> list[Row]:
    """The rows, one after the other; a note for what a backend refuses. E807x for the block's data."""
    training: Training | None = None
    found: list[Row] = []
    for at, case in enumerate(cases):
        how = How(backend_of(case), case.realization or UNREALIZED, case.name, plan_of(case, plan), threads, steps=1)
        if training is None:
            training = prepare(checked, block, how)
        try:
            found.append(_measure(replace(training, how=how, _steps={}), case.name, repeat))
        except PreskError as error:
            found.append(refused(case, error))
        tell(at + 1, len(cases))
    return ratios(found)


def _measure(training: Training, name: str, repeat: int) -> Row:
    rows = next(training.batches.from_step(1))
    batch = training.tree(rows)
    began = perf_counter()
    step = training.step(len(next(iter(rows.values()))))
    prepared = perf_counter() - began
    parameters, state = training.begin()
    number, rate = np.array(1.0), np.array(training.rate(1))

    def run() -> None:
        nonlocal parameters, state
        parameters, state, _ = step(parameters, state, batch, number, rate, seed=training.seed, step=1)

    return timed(name, run, repeat, prepared)
