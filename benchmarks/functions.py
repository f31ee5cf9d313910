"""Elementary functions and the row groups around them, in f32 on one thread, beside NumPy, PyTorch and SciPy.

Ratios are of times in one run, each the best of some, all taken by turns, of the thread's own clock. What isn't
installed is said and left out; where the library a figure is wanted against is missing, nanoseconds per element stand
alone. Wanted: exp and log over 2²⁰ elements at most 1.6 times NumPy's time, tanh 3.5, pow 4, erf 4 times PyTorch's;
softmax and layer norm of [3072, 512] at most 1.2 times PyTorch's, gelu and silu 3; log softmax, the root mean square
norm, and derivatives 2.

Run: .venv/bin/python benchmarks/functions.py
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import presk

COUNT = 1 << 20
ROWS, COLUMNS = 3072, 512
TURNS = 25

PROGRAM = """
fn exp_of(x: real[n]) -> real[n] { exp(x) }
fn log_of(x: real[n]) -> real[n] { log(x) }
fn tanh_of(x: real[n]) -> real[n] { tanh(x) }
fn erf_of(x: real[n]) -> real[n] { erf(x) }
fn pow_of(x: real[n], y: real[n]) -> real[n] { x ** y }
fn softmax_of(x: real[b, n]) -> real[b, n] { softmax(x, axis = n) }
fn norm_of(x: real[b, n], g: real[n], c: real[n]) -> real[b, n] {
  let centred = x - mean(x, axis = n)
  centred * rsqrt(mean(square(centred), axis = n) + 0.00001) * g + c
}
fn gelu_of(x: real[b, n]) -> real[b, n] { gelu(x) }
fn silu_of(x: real[b, n]) -> real[b, n] { silu(x) }
fn logs_of(x: real[b, n]) -> real[b, n] { log_softmax(x, axis = n) }
fn rms_of(x: real[b, n], g: real[n]) -> real[b, n] { x * rsqrt(mean(square(x), axis = n) + 0.00001) * g }
fn entropy_of(x: real[b, n], t: nat[b] < n) -> real { mean(cross_entropy(x, t, axis = n)) }
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What is timed: its entry, its arguments, the libraries' ways by name, and what is wanted against which."""

    name: str
    entry: str
    arguments: tuple[Any, ...]
    others: dict[str, Callable[[], Any]]
    wanted: tuple[str, float] | None = None
    transform: Callable[[Any], Any] = lambda entry: entry


def library(name: str) -> Any | None:
    """A library, where it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def best(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least seconds of each, taken by turns."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(TURNS):
        for name, way in ways.items():
            begin = time.thread_time()
            way()
            found[name] = min(found[name], time.thread_time() - begin)
    return found


def compiled(row: Row) -> Callable[[], Any]:
    """presk's way: the plan that running natively takes."""
    sizes = row.arguments[0].shape
    dims = {"n": sizes[-1]} if len(sizes) == 1 else {"b": sizes[0], "n": sizes[1]}
    entry = row.transform(presk.loads(PROGRAM)[row.entry])
    function = presk.compile(entry, backend="native", realize="f32", dims=dims, threads=1)
    function(*row.arguments)
    return lambda: function(*row.arguments)


