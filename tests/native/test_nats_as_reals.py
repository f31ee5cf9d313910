"""A nat where a real is taken: every nat there is, passed through every boundary, on every backend and realization.

Each program gives the nats back as reals, unchanged over the reals. So a machine's result is the nat as the type its
elements are stored in has it, and the dtype is that type's: 2**24 + 1 is rounded in f32.
"""

from __future__ import annotations

from functools import cache
from itertools import cycle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import presk
from presk.api.program import Entry
from presk.core.sites import sites
from presk.core.verify import verify

LARGE = 2**24 + 1

BOUND = 8 * LARGE + 1

PARAMETERS = f"x: real[n: 4], i: nat[n: 4] < {LARGE + 1}, j: nat[n: 4] < 9, k: nat < 4"

ARGUMENTS: dict[str, Any] = {
    "x": np.array([0.5, -1.5, 3.25, 1.0]),
    "i": np.array([LARGE, 0, 257, 3]),
    "j": np.array([8, 1, 0, 5]),
    "k": 3,
}
FIRST, SECOND = ARGUMENTS["i"], ARGUMENTS["j"]

NATS: dict[str, tuple[str, Any]] = {
    "an argument": ("i", FIRST),
    "a scalar": ("k", 3),
    "a sum": ("i + j", FIRST + SECOND),
    "a product": ("i * j", FIRST * SECOND),
    "a size": ("4", 4),
    "positions": ("positions[n: 4]", np.arange(4)),
    "argmax": ("argmax(x, axis = n)", 2),
    "times one": ("i * 1.0", FIRST),
    "by one": ("i / 1", FIRST),
    "less nothing": ("i - 0", FIRST),
    "a choice": ("where(x > 0, i, j)", np.where(ARGUMENTS["x"] > 0, FIRST, SECOND)),
    "an element": ("i[n = k]", 3),
    "looked up": ("take(i, argmax(x, axis = n), axis = n)", 257),
    "turned": ("flip(i, axis = n)", FIRST[::-1]),
    "cut off from derivatives": ("stop_gradient(i) * 1", FIRST),
    "a function's": ("nats(i)", FIRST),
    "in a record": ("record(i).a", FIRST),
    "the last state of a loop": (f"fold s = i over e in j along n {{ where(s > {LARGE}, s, i) }}", FIRST),
    "one way of a choice known when bound": ("if 1 < 2 { i } else { x }", FIRST),
}
"""What gives nats, and which."""

BOUNDARIES: dict[str, str] = {
    "a result": "E",
    "an argument": "same(E)",
    "an argument passed on": "twice(same, E)",
    "what a function parameter gives": "given(whole, E)",
    "a tuple": "first((E, 1))",
    "a record": "field({a = E, b = k})",
    "a record's field": "field({{a = (E) + 0.5, b = 1} with a = E})",
    "a record that a call gave": "field(recorded(E))",
    "where a loop starts": "fold s = E over e in 0..2 { s * 2 / 2 }",
    "where a loop of calls starts": "fold s = (E) * 1.0 over e in 0..2 { same(s) }",
    "a round of a loop": "fold s = (E) + 0.5 over e in 0..2 { E }",
    "a round of a scan": "last(scan s = (E) + 0.5 over e in 0..2 { (E, E) })",
    "a module": "m(E)",
    "a gradient's argument": "grad(squares)(E)",
    "a gradient": "grad(weighted)((E) * 0.0 + 1.5, E)",
    "a cotangent": "vjp(same)((E) + 0.5)(E)",
}
"""What takes E as a real and gives it back."""

OF_NATS = {"what a function parameter gives", "a record that a call gave"}
"""What takes nats alone."""

REALS = {"times one", "by one", "less nothing", "one way of a choice known when bound"}
"""What is of type real already; that it is made of nats shows only once it is simplified."""

CASES = [(nat, way) for nat in NATS for way in BOUNDARIES if nat not in REALS or way not in OF_NATS]


