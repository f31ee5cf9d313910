"""Timing: which rows there are, that they time the call they say, and what they leave out."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import presk
from presk.choose import bench
from presk.choose.contributions import Call
from presk.run.backend import Entry
from presk.run.values import accept

LAYER = "fn f(x: real[n, k], w: real[k, m], b: real[m]) -> real[n, m] { dot(x, w) + b }"


def call(text: str = LAYER, **dims: int) -> Call:
    """A call of an entry on made-up values."""
    compiled = presk.compile(presk.loads(text)["f"], backend="interp", dims=dims or {"n": 4, "k": 5, "m": 8})
    values = compiled.synthesize(seed=1)
    core = compiled.core(**values)
    given = [accept(each.name or "", each.type, values[each.name or ""]) for each in core.entry.parameters]
    return Call(Entry("f", core), presk.Realization("f32"), presk.Plan("default"), given, threads=1)


UNIFORM = [presk.Realization(name) for name in bench.UNIFORM]


def test_rows_are_backends_by_realizations_and_lanes() -> None:
    names = [case.name for case in bench.cases(UNIFORM)]
    assert names[:4] == ["interp 64 bits", "kernel f64", "kernel f32", "kernel bf16"]
    assert names[4:] == [f"native {kind}{lanes}" for kind in bench.UNIFORM for lanes in ("", " +lanes")]
    assert [case.name for case in bench.cases(UNIFORM[:1], native_only=True)] == ["native f64", "native f64 +lanes"]


def test_every_row_is_measured() -> None:
    told: list[tuple[int, int]] = []
    rows = bench.measure(list(bench.cases(UNIFORM)), call(), 2, lambda done, whole: told.append((done, whole)))
    assert [row.note for row in rows] == [None] * len(rows)
    assert all(row.median and row.best and row.first and row.prepare and row.best <= row.median for row in rows)
    assert rows[0].ratio == 1 and all(row.ratio == rows[0].median / row.median for row in rows)
    assert told[-1] == (len(rows), len(rows))


def test_a_sample_is_the_time_of_a_call() -> None:
    times, calls = bench.sample(lambda: time.sleep(0.003), 3)
    assert len(times) == calls == 3
    assert all(0.003 <= each < 1 for each in times)
    quick, many = bench.sample(lambda: None, 2)
    assert many > 200 and max(quick) < 1e-3


def test_a_realization_that_does_not_run_is_a_note() -> None:
    odd = presk.Realization("f32", accum={"f/%3": "bf16"})
    (row,) = bench.measure([bench.Case("kernel", odd)], call(), 1)
    assert row.median is None and row.note is not None and row.note.startswith("E7002")


def test_an_unknown_backend_is_no_row() -> None:
    with pytest.raises(presk.PreskError) as caught:
        bench.measure([bench.Case("natve", UNIFORM[0])], call(), 1)
    assert caught.value.code == "E9002"


def test_the_profile_is_the_schedules_steps() -> None:
    profile = bench.host_profile(bench.Case("native", UNIFORM[1], True), call(), 3)
    assert [each.label.split()[0] for each in profile.launches] == ["dot", "add"]
    assert all(each.runs == 1 and each.seconds > 0 for each in profile.launches)
    assert profile.call > 0


def test_modules_are_bound_and_the_rest_converted(examples: object) -> None:
    entry = presk.load(f"{examples}/tutorial/01_linear.psk")["Linear{3, 2}.apply"]
    compiled = presk.compile(entry, backend="interp", dims={"batch": 4})
    values = compiled.synthesize(seed=1)
    core = compiled.core(**values)
    given = [accept(each.name or "", each.type, values[each.name or ""]) for each in core.entry.parameters]
    made = Call(Entry(entry.name, core), UNIFORM[1], presk.Plan("default"), given)
    executable, rest = bench.prepared(bench.Case("native", UNIFORM[1], True), made)
    assert bench.modules(core) == ["self"]
    assert [each.dtype for each in rest] == [np.float32]
    np.testing.assert_allclose(executable(*rest), np.asarray(compiled(**values)), rtol=1e-5)


def test_a_library_beside_presk() -> None:
    row = bench.against("numpy", UNIFORM[1], call(), 2)
    assert row.name.startswith("numpy f32 (") and row.median and row.note is None
    assert "element by element" in (bench.against("numpy", UNIFORM[2], call(), 2).note or "")
    unstated = bench.against("numpy", UNIFORM[1], call("fn f(x: real[n]) -> real[n] { cumsum(x, axis = 0) }", n=3), 2)
    assert unstated.median is None and "`cumsum`" in (unstated.note or "")


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_library_that_may_be_installed(name: str) -> None:
    pytest.importorskip(name)
    for realization in UNIFORM:
        row = bench.against(name, realization, call(), 2)
        assert row.name.startswith(f"{name} {realization.name} (") and row.median and row.note is None


def test_a_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    row = bench.against("torch", UNIFORM[1], call(), 2)
    assert row.median is None and "torch" in (row.note or "")
