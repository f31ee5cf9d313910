"""Schedules divided at bind: what only packs bound parameters runs once, the rest reads what it made; equal bits."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.native.comparing import assert_same
from tests.unit.core.generate import ALL, arguments_of, programs

import presk
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.kernel.reader import read_kernel
from presk.realization.model import Plan, Realization
from presk.run.backend import Backend, Entry
from presk.run.kernel_backend import KernelInterpreter
from presk.run.native_backend import Native
from presk.run.record.bound import is_packing
from presk.run.record.text import print_schedule
from presk.run.scheduled import ScheduledExecutable
from presk.text.diagnostics import PreskError

PROGRAM = presk.loads(
    """
    fn product(w: real[j, k], x: real[i, k]) -> real[i, j] { ein[i, j](x, w) }
    fn layer(w: real[a: k, b: k], x: real[i, a: k]) -> real[i, a: k] { rename(tanh(dot(x, w)), b = a) }
    fn twice(w: real[a: k, b: k], x: real[i, a: k]) -> real[i, a: k] { layer(w, layer(w, x)) }
    fn chain(ws: real[n, a: k, b: k], v: real[a: k, b: k], x: real[i, a: k]) -> real[i, a: k] {
      fold x = x over w in ws along n { layer(v, layer(w, x)) }
    }
    fn nested(ws: real[n, a: k, b: k], us: real[m: 2, a: k, b: k], x: real[i, a: k]) -> real[i, a: k] {
      fold x = x over w in ws along n { fold x = x over u in us along m { layer(u, layer(w, x)) } }
    }
    fn summed(ws: real[n, a: k, b: k], x: real[i, a: k]) -> real {
      sum(fold x = x over w in ws along n { layer(w, x) })
    }
    fn backward(ws: real[n, a: k, b: k], x: real[i, a: k]) -> real[n, a: k, b: k] { grad(summed)(ws, x) }
    """
)
PANEL = {"tile": [4, 8], "lanes": 8, "pack": "panel"}


def arguments(of: Program, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=each.type.sizes) for each in of.entry.parameters]  # type: ignore[union-attr]


DIMS = {"product": {"j": 13, "k": 12, "i": 5}, "twice": {"k": 12, "i": 5}} | {
    name: {"k": 12, "i": 5, "n": 3} for name in ("chain", "nested", "backward")
}
LAYOUTS = {
    "product": {"product/%2": PANEL},
    "twice": {"layer/%2": PANEL},
    "chain": {"layer/%2": PANEL},
    "nested": {"layer/%2": PANEL},
    "backward": {"layer/%2": PANEL, "layer_adjoint/%12": PANEL, "layer_adjoint/%13": PANEL},
}


def prepared(
    name: str, backend: Backend | None = None, realize: str | Realization = "f32", donate: Sequence[int] = ()
) -> ScheduledExecutable:
    of = Entry(name, bind(PROGRAM.checked, name, dims=DIMS[name]))
    realization = Realization(realize) if isinstance(realize, str) else realize
    made = (backend or Native()).prepare(of, realization, Plan("default", LAYOUTS[name]), threads=2, donate=donate)
    assert isinstance(made, ScheduledExecutable)
    return made


def leading(made: ScheduledExecutable, values: Sequence[Any], count: int) -> dict[str, Any]:
    names = [each.name or "" for each in made.entry.program.entry.parameters]
    return dict(zip(names[:count], values, strict=False))


def launched(made: ScheduledExecutable) -> list[str]:
    """The names of the kernels a call launches, in the order of the text."""
    return re.findall(r"launch k\d+ (\w+)", print_schedule(made.schedule))


@pytest.mark.parametrize("backend", [KernelInterpreter(watch=True), Native()], ids=["kernel", "native"])
@pytest.mark.parametrize("name", DIMS)
def test_packs_of_bound_parameters_leave_the_schedule(name: str, backend: Backend) -> None:
    made = prepared(name, backend)
    values = arguments(made.entry.program)
    bound = made.bind(**leading(made, values, len(values) - 1))
    assert_same(bound(values[-1]), made(*values))
    packs = {"product": 1, "twice": 2, "chain": 2, "nested": 2, "backward": 3}[name]
    assert launched(made).count("pack") == packs
    # What a derivative packs of its cotangent is no parameter's.
    assert launched(bound).count("pack") == (1 if name == "backward" else 0)
    assert bound.arena_bytes < made.arena_bytes


def test_all_layers_are_packed_at_once_and_equal_packs_are_one() -> None:
    chain = prepared("chain")
    values = arguments(chain.entry.program)
    bound = chain.bind(**leading(chain, values, 2))
    assert [(each.path, each.shape) for each in bound.schedule.inputs] == [
        ("x", (5, 12)),
        ("ws packed", (3, 192)),
        ("v packed", (192,)),
    ]
    assert bound.packed == 2
    twice = prepared("twice")
    assert [each.path for each in twice.bind(w=values[1]).schedule.inputs] == ["x", "w packed"]


def test_the_panel_is_what_the_pack_makes() -> None:
    made = prepared("product")
    w, _ = arguments(made.entry.program)
    (panel,) = made.bind(w=w).held
    padded = np.zeros((16, 12), np.float32)
    padded[:13] = w
    assert np.array_equal(panel.reshape(2, 12, 8), padded.reshape(2, 8, 12).transpose(0, 2, 1))


def test_parameters_are_bound_one_after_the_other() -> None:
    made = prepared("chain")
    ws, v, x = arguments(made.entry.program)
    wanted = made(ws, v, x)
    for first, second in (({"ws": ws}, {"v": v}), ({"v": v}, {"ws": ws}), ({"x": x}, {"ws": ws, "v": v})):
        bound = made.bind(**first)
        rest = [value for name, value in (("ws", ws), ("v", v), ("x", x)) if name not in first]
        assert_same(bound(*rest), wanted)
        both = bound.bind(**second)
        left = [] if "x" in first else [x]
        assert_same(both(*left), wanted)
        assert both.packed == 2 and "pack" not in launched(both)


def test_conversions_at_a_kernel_s_edge_are_made_once() -> None:
    mixed = Realization("f32", params={"ws": "f64", "v": "f64"})
    made = prepared("chain", realize=mixed)
    ws, v, x = arguments(made.entry.program)
    bound = made.bind(ws=ws, v=v)
    assert "convert" in print_schedule(made.schedule) and "convert" not in print_schedule(bound.schedule)
    assert_same(bound(x), made(ws, v, x))
    assert [each.element.kind for each in bound.schedule.inputs] == ["f32", "f32", "f32"]


@pytest.mark.parametrize("kind", ["int8", "int4"])
@pytest.mark.parametrize("axis", [0, 1])
def test_integers_with_scales_are_packed_as_what_they_stand_for(kind: str, axis: int) -> None:
    quantised = Realization("f32", quant={"ws": {"type": kind, "axis": axis + 1}, "v": {"type": kind, "axis": axis}})
    made = prepared("chain", realize=quantised)
    ws, v, x = arguments(made.entry.program)
    bound = made.bind(ws=ws, v=v)
    assert_same(bound(x), made(ws, v, x))
    assert "pack" not in launched(bound)


def test_what_a_caller_does_afterwards_changes_nothing() -> None:
    made = prepared("chain")
    values = [each.astype(np.float32) for each in arguments(made.entry.program)]
    wanted = made(*values).copy()
    bound = made.bind(**leading(made, values, 2))
    for each in values[:2]:
        each[...] = 7
    assert_same(bound(values[2]), wanted)


def test_calls_at_once_share_what_is_packed() -> None:
    made = prepared("nested")
    ws, us, _ = arguments(made.entry.program)
    bound = made.bind(ws=ws, us=us)
    inputs = [np.random.default_rng(seed).normal(size=(5, 12)) for seed in range(16)]
    wanted = [made(ws, us, x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for found, expected in zip(pool.map(bound, inputs), wanted, strict=True):
            assert_same(found, expected)


def test_a_donated_parameter_that_is_bound_stays_as_it_was() -> None:
    made = prepared("product", donate=[0])
    w, x = arguments(made.entry.program)
    bound = made.bind(w=w)
    wanted = prepared("product")(w, x)
    for _ in range(2):
        assert_same(bound(x), wanted)


@pytest.mark.parametrize(
    ("text", "packs"),
    [
        ("%1[i0] = %0[i0]", True),
        ("%1[i0] = 0", True),
        ("s0 = %0[i0]\n %1[i0] = s0", False),
        ("%1[i0] = (%0[i0] + 1)", False),
        ("%1[i0] = bf16(%0[i0])", False),
        ("if (i0 < 2) { %1[i0] = %0[i0] }", False),
    ],
)
def test_a_pack_only_moves(text: str, packs: bool) -> None:
    kernel = read_kernel(f"kernel k (%0 : f32[4]) -> %1 : f32[4] {{\n for i0 in 0..4 {{\n {text}\n }}\n}}\n")
    assert is_packing(kernel) is packs


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_is_bound_the_bits_are_those_of_a_call(data: st.DataObject) -> None:
    of = data.draw(programs(ALL, lets=data.draw(st.sampled_from((3, 8))), trees=False))
    values = arguments_of(of, data.draw(st.integers(0, 1000)))
    realize = data.draw(st.sampled_from(("f32", "bf16", "f64")))
    plan = Plan(data.draw(st.sampled_from(("default", "auto"))))
    try:
        made = KernelInterpreter(watch=True).prepare(Entry(of.entry.name, of), Realization(realize), plan, threads=1)
        wanted = made(*values, seed=3)
    except PreskError as error:
        # A nat below nothing: there are no such arguments.
        assume(error.code != "E6002")
        raise
    assert isinstance(made, ScheduledExecutable)
    names = [each.name for each in of.entry.parameters]
    chosen = random.Random(data.draw(st.integers(0, 99))).sample(
        range(len(values)), data.draw(st.integers(0, len(values)))
    )
    bound = made.bind(**{str(names[at]): values[at] for at in chosen})
    assert_same(bound(*(value for at, value in enumerate(values) if at not in chosen), seed=3), wanted)


# As users see it

NET = presk.loads("fn apply(w: real[k, j], x: real[i, k]) -> real[i, j] { dot(x, w) }")


def test_a_bound_function_keeps_what_it_was_bound_to() -> None:
    """Also where an executable is made later, for another shape."""
    f = presk.compile(NET["apply"], realize="f32", backend="native")
    rng = np.random.default_rng(0)
    w = rng.normal(size=(64, 48)).astype(np.float32)
    small, large = (rng.normal(size=(rows, 64)).astype(np.float32) for rows in (2, 20))
    wanted = [f(w, x) for x in (small, large)]
    g = f.bind(w)
    w[...] = 1
    assert np.array_equal(g(small), wanted[0])
    w[...] = 2
    assert np.array_equal(g(large), wanted[1])
    given = rng.normal(size=(64, 48)).astype(ml_dtypes.bfloat16)
    h = f.bind(given)
    kept = f(given.copy(), small)
    given[...] = 3
    assert np.array_equal(h(small), kept)


def test_a_bound_function_shows_its_schedule_and_its_memory() -> None:
    panel = presk.Plan("default", {"apply/%2": {"tile": [4, 8], "lanes": 8, "pack": "panel"}})
    f = presk.compile(NET["apply"], realize="f32", backend="native", plan=panel, dims={"i": 4, "k": 64, "j": 48})
    g = f.bind(np.ones((64, 48)))
    assert " pack " in f.schedule and " pack " not in g.schedule
    assert len(f.kernels) == 2 and len(g.kernels) == 1
    panel_bytes = 64 * 48 * 4
    assert (f.memory.arguments, f.memory.scratch, f.memory.packed) == (4 * 64 * 4 + panel_bytes, panel_bytes, 0)
    assert (g.memory.arguments, g.memory.scratch, g.memory.packed) == (4 * 64 * 4, 0, panel_bytes)
    assert g.memory.peak == g.memory.arguments + g.memory.results + g.memory.packed
    g(np.ones((4, 64)))
    assert " pack " not in g.schedule
    exact = presk.compile(NET["apply"], backend="interp", dims={"i": 1, "k": 2, "j": 2}).bind(np.ones((2, 2)))
    with pytest.raises(PreskError, match="E9012"):
        _ = exact.schedule
