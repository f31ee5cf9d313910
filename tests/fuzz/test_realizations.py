"""Random realizations and plans by the thousand, as texts and as Python data, against schemas and against an entry.

Each is taken or refused by a diagnostic: E7001, E7002, or E1xxx for its characters. `PRESK_FUZZ` is the number of cases
in all; the seeds are fixed, so that a failure names its case.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presk import PreskError
from presk.check.program import loads
from presk.core.bind import bind
from presk.core.hash import core_hash
from presk.core.nodes import Program
from presk.core.sites import sites
from presk.realization.model import Plan, Realization
from presk.realization.parameters import leaves_of
from presk.realization.quantized import Quantized, quantize
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.text import print_schedule
from presk.text.sources import decode

CASES = int(os.environ.get("PRESK_FUZZ", "2000"))

TEXT = """\
module Lin{I, O} { w: real[I, k: O] = normal(std = 1); b: real[k: O] = zeros
  fn apply(self, x: real[.., I]) -> real[.., k: O] { let y = dot(x, self.w); y + self.b } }
module Net { blocks: Lin{8, 8} * 2; head: Lin{8, 4}; scale: real = ones
  fn apply(self, x: real[batch, k: 8], t: nat[batch] < 4) -> (real[batch, k: 4], real) {
    let h = fold x = x over b in self.blocks { softmax(b(x), axis = k) }
    let z = self.head(h) * self.scale
    (z, mean(cross_entropy(z, t))) } }
