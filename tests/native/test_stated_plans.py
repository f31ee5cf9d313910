"""Plans given back: what `auto` chose runs again from its file; every kernel of a GPT is divided at each depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.native.comparing import TYPES, assert_same, cases_of

import presk
from presk.choose.conformance.cases import Case, prepare
from presk.core.nodes import Program
from presk.core.sites import sites
from presk.kernel.lowered import Chosen
from presk.realization.model import Plan, Realization
from presk.run.backend import Entry
from presk.run.kernel_backend import KernelInterpreter
from presk.run.machine import planned_for
from presk.run.native_backend import Native
from presk.run.record.choices import choices
from presk.run.record.chosen_text import stated_plan
from presk.run.record.recorder import record
from presk.run.record.text import print_schedule

EXAMPLES = Path(presk.__file__).resolve().parent / "examples"
DEPTHS, BATCHES, WORKERS = (0, 1, 2), (1, 4), (2, 4)


def recorded(program: Program, realization: Realization, plan: Plan, chosen: dict[str, list[Chosen]]) -> str:
    return print_schedule(record(program, choices(realization, plan, program, planned_for(2)), chosen=chosen))


@pytest.mark.parametrize("group", ["example", "gradient"])
def test_what_a_rule_chose_is_recorded_again_from_its_file(group: str, tmp_path: Path) -> None:
    seen: set[tuple[Path, str]] = set()
    for case in cases_of(group):
        if (case.path, case.entry) in seen or len(seen) > 60:
            continue
        seen.add((case.path, case.entry))
        program = prepare(case).program
        for rule in ("auto", "scalar", "default"):
            realization, chosen = Realization("bf16" if len(seen) % 3 == 0 else "f32"), dict[str, list[Chosen]]()
            text = recorded(program, realization, Plan(rule), chosen)
            plan = stated_plan(Plan(rule), program, realization.name, chosen)
            plan.write(tmp_path / "plan.json")
            read = Plan.read(tmp_path / "plan.json")
            assert read == plan
            assert recorded(program, realization, read, {}) == text, (case.name, rule)


def test_a_compiled_entrys_plan_is_what_runs() -> None:
    program = presk.load(EXAMPLES / "minigpt" / "minigpt.psk")
    f = presk.compile(program["grad(loss)"], dims={"batch": 2}, threads=1)
    again = presk.compile(program["grad(loss)"], dims={"batch": 2}, threads=1, plan=f.plan)
    assert again.schedule == f.schedule
    assert again.plan == f.plan
    values = f.synthesize()
    assert_same(again(**values), f(**values))
    with pytest.raises(presk.PreskError) as caught:
        presk.compile(program["MiniGPT.apply"], dims={"batch": 2}, plan=f.plan).schedule  # noqa: B018
    assert caught.value.code == "E7002"


def gpt(batch: int) -> tuple[Program, list[Any]]:
    path = EXAMPLES / "minigpt" / "minigpt.psk"
    prepared = prepare(Case("example", path, "MiniGPT.apply", {"batch": batch}))
    return prepared.program, prepared.values


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_every_kernel_of_a_gpt_divided_at_each_depth_has_its_bits(batch: int, kind: str) -> None:
    program, values = gpt(batch)
    realization = Realization(kind)
    wanted = KernelInterpreter().prepare(Entry("apply", program), realization, Plan("default"))(*values)
    divided = 0
    for site in sites(program):
        for depth in DEPTHS:
            workers = WORKERS[(site.number + depth) % len(WORKERS)]
            plan = Plan("default", {site.key: {"split": {"depth": depth, "workers": workers}}})
            try:
                run = Native().prepare(Entry("apply", program), realization, plan, threads=workers)
            except presk.PreskError as error:
                if "(condition 8)" not in str(error):
                    raise
                continue
            assert_same(run(*values), wanted)
            divided += 1
    assert divided > 30


def test_rows_without_lanes_call_no_vectors() -> None:
    """The machine code of the plan `scalar` has no packed arithmetic, rows' sums and extremes included."""
    text = "fn f(x: real[b: 64, n: 64], w: real[n: 64, k: 64]) -> real[b: 64, k: 64] { softmax(dot(x, w), axis = k) }"
    f = presk.compile(presk.loads(text)["f"], plan="scalar", backend="kernel")
    assert "<v" not in f.schedule and "tile" not in f.schedule and "apply" not in f.schedule
    assert f.plan.layout == {"f/%2": {"lanes": 1}}
    x, w = np.ones((64, 64)), np.eye(64)
    program = presk.compile(presk.loads(text)["f"]).core()
    plain = Native(lanes=False).prepare(Entry("f", program), Realization("f32"), Plan("scalar"), threads=1)
    assert_same(plain(x, w), f(x, w))
