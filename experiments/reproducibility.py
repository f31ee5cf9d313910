"""When does the same computation give the same bits? PyTorch, JAX and presk asked the same questions.

    python experiments/reproducibility.py            # whatever is installed
    python experiments/reproducibility.py presk      # one of presk, torch, jax

Each question computes something in two ways that mean the same over the real numbers, in f32, and compares bits. What
is printed are the elements that differ, of how many, and by how many units in the last place at most. Every library
gets the same inputs. Threads are changed by each library's own means; JAX takes its number from the cores a process
may run on when it starts, so it is asked in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Arrays = list[np.ndarray]

LIBRARIES = ("torch", "jax", "presk")

SEED = 7
ROWS, WIDTH, HIDDEN, PLACES = 64, 384, 1536, 64


def inputs() -> dict[str, np.ndarray]:
    """What every library computes on."""
    draw = np.random.default_rng(SEED).standard_normal
    return {
        "long": draw(1_000_000, np.float32),
        "x": draw((ROWS, WIDTH), np.float32),
        "w": draw((WIDTH, HIDDEN), np.float32) / np.float32(np.sqrt(WIDTH)),
        "b": draw(HIDDEN, np.float32),
        "many": draw((768, 128), np.float32),
        "g": draw((768, 128), np.float32),
        "q": draw((1, PLACES, WIDTH), np.float32),
        "wq": draw((WIDTH, 3 * WIDTH), np.float32) / np.float32(np.sqrt(WIDTH)),
    }


QUESTIONS = {
    "sum": "the sum of a million numbers: 1 thread, 2 threads",
    "gradient": "the gradients of a layer norm's scale and shift over 768 rows: 1 thread, 2 threads",
    "linear": "a linear layer on 2 rows: by themselves, as the first of 64",
    "rows": "layer norm, gelu, softmax on 2 rows: by themselves, as the first of 64",
    "cache": "attention's last position: over a cache, in the whole pass",
    "compiled": "layer norm, gelu, softmax: compiled, operation by operation",
    "draws": "dropout masks of rows 4 to 7: in a batch of 8, in two batches of 4",
}


# PyTorch


def torch_answers(question: str, threads: int) -> tuple[Arrays, Arrays] | Arrays | None:
    """Both ways, or the one way at so many threads, or None where the question isn't asked."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    given = {name: torch.from_numpy(each) for name, each in inputs().items()}

    def rows(x: Any) -> Any:
        return torch.softmax(functional.gelu(functional.layer_norm(x, (WIDTH,))), -1)

    def attend(x: Any) -> tuple[Any, Any, Any]:
        return (x @ given["wq"]).split(WIDTH, -1)

    with torch.no_grad():
        match question:
            case "sum":
                return [given["long"].sum().numpy()]
            case "linear":
                w = given["w"].T.contiguous()
                both = (functional.linear(x, w, given["b"])[:2].numpy() for x in (given["x"][:2], given["x"]))
                return tuple([each] for each in both)  # type: ignore[return-value]
            case "rows":
                return [rows(given["x"][:2]).numpy()], [rows(given["x"])[:2].numpy()]
            case "cache":
                q, k, v = attend(given["q"])
                whole = functional.scaled_dot_product_attention(q, k, v, is_causal=True)[:, -1]
                parts = [attend(given["q"][:, at : at + 1]) for at in range(PLACES)]
                k, v = (torch.cat([part[each] for part in parts], 1) for each in (1, 2))
                return [functional.scaled_dot_product_attention(parts[-1][0], k, v)[:, 0].numpy()], [whole.numpy()]
            case "draws":
                ones = torch.ones(8, 16)
                torch.manual_seed(SEED)
                whole = functional.dropout(ones, training=True)[4:] != 0
                torch.manual_seed(SEED)
                return [(functional.dropout(ones[4:], training=True) != 0).numpy()], [whole.numpy()]
            case "compiled":
                return None  # torch.compile wants a C++ compiler
    norm = torch.nn.LayerNorm(128)
    (norm(given["many"]) * given["g"]).sum().backward()
    return [each.grad.numpy() for each in norm.parameters() if each.grad is not None]


# JAX


