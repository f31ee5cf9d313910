"""Realizations, plans and quantised weights through the API and the command line, on the kernel interpreter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.unit.run.record.host import run as host

import presk
from presk import Plan, PreskError, Realization
from presk.api.compiled import Compiled
from presk.choose.quantize import quantize_weights
from presk.cli import guard
from presk.realization.parameters import leaves_of
from presk.realization.quantized import quantize
from presk.run import registry, trees
from presk.run.record.choices import choices
from presk.run.record.recorder import record

PROGRAM = """\
module Lin{I, O} { w: real[I, O] = normal(std = 1 / 2); b: real[O] = normal(std = 1)
  fn apply(self, x: real[.., I]) -> real[.., O] { let y = dot(x, self.w); y + self.b } }
module Net { blocks: Lin{8, 8} * 3; head: Lin{8, 5}
  fn apply(self, x: real[batch, 8]) -> real[batch, 5] {
    let h = fold x = x over b in self.blocks { x + tanh(b(x)) }
    let p = softmax(self.head(h), axis = -1)
    p } }
"""
ENTRY = presk.loads(PROGRAM)["Net.apply"]
X = np.random.default_rng(5).normal(size=(4, 8))

INT8 = {"blocks.w": {"type": "int8", "axis": 1}, "head.w": {"type": "int8", "axis": 0}}
INT4 = {"blocks.w": {"type": "int4", "axis": 0}, "head.w": {"type": "int4", "axis": 1}}
REALIZATIONS = {
    "f64": Realization("f64"),
    "f32": Realization("f32"),
    "bf16": Realization("bf16"),
    "fused": Realization("f32", fma=True),
    "one site in bf16": Realization("f32", storage={"Lin{8, 8}.apply/y": "bf16"}),
    "one site in f64": Realization("bf16", storage={"Net.apply/p": "f64"}),
    "wide sums": Realization("f32", accum={"Lin.apply/y": "f64"}),
    "interleaved": Realization("f32", order={"kind": "interleaved", "partials": 4}),
    "narrow weights": Realization("f32", params={"blocks.w": "bf16", "head.w": "bf16"}),
    "int8": Realization("f32", quant=INT8),
    "int4": Realization("f32", quant=INT4),
    "int4 in f64": Realization("f64", quant=INT4),
    "int8 in bf16": Realization("bf16", quant=INT8),
}
BANDS = {"f64": 2.0**-40, "f32": 2.0**-15, "bf16": 2.0**-4}
"""How far a result may be from exact on the numbers as they are stored, by the default type."""


COMPILED = [name for name in registry.MAKERS if name not in ("interp", "kernel")]
"""The machine backends that are built besides the kernel interpreter."""


def compiled(realization: str | Realization, plan: str | Plan = "default", backend: str = "kernel") -> Compiled:
    return presk.compile(ENTRY, realize=realization, backend=backend, plan=plan, threads=4)


F32 = compiled("f32")
PARAMS = F32.init()


def bits(array: Any) -> tuple[str, bytes]:
    return str(array.dtype), array.tobytes()


def by_hand(realization: Realization) -> Any:
    """The result of the recorded schedule, its steps done one by one in NumPy, arguments rounded here."""
    core = F32.core(PARAMS, X)
    schedule = record(core, choices(realization, Plan("default"), core))
    given = {".".join(path): leaf for path, leaf in trees.leaves({"self": PARAMS, "x": X})}
    layers = {leaf.full: leaf.layers for leaf in leaves_of(core)}
    inputs: dict[str, Any] = {}
    for each in schedule.inputs:
        if each.element.scales is not None:
            made = quantize(each.path, given[each.path], each.element.kind, each.element.scales[0], layers[each.path])
            inputs |= {each.path: made.stored(), f"{each.path}.scale": made.scale}
        elif each.path in given:
            wide = given[each.path]
            narrow = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16}[each.element.kind]
            inputs[each.path] = (wide.astype(np.float32) if each.element.kind == "bf16" else wide).astype(narrow)
    (output,) = host(schedule, inputs)
    return output


@pytest.mark.parametrize("name", REALIZATIONS)
def test_a_call_gives_the_bits_of_its_schedule(name: str) -> None:
    f = compiled(REALIZATIONS[name])
    expected = bits(by_hand(REALIZATIONS[name]))
    assert bits(f(PARAMS, X)) == expected
    assert bits(f.bind(PARAMS)(X)) == expected


@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("name", REALIZATIONS)
def test_every_backend_gives_these_bits(name: str, backend: str) -> None:
    realization = REALIZATIONS[name]
    assert bits(compiled(realization, backend=backend)(PARAMS, X)) == bits(compiled(realization)(PARAMS, X))


@pytest.mark.parametrize("name", REALIZATIONS)
def test_a_call_is_near_the_exact_result(name: str) -> None:
    realization = REALIZATIONS[name]
    gap = compiled(realization).gap(PARAMS, X, from_rounded=True)
    assert gap.worst() < BANDS["bf16" if realization.storage else realization.default]
    assert gap.json()["realization"] == {"name": realization.name, **realization.json()}


@pytest.mark.parametrize("name", REALIZATIONS)
def test_a_row_of_a_batch_is_the_row_alone(name: str) -> None:
    f = compiled(REALIZATIONS[name])
    whole = f(PARAMS, X)
    for row in range(len(X)):
        assert bits(f(PARAMS, X[row : row + 1])) == bits(whole[row : row + 1])


def test_every_realization_has_bits_of_its_own() -> None:
    found = {bits(compiled(realization)(PARAMS, X)) for realization in REALIZATIONS.values()}
    assert len(found) == len(REALIZATIONS)


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_integers_and_floats_that_are_quantised_are_one(kind: str) -> None:
    made = quantize_weights(F32.core(PARAMS, X), {"self": PARAMS}, Realization("f32"), kind=kind)
    f = compiled(made.realization)
    assert bits(f(made.weights["self"], X)) == bits(f(PARAMS, X)) == bits(f.bind(made.weights["self"])(X))
    # Where the realization has no integers, what they stand for is stored as other numbers are.
    values = trees.map_leaves(
        made.weights["self"], lambda leaf: leaf if isinstance(leaf, np.ndarray) else leaf.values()
    )
    assert bits(F32(made.weights["self"], X)) == bits(F32(values, X)) == bits(f(PARAMS, X))


def test_integers_of_another_kind_than_the_realization_says_are_refused() -> None:
    made = quantize_weights(F32.core(PARAMS, X), {"self": PARAMS}, Realization("f32"), kind="int8")
    with pytest.raises(PreskError) as caught:
        compiled(Realization("f32", quant=INT4))(made.weights["self"], X)
    assert caught.value.code == "E7003"


def test_plans_change_no_bit() -> None:
    layout = {
        "Lin{8, 8}.apply/y": {"tile": [2, 4], "lanes": 4, "pack": True},
        "Lin{8, 5}.apply/y": {"form": "row-wise", "split": {"depth": 0}},
    }
    plan = Plan(layout=layout, realization="f32", entry="Net.apply")
    assert bits(compiled("f32", plan)(PARAMS, X)) == bits(F32(PARAMS, X)) == bits(compiled("f32", "auto")(PARAMS, X))


@pytest.mark.parametrize(
    ("realization", "plan", "condition"),
    [
        (Realization(storage={"Net.apply/%99": "f64"}), Plan(), 1),
        (Realization(params={"tail.w": "bf16"}), Plan(), 1),
        (Realization(), Plan(layout={"Lin{8, 8}.apply/y": {"tile": [3, 5]}}), 2),
        (Realization(accum={"Lin{8, 8}.apply/y": "bf16"}), Plan(), 9),
        (Realization(entry="Net.step"), Plan(), 10),
        (Realization(core="sha256:" + "0" * 64), Plan(), 10),
        (Realization("f64"), Plan(realization="f32"), 10),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    realization: Realization, plan: Plan, condition: int
) -> None:
    with pytest.raises(PreskError) as caught:
        compiled(realization, plan)(PARAMS, X)
    assert caught.value.code == "E7002"
    assert f"(condition {condition})" in str(caught.value)


@pytest.mark.parametrize("backend", COMPILED)
def test_condition_5_holds_where_splits_run_on_workers(backend: str) -> None:
    def split(workers: int) -> Plan:
        return Plan(layout={"Lin{8, 8}.apply/y": {"split": {"depth": 0, "workers": workers}}})

    expected = bits(F32(PARAMS, X))
    for workers in (2, 4):  # of four, or half of them
        assert bits(compiled("f32", split(workers), backend)(PARAMS, X)) == expected
    with pytest.raises(PreskError) as caught:
        compiled("f32", split(3), backend)(PARAMS, X)
    assert caught.value.code == "E7002"
    assert "(condition 5)" in str(caught.value)
    assert bits(compiled("f32", split(3))(PARAMS, X)) == expected


# The command line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.psk").write_text(PROGRAM)
    presk.save_file(PARAMS, "w.safetensors")
    np.save("x.npy", X)
    return tmp_path


def command(*arguments: str) -> int:
    return guard.run([*arguments, "-e", "Net.apply", "--backend", "kernel", "-q"])


def test_quantize_prints_what_it_costs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("quantize", "p.psk", "--weights", "w.safetensors", "--dim", "batch=4", "--type", "int4")
    assert command(*arguments, "-o", "w4.safetensors", "--json") == 0
    gaps = json.loads(capsys.readouterr().out)["gaps"]
    worst = {name: gap["outputs"][0]["absolute"]["worst"] for name, gap in gaps.items()}
    assert worst["integers"] < 1e-5 < 1e-3 < worst["weights"]
    assert gaps["weights"]["realization"]["quant"] == gaps["integers"]["realization"]["quant"]
    assert command(*arguments, "-o", "w4.safetensors") == 0
    assert "gap to exact on the weights as they were" in capsys.readouterr().out

    run = ("run", "p.psk", "--input", "x=@x.npy", "--realize", "@w4.json", "--out")
    assert command(*run, "one.npz", "--weights", "w4.safetensors") == 0
    assert command(*run, "other.npz", "--weights", "w.safetensors") == 0
    with np.load("one.npz") as one, np.load("other.npz") as other:
        assert bits(one["result"]) == bits(other["result"])


def test_files_of_realizations_and_plans_are_what_runs(folder: Path) -> None:
    realization = REALIZATIONS["one site in bf16"]
    realization.write("r.json")
    Plan(layout={"Lin.apply/y": {"lanes": 1}}).write("p.json")
    arguments = ("run", "p.psk", "--input", "x=@x.npy", "--weights", "w.safetensors", "--out", "y.npz")
    assert command(*arguments, "--realize", "@r.json", "--plan", "@p.json") == 0
    with np.load("y.npz") as found:
        assert bits(found["result"]) == bits(compiled(realization)(PARAMS, X))
