"""Calls of machine code to be run under Valgrind: what `make memcheck` runs.

Every load and store of the extension and of the code it makes is watched; a fault ends the run with exit code 9.
There are entries for each way of addressing: contractions in tiles of both kinds, ragged and packed, rows together,
functions, choices by masks, gathers, quantised rows, divided loops, donated and strided arrays. Python's own allocator
is off, so that arrays have ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import presk
from presk.realization.model import Realization
from presk.run.backend import Entry
from presk.run.native_backend import Native

PROGRAM = """
fn product(x: real[i, k], w: real[k, j], b: real[j]) -> real[i, j] { relu(dot(x, w) + b) }
fn norm(x: real[n, d]) -> real[n, d] {
  let c = x - mean(x, axis = d)
  softmax(c * rsqrt(mean(square(c), axis = d)), axis = d)
}
fn looked_up(x: real[n, k], t: nat[batch] < n) -> real[batch, k] { tanh(embed(x, t)) }
fn steps(x: real[n]) -> real[n] { fold x = x over i in 0..3 { x * 0.5 + flip(x, axis = 0) } }
fn moved(p: real[n], g: real[n], m: real[n]) -> (real[n], real[n]) { let m = 0.9 * m + g; (p - 0.1 * m, m) }
fn chosen(x: real[n, d], y: real[n, d], keep: bool[n, d], k: nat[n, d] < 9) -> (real[n, d], bool[n, d]) {
  (where(keep and causal_mask[n, d] and (k == 3), pow(abs(x), y), silu(y) * k), (x < y) or not keep)
}
module Layer { w: real[13, 7] = zeros
  fn apply(self, x: real[i, 13]) -> real[i, 7] { dot(x, self.w) } }
"""

CALLS: list[tuple[str, dict[str, int]]] = [
    ("product", {"i": 7, "k": 37, "j": 19}),
    ("product", {"i": 1, "k": 5, "j": 130}),
    ("product", {"i": 18, "k": 40, "j": 33}),
    ("norm", {"n": 9, "d": 11}),
    ("looked_up", {"n": 5, "k": 3, "batch": 4}),
    ("steps", {"n": 17}),
    ("moved", {"n": 13}),
    ("chosen", {"n": 3, "d": 19}),
    ("chosen", {"n": 2, "d": 64}),
]

TILES: list[dict[str, Any]] = [
    {"tile": [4, 8], "lanes": 4, "pack": True, "kblock": 32, "order": "KIJ"},
    {"tile": [6, 16], "lanes": 8, "pack": "panel"},
    {"tile": [2, 16], "lanes": 8, "pack": "both", "kblock": 32, "order": "KJI"},
    {"tile": [2, 4], "lanes": 1, "split": {"depth": 0, "workers": 2}},
]


def main() -> None:
    """Runs all calls, in three types, on one thread and on two, under `auto` and under plans of their own."""
    program = presk.loads(PROGRAM)
    rng = np.random.default_rng(0)
    for name, dims in CALLS:
        core = presk.compile(program[name], backend="interp", dims=dims).core()
        values = [value_of(each.type, rng) for each in core.entry.parameters]
        plans = [presk.Plan("auto")]
        if dims.get("i") == 18:
            plans += [presk.Plan("default", {"product/%3": layout}) for layout in TILES]
        for kind in ("f32", "f64", "bf16") if len(plans) == 1 else ("f32",):
            for plan in plans:
                run = Native().prepare(Entry(name, core), Realization(kind), plan, threads=2)
                run(*values)
                run(*(np.asfortranarray(each)[::1] for each in values))
        print(name, dims, flush=True)
    donated = presk.compile(program["moved"], backend="interp", dims={"n": 13}).core()
    run = Native().prepare(Entry("moved", donated), Realization("f32"), threads=1, donate=(0, 2))
    run(*(np.ones(13, np.float32) for _ in range(3)))
    for of in ({"type": "int8", "axis": 1}, {"type": "int4", "axis": 0}):
        layer = presk.compile(program["Layer.apply"], realize=Realization("f32", quant={"w": of}), backend="native")
        layer({"w": rng.normal(size=(13, 7))}, rng.normal(size=(3, 13)))
    print("done", flush=True)


def value_of(of: Any, rng: Any) -> Any:
    """A value of a tensor's type."""
    if of.kind == "bool":
        return rng.random(of.sizes) < 0.5
    return rng.integers(0, of.bound.whole, size=of.sizes) if of.kind == "nat" else rng.normal(size=of.sizes)


if __name__ == "__main__":
    main()
