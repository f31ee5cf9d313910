"""A whole step of training beside PyTorch and JAX in one run: objective, gradient, clipping and AdamW, in place.

    python benchmarks/training.py [--quick] [--threads N] [--only NAME] [--rounds N] [--processor] [--memory]

The model is the GPT of examples/minigpt, trained as its block says (docs/training.md): gradient clipped to norm 1,
AdamW of 0.9, 0.95, 1e-8 and decay 0.1. The peers are written as people write them: PyTorch with `torch.optim.AdamW`,
fused, and `clip_grad_norm_`; JAX jitted, parameters and moments donated. All begin with the same parameters and take
the same batch, and are checked to have the same losses. Calls take turns, so that what else the machine does falls on
all alike; printed are the best and the median, and presk's best over the best peer's. `--processor` takes the time of
the processor in place of the clock's, which on one thread says more where the machine is busy.

Beside the step stand its parts for the tiny model: the gradient alone, and the optimizer's step alone. `--memory`
measures instead, each library in a process of its own, by how much the process grows while it steps, at its peak, once
it has compiled, beside parameters, moments and batch.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from peers import MINIGPT, MODELS, Model, map_tree

RATE = 1e-3
BETA1, BETA2, EPS, DECAY = 0.9, 0.95, 1e-8, 0.1
LIBRARIES = ("presk f32", "presk f32+fma", "torch", "jax")

Call = Callable[[], float]
"""One step; its loss before the parameters move."""


def batch_of(model: Model) -> dict[str, np.ndarray]:
    """Random symbols."""
    rng = np.random.default_rng(1)
    shape = (model.batch, model.consts["T"])
    return {name: rng.integers(0, model.consts["V"], size=shape) for name in ("x", "y")}


def parameters_of(model: Model) -> Any:
    """Normals in the shapes of the parameters, so that no part of the model is idle."""
    import presk

    shapes = presk.compile(presk.load(MINIGPT, consts=model.consts)["MiniGPT.apply"]).init(seed=0)
    rng = np.random.default_rng(0)
    return map_tree(shapes, lambda leaf: (rng.normal(size=leaf.shape) * 0.05).astype(np.float32))


def presk_task(model: Model, realization: str, threads: int) -> tuple[Any, Any]:
    """The training of the program's block at this batch."""
    import presk
    from presk.realization.model import read_plan, read_realization
    from presk.run import registry
    from presk.train.overrides import override
    from presk.train.prepare import How, prepare

    program = presk.load(MINIGPT, consts=model.consts)
    checked = program.checked
    block = override(checked, checked.trains["tiny"], {"batch": str(model.batch)})
    numbers = read_realization(realization)
    backend = registry.make(registry.fastest())
    data = {name: np.concatenate([each, each]) for name, each in batch_of(model).items()}  # some rows are to measure
    how = How(backend, numbers, numbers.name, read_plan("auto"), threads, steps=1, data=data)
    return program, prepare(checked, block, how)


def presk_step(model: Model, realization: str, threads: int, params: Any) -> Call:
    """presk's step, as `presk train` calls it."""
    _, training = presk_task(model, realization, threads)
    step = training.step(model.batch)
    held = [map_tree(params, np.copy), map_tree(training.begin()[1], lambda leaf: np.asarray(leaf, np.float32))]
    batch, count = batch_of(model), [0]

    def call() -> float:
        count[0] += 1
        held[0], held[1], measured = step(
            *held, batch, np.array(float(count[0])), np.array(RATE), seed=1, step=count[0]
        )
        return float(measured["loss"])

    return call


def torch_step(model: Model, threads: int, params: Any) -> Call:
    """The step in PyTorch."""
    import torch

    from peers import torch_loss

    torch.set_num_threads(threads)
    leaves: list[Any] = []
    held = map_tree(params, lambda leaf: torch.from_numpy(leaf.copy()).requires_grad_())
    map_tree(held, leaves.append)
    inputs, targets = (torch.from_numpy(each) for each in batch_of(model).values())
    loss = torch_loss(model.consts["H"])
    optimizer = torch_optimizer(leaves)

    def call() -> float:
        value = loss(held, inputs, targets)
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(leaves, 1.0)
        optimizer.step()
        return value.item()

    return call


def torch_optimizer(leaves: list[Any]) -> Any:
    """PyTorch's own AdamW."""
    import torch

    return torch.optim.AdamW(leaves, lr=RATE, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY, fused=True)


def jax_adamw(p: Any, g: Any, m: Any, v: Any, t: Any) -> Any:
    """AdamW on trees."""
    import jax

    m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
    v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
    c1, c2 = 1 - BETA1**t, 1 - BETA2**t
    p = jax.tree.map(lambda p, m, v: p - RATE * (m / c1 / ((v / c2) ** 0.5 + EPS) + DECAY * p), p, m, v)
    return p, m, v


