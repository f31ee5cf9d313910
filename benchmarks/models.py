"""Whole models beside PyTorch and JAX in one run: forward passes and gradients of the GPT of examples/minigpt.

    python benchmarks/models.py [--quick] [--threads N]

The peers are written as people write them (`benchmarks/peers.py`), get the same parameters and tokens, and are checked
to give the same numbers to their precision. Calls of all take turns, so that what else the machine does falls on all
alike; printed are medians and presk's time over the best peer's. A library that isn't installed is said.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from peers import MINIGPT, MODELS, Model, map_tree


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("--quick", action="store_true", help="the two small models, fewer calls")
    out.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    out.add_argument("--only", choices=[each.name for each in MODELS])
    return out


def drawn(tree: Any, rng: np.random.Generator) -> Any:
    """Normals in the shapes of a tree, so that no part of the model is idle."""
    if isinstance(tree, dict):
        return {key: drawn(each, rng) for key, each in tree.items()}
    return (rng.normal(size=tree.shape) * 0.05).astype(np.float32)


Calls = dict[str, Callable[[], Any]]


def presk_calls(model: Model, threads: int, x: Any, y: Any, params: Any = None) -> tuple[Calls, Calls, Any]:
    """Calls of the forward pass and of the gradient in both realizations, and the parameters."""
    import presk

    program = presk.load(MINIGPT, consts=model.consts)
    forward: Calls = {}
    gradient: Calls = {}
    for realization in ("f32", "f32+fma"):
        f = presk.compile(program["MiniGPT.apply"], realize=realization, threads=threads)
        if params is None:
            params = drawn(f.init(seed=0), np.random.default_rng(0))
        g = presk.compile(presk.value_and_grad(program["loss"]), realize=realization, threads=threads)
        bound, derived = f.bind(params), g.bind(params)
        forward[f"presk {realization}"] = lambda bound=bound: bound(x)
        gradient[f"presk {realization}"] = lambda derived=derived: derived({"x": x, "y": y})
    return forward, gradient, params


def torch_calls(model: Model, threads: int, params: Any, x: Any, y: Any) -> tuple[Calls, Calls]:
    """The same in PyTorch."""
    import torch

    from peers import torch_forward, torch_loss

    torch.set_num_threads(threads)
    held = map_tree(params, lambda leaf: torch.from_numpy(leaf.copy()))
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y)
    forward, loss = torch_forward(model.consts["H"]), torch_loss(model.consts["H"])

    def run() -> Any:
        with torch.inference_mode():
            return forward(held, inputs).numpy()

    wanted = map_tree(params, lambda leaf: torch.from_numpy(leaf.copy()).requires_grad_())
    leaves: list[Any] = []
    map_tree(wanted, leaves.append)

    def derive() -> Any:
        value = loss(wanted, inputs, targets)
        return value.item(), torch.autograd.grad(value, leaves)

    return {"torch": run}, {"torch": derive}


def jax_calls(model: Model, params: Any, x: Any, y: Any) -> tuple[Calls, Calls]:
    """The same in JAX, compiled."""
    import jax

    from peers import jax_forward, jax_loss

    held = map_tree(params, jax.numpy.asarray)
    inputs, targets = jax.numpy.asarray(x), jax.numpy.asarray(y)
    forward = jax.jit(jax_forward(model.consts["H"]))
    derive = jax.jit(jax.value_and_grad(jax_loss(model.consts["H"])))
    return (
        {"jax": lambda: jax.block_until_ready(forward(held, inputs))},
        {"jax": lambda: jax.block_until_ready(derive(held, inputs, targets))},
    )


def compare(title: str, calls: Calls, rounds: int, check: Callable[[Any], Any]) -> None:
    """Times calls in turns and prints a row for each."""
    first = {name: np.asarray(check(call())) for name, call in calls.items()}
    reference = next(iter(first.values()))
    for name, value in first.items():
        assert np.allclose(value, reference, rtol=1e-3, atol=1e-3), f"{name} computes something else"
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(each) for name, each in times.items()}
    others = [each for name, each in medians.items() if not name.startswith("presk")]
    print(title)
    for name, each in medians.items():
        ratio = f"  {each / min(others):.2f} × the best peer's" if others and name.startswith("presk") else ""
        print(f"    {name:14} {each * 1e3:10.3f} ms (best {min(times[name]) * 1e3:.3f}){ratio}")


def main() -> None:
    """Prints every model's rows."""
    chosen = parser().parse_args()
    # JAX takes its threads from the processors the process may use, and reads them once.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.threads])
    print(f"{chosen.threads} threads, load {os.getloadavg()[0]:.1f}")
    models = [each for each in MODELS if chosen.only in (None, each.name)]
    for model in models[:2] if chosen.quick else models:
        rng = np.random.default_rng(1)
        shape = (model.batch, model.consts["T"])
        x, y = (rng.integers(0, model.consts["V"], size=shape) for _ in range(2))
        forward, gradient, params = presk_calls(model, chosen.threads, x, y)
        makers: dict[str, Callable[[], tuple[Calls, Calls]]] = {
            "torch": lambda model=model, p=params, x=x, y=y: torch_calls(model, chosen.threads, p, x, y),
            "jax": lambda model=model, p=params, x=x, y=y: jax_calls(model, p, x, y),
        }
        for name, make in makers.items():
            try:
                one, other = make()
            except ModuleNotFoundError:
                print(f"    {name} isn't installed")
                continue
            forward.update(one)
            gradient.update(other)
        rounds = max(3, model.rounds // 4) if chosen.quick else model.rounds
        sizes = " ".join(f"{key}={value}" for key, value in model.consts.items())
        compare(f"{model.name}, forward ({sizes} B={model.batch})", forward, rounds, lambda out: out)
        compare(f"{model.name}, loss and gradient", gradient, rounds, lambda out: float(out[0]))


if __name__ == "__main__":
    main()
