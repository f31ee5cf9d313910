"""How long `presk check` takes on a program of 2 000 lines, the interpreter's start included.

The program is made here: functions, modules that hold each other, loops, imports of the library. The best of some runs
counts, since a busy machine only adds; beside it stands what a bare interpreter takes, and the time of each stage in a
process that has loaded presk. Python keeps its compiled modules, as it does unless told not to. Wanted: under a second.
Run: .venv/bin/python benchmarks/check.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from presk.check.program import check_source
from presk.syntax.parser import parse
from presk.text.spans import Source

LINES = 2000
RUNS = 7

HEAD = """\
from nn import Linear, LayerNorm
const D = 16
const H = 4
"""

PART = """\
module Block{n} {{
  norm: LayerNorm{{D}}
  up: Linear{{D, 4 * D}}
  down: Linear{{4 * D, D}} with {{ w = zeros }}
  fn apply(self, x: real[batch, seq: T, D]) -> real[batch, seq: T, D] {{
    let h = gelu(self.up(self.norm(x)))
    x + self.down(h) * {n} / sqrt(D)
  }}
}}
type Rows{n} = real[batch, seq: T, D]
fn attend{n}(q: Rows{n}, k: Rows{n}, v: Rows{n}) -> Rows{n} {{
  let q = split_heads(q, H)
  let k = rename(split_heads(k, H), seq = seq2)
  let v = rename(split_heads(v, H), seq = seq2)
  let scores = ein[batch, heads, seq, seq2](q, k) / sqrt(D / H)
  let weights = softmax(scores, axis = seq2, mask = causal_mask[seq: T, seq2: T])
  merge_heads(ein[batch, seq, heads, hd](weights, v))
}}
fn layers{n}(blocks: Block{n} * L, x: real[batch, seq: T, D]) -> real[batch, seq: T, D] {{
  fold x = x over block in blocks {{
    let y = attend{n}(x, x, x)
    let z = mean(square(y - x), axis = -1)
    block(x + y) / (1 + z)
  }}
}}

"""


def program() -> str:
    """The text: parts until there are enough lines."""
    count = (LINES - HEAD.count("\n")) // PART.count("\n") + 1
    return HEAD + "".join(PART.format(n=n) for n in range(count))


def best(run: Callable[[], object]) -> float:
    """The least wall time of RUNS runs, in milliseconds."""
    times: list[float] = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e3)
    return min(times)


def main() -> None:
    """Prints the figures."""
    text = program()
    source = Source("generated.psk", text)
    _, found = check_source(source)
    if found:
        raise SystemExit("\n".join(each.render() for each in found))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.psk"
        path.write_text(text)
        command = [str(Path(sys.executable).parent / "presk"), "check", str(path)]
        cached = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        bare = best(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
        whole = best(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=cached))
    print(f"{'presk check':24} {whole:7.1f} ms, {text.count(chr(10))} lines")
    print(f"{'python -c pass':24} {bare:7.1f} ms")
    print(f"{'parsing alone':24} {best(lambda: parse(source)):7.1f} ms")
    print(f"{'parsing and checking':24} {best(lambda: check_source(source)):7.1f} ms")


if __name__ == "__main__":
    main()
