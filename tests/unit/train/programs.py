"""Programs the tests of training share."""

from __future__ import annotations

from pathlib import Path

from presk.check.program import Checked, load, loads

LINEAR = """\
module Linear{I, O} { w: real[I, O] = normal(std = 1 / sqrt(I)); b: real[O] = zeros }
fn loss(m: Linear{I, O}, batch: {x: real[batch, I], y: real[batch, O]}) -> (real, {worst: real}) {
  let d = dot(batch.x, m.w) + m.b - batch.y
  (mean(square(d)), {worst = max(abs(d))})
}
"""

BLOCK = """\
train fit {
  model = Linear{2, 1}; objective = loss; optimizer = adamw(weight_decay = 0.01); lr = constant(peak = 0.05, warmup = 5)
  batch = 4; epochs = 5; seed = 3
"""


def linear(keys: str = "") -> Checked:
    """A linear model's program, with further keys in its block `fit`."""
    return loads(f"{LINEAR}{BLOCK}{keys}\n}}\n")


def written(folder: Path, text: str) -> Checked:
    """The program of this text in a file of a folder."""
    path = folder / "p.psk"
    path.write_text(text)
    return load(path)
