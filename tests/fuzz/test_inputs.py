"""Random flags, JSON, files and arrays by the thousand: each ends in an answer, a diagnostic or a usage error.

`PRESK_FUZZ` is the number of cases in all; each sweep takes a share that its cost allows. The seeds are fixed, so that
a failure names its case.
"""

from __future__ import annotations

import io
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import presk
from presk import PreskError
from presk.cli import guard
from presk.run import array_files, tensor_files

CASES = int(os.environ.get("PRESK_FUZZ", "1000"))

PROGRAM = """\
module Net { w: real[3, 2] = normal(std = 1); inner: Inner * 2
  fn apply(self, x: real[.., 3]) -> real[.., 2] { dot(x, self.w) } }
module Inner { b: real[2] = zeros }
const SCALE = 2
fn pick(t: nat[n] < 5, mask: bool[n], state: {a: real[5], b: (real, real[n])}, k: nat, p: real = 0.5) -> real[n] {
  where(mask, take(state.a, t, axis = 0), state.b.1) * p * SCALE + k
}
"""

ATOMS = [
    "0",
    "1",
    "-1",
    "1.5",
    "-0.0",
    "1e308",
    "1e999",
    "-1e-400",
    "true",
    "false",
    "null",
    '"1/3"',
    '"x"',
    '""',
    "NaN",
]
ATOMS += ["Infinity", "9" * 30, "9" * 5000, '"\\u0000"', '"\\ud800"', "[]", "{}", "é", "'", '"1e-9999999"', '"1/0"']


def share(part: float) -> int:
    return max(60, int(CASES * part))


def number_text(rng: random.Random, depth: int = 0) -> str:
    """JSON, now and then malformed."""
    kind = rng.random()
    if depth > 4 or kind < 0.4:
        return rng.choice(ATOMS)
    inner = [number_text(rng, depth + 1) for _ in range(rng.randrange(0, 4))]
    if kind < 0.7:
        return f"[{', '.join(inner)}]"
    if kind < 0.95:
        names = [rng.choice(["w", "b", "inner", "a", "0", "1", "x", "", "w.b"]) for _ in inner]
        return "{" + ", ".join(f'"{name}": {each}' for name, each in zip(names, inner, strict=True)) + "}"
    return rng.choice(["[" * 2000, "[1, 2", "{,}", "[1 2]", "]", "", "\x00", '{"a": 1,}'])


def array_text(rng: random.Random) -> str:
    """JSON of a shape, its elements at random."""

    def build(shape: list[int]) -> str:
        if not shape:
            return rng.choice(ATOMS) if rng.random() < 0.05 else str(rng.randrange(-1, 6))
        return f"[{', '.join(build(shape[1:]) for _ in range(shape[0]))}]"

    return build([rng.randrange(0, 4) for _ in range(rng.randrange(0, 3))])


