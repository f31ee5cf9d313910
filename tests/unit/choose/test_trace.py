"""Traced programs: the same result, the same sites, and their values in the order of evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.choose.rounding import Faulty
from tests.unit.choose.running import compiled
from tests.unit.core.generate import arguments_of, random_program

import presk
from presk.check.program import load, loads
from presk.choose.trace import observations, traced
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.core.simplify import simplify
from presk.core.sites import sites
from presk.core.verify import verify
from presk.exact.evaluate import evaluate
from presk.exact.rules.task import points
from presk.exact.values import ExactArray
from presk.run.synthesis import synthesize
from presk.text.diagnostics import InternalError, PreskError

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
BITS = 64

FORMS = """
import adamw
module M { a: real[3, 2] = normal(std = 1); b: real[2] = zeros }
fn step(p: M, g: M, s: {m: M, v: M}, t: real, lr: real) -> (M, {m: M, v: M}) { adamw.step(p, g, s, t, lr) }
fn stacks(x: real[seq: 3, 2], y: real[seq: 3]) -> (real, real[t: 3]) {
  let (s, z) = scan s = 0 over x in x along seq {
    let w = y + sum(x)
    (sum(w), sum(square(w)))
  }
  (s, rename(z, seq = t))
}
fn pairs(x: real[n: 4]) -> (real[k: 2], nat[k: 2] < 4) {
  let (values, places) = top_k(x, 2)
  let (values, places) = (rename(values, n = k), rename(places, n = k))
  (values * 2, places)
}
fn nothing(x: real[n: 4]) -> real[n: 4] { x }
fn leaves(p: M, q: M) -> (M, M) { map(p = p, q = q) { (p * 2 + q, p - q) } }
"""


def flat(value: Any) -> list[Any]:
    """A value's numbers, however it is held."""
    several = value if isinstance(value, tuple) else (value,)
    out: list[Any] = []
    for each in several:
        if isinstance(each, ExactArray):
            out += each.balls()
        else:
            out += each.reshape(-1).tolist() if isinstance(each, np.ndarray) else points(each)
    return out


def hold(program: Program, values: list[Any]) -> int:
    """Holds a traced program to a watched evaluation; gives how many values were seen."""
    looked_into = traced(program)
    verify(looked_into.program)
    known = {site.key for site in sites(program)}
    assert [site.key for site in sites(looked_into.program)] == [site.key for site in sites(program)]
    seen: list[tuple[str, Any]] = []

    def watch(run: Any, site: Any, value: Any) -> Any:
        key = f"{site.function}/%{site.let}"
        if key in known:
            seen.append((key, flat(value)))
        return value

    plain = evaluate(program, values, bits=BITS, watch=watch)
    result, trace = evaluate(looked_into.program, values, bits=BITS)
    found = [(site.key, flat(value)) for site, value in observations(looked_into.pieces, trace)]
    assert [key for key, _ in found] == [key for key, _ in seen]
    for (key, mine), (_, theirs) in zip(found, seen, strict=True):
        assert len(mine) == len(theirs)
        assert all(bool(one == other) for one, other in zip(mine, theirs, strict=True)), key
    assert repr(result) == repr(plain)
    return len(found)


def made_up(program: Program) -> list[Any]:
    return [synthesize(each.name or "", each.type, 0) for each in program.entry.parameters]


@pytest.mark.parametrize(
    ("path", "entry", "dims", "seen"),
    [
        ("minigpt/minigpt.psk", "MiniGPT.apply", {"batch": 2}, 41),
        ("minigpt/minigpt.psk", "MiniGPT.next_token", {"batch": 1}, 46),
        ("lstm/lstm.psk", "loss", {"batch": 2, "T": 3}, None),
        ("llama/llama.psk", "Llama.apply", {"batch": 1, "S": 3}, None),
        ("vae/vae.psk", "loss", {"batch": 2}, None),
        ("tutorial/03_attention.psk", "attention", {"B": 1, "T": 3}, 3),
    ],
)
def test_examples(path: str, entry: str, dims: Mapping[str, int], seen: int | None) -> None:
    program = bind(load(EXAMPLES / path), entry, dims=dims)
    found = hold(program, made_up(program))
    assert found > 2
    assert seen is None or found == seen


@pytest.mark.parametrize(("entry", "seen"), [("step", 8), ("stacks", 12), ("pairs", 2), ("nothing", 0), ("leaves", 4)])
def test_maps_scans_along_a_name_and_tuples(entry: str, seen: int) -> None:
    program = bind(loads(FORMS), entry)
    assert hold(program, made_up(program)) == seen


def defined(program: Program, values: list[Any]) -> bool:
    """Whether the program has a result on these values: a traced one has none where a site has none."""
    try:
        evaluate(program, values, bits=BITS)
    except PreskError:
        return False
    return True


def test_generated_programs() -> None:
    whole = 0
    for seed in range(120):
        program = simplify(random_program(seed, lets=8))
        looked_into = traced(program)
        verify(looked_into.program)
        assert sites(looked_into.program) == sites(program)
        values = arguments_of(program, seed)
        if defined(looked_into.program, values):
            whole += hold(program, values) > 0
    assert whole > 40


@pytest.mark.parametrize("backend", ["kernel", "native"])
@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize(
    ("path", "entry", "dims"),
    [
        ("minigpt/minigpt.psk", "MiniGPT.next_token", {"batch": 2}),
        ("lstm/lstm.psk", "loss", {"batch": 2, "T": 3}),
        ("cnn/cnn.psk", "loss", {"batch": 1}),
    ],
)
def test_being_looked_into_changes_no_bit(
    backend: str, kind: str, path: str, entry: str, dims: Mapping[str, int]
) -> None:
    f = presk.compile(presk.load(EXAMPLES / path)[entry], backend=backend, realize=kind, dims=dims)
    found = f.gap(**f.synthesize(), sites=True, bits=64)
    assert found.contributions is not None, "an error is raised where the bits are others"
    assert len(found.contributions.sites) > 5


def test_a_machine_that_is_changed_by_being_looked_into_is_found_out() -> None:
    calls: list[int] = []

    def change(array: Any) -> Any:
        calls.append(1)
        return array + len(calls)

    f = compiled("fn f(x: real[n]) -> real[n] { x * 2 }", backend=Faulty(change))
    with pytest.raises(InternalError, match="changed its bits"):
        f.gap(np.ones(2), sites=True)


@pytest.mark.parametrize("backend", ["interp", "kernel"])
def test_a_trace_has_the_values_of_every_evaluation(backend: str) -> None:
    text = """
    fn double(x: real[n]) -> real[n] { 2 * x }
    fn f(x: real[n: 2]) -> real { fold s = 1 over i in 0..3 { s * sum(double(x)) } }
    """
    f = presk.compile(presk.loads(text)["f"], backend=backend, realize="f64")
    found = f.trace(np.array([1.0, 2.0]))
    assert [len(values) for values in found.values()] == [3, 3]
    doubled, products = found.values()
    assert [np.asarray(value).tolist() for value in doubled] == [[2, 4]] * 3
    assert [float(value) for value in products] == [6, 36, 216]