def jax_step(model: Model, params: Any) -> Call:
    """The step in JAX."""
    import jax
    import jax.numpy as jnp

    from peers import jax_loss

    derive = jax.value_and_grad(jax_loss(model.consts["H"]))

    def step(p: Any, m: Any, v: Any, t: Any, x: Any, y: Any) -> Any:
        loss, g = derive(p, x, y)
        norm = sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(g)) ** 0.5
        g = jax.tree.map(lambda leaf: leaf / jnp.maximum(norm, 1.0), g)
        return (*jax_adamw(p, g, m, v, t), loss)

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    zero = map_tree(params, np.zeros_like)
    held = [map_tree(each, jnp.asarray) for each in (params, zero, map_tree(zero, np.copy))]
    x, y = (jnp.asarray(each) for each in batch_of(model).values())
    count = [0]

    def call() -> float:
        count[0] += 1
        *held[:], loss = compiled(*held, float(count[0]), x, y)
        jax.block_until_ready(held)
        return float(loss)

    return call


def steps(model: Model, threads: int, params: Any) -> dict[str, Callable[[], Call]]:
    """What makes each library's step."""
    return {
        "presk f32": lambda: presk_step(model, "f32", threads, params),
        "presk f32+fma": lambda: presk_step(model, "f32+fma", threads, params),
        "torch": lambda: torch_step(model, threads, params),
        "jax": lambda: jax_step(model, params),
    }


def gradients(model: Model, threads: int, params: Any) -> dict[str, Callable[[], Call]]:
    """What makes each library's loss with its gradient: the calls of `benchmarks/models.py`."""
    import models

    x, y = batch_of(model).values()
    calls = models.presk_calls(model, threads, x, y, params)[1]
    made: dict[str, Callable[[], Call]] = {
        name: lambda call=call: lambda: float(call()[0]) for name, call in calls.items()
    }
    derived = {
        "torch": lambda: models.torch_calls(model, threads, params, x, y)[1]["torch"],
        "jax": lambda: models.jax_calls(model, params, x, y)[1]["jax"],
    }
    return made | {name: lambda make=make: _loss_of(make()) for name, make in derived.items()}


def _loss_of(call: Callable[[], Any]) -> Call:
    return lambda: float(call()[0])


def optimizers(model: Model, threads: int, params: Any) -> dict[str, Callable[[], Call]]:
    """What makes each library's AdamW by itself, in place; a parameter behind the step stands for the loss."""
    rng = np.random.default_rng(2)
    g = map_tree(params, lambda leaf: rng.normal(size=leaf.shape).astype(np.float32))
    return {
        "presk f32": lambda: presk_adamw(model, threads, params, g),
        "torch": lambda: torch_adamw(threads, params, g),
        "jax": lambda: jax_adamw_alone(params, g),
    }


def presk_adamw(model: Model, threads: int, params: Any, g: Any) -> Call:
    """`adamw.step` with parameters and moments donated, as the step of a training has it."""
    import presk
    from presk.realization.model import read_plan, read_realization
    from presk.run import registry
    from presk.run.backend import Entry

    zero = map_tree(params, np.zeros_like)
    held: list[Any] = [map_tree(params, np.copy), {"m": zero, "v": map_tree(zero, np.copy)}]
    numbers = [np.array(each, np.float32) for each in (RATE, BETA1, BETA2, EPS, DECAY)]
    entry = presk.load(MINIGPT, consts=model.consts)["adamw.step[MiniGPT]"]
    core = presk.compile(entry).core(held[0], g, held[1], np.float32(1), *numbers)
    backend = registry.make(registry.fastest())
    step = backend.prepare(
        Entry("adamw.step", core), read_realization("f32"), read_plan("auto"), threads=threads, donate=(0, 2)
    )
    count = [0]

    def call() -> float:
        count[0] += 1
        held[0], held[1] = step(held[0], g, held[1], np.array(count[0], np.float32), *numbers)
        return float(held[0]["head"]["w"][0, 0])

    return call


def torch_adamw(threads: int, params: Any, g: Any) -> Call:
    """PyTorch's, with the gradients set."""
    import torch

    torch.set_num_threads(threads)
    leaves: list[Any] = []
    held = map_tree(params, lambda leaf: torch.from_numpy(leaf.copy()).requires_grad_())
    map_tree(held, leaves.append)
    given: list[Any] = []
    map_tree(g, given.append)
    for leaf, gradient in zip(leaves, given, strict=True):
        leaf.grad = torch.from_numpy(gradient.copy())
    optimizer = torch_optimizer(leaves)

    def call() -> float:
        optimizer.step()
        return held["head"]["w"][0, 0].item()

    return call