def option(rng: random.Random, file: str) -> list[str]:
    """A flag with a value that suits it, or doesn't."""
    value = rng.choice([array_text, number_text])(rng)
    name = rng.choice(["self", "x", "t", "mask", "state", "k", "p", "n", "zz", "", "=", " x "])
    return rng.choice(
        [
            ["-i", f"{name}={value}"],
            ["-i", f"{name}={value}"],
            ["-i", rng.choice([value, "x", "x=@", "x=@.", f"x=@{file}", "x=@missing.npy", "x=@\x00"])],
            ["--dim", f"{name}={rng.choice(['1', '3', '0', '-1', 'x', '9' * 30, '1e3', ''])}"],
            ["--const", f"SCALE={rng.choice(['3', '1/3', 'x', '', '1e99999', '2.5', '-1', '9' * 5000])}"],
            ["--bits", rng.choice(["64", "1", "0", "-5", "x", "9" * 20, "2"])],
            ["--seed", rng.choice(["1", "-1", str(1 << 64), "x"])],
            ["--format", rng.choice(["text", "json", "npz", "xml"])],
            ["--backend", rng.choice(["interp", "native", "x", ""])],
            ["--realize", rng.choice(["f32", "bf16", "f16", "@r.json", ""])],
            ["--plan", rng.choice(["auto", "default", "@p.json", "x"])],
            ["--threads", rng.choice(["1", "0", "x"])],
            ["--weights", rng.choice([file, "missing", ".", ""])],
            ["--out", rng.choice(["y.npz", "y.json", ".", "missing/y.npz", "\x00", "n" * 300])],
            ["--certify"],
            ["--training"],
            ["--json"],
            ["-q"],
            [rng.choice(["--", "-", "extra", "--nope", "\udcff"])],
        ]
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.psk").write_text(PROGRAM)
    tensor_files.write("w.safetensors", {"w": np.ones((3, 2)), "inner": {"b": np.ones((2, 2))}})
    np.save("x.npy", np.ones((2, 3)))
    return tmp_path


def answered(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Runs the command line; a fault of presk is the one answer that isn't accepted."""
    capsys.readouterr()
    code = guard.run(arguments)
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), arguments
    assert "fault of presk" not in err, (arguments, err)
    assert "Traceback" not in err, arguments
    if code == 1:
        assert "error[E" in err or '"diagnostics"' in out or arguments[0] == "diff", arguments
    return code


def test_random_flags_of_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: Counter[int] = Counter()
    for case in range(share(0.03)):
        rng = random.Random(case)
        entry = rng.choice(["Net.apply", "Net.apply", "pick", "pick", "nope", "", "Net.apply x", "Net{1}.apply"])
        arguments = ["run", "p.psk", *(["-e", entry] if rng.random() < 0.95 else [])]
        arguments += rng.choice([[], ["--dim", "batch=2"], ["-i", "x=@x.npy"]])
        for _ in range(rng.randrange(0, 4)):
            arguments += option(rng, rng.choice(["w.safetensors", "x.npy", "p.psk"]))
        seen[answered(arguments, capsys)] += 1
    assert min(seen[0], seen[1], seen[2]) > 0, f"the sweep is to see every exit code: {seen}"


def test_random_values_of_a_call_that_fits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: Counter[int] = Counter()
    for case in range(share(0.02)):
        rng = random.Random(case)
        count = rng.randrange(1, 4)
        values = {
            "t": json.dumps([rng.randrange(0, 5) for _ in range(count)]),
            "mask": json.dumps([rng.random() < 0.5 for _ in range(count)]),
            "state": json.dumps({"a": [1, 2, 3, 4, 5], "b": {"0": 1, "1": [0.5] * count}}),
        }
        if rng.random() < 0.7:
            values[rng.choice(list(values))] = rng.choice([array_text, number_text])(rng)
        inputs = [part for name, value in values.items() for part in ("-i", f"{name}={value}")]
        seen[answered(["run", "p.psk", "-e", "pick", "--dim", "k=1", "-q", *inputs], capsys)] += 1
    assert seen[0] > 0
    assert seen[1] > 0


def test_random_arguments_of_other_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["p.psk", "w.safetensors", "x.npy", ".", "missing", "", "-", "--json", "--check", "--docs", "-q", "--stage"]
    words += [
        "core",
        "ast",
        "groups",
        "kernel",
        "--entry",
        "Net.apply",
        "pick",
        "--dim",
        "batch=1",
        "n=1",
        "k=1",
        "E3003",
    ]
    words += ["--primitives", "--help", "\x00", "é", "--const", "SCALE=1", "--training"]
    for case in range(share(0.02)):
        rng = random.Random(case)
        command = rng.choice(["check", "fmt", "dump", "hash", "diff", "explain-error", "chek"])
        chosen = [rng.choice(words) for _ in range(rng.randrange(0, 6))]
        if command == "fmt":
            chosen = [word for word in chosen if word != "-"]
        answered([command, *chosen], capsys)
    assert presk.load("p.psk").entries(), "no command damages a program"


def mutated(rng: random.Random, data: bytes) -> bytes:
    held = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(held) + 1)
        change = rng.random()
        if change < 0.5 and held:
            held[at % len(held)] = rng.randrange(256)
        elif change < 0.7:
            del held[at : at + rng.randrange(1, 40)]
        else:
            held[at:at] = rng.randbytes(rng.randrange(1, 20))
    return bytes(held)