def jax_answers(question: str, threads: int) -> tuple[Arrays, Arrays] | Arrays | None:
    """As for PyTorch; the number of threads was settled when the process began."""
    import jax
    import jax.numpy as jnp

    given = inputs()

    def norm(p: Any, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * p["g"] + p["b"]

    def rows(x: Any) -> Any:
        return jax.nn.softmax(jax.nn.gelu(norm({"g": 1.0, "b": 0.0}, x), approximate=False), -1)

    def attend(q: Any, k: Any, v: Any, allowed: Any) -> Any:
        scores = jnp.where(allowed, q @ k.swapaxes(1, 2) / np.float32(np.sqrt(WIDTH)), -jnp.inf)
        return jax.nn.softmax(scores, -1) @ v

    def projected(x: Any) -> Any:
        return jnp.split(x @ given["wq"], 3, -1)

    match question:
        case "sum":
            return [np.asarray(jax.jit(jnp.sum)(given["long"]))]
        case "gradient":
            zero = {"g": jnp.ones(128), "b": jnp.zeros(128)}
            found = jax.jit(jax.grad(lambda p, x: (norm(p, x) * given["g"]).sum()))(zero, given["many"])
            return [np.asarray(found[name]) for name in ("g", "b")]
        case "linear":
            linear = jax.jit(lambda x: x @ given["w"] + given["b"])
            return [np.asarray(linear(given["x"][:2]))], [np.asarray(linear(given["x"]))[:2]]
        case "rows":
            compiled = jax.jit(rows)
            return [np.asarray(compiled(given["x"][:2]))], [np.asarray(compiled(given["x"]))[:2]]
        case "cache":
            whole, one, over = jax.jit(projected), jax.jit(projected), jax.jit(attend)
            mask = np.tril(np.ones((PLACES, PLACES), bool))
            parts = [one(given["q"][:, at : at + 1]) for at in range(PLACES)]
            k, v = (jnp.concatenate([part[each] for part in parts], 1) for each in (1, 2))
            last = over(parts[-1][0], k, v, np.ones((1, PLACES), bool))[:, 0]
            return [np.asarray(last)], [np.asarray(over(*whole(given["q"]), mask))[:, -1]]
        case "compiled":
            return [np.asarray(jax.jit(rows)(given["x"]))], [np.asarray(rows(given["x"]))]
        case _:
            key = jax.random.key(SEED)
            whole = jax.random.bernoulli(key, 0.5, (8, 16))[4:]
            return [np.asarray(jax.random.bernoulli(key, 0.5, (4, 16)))], [np.asarray(whole)]


# presk


PROGRAM = f"""
from nn import LayerNorm, MultiHeadAttention

fn sum_of(x: real[n]) -> real {{ sum(x) }}
fn weighed(m: LayerNorm{{128}}, x: real[batch, 128], g: real[batch, 128]) -> real {{ sum(m(x) * g) }}
fn gradient(m: LayerNorm{{128}}, x: real[batch, 128], g: real[batch, 128]) -> LayerNorm{{128}} {{
  grad(weighed)(m, x, g)
}}
fn linear(x: real[batch, I], w: real[I, O], b: real[O]) -> real[batch, O] {{ dot(x, w) + b }}
fn rows(m: LayerNorm{{{WIDTH}}}, x: real[batch, {WIDTH}]) -> real[batch, {WIDTH}] {{ softmax(gelu(m(x)), axis = -1) }}
fn whole(m: MultiHeadAttention{{{WIDTH}, 1}}, x: real[batch, seq: T, {WIDTH}]) -> real[batch, seq: T, {WIDTH}] {{
  m.causal(x)
}}
const P = {PLACES}
const W = {WIDTH}
type Cache = {{k: real[batch, keys: P, heads: 1, hd: W], v: real[batch, keys: P, heads: 1, hd: W]}}
fn one(
  m: MultiHeadAttention{{W, 1}}, x: real[batch, W], c: Cache, pos: nat < P,
) -> (real[batch, W], Cache) {{
  m.step(x, c, pos)
}}
fn dropped(x: real[batch, d]) -> real[batch, d] {{ dropout(x, 0.5) }}
"""


def presk_answers(question: str, threads: int) -> tuple[Arrays, Arrays] | Arrays | None:
    """As for PyTorch."""
    import presk

    program, given = presk.loads(PROGRAM), inputs()

    def call(entry: str, *args: Any, backend: str = "native", training: bool = False, row_offset: int = 0) -> Any:
        f = presk.compile(program[entry], realize="f32", backend=backend, threads=threads, training=training)
        return f(*args, seed=SEED, row_offset=row_offset)

    def scale(width: int) -> dict[str, np.ndarray]:
        return {"g": np.ones(width, np.float32), "b": np.zeros(width, np.float32)}

    match question:
        case "sum":
            return [np.asarray(call("sum_of", given["long"]))]
        case "gradient":
            found = call("gradient", scale(128), given["many"], given["g"])
            return [found["g"], found["b"]]
        case "linear":
            both = (call("linear", x, given["w"], given["b"])[:2] for x in (given["x"][:2], given["x"]))
            return tuple([each] for each in both)  # type: ignore[return-value]
        case "rows":
            both = (call("rows", scale(WIDTH), x)[:2] for x in (given["x"][:2], given["x"]))
            return tuple([each] for each in both)  # type: ignore[return-value]
        case "cache":
            return _presk_cache(call, given)
        case "compiled":
            both = (call("rows", scale(WIDTH), given["x"], backend=name) for name in ("native", "kernel"))
            return tuple([each] for each in both)  # type: ignore[return-value]
        case _:
            ones = np.ones((8, 16), np.float32)
            whole = call("dropped", ones, training=True)[4:]
            return [call("dropped", ones[4:], training=True, row_offset=4)], [whole]


def _presk_cache(call: Callable[..., Any], given: dict[str, np.ndarray]) -> tuple[Arrays, Arrays]:
    attention = {
        "qkv": {"w": given["wq"], "b": np.zeros(3 * WIDTH, np.float32)},
        "out": {"w": np.eye(WIDTH, dtype=np.float32), "b": np.zeros(WIDTH, np.float32)},
    }
    places = np.zeros((1, PLACES, 1, WIDTH), np.float32)
    last, cache = None, {"k": places, "v": places}
    for at in range(PLACES):
        last, cache = call("one", attention, given["q"][:, at], cache, at)
    return [np.asarray(last)], [call("whole", attention, given["q"])[:, -1]]


ANSWERS = {"torch": torch_answers, "jax": jax_answers, "presk": presk_answers}

THREADED = ("sum", "gradient")
"""Questions whose two ways are one and two threads."""


def compared(one: Arrays, other: Arrays) -> str:
    """What differs between two lists of arrays."""
    parts: list[tuple[int, int, int]] = []
    for a, b in zip(one, other, strict=True):
        differs = int((_bits(a) != _bits(b)).sum())
        parts.append((differs, a.size, _last_places(a, b) if differs and a.dtype == np.float32 else 0))
    differs, count, most = (sum(each[0] for each in parts), sum(each[1] for each in parts), max(p[2] for p in parts))
    if not differs:
        return "the same bits"
    return f"{differs} of {count} differ" + (f", by {most} units in the last place at most" if most else "")


def _bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(-1).view(f"u{x.dtype.itemsize}")


def _last_places(a: np.ndarray, b: np.ndarray) -> int:
    def ordered(x: np.ndarray) -> np.ndarray:
        bits = _bits(x).view(np.int32).astype(np.int64)
        return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

    return int(np.abs(ordered(a) - ordered(b)).max())


def answer(library: str, question: str) -> str:
    """What a library answers to a question."""
    if question in THREADED:
        found = [_in_a_process(library, question, threads) for threads in (1, 2)]
        return compared(*found)
    both = ANSWERS[library](question, 2)
    return "not asked" if both is None else compared(*both)


def _in_a_process(library: str, question: str, threads: int) -> Arrays:
    """The answer of a process that has so many cores and threads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.npz"
        command = [sys.executable, __file__, library, "--one", json.dumps([question, threads, str(path)])]
        subprocess.run(command, check=True)
        with np.load(path) as found:
            return [found[name] for name in found]


def _answer_one(library: str, question: str, threads: int, path: str) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    found = ANSWERS[library](question, threads)
    assert isinstance(found, list), "one way"
    np.savez(path, *found)


def main() -> None:
    """Asks every question of every library that is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", choices=[*LIBRARIES, []], help="those asked; all that are installed")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        _answer_one(chosen.libraries[0], *json.loads(chosen.one))
        return
    for library in chosen.libraries or LIBRARIES:
        if importlib.util.find_spec(library) is None:
            print(f"{library}: isn't installed")
            continue
        print(f"{library} {importlib.import_module(library).__version__}")
        for question, words in QUESTIONS.items():
            print(f"  {words}\n      {answer(library, question)}")


if __name__ == "__main__":
    main()