def jax_adamw_alone(params: Any, g: Any) -> Call:
    """JAX's."""
    import jax
    import jax.numpy as jnp

    def step(p: Any, m: Any, v: Any, t: Any, g: Any) -> Any:
        return jax_adamw(p, g, m, v, t)

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    zero = map_tree(params, np.zeros_like)
    held = [map_tree(each, jnp.asarray) for each in (params, zero, map_tree(zero, np.copy))]
    given = map_tree(g, jnp.asarray)
    count = [0]

    def call() -> float:
        count[0] += 1
        held[:] = compiled(*held, float(count[0]), given)
        jax.block_until_ready(held)
        return float(held[0]["head"]["w"][0, 0])

    return call


def compare(title: str, makers: dict[str, Callable[[], Call]], rounds: int, clock: Callable[[], float]) -> None:
    """Times calls in turns and prints a row for each."""
    print(title, flush=True)
    calls: dict[str, Call] = {}
    for name, make in makers.items():
        try:
            calls[name] = make()
        except ModuleNotFoundError:
            print(f"    {name} isn't installed")
    losses = {name: [call() for _ in range(min(3, rounds))] for name, call in calls.items()}
    first = next(iter(losses.values()))
    for name, found in losses.items():
        assert np.allclose(found, first, rtol=1e-3, atol=1e-3), f"{name} computes something else: {found}, {first}"
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin = clock()
            call()
            times[name].append(clock() - begin)
    peers = [min(each) for name, each in times.items() if not name.startswith("presk")]
    for name, each in times.items():
        ratio = f"  {min(each) / min(peers):.2f} × the best peer's" if peers and name.startswith("presk") else ""
        print(f"    {name:14} best {min(each) * 1e3:10.3f} ms, median {statistics.median(each) * 1e3:10.3f}{ratio}")


def growth(name: str, model: Model, threads: int) -> None:
    """Prints by how many bytes this process grows at its peak while it steps; run in a process of its own.

    Beside what lives on anyway: parameters, moments, batch, compiled code. presk has these before its first step, and
    keeps a step's memory for the next; the peers make them on their first step, and give back what it took else.
    """
    call = steps(model, threads, parameters_of(model))[name]()
    if not name.startswith("presk"):
        call()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    for _ in range(3):
        call()
    print((status("VmHWM") - before) * 1024)


def status(name: str) -> int:
    """A line of the process's status, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def memory(model: Model, threads: int) -> None:
    """Each library's growth, and what presk says of its own."""
    print(f"{model.name}, memory of a step beside what lives on")
    for name in LIBRARIES:
        command = [sys.executable, __file__, "--growth", name, "--only", model.name, "--threads", str(threads)]
        given_back = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        environment = {**os.environ, **given_back}
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if found.returncode:
            print(f"    {name:14} {found.stderr.strip().splitlines()[-1]}")
            continue
        said = ""
        if name.startswith("presk"):
            arena = presk_task(model, name.split()[1], threads)[1].step(model.batch).arena_bytes
            said = f"; its arena {arena / 2**20:.1f} MiB"
        print(f"    {name:14} {int(found.stdout) / 2**20:8.1f} MiB{said}")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("--quick", action="store_true", help="the two small models, fewer steps")
    out.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    out.add_argument("--only", choices=[each.name for each in MODELS])
    out.add_argument("--rounds", type=int, help="timed steps of each, in place of as many as suit the model")
    out.add_argument("--processor", action="store_true", help="processor time in place of the clock's")
    out.add_argument("--memory", action="store_true", help="memory in place of times")
    out.add_argument("--growth", choices=LIBRARIES, help=argparse.SUPPRESS)
    return out


def main() -> None:
    """Prints what is asked for."""
    chosen = parser().parse_args()
    threads = chosen.threads
    # JAX takes its threads from the processors the process may use, and reads them once.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    models = [each for each in MODELS if chosen.only in (None, each.name)]
    if chosen.growth is not None:
        growth(chosen.growth, models[0], threads)
        return
    print(f"{threads} threads, load {os.getloadavg()[0]:.1f}")
    for model in models[:2] if chosen.quick else models:
        sizes = " ".join(f"{key}={value}" for key, value in model.consts.items())
        if chosen.memory:
            memory(model, threads)
            continue
        params = parameters_of(model)
        rounds = chosen.rounds or (max(3, model.rounds // 4) if chosen.quick else model.rounds)
        clock = time.process_time if chosen.processor else time.perf_counter
        compare(f"{model.name}, step ({sizes} B={model.batch})", steps(model, threads, params), rounds, clock)
        if model.name == "tiny":
            compare("tiny, loss and gradient", gradients(model, threads, params), rounds, clock)
            compare("tiny, adamw.step", optimizers(model, threads, params), rounds, clock)


if __name__ == "__main__":
    main()