def files() -> list[bytes]:
    """One file of each kind."""
    made: list[bytes] = []
    for save in (
        lambda held: np.save(held, np.arange(6.0).reshape(2, 3)),
        lambda held: np.save(held, np.asfortranarray(np.ones((2, 2), ">f4"))),
        lambda held: np.savez(held, w=np.ones((3, 2)), b=np.arange(3)),
        lambda held: np.savez_compressed(held, w=np.zeros(100)),
    ):
        held = io.BytesIO()
        save(held)
        made.append(held.getvalue())
    return made


def test_mutated_array_files(tmp_path: Path) -> None:
    path = tmp_path / "held"
    tensor_files.write(path, {"a": np.ones(3, ml_dtypes.bfloat16), "b": {"c": np.arange(4)}})
    whole = [path.read_bytes(), *files()]
    codes: Counter[str] = Counter()
    for case in range(share(0.15)):
        rng = random.Random(case)
        path.write_bytes(mutated(rng, rng.choice(whole)))
        for read in (array_files.read, tensor_files.read_tree):
            codes[outcome(lambda read=read: read(path))] += 1
    assert codes.keys() <= {"taken", "E8003", "E6031"}, codes
    assert codes["taken"] > 0
    assert codes["E8003"] > 0


def outcome(call: Callable[[], Any]) -> str:
    """The code of the diagnostic a call ends in, or `taken`."""
    try:
        call()
    except PreskError as error:
        return error.code
    return "taken"


KINDS: list[Any] = [np.float64, np.float32, np.float16, np.longdouble, ml_dtypes.bfloat16, np.int64, np.int8, np.uint64]
KINDS += [
    np.bool_,
    np.complex64,
    "U3",
    "S2",
    "M8[s]",
    "m8[s]",
    object,
    "i4,f4",
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.int4,
]


def random_array(rng: random.Random) -> Any:
    shape = tuple(rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(0, 4)))
    base = np.array([rng.choice([0, 1, 2, 4, 7]) for _ in range(int(np.prod(shape)))]).reshape(shape)
    array = base.astype(rng.choice(KINDS))
    change = rng.random()
    if change < 0.2 and array.dtype.kind == "f" and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -0.0, 5e-324])
    if change > 0.8 and array.ndim:
        array = array[..., ::-1] if rng.random() < 0.5 else np.asfortranarray(array)
    return array


def random_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.6 or depth > 3:
        return random_array(rng)
    if kind < 0.7:
        return rng.choice(
            [None, "x", 1, 1.5, True, 1j, b"x", float("nan"), 10**400, object(), range(3), {1, 2}, Path()]
        )
    inner = [random_value(rng, depth + 1) for _ in range(rng.randrange(0, 4))]
    if kind < 0.8:
        return tuple(inner)
    if kind < 0.85:
        return inner
    return {rng.choice(["w", "inner", "b", "a", "0", 1]): each for each in inner}


def test_random_arrays_of_a_call() -> None:
    program = presk.loads(PROGRAM)
    compiled = {name: presk.compile(program[name], backend="interp", bits=64) for name in ("Net.apply", "pick")}
    fitting: dict[str, Callable[[], dict[str, Any]]] = {
        name: lambda f=f, name=name: f.synthesize(
            **({"x": np.ones((2, 3))} if name == "Net.apply" else {"t": [1, 2], "k": 3})
        )
        for name, f in compiled.items()
    }
    codes: Counter[str] = Counter()
    for case in range(share(0.08)):
        rng = random.Random(case)
        name = rng.choice(list(compiled))
        values: dict[str, Any] = fitting[name]()
        if name == "pick":
            values["k"] = 3
        for parameter in rng.sample(list(values), rng.randrange(0, 3)):
            values[parameter] = random_value(rng)
        codes[outcome(lambda name=name, values=values: compiled[name](**values))] += 1
    assert {code[:2] for code in codes} <= {"ta", "E6", "E4"}, codes
    assert codes["taken"] > 0
    assert codes["E6001"] > 0
    assert codes["E6030"] > 0
