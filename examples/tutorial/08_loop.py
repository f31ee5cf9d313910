"""Lesson 8: a training loop written by hand.

`presk train` runs a train block. What it does can be written down in a few lines, here for the block of lesson 6: the
derivative of the objective and the optimizer's step are entries like any other, compiled and called. Rows come in the
order docs/draws.md states, so that the parameters are, bit for bit, those of

    presk train examples/tutorial/06_training.psk --set lr=0.02 --set clip=1e9

    python examples/tutorial/08_loop.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import presk
from presk.draw import key, shuffle

PROGRAM = Path(__file__).with_name("06_training.psk")
ROWS, TRAIN, BATCH, SEED = 2048, 1536, 64, 1


def loop(epochs: int, realize: str = "f32") -> Any:
    """The parameters behind so many epochs of AdamW."""
    program = presk.load(PROGRAM)
    points = presk.compile(program["points"], realize="f64")
    value_and_grad = presk.compile(presk.value_and_grad(program["loss"]), realize=realize, training=True)
    update = presk.compile(program["adamw.step[Net]"], realize=realize)

    rows = points(np.arange(ROWS), seed=SEED)
    params = presk.compile(program["loss"], dims={"batch": BATCH}).init(seed=SEED)
    state = presk.compile(program["adamw.init[Net]"], realize=realize)(params)
    step = 0
    for epoch in range(1, epochs + 1):
        order = shuffle(key(SEED, "shuffle", ""), epoch, TRAIN)
        for places in order.reshape(-1, BATCH):
            step += 1
            batch = {name: array[places] for name, array in rows.items()}
            (loss, metrics), gradient = value_and_grad(params, batch, seed=SEED, step=step)
            params, state = update(params, gradient, state, float(step), 0.02, weight_decay=0.01)
        print(f"epoch {epoch}  loss {float(loss):.6f}  accuracy {float(metrics['accuracy']):.6f}")
    return params


if __name__ == "__main__":
    loop(20)