"""
PROGRAM = bind(loads(TEXT), "Net.apply", dims={"batch": 2})

KINDS: dict[str, Callable[..., Any]] = {"realization": Realization.parse, "plan": Plan.parse}


def share(part: float) -> int:
    return max(100, int(CASES * part))


class Maker:
    """Random data near what realizations and plans are, and far from it."""

    def __init__(self, seed: int, program: Program) -> None:
        self.random = random.Random(seed)
        known = sites(program)
        self.keys = [site.key for site in known] + ["Lin.apply/y", "Net.apply/z", "Lin.apply/%2", "Net.apply/%99"]
        self.paths = [leaf.name for leaf in leaves_of(program)] + ["head", "self.head.w", ""]
        self.core = core_hash(program)

    def odd(self) -> Any:
        """Anything at all."""
        make = self.random
        return make.choice(
            [None, True, False, 0, 1, -1, 1.5, 2**63, 10**30, "", "f32", "x" * 50, "é", [], {}, [[]], {"a": 1}, 1e300]
        )

    def sometimes(self, value: Any, often: float = 0.06) -> Any:
        return self.odd() if self.random.random() < often else value

    def pick(self, *known: Any) -> Any:
        return self.sometimes(self.random.choice(known))

    def some(self, keys: list[str], value: Callable[[], Any]) -> dict[str, Any]:
        chosen = self.random.sample(keys, self.random.randint(0, 3))
        return {self.random.choice([key] * 50 + [3, "", "é/%1"]): value() for key in chosen}

    def float_type(self) -> Any:
        return self.pick("f64", "f32", "bf16")

    def order(self) -> Any:
        kind = self.pick("sequential", "blocked", "interleaved")
        found: dict[str, Any] = {"kind": kind}
        if kind != "sequential" or self.random.random() < 0.1:
            found[self.random.choice(("width", "partials")) if self.random.random() < 0.2 else _count(kind)] = (
                self.pick(1, 2, 8)
            )
        return found

    def nest(self) -> Any:
        make = self.random
        values: dict[str, Callable[[], Any]] = {
            "form": lambda: self.pick("row-wise", "tiled"),
            "tile": lambda: self.sometimes([self.pick(1, 2, 4), self.pick(1, 4, 8)]),
            "kblock": lambda: self.pick("none", 32, 128),
            "rows": lambda: self.pick("none", 64),
            "order": lambda: self.pick("IJ", "JI", "IJK", "KIJ"),
            "lanes": lambda: self.pick(1, 2, 4),
            "pack": lambda: self.pick(True, False, "panel"),
            "epilogue": lambda: self.pick(True, False),
            "passes": lambda: self.pick(2, 3),
            "split": lambda: self.pick("none", {"depth": make.randint(0, 2)}, {"depth": 0, "workers": 2}),
        }
        return {key: values[key]() for key in make.sample(list(values), make.randint(0, 3))}

    def realization(self) -> Any:
        values: dict[str, Callable[[], Any]] = {
            "entry": lambda: self.pick("Net.apply", "Net . apply", "other"),
            "core": lambda: self.pick(self.core, "sha256:0"),
            "default": self.float_type,
            "storage": lambda: self.some(self.keys, self.float_type),
            "accum": lambda: self.some(self.keys, self.float_type),
            "order": lambda: self.order() if self.random.random() < 0.5 else self.some(self.keys, self.order),
            "params": lambda: self.some(self.paths, self.float_type),
            "quant": lambda: self.some(
                self.paths, lambda: {"type": self.pick("int8", "int4"), "axis": self.pick(0, 1)}
            ),
            "fma": lambda: self.pick(True, False),
            "extra": lambda: 1,
        }
        return {
            key: self.sometimes(values[key](), 0.02)
            for key in self.random.sample(list(values), self.random.randint(0, 4))
        }

    def plan(self) -> Any:
        values: dict[str, Callable[[], Any]] = {
            "entry": lambda: self.pick("Net.apply", "other"),
            "core": lambda: self.pick(self.core),
            "realization": lambda: self.pick("f32", "f64"),
            "layout": lambda: self.some(self.keys, self.nest),
        }
        return {key: values[key]() for key in self.random.sample(list(values), self.random.randint(0, 3))}

    def text(self, kind: str) -> bytes:
        """JSON of such data, most often with something wrong in its letters."""
        made = self.realization() if kind == "realization" else self.plan()
        data = bytearray(json.dumps(made, ensure_ascii=self.random.random() < 0.5).encode())
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 5])):
            self.spoil(data)
        return bytes(data)

    def spoil(self, data: bytearray) -> None:
        at = self.random.randrange(len(data) + 1)
        match self.random.randrange(5):
            case 0:
                data[at:at] = self.random.choice(
                    [b'"', b"{", b"[" * 30, b",", b"\xff", b"\\u", b"NaN", b"9" * 60, b"\x00"]
                )
            case 1:
                del data[at : at + self.random.randint(1, 4)]
            case 2 if data:
                data[at % len(data)] = self.random.randrange(256)
            case 3:
                data[at:at] = data[: self.random.randint(0, 30)]
            case _:
                data[at:] = b""


def _count(kind: Any) -> str:
    return "partials" if kind == "interleaved" else "width"


def outcome(attempt: Callable[[], object]) -> str:
    """`taken`, or the code of the diagnostic; every diagnostic can be shown."""
    try:
        attempt()
    except PreskError as error:
        json.dumps([error.render(), *(each.to_json() for each in error.diagnostics)])
        return error.code
    return "taken"


def sweep(count: int, attempt: Callable[[int], object]) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in range(count):
        try:
            found[outcome(lambda: attempt(seed))] += 1  # noqa: B023
        except Exception as error:
            raise AssertionError(f"case {seed} ends in {type(error).__name__}") from error
    return found


@pytest.mark.parametrize("kind", list(KINDS))
def test_texts(kind: str) -> None:
    def attempt(seed: int) -> None:
        made = KINDS[kind](decode("x.json", Maker(seed, PROGRAM).text(kind)))
        again = KINDS[kind](decode("y.json", json.dumps(made.json()).encode()))
        assert again == made

    found = sweep(share(0.17), attempt)
    assert set(found) <= {"taken", "E7001", "E1001", "E1002"}
    assert found["taken"] > sum(found.values()) // 50
    assert found["E7001"] > sum(found.values()) // 5


def test_python_data() -> None:
    def attempt(seed: int) -> None:
        maker = Maker(seed, PROGRAM)
        data = {key: each for key, each in maker.realization().items() if key != "extra"}
        Realization(**data)
        Plan(**maker.plan())

    found = sweep(share(0.05), attempt)
    assert set(found) == {"taken", "E7001"}


def test_what_a_schema_takes_against_an_entry() -> None:
    """What can be parsed is recorded, or refused: at a site, a parameter, a condition."""

    def attempt(seed: int) -> None:
        maker = Maker(seed, PROGRAM)
        data = {key: each for key, each in maker.realization().items() if key != "extra"}
        said = choices(Realization(**data), Plan(**maker.plan()), PROGRAM)
        if seed % 8 == 0:
            print_schedule(record(PROGRAM, said))

    found = sweep(share(0.08), attempt)
    assert set(found) <= {"taken", "E7001", "E7002"}
    assert found["taken"] > sum(found.values()) // 50
    assert found["E7002"] > sum(found.values()) // 50


def test_quantised_arrays() -> None:
    def attempt(seed: int) -> None:
        make = np.random.default_rng(seed)
        shape = tuple(make.integers(0, 4, make.integers(0, 4)))
        kinds = [np.int8, np.uint8, np.int32, np.float32, np.float64]
        q = make.integers(-8, 9, shape).astype(kinds[int(make.choice([0, 0, 0, 1, 2, 3]))])
        scale = make.normal(size=tuple(make.integers(0, 4, make.integers(0, 3)))).astype(
            kinds[int(make.choice([3, 3, 4]))]
        )
        axis = [0, 1, -1, 2, 9, None, "a", 1.5][int(make.integers(8))]
        made = Quantized(q, scale, axis)  # type: ignore[arg-type]
        assert made.values().shape == q.shape
        quantize("w", made.values(), "int4", made.axis, made.layers).stored()

    found = sweep(share(0.02), attempt)
    assert set(found) <= {"taken", "E7003"}
    assert len(found) == 2


def test_files_are_read_as_texts_are(tmp_path: Path) -> None:
    path = tmp_path / "x.json"

    def attempt(seed: int) -> None:
        path.write_bytes(Maker(seed, PROGRAM).text("realization"))
        Realization.read(path)

    assert set(sweep(share(0.01), attempt)) <= {"taken", "E7001", "E1001", "E1002"}