def source(nat: str, boundary: str) -> str:
    """A program whose entry passes a nat through a boundary."""
    text, value = NATS[nat]
    axes = "n: 4" if np.ndim(value) else ""
    real = f"real[{axes}]" if axes else "real"
    below = f"nat[{axes}] < {BOUND}" if axes else f"nat < {BOUND}"
    total = "sum" if axes else ""
    return f"""
module M {{
  w: real = constant(0)
  fn apply(self, x: {real}) -> {real} {{ x + self.w }}
}}
fn nats(i: nat[n: 4] < {LARGE + 1}) -> nat[n: 4] < {LARGE + 1} {{ i }}
fn record(i: nat[n: 4] < {LARGE + 1}) -> {{a: nat[n: 4] < {LARGE + 1}}} {{ {{a = i}} }}
fn same(x: {real}) -> {real} {{ x }}
fn twice(f: fn({real}) -> {real}, x: {real}) -> {real} {{ f(f(x)) }}
fn first(t: ({real}, real)) -> {real} {{ t.0 + (t.1 - t.1) }}
fn field(t: {{a: {real}, b: real}}) -> {real} {{ t.a }}
fn recorded(x: {below}) -> {{a: {below}, b: nat < 2}} {{ {{a = x, b = 1}} }}
fn whole(x: {below}) -> {below} {{ x }}
fn given(f: fn({below}) -> {real}, x: {below}) -> {real} {{ fold s = f(x) over e in 0..2 {{ s * 2 / 2 }} }}
fn last(t: ({real}, real[{", ".join(filter(None, ("e: 2", axes)))}])) -> {real} {{ t.0 + 0 * t.1[e = 1] }}
fn squares(x: {real}) -> real {{ {total}(x * x) / 2 }}
fn weighted(x: {real}, w: {real}) -> real {{ {total}(x * w) }}
fn f(m: M, {PARAMETERS}) -> {real} {{ {BOUNDARIES[boundary].replace("E", text)} }}
"""


INTERLEAVED = presk.Realization("f32", order={"kind": "interleaved", "partials": 3})
REALIZATIONS: tuple[str | presk.Realization | None, ...] = ("f64", "f32", "bf16", INTERLEAVED, None)
"""None: the types of sites by turns, f64, f32, bf16."""

WAYS: list[tuple[str, str | presk.Realization | None]] = [
    ("interp", "f64"),
    *[(backend, realization) for realization in REALIZATIONS for backend in ("kernel", "native")],
]


@cache
def program(nat: str, boundary: str) -> Entry:
    return presk.loads(source(nat, boundary))["f"]


def mixed(entry: Entry) -> presk.Realization:
    """Another type at each site than at the one before it."""
    core = presk.compile(entry).core(m={"w": 0.0}, **ARGUMENTS)
    verify(core)
    names = [f"{site.function}/%{site.number}" for site in sites(core)]
    return presk.Realization("f32", storage=dict(zip(names, cycle(("f64", "f32", "bf16")), strict=False)))


def called(entry: Entry, backend: str, realization: str | presk.Realization | None) -> np.ndarray[Any, Any]:
    compiled = presk.compile(entry, backend=backend, realize=mixed(entry) if realization is None else realization)
    return np.asarray(compiled(m={"w": 0.0}, **ARGUMENTS))


def rounded(nat: str, realization: str | presk.Realization) -> np.ndarray[Any, Any]:
    """The nats in a realization's type: that of single numbers is f32 where tensors are bf16."""
    value = np.asarray(NATS[nat][1], dtype=np.float64)
    if realization == "f64":
        return value
    single = value.astype(np.float32)
    return single.astype(ml_dtypes.bfloat16) if realization == "bf16" and value.ndim else single


def hold(nat: str, boundary: str, backend: str, realization: str | presk.Realization | None) -> None:
    """Asserts what a backend gives in a realization."""
    found = called(program(nat, boundary), backend, realization)
    if realization is None:
        types = [rounded(nat, each) for each in ("f64", "f32", "bf16")]
        assert any(found.astype(np.float64).tolist() == each.astype(np.float64).tolist() for each in types)
        assert found.dtype.kind in "fV"
        return
    expected = rounded(nat, realization)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


IDS = [f"{nat} as {boundary}" for nat, boundary in CASES]


@pytest.mark.parametrize(("nat", "boundary", "turn"), [(*case, at) for at, case in enumerate(CASES)], ids=IDS)
def test_a_nat_is_a_real_there(nat: str, boundary: str, turn: int) -> None:
    hold(nat, boundary, *WAYS[(turn + turn // len(WAYS)) % len(WAYS)])


@pytest.mark.slow
@pytest.mark.parametrize(("nat", "boundary"), CASES, ids=IDS)
def test_it_is_one_in_every_realization_on_every_backend(nat: str, boundary: str) -> None:
    for backend, realization in WAYS:
        hold(nat, boundary, backend, realization)
