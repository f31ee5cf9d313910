"""Synthetic data: rows that a function of the program makes of their numbers.

The function takes `nat[batch] < N`, the rows' numbers, and gives the batch's fields. It is computed in f64, whatever
the training's realization, so that every backend and realization trains on the same rows. Called by `sources`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk.check.calls import session_signature
from presk.check.values import FunctionType, FunctionValue
from presk.core.bind import BindSession, bind_function
from presk.realization.model import Realization
from presk.run import registry, trees
from presk.run.backend import Entry
from presk.shapes.poly import number
from presk.shapes.types import Axis, Tensor
from presk.text.diagnostics import fail
from presk.train.step import Task


def synthesized(task: Task, name: str, count: int, seed: int) -> dict[str, NDArray[Any]]:
    """The arrays of `count` rows by leaf. E8071 where the function takes anything but rows' numbers."""
    session = BindSession(task.checked, training=False)
    function = FunctionValue(task.block.file.declarations[name])
    parameters = session_signature(session, function).parameters
    kind = parameters[0].type if len(parameters) == 1 else None
    if kind is None or isinstance(kind, FunctionType) or not _counts_rows(kind):
        hint = f"`fn {name}(row: nat[batch] < {count}) -> {{x: real[batch, 2]}}`"
        raise fail("E8071", f"`{name}` makes data, so it must take the numbers of rows alone", hint=hint)
    rows = Tensor("nat", (Axis(None, number(count)),), number(count))
    program = bind_function(session, function, name, arguments=[rows])
    backend = registry.make(registry.fastest())
    made = backend.prepare(Entry(name, program), Realization("f64"))(np.arange(count), seed=seed)
    return {".".join(path): np.asarray(leaf) for path, leaf in trees.leaves(made)}


def _counts_rows(kind: object) -> bool:
    return isinstance(kind, Tensor) and kind.kind == "nat" and len(kind.axes) == 1