def rows(torch: Any, scipy: Any) -> list[Row]:
    """What is timed."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(COUNT) * 2).astype(np.float32)
    positive = (np.abs(x) + 0.001).astype(np.float32)
    wide = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    gain, shift = (rng.standard_normal(COLUMNS).astype(np.float32) for _ in range(2))
    made = [
        Row("exp", "exp_of", (x,), {"numpy": lambda: np.exp(x)}, ("numpy", 1.6)),
        Row("log", "log_of", (positive,), {"numpy": lambda: np.log(positive)}, ("numpy", 1.6)),
        Row("tanh", "tanh_of", (x,), {"numpy": lambda: np.tanh(x)}, ("numpy", 3.5)),
        Row("erf", "erf_of", (x,), {}, ("torch", 4.0)),
        Row("pow", "pow_of", (positive, x), {"numpy": lambda: np.power(positive, x)}, ("numpy", 4.0)),
        Row("softmax", "softmax_of", (wide,), {"numpy": lambda: numpy_softmax(wide)}, ("torch", 1.2)),
        Row(
            "layer norm",
            "norm_of",
            (wide, gain, shift),
            {"numpy": lambda: numpy_norm(wide, gain, shift)},
            ("torch", 1.2),
        ),
        Row("gelu", "gelu_of", (wide,), {}, ("torch", 3.0)),
        Row("silu", "silu_of", (wide,), {"numpy": lambda: wide / (1 + np.exp(-wide))}, ("torch", 3.0)),
    ]
    target = rng.integers(0, COLUMNS, ROWS)
    slope = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    made += [
        Row("log softmax", "logs_of", (wide,), {}, ("torch", 2.0)),
        Row("rms norm", "rms_of", (wide, gain), {}, ("torch", 2.0)),
        Row("entropy, slope", "entropy_of", (wide, target), {}, ("torch", 2.0), presk.value_and_grad),
        Row("gelu's slope", "gelu_of", (wide, slope), {}, ("torch", 2.0), presk.vjp),
        Row("silu's slope", "silu_of", (wide, slope), {}, ("torch", 2.0), presk.vjp),
    ]
    by_name = {row.name: row for row in made}
    if scipy is not None:
        by_name["erf"].others["scipy"] = lambda: scipy.erf(x)
        by_name["gelu"].others["scipy"] = lambda: wide * (1 + scipy.erf(wide / np.float32(2**0.5))) / 2
    if torch is not None:
        add_torch(torch, by_name, x, wide, gain, shift)
        add_slopes(torch, by_name, wide, slope, target)
    return made


def numpy_softmax(x: Any) -> Any:
    """Rows of exponentials over their sums."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def numpy_norm(x: Any, gain: Any, shift: Any) -> Any:
    """Rows of mean 0 and variance 1, then gain and shift."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5)) * gain + shift


def add_torch(torch: Any, rows: dict[str, Row], x: Any, wide: Any, gain: Any, shift: Any) -> None:
    """PyTorch's ways, on one thread."""
    torch.set_num_threads(1)
    functional = torch.nn.functional
    line, plane, g, c = (torch.from_numpy(each) for each in (x, wide, gain, shift))
    rows["tanh"].others["torch"] = lambda: torch.tanh(line)
    rows["erf"].others["torch"] = lambda: torch.erf(line)
    bases = torch.from_numpy(rows["pow"].arguments[0])
    rows["pow"].others["torch"] = lambda: torch.pow(bases, line)
    rows["softmax"].others["torch"] = lambda: torch.softmax(plane, -1)
    rows["layer norm"].others["torch"] = lambda: functional.layer_norm(plane, (COLUMNS,), g, c, 1e-5)
    rows["gelu"].others["torch"] = lambda: functional.gelu(plane)
    rows["silu"].others["torch"] = lambda: functional.silu(plane)


def add_slopes(torch: Any, rows: dict[str, Row], wide: Any, slope: Any, target: Any) -> None:
    """PyTorch's ways of derivatives: its own kernels, without the graph around them."""
    functional, operations = torch.nn.functional, torch.ops.aten
    plane, given, places = (torch.from_numpy(each) for each in (wide, slope, target))
    rows["log softmax"].others["torch"] = lambda: torch.log_softmax(plane, -1)
    rows["rms norm"].others["torch"] = lambda: functional.rms_norm(plane, (COLUMNS,), gain, 1e-5)
    rows["gelu's slope"].others["torch"] = lambda: operations.gelu_backward(given, plane)
    rows["silu's slope"].others["torch"] = lambda: operations.silu_backward(given, plane)
    gain = torch.from_numpy(rows["rms norm"].arguments[1])
    logits = plane.clone().requires_grad_()

    def entropy() -> Any:
        logits.grad = None
        loss = functional.cross_entropy(logits, places)
        loss.backward()
        return loss

    rows["entropy, slope"].others["torch"] = entropy


def main() -> None:
    """Prints the figures."""
    torch, scipy = library("torch"), library("scipy.special")
    for name, found in (("torch", torch), ("scipy", scipy)):
        if found is None:
            print(f"{name} isn't installed: no figures beside it")
    for row in rows(torch, scipy):
        times = best({"presk": compiled(row), **row.others})
        each = times["presk"] / row.arguments[0].size * 1e9
        beside = [f"{times['presk'] / seconds:5.2f} x {name}" for name, seconds in times.items() if name != "presk"]
        line = f"{row.name:14} {each:6.2f} ns an element   " + "   ".join(beside)
        if row.wanted is not None and row.wanted[0] in times:
            line += f"   (wanted: {row.wanted[1]} x {row.wanted[0]})"
        print(line)


if __name__ == "__main__":
    main()
