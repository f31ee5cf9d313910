"""An addition that joins a contraction's store: one launch less, the same bits, and what can't be joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.run.record.host import run

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.core.sites import sites
from presk.kernel.lowered import Machine
from presk.realization.model import Plan, Realization
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.schedule import Launch, Schedule
from presk.text.diagnostics import PreskError

TEXT = """
fn biased(x: real[i, k], w: real[k, j], b: real[j]) -> real[i, j] { dot(x, w) + b }
fn later(x: real[i, k], w: real[k, j], b: real[j]) -> real[i, j] { dot(x, w) + exp(b) }
fn twice(x: real[i, k], w: real[k, j], b: real[j]) -> (real[i, j], real[i, j]) { let y = dot(x, w); (y + b, y) }
fn itself(x: real[i, k], w: real[k, j], b: real[j]) -> real[i, j] { let y = dot(x, w); y + y }
fn longer(x: real[i, k], w: real[k, j], b: real[j]) -> real[i, j] { tanh(dot(x, w) + b) }
"""

SIZES = {"i": 3, "k": 5, "j": 8}


def program(entry: str) -> Program:
    return bind(loads(TEXT), entry, dims=SIZES)


def recorded(of: Program, realization: Realization, plan: Plan) -> Schedule:
    return record(of, choices(realization, plan, of, Machine()))


def launches(schedule: Schedule) -> list[str]:
    return [schedule.kernels[step.kernel].name for step in schedule.steps if isinstance(step, Launch)]


def results(schedule: Schedule) -> list[Any]:
    rng = np.random.default_rng(3)
    types: dict[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": "bfloat16"}
    inputs = {each.path: rng.normal(size=each.shape).astype(types[each.element.kind]) for each in schedule.inputs}
    return run(schedule, inputs)


@pytest.mark.parametrize("entry", ["biased", "later", "twice", "itself", "longer"])
@pytest.mark.parametrize("kind", ["f64", "f32", "bf16"])
def test_auto_joins_what_can_be_joined(entry: str, kind: str) -> None:
    of, realization = program(entry), Realization(kind)
    plain, joined = (recorded(of, realization, Plan(rule)) for rule in ("default", "auto"))
    spared = len(launches(plain)) - len(launches(joined))
    assert spared == (1 if entry in ("biased", "later") else 0)
    for one, other in zip(results(plain), results(joined), strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_is_added_may_come_about_later() -> None:
    """The addend is computed behind the product, and the joined launch stands behind both."""
    schedule = recorded(program("later"), Realization("f32"), Plan("auto"))
    assert launches(schedule) == ["exp", "dot_add"]


def dot_of(of: Program) -> str:
    return sites(of)[0].key


def test_a_plan_joins_by_the_site_of_the_product() -> None:
    of = program("biased")
    schedule = recorded(of, Realization("f32"), Plan(layout={dot_of(of): {"epilogue": True, "tile": [2, 4]}}))
    assert launches(schedule) == ["dot_add"]


@pytest.mark.parametrize("entry", ["twice", "itself", "longer"])
def test_a_plan_that_joins_what_cannot_be_joined_is_refused(entry: str) -> None:
    of = program(entry)
    with pytest.raises(PreskError, match="condition 6"):
        recorded(of, Realization("f32"), Plan(layout={dot_of(of): {"epilogue": True}}))


def test_a_site_of_another_type_is_not_joined() -> None:
    of = program("biased")
    dot, add = (site.key for site in sites(of))
    mixed = Realization("f32", storage={add: "f64"})
    assert launches(recorded(of, mixed, Plan("auto"))) == ["dot", "add"]
    with pytest.raises(PreskError, match="condition 6"):
        recorded(of, mixed, Plan(layout={dot: {"epilogue": True}}))


def test_a_nest_that_is_joined_has_no_layout_of_its_own() -> None:
    of = program("biased")
    dot, add = (site.key for site in sites(of))
    plan = Plan(layout={dot: {"epilogue": True}, add: {"split": {"depth": 0}}})
    with pytest.raises(PreskError, match=r"joins the store .*condition 2"):
        recorded(of, Realization("f32"), plan)
