"""Sweeps that become one kernel: fewer launches, several outputs, the same bits; and which sweeps stay apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.run.record.host import run

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.kernel.lowered import Machine
from presk.kernel.native import verify
from presk.kernel.printer import print_kernels
from presk.realization.model import Plan, Realization
from presk.run.backend import Entry
from presk.run.kernel_backend import KernelInterpreter
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.schedule import Launch, Schedule

TEXT = """
fn adam(p: real[n], g: real[n], m: real[n], v: real[n], b: real) -> (real[n], real[n], real[n]) {
  let m = b * m + (1 - b) * g
  let v = 0.99 * v + 0.01 * square(g)
  (p - 0.1 * (m / (sqrt(v) + 0.00001)), m, v)
}
fn chain(x: real[n, k]) -> (real[n, k], real[n, k]) { let y = x * 3; (y, y * y + x) }
fn turned(x: real[n]) -> (real[n], real[n]) { let y = x * 3; (y, flip(y, axis = 0) + x) }
fn before(x: real[n]) -> (real[n], real[n]) { (x * 3, flip(x, axis = 0) * x) }
fn apart(x: real[n], y: real[k]) -> (real[n], real[k]) { (x * 3, y * 3) }
fn rows(x: real[n, k]) -> (real[n, k], real[n]) { let y = x * 3; (y, sum(y, axis = k)) }
fn strangers(x: real[n], y: real[n], c: real) -> (real[n], real[n]) { (x * c, y * c) }
"""

SIZES = {"n": 6, "k": 4}


def program(entry: str) -> Program:
    return bind(loads(TEXT), entry, dims=SIZES if entry not in ("adam", "turned", "before", "strangers") else {"n": 6})


def recorded(of: Program, kind: str, rule: str, donate: tuple[int, ...] = ()) -> Schedule:
    return record(of, choices(Realization(kind), Plan(rule), of, Machine()), donate)


def launches(schedule: Schedule) -> list[str]:
    return [schedule.kernels[step.kernel].name for step in schedule.steps if isinstance(step, Launch)]


def results(schedule: Schedule) -> list[Any]:
    rng = np.random.default_rng(3)
    types: dict[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": "bfloat16"}
    inputs = {each.path: rng.uniform(size=each.shape).astype(types[each.element.kind]) for each in schedule.inputs}
    return run(schedule, inputs)


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ("adam", ["add_add_sub"]),
        ("chain", ["mul_add"]),
        ("turned", ["mul", "add"]),
        ("before", ["mul_mul"]),
        ("apart", ["mul", "mul"]),
        ("rows", ["mul", "sum"]),
        ("strangers", ["mul", "mul"]),
    ],
)
@pytest.mark.parametrize("kind", ["f64", "f32", "bf16"])
def test_which_sweeps_are_fused(entry: str, wanted: list[str], kind: str) -> None:
    """What is written is accessed at the element at hand alone, and a tensor is accessed by both."""
    of = program(entry)
    plain, fused = (recorded(of, kind, rule) for rule in ("default", "auto"))
    assert launches(fused) == wanted
    verify(print_kernels(fused.kernels))
    for one, other in zip(results(plain), results(fused), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_donated_buffers_are_overwritten_by_the_fused_kernel(kind: str) -> None:
    of = program("adam")
    schedule = recorded(of, kind, "auto", donate=(0, 2, 3))
    assert launches(schedule) == ["add_add_sub"]
    assert schedule.arena == 0
    (kernel,) = schedule.kernels
    assert [each.shares is not None for each in kernel.outputs] == [True] * 3
    verify(print_kernels(schedule.kernels))
    rng, found = np.random.default_rng(3), list[Any]()
    given = [rng.uniform(size=each.type.sizes) for each in of.entry.parameters]  # type: ignore[union-attr]
    for rule in ("default", "auto"):
        backend = KernelInterpreter(watch=True)
        made = backend.prepare(Entry("adam", of), Realization(kind), Plan(rule), threads=1, donate=(0, 2, 3))
        found.append([each.tobytes() for each in made(*given)])
    assert found[0] == found[1]


def test_a_result_in_bf16_is_read_as_it_was_stored() -> None:
    """The kernel loads its own output, so that the second sweep sees what was rounded."""
    (kernel,) = recorded(program("chain"), "bf16", "auto").kernels
    assert "(%1[i0, i1] * %1[i0, i1])" in print_kernels([kernel]) or "s0 = %1[i0, i1]" in print_kernels([kernel])


def test_the_plan_default_fuses_nothing() -> None:
    assert launches(recorded(program("adam"), "f32", "default")) == ["add", "add", "sub"]
