"""Programs of several lets: fusion into nests and rows, values kept between passes, values computed at the element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.unit.core.generate import ALL, DRAWING, arguments_of, programs
from tests.unit.kernel.comparing import (
    STORAGES,
    assert_close,
    assert_conforms,
    bits,
    eighths,
    leaves,
    machine,
    normals,
    program,
    run,
)
from tests.unit.kernel.machine import given as held_arguments

from presk.core.roles import ROLES, Role
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.kernel.lowered import Layout, SiteChoice
from presk.text.diagnostics import PreskError

NEST_ROLES = (Role.ELEMENTWISE, Role.MAP, Role.REDUCTION, Role.ROW, Role.FREE)
GROWING = frozenset("pow exp expm1 recip div rsqrt prod".split())
FUSING = frozenset(name for name in ALL - DRAWING if ROLES[name] in NEST_ROLES) - GROWING
"""What shares nests and grows slowly, so that no gap of a long program is one of its conditioning."""

LARGEST = 1e6

PROGRAMS = """
fn layer_norm(x: real[n, d], g: real[d], b: real[d]) -> real[n, d] {
  let c = x - broadcast_to[n, d](mean(x, axis = d))
  c * broadcast_to[n, d](rsqrt(mean(square(c), axis = d) + 1e-5)) * g + b
}
fn attend(s: real[b, q, k: q]) -> real[b, q, k: q] {
  softmax(s / sqrt(7), axis = k, mask = causal_mask[q: q, k: q])
}
fn soft(x: real[n, d]) -> real[n, d] { softmax(x, axis = d) }
fn soft_first(x: real[n, d]) -> real[n, d] { softmax(x, axis = n) * 2 }
fn soft_all(x: real[n, d]) -> real[n, d] { softmax(x, axis = (n, d)) }
fn twice(x: real[n, d]) -> real[n, d] { softmax(softmax(x, axis = d) * 3, axis = d) }
fn log_soft(x: real[n, d], m: bool[d]) -> real[n, d] { where(m, log_softmax(x, axis = d, mask = m), 0) }
fn loss(x: real[n, c], w: real[c], t: nat[n] < c) -> real[n] { cross_entropy(x * w, t) }
fn loss_read(x: real[n, c], t: nat[n] < c, m: bool[n, c]) -> real[n] { cross_entropy(x, t, mask = m) }
fn loss_of_grid(x: real[n, a: 3, b: 2], t: nat[n] < 6) -> real[n] { cross_entropy(x, t, axis = (a, b)) }
fn shares(x: real[n, d]) -> real[n, d] { let e = exp(x); e / broadcast_to[n, d](sum(e, axis = d)) }
fn spread(x: real[n, d]) -> real[n] { max(x, axis = d) - min(x, axis = d) + logsumexp(x, axis = d) }
fn crossed(x: real[a: 3, b: 4]) -> real { sum(x, axis = (a, b)) + sum(transpose(x, (b, a)), axis = (b, a)) * 0.5 }
fn heads(x: real[n, d: 6]) -> real[h: 2, n, e: 3] { transpose(split[h: 2, e: 3](x * 2, axis = d), (h, n, e)) }
fn unheads(x: real[h: 2, n, e: 3]) -> real[n, d: 6] { merge[d](transpose(x, (n, h, e)), axes = (h, e)) * 2 }
fn resplit(x: real[a: 4, b: 3]) -> real[c: 3, d: 4] { split[c: 3, d: 4](merge[m](x + 1, axes = (a, b)), axis = m) * 2 }
fn chosen(x: real[n, d: 3], i: nat < 3) -> real[n] { x[d = i] * 2 + i }
fn nearest(c: real[k, d], x: real[n, d]) -> nat[n] < k {
  argmin(sum(square(broadcast_to[n, k, d](x) - c), axis = d), axis = k)
}
fn masks(x: real[q: n, k: n]) -> real[q: n, k: n] {
  let p = positions[q: n]
  where(causal_mask[q: n, k: n] and not (p == 1), x, eye[q: n, k: n])
}
fn all_true(x: real[n, d]) -> (bool[n], bool) { (all(x > 0, axis = d), any(x > 1)) }
fn derived(x: real[n]) -> real[n] {
  sigmoid(x) + silu(x) + softplus(x) + gelu(x) + gelu_tanh(x) + relu(x) + sign(x) + rsqrt(abs(x) + 1) + recip(x * x + 1)
}
fn both_kept(x: real[n, d]) -> real[n, d] {
  let a = exp(x)
  let b = tanh(a)
  b / broadcast_to[n, d](sum(b, axis = d)) + a / broadcast_to[n, d](max(a, axis = d))
}
"""

SIZES = {
    "layer_norm": {"n": 3, "d": 5},
    "attend": {"b": 2, "q": 4},
    "soft": {"n": 2, "d": 5},
    "soft_first": {"n": 5, "d": 2},
    "soft_all": {"n": 2, "d": 3},
    "twice": {"n": 2, "d": 4},
    "log_soft": {"n": 2, "d": 4},
    "loss": {"n": 3, "c": 4},
    "loss_read": {"n": 3, "c": 4},
    "loss_of_grid": {"n": 2},
    "shares": {"n": 2, "d": 4},
    "spread": {"n": 2, "d": 4},
    "crossed": {},
    "heads": {"n": 4},
    "unheads": {"n": 4},
    "resplit": {},
    "chosen": {"n": 2},
    "nearest": {"k": 3, "d": 2, "n": 4},
    "masks": {"n": 4},
    "all_true": {"n": 3, "d": 2},
    "derived": {"n": 9},
    "both_kept": {"n": 2, "d": 5},
}


def arguments(entry: str, seed: int = 0) -> list[object]:
    """Numbers that every storage holds; masks that allow something everywhere."""
    of = program(PROGRAMS, entry, **SIZES[entry])
    values = arguments_of(of, seed)
    for value in values:
        if isinstance(value, np.ndarray) and value.dtype == np.bool_:
            value[..., 0] = True
    if entry == "loss_read":
        values[1] = np.zeros_like(values[1])
    return values


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("entry", SIZES)
def test_programs_conform(entry: str, storage: str) -> None:
    of = program(PROGRAMS, entry, **SIZES[entry])
    for seed in range(3):
        assert_conforms(of, arguments(entry, seed), storage)


@pytest.mark.parametrize("entry", ["layer_norm", "attend", "loss", "shares", "crossed", "both_kept", "unheads"])
def test_a_program_that_fuses_is_one_kernel(entry: str) -> None:
    of = program(PROGRAMS, entry, **SIZES[entry])
    host = machine(of, "f32")
    host.run(held_arguments(of.entry, arguments(entry), "f32"))
    assert len(host.kernels) == 1, "\n".join(host.kernels)


def test_texts_are_as_they_were(bless: bool) -> None:
    """The operations and their order are part of what a realization means."""
    path = Path(__file__).with_name("lowered.kernel.txt")
    found: list[str] = []
    for entry, sizes in SIZES.items():
        of = program(PROGRAMS, entry, **sizes)
        host = machine(of, "f32")
        host.run(held_arguments(of.entry, arguments(entry), "f32"))
        found += [f"-- {entry}\n", *dict.fromkeys(host.kernels)]
    text = "".join(found)
    if bless:
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_programs_conform(data: st.DataObject) -> None:
    every = data.draw(st.booleans())
    lets = data.draw(st.sampled_from((4, 10, 16)))
    of = data.draw(programs(ALL - DRAWING if every else FUSING, lets=lets, functions=0, trees=False))
    values = arguments_of(of, data.draw(st.integers(0, 1000)))
    try:
        exact = evaluate(of, values, bits=256)
    except PreskError as error:
        assume(error.code not in ("E6003", "E6004", "E6006"))
        raise
    balls = [ball for leaf in leaves(exact) if isinstance(leaf, ExactArray) for ball in leaf.balls()]
    assume(all(abs(ball) < LARGEST for ball in balls))
    assert_close(run(of, values, "f64"), exact, "f64")
    for choice in (SiteChoice("f32"), SiteChoice("bf16"), SiteChoice("f64", partials=3)):
        run(of, values, choice)


@pytest.mark.parametrize("storage", ["f64", "f32"])
@pytest.mark.parametrize("entry", ["soft", "attend", "soft_all", "twice"])
def test_a_softmax_in_two_passes_has_the_bits_of_three(entry: str, storage: str) -> None:
    of = program(PROGRAMS, entry, **SIZES[entry])
    values = [normals(np.random.default_rng(0), *parameter.type.sizes) for parameter in of.entry.parameters]
    three, two = (run(of, values, storage, Layout(passes=passes)) for passes in (3, 2))
    assert bits(three) == bits(two) == bits(run(of, values, storage))


def test_a_value_is_kept_where_computing_it_again_costs_more() -> None:
    of = program(PROGRAMS, "both_kept", n=2, d=5)
    host = machine(of, "bf16")
    host.run(held_arguments(of.entry, arguments("both_kept"), "bf16"))
    (kernel,) = host.kernels
    assert kernel.count("exp(") == kernel.count("tanh(") == 1
    assert "t0 : f32[" in kernel
    assert "t1 : f32[" in kernel


def test_a_row_too_long_to_keep_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    of = program(PROGRAMS, "soft", n=2, d=5)
    values = [normals(np.random.default_rng(1), 2, 5)]
    kept = run(of, values, "f32")
    monkeypatch.setattr("presk.kernel.lower.passes.LARGEST_ROW", 16)
    host = machine(of, "f32")
    again = host.run(held_arguments(of.entry, values, "f32"))
    assert host.kernels[0].count("exp(") == 2
    assert "t0" not in host.kernels[0]
    assert bits(kept) == bits(again)


def test_a_deep_chain_is_no_deep_text() -> None:
    of = program(f"fn deep(x: real[n]) -> real[n] {{ {' '.join(['let x = sin(x + 1);'] * 200)} x }}", "deep", n=3)
    assert_conforms(of, [eighths(np.random.default_rng(2), 3)], "f64")


def test_what_is_computed_at_the_element_is_computed_once_for_many_readers() -> None:
    doubled = " ".join("let m = m and m or m;" for _ in range(40))
    text = f"fn f(x: real[n]) -> real[n] {{ let m = positions[n: n] < 2; {doubled} where(m, x, 0) }}"
    of = program(text, "f", n=3)
    host = machine(of, "f32")
    host.run(held_arguments(of.entry, [np.ones(3)], "f32"))
    assert len(host.kernels[0]) < 8000
