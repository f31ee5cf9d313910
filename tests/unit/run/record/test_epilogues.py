"""Groups that join a contraction's store: one launch less, the same bits, and what can't or needn't be joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.run.record.host import run

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Apply, Program
from presk.core.sites import sites
from presk.kernel.lowered import Chosen, Machine
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
fn scaled(x: real[i, k], w: real[k, j], b: real[j]) -> real[i, j] { relu(dot(x, w) + b) * 0.7 }
fn gated(x: real[i, k], w: real[k, j], b: real[j]) -> real[i, j] { silu(dot(x, w) + b) * dot(exp(x), w) }
"""

SIZES = {"i": 3, "k": 5, "j": 8}


def program(entry: str) -> Program:
    return bind(loads(TEXT), entry, dims=SIZES)


def recorded(of: Program, realization: Realization, plan: Plan, machine: Machine | None = None) -> Schedule:
    return record(of, choices(realization, plan, of, machine or Machine()))


def launches(schedule: Schedule) -> list[str]:
    return [schedule.kernels[step.kernel].name for step in schedule.steps if isinstance(step, Launch)]


def results(schedule: Schedule) -> list[Any]:
    rng = np.random.default_rng(3)
    types: dict[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": "bfloat16"}
    inputs = {each.path: rng.normal(size=each.shape).astype(types[each.element.kind]) for each in schedule.inputs}
    return run(schedule, inputs)


TINY = Machine(1, (64, 32))
"""A machine from whose second cache these results are far."""


@pytest.mark.parametrize("entry", ["biased", "later", "twice", "itself", "longer", "scaled", "gated"])
@pytest.mark.parametrize("kind", ["f64", "f32", "bf16"])
def test_auto_joins_what_pays(entry: str, kind: str) -> None:
    """An addition always, what has no function where the result is far, what has one never."""
    of, realization = program(entry), Realization(kind)
    plain = recorded(of, realization, Plan("default"))
    for machine in (Machine(), TINY):
        joined = recorded(of, realization, Plan("auto"), machine)
        spared = len(launches(plain)) - len(launches(joined))
        is_far = machine is TINY and entry == "scaled" and kind != "bf16"
        assert spared == (entry in ("biased", "later", "itself") or is_far)
        for one, other in zip(results(plain), results(joined), strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["f64", "f32", "bf16"])
@pytest.mark.parametrize("entry", ["itself", "longer", "scaled", "gated"])
def test_a_plan_joins_any_elementwise_group(entry: str, kind: str) -> None:
    of, realization = program(entry), Realization(kind)
    plain = recorded(of, realization, Plan("default"))
    joined = recorded(of, realization, Plan(layout={dot_of(of): {"epilogue": True}}))
    assert len(launches(joined)) == len(launches(plain)) - 1
    for one, other in zip(results(plain), results(joined), strict=True):
        assert one.tobytes() == other.tobytes()


def test_of_two_products_in_one_group_a_plan_joins_one() -> None:
    of = program("gated")
    dots = {let.number for let in of.entry.body.lets if isinstance(let.value, Apply) and let.value.primitive == "dot"}
    both = {site.key: {"epilogue": True} for site in sites(of) if site.number in dots}
    with pytest.raises(PreskError, match="condition 6"):
        recorded(of, Realization("f32"), Plan(layout=both))


def test_a_reason_says_what_is_joined() -> None:
    found: dict[str, list[Chosen]] = {}
    of = program("scaled")
    record(of, choices(Realization("f32"), Plan("auto"), of, TINY), chosen=found)
    assert found[dot_of(of)][0].layout.epilogue
    assert "epilogue: the sweep add, relu, mul alone reads the product" in found[dot_of(of)][0].why


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


@pytest.mark.parametrize("entry", ["twice"])
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
