"""What runs, as a Compiled shows it: memory, kernels and schedule."""

from __future__ import annotations

import numpy as np
import pytest

import presk
from presk.run.record.reader import read_schedule

PROGRAM = presk.loads(
    "fn f(x: real[n, k], w: real[k, m]) -> real[n, m] { tanh(dot(x, w)) }\nfn twice(x: real[n]) -> real[n] { x + x }"
)


def test_memory_is_that_of_arguments_results_and_what_lies_between() -> None:
    f = presk.compile(PROGRAM["f"], realize="f32", dims={"n": 3, "k": 20, "m": 40})
    assert (f.memory.arguments, f.memory.results) == (4 * (3 * 20 + 20 * 40), 4 * 3 * 40)
    assert f.memory.scratch >= 4 * 3 * 40, "the product is stored before its function is taken"
    assert f.memory.peak == f.memory.arguments + f.memory.results + f.memory.scratch
    assert presk.compile(PROGRAM["twice"], realize="f64", dims={"n": 7}).memory == type(f.memory)(56, 56, 0)


def test_weights_of_four_bits_take_half_a_byte_each_and_rows_end_at_one() -> None:
    realization = presk.Realization(quant={"w": {"type": "int4", "axis": 1}})
    module = presk.loads(
        "module M { w: real[5, 3] = zeros\n fn apply(self, x: real[5]) -> real[3] { dot(x, self.w) } }"
    )
    memory = presk.compile(module["M.apply"], realize=realization).memory
    assert memory.arguments == 5 * 2 + 3 * 4 + 5 * 4


def test_the_last_call_is_what_is_shown() -> None:
    f = presk.compile(PROGRAM["twice"], realize="f64")
    with pytest.raises(presk.PreskError) as error:
        f.schedule  # noqa: B018
    assert error.value.code == "E4001"
    for n in (3, 5, 3):
        f(np.ones(n))
        assert f.memory.results == 8 * n
        assert f"f64[{n}]" in f.schedule
    assert read_schedule(f.schedule).name == "twice"
    (kernel,) = f.kernels
    assert kernel.startswith("kernel add (")
    assert f.plan == presk.Plan("default", realization="f64", fuse=True, entry="twice", core=f.plan.core)


def test_the_reference_has_none() -> None:
    f = presk.compile(PROGRAM["twice"], backend="interp", dims={"n": 3})
    for name in ("schedule", "kernels", "memory", "plan"):
        with pytest.raises(presk.PreskError) as error:
            getattr(f, name)
        assert error.value.code == "E9012"
