"""What the conformance suite measures: its cases, and the operands of each.

Operands are draws of presk's own, so that they are the same everywhere. Those of a primitive are drawn by the
parameter's name (DOMAINS) and rounded to f32, so that f64 and f32 start from the same numbers and the gap is the
primitive's own. Those of an example are made up as `presk run` makes them, except where a program needs numbers of
another kind (GIVEN). Called by `conformance.suite`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk import draw
from presk.check.calls import session_signature
from presk.check.entries import find_entry
from presk.check.initial import Fill, initializers
from presk.check.operators import COTANGENT, Operator, is_objective, split_operators
from presk.check.program import Checked, load
from presk.core.bind import BindSession, bind
from presk.core.nodes import Program
from presk.draw import libm
from presk.run import trees
from presk.run.initial import draw_parameters
from presk.run.synthesis import synthesize
from presk.shapes.constants import rational
from presk.shapes.types import REAL, ModuleOf, Tensor, Type, leaves

F64 = NDArray[np.float64]

HERE = Path(__file__).resolve().parent
PRIMITIVES = HERE / "primitives.psk"
LIBRARY = HERE / "library.psk"
EXAMPLES = HERE.parent.parent / "examples"

STREAM = "conformance"
SEED = 0
DRAWN_STD = 0.25
"""Of what is drawn in the place of zeros: of the size of the other parameters."""

FLOAT_TYPES = ("f64", "f32", "bf16")


@dataclass(frozen=True)
class Case:
    """One entry at one set of sizes, in some realizations.

    `group` is `primitive`, `example`, `gradient`: the derivative of one of these, or `drawn`: an example again, with
    every parameter that its initializer sets to zero drawn. `given` has values for parameters in the place of those
    that are made up.
    """

    group: str
    path: Path
    entry: str
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    consts: Mapping[str, int] = field(default_factory=dict[str, int])
    given: Mapping[str, float | str] = field(default_factory=dict[str, "float | str"])
    training: bool = False
    realizations: tuple[str, ...] = FLOAT_TYPES

    @property
    def name(self) -> str:
        """Its name in the table: `minigpt: MiniGPT.apply`."""
        return self.entry.replace("_case", "") if self.path == PRIMITIVES else f"{self.path.stem}: {self.entry}"


@dataclass(frozen=True)
class Prepared:
    """A case's Core, and its operands in order."""

    case: Case
    program: Program
    values: list[Any]


TINY_BERT = {"V": 50, "D": 16, "H": 2, "L": 2, "F": 32, "T": 8}
TINY_LLAMA = {"V": 32, "D": 16, "H": 4, "G": 2, "L": 2, "F": 24, "T": 8}
TEXTS = {"batch": 2, "S": 6}
MATRIX = {"N": 6}

Entries = Mapping[str, Mapping[str, int]]

SIZES: Mapping[str, tuple[Mapping[str, int], Entries]] = {
    "tutorial/01_linear.psk": ({}, {"Linear{3, 2}.apply": {"batch": 4}, "mse": {"batch": 8, "I": 3, "O": 2}}),
    "tutorial/02_mlp.psk": (
        {},
        {"Layer.apply": {"batch": 4}, "MLP.apply": {"batch": 4}, "loss": {"batch": 8}},
    ),
    "tutorial/03_attention.psk": (
        {},
        {"scores": {"B": 2, "T": 5}, "weights": {"B": 2, "T": 5}, "attention": {"B": 2, "T": 5}},
    ),
    "tutorial/04_minigpt.psk": (
        {},
        {"Attention.apply": TEXTS, "Block.apply": TEXTS, "GPT.apply": {"batch": 2}, "loss": {"batch": 2}},
    ),
    "tutorial/05_gradients.psk": (
        {},
        {
            "Line.apply": {"n": 6},
            "loss": {"n": 6},
            "descend": {"n": 6},
            "pull": {"n": 6},
            "curve": {},
            "slope": {},
            "bottom": {},
            "sinc": {},
            "slopes": {"n": 5},
            "sums": {"n": 5},
        },
    ),
    "tutorial/06_training.psk": (
        {"N": 32},
        {"Net.apply": {"batch": 8}, "classify": {"batch": 8}, "loss": {"batch": 8}, "points": {"batch": 8}},
    ),
    "tutorial/07_generation.psk": (
        {"V": 32, "D": 16, "H": 2, "T": 8},
        {
            "Attention.project": {"batch": 3},
            "Attention.apply": {"batch": 2},
            "Attention.step": {"batch": 2},
            "Block.apply": {"batch": 2},
            "Block.step": {"batch": 2},
            "GPT.apply": {"batch": 2},
            "GPT.next_token": {"batch": 2},
            "loss": {"batch": 2},
        },
    ),
    "norms/norms.psk": (
        {},
        {
            "LayerNorm{8}.apply": {"batch": 4},
            "RMSNorm{8}.apply": {"batch": 4},
            "layer_norm": {"batch": 4, "N": 33},
            "rms_norm": {"batch": 4, "N": 33},
            "moments": {"batch": 4, "N": 8},
        },
    ),
    "regression/regression.psk": ({}, {"Net.apply": {"batch": 8}, "loss": {"batch": 8}}),
    "classifier/classifier.psk": (
        {},
        {
            "Classifier.apply": {"batch": 8},
            "loss": {"batch": 8},
            "probabilities": {"batch": 8},
            "classify": {"batch": 8},
        },
    ),
    "minigpt/minigpt.psk": (
        {},
        {
            "Block.apply": {"batch": 2},
            "Block.step": {"batch": 2},
            "MiniGPT.apply": {"batch": 2},
            "MiniGPT.next_token": {"batch": 2},
            "loss": {"batch": 2},
        },
    ),
    "demo/demo.psk": (
        {"V": 8, "D": 8, "H": 2, "T": 4},
        {
            "Block.apply": {"batch": 2},
            "Block.step": {"batch": 2},
            "Writer.apply": {"batch": 2},
            "Writer.next_token": {"batch": 2},
            "loss": {"batch": 2},
        },
    ),
    "cnn/cnn.psk": ({}, {"CNN.apply": {"batch": 2}, "loss": {"batch": 2}, "draw_bars": {"batch": 3}}),
    "lstm/lstm.psk": (
        {},
        {"Forecast.apply": {"batch": 2, "T": 6}, "loss": {"batch": 2, "T": 6}, "draw_waves": {"batch": 3}},
    ),
    "vae/vae.psk": (
        {},
        {
            "MLP{2, 3}.apply": {"batch": 4},
            "VAE.encode": {"batch": 4},
            "VAE.apply": {"batch": 4},
            "VAE.decode": {"batch": 4},
            "divergence": {"batch": 4},
            "loss": {"batch": 4},
            "draw_ring": {"batch": 4},
        },
    ),
    "bert/bert.psk": (
        TINY_BERT,
        {"Layer.apply": TEXTS, "Bert.apply": TEXTS, "Bert.pool": TEXTS, "MaskedLM.apply": TEXTS, "loss": TEXTS},
    ),
    "llama/llama.psk": (
        TINY_LLAMA,
        {
            "Block.apply": TEXTS,
            "Block.step": {"batch": 2},
            "Llama.apply": TEXTS,
            "Llama.next_token": {"batch": 2},
            "loss": TEXTS,
        },
    ),
    "numerics/cholesky.psk": (
        {},
        {"cholesky": MATRIX, "forward": MATRIX, "backward": MATRIX, "solve": MATRIX, "log_determinant": MATRIX},
    ),
    "numerics/kmeans.psk": (
        {"R": 3},
        {
            "nearest": {"k": 3, "n": 12, "d": 2},
            "kmeans": {"k": 3, "n": 12, "d": 2},
            "inertia": {"k": 3, "n": 12, "d": 2},
        },
    ),
    "numerics/lorenz.psk": ({"N": 20}, {"lorenz": {}, "orbit": {}}),
    "numerics/newton.psk": (
        {},
        {"cube": {}, "cube_slope": {}, "cube_root": {}, "anomaly": {}, "anomaly_slope": {}, "kepler": {}},
    ),
}
"""Every example's constants, and the sizes of every entry of it."""

WITHOUT_CASE = {
    "tutorial/07_generation.psk": {"choose": "samples, at a made-up temperature: `sample` is measured by itself"},
    "numerics/lorenz.psk": {"rk4": "takes a function: `orbit` calls it"},
    "numerics/newton.psk": {"newton": "takes functions: `cube_root` and `kepler` call it"},
}
"""Entries of examples that have no case, and why."""

LIBRARY_SIZES: Entries = {
    "adamw.step[gpt.MiniGPT]": {},
    "sgd.step[nn.Linear{16, 48}]": {},
    "lion.step[nn.Linear{16, 48}]": {},
    "losses.mse": {"batch": 16},
    "losses.mae": {"batch": 16},
    "losses.huber": {"batch": 16},
    "losses.mean_cross_entropy": {"batch": 8, "C": 5},
    "losses.binary_cross_entropy": {"batch": 16},
    "rates.cosine_rate": {},
}
"""Entries of the library that no example covers."""

GIVEN: Mapping[tuple[str, str], Mapping[str, float | str]] = {
    ("cholesky", "cholesky"): {"a": "positive definite"},
    ("cholesky", "forward"): {"l": "lower triangular"},
    ("cholesky", "backward"): {"l": "lower triangular"},
    ("cholesky", "solve"): {"a": "positive definite"},
    ("cholesky", "log_determinant"): {"a": "positive definite"},
    ("lorenz", "orbit"): {"h": 0.01},
    ("newton", "cube_root"): {"x": 1.5},
    ("newton", "kepler"): {"x": 1.0},
    ("library", "rates.cosine_rate"): {"t": 700.0, "steps": 1000.0, "warmup": 100.0},
}
"""Operands of another kind than those that are made up, by the program's and the entry's name."""


GROUPS = ("primitive", "example", "drawn", "gradient")


def cases(groups: Sequence[str] = GROUPS) -> list[Case]:
    """All cases of these groups, in the table's order."""
    found: list[Case] = []
    if "primitive" in groups:
        found += _primitives()
    for group in ("example", "drawn"):
        if group in groups:
            found += _examples(group)
    found = [case for case in found if case.group != "drawn" or has_zeros(case)]
    if "gradient" in groups:
        found += [made for case in (*_primitives(), *_examples("example")) if (made := _gradient(case)) is not None]
    return found


def _primitives() -> list[Case]:
    return [
        Case("primitive", PRIMITIVES, entry.name, training=entry.name == "dropout_case", realizations=("f64", "f32"))
        for entry in load(PRIMITIVES).entries()
    ]


def _examples(group: str) -> list[Case]:
    found = [_example(group, EXAMPLES / path, *sizes) for path, sizes in SIZES.items()]
    return [case for several in (*found, _example(group, LIBRARY, {}, LIBRARY_SIZES)) for case in several]


def _gradient(case: Case) -> Case | None:
    """The derivative of a case: a primitive's by all real operands, an objective's by its first real argument."""
    program = bind(_load(case), case.entry, dims=case.dims, training=case.training)
    real = [each.number for each in program.entry.parameters if _is_real(each.type)]
    if not real:
        return None
    if case.path == PRIMITIVES:
        if not _is_real(program.entry.result):
            return None
        return replace(case, group="gradient", entry=Operator("vjp", tuple(real), single=False).name(case.entry))
    if program.entry.result != REAL and not is_objective(program.entry.result):
        return None
    return replace(case, group="gradient", entry=Operator("grad", (real[0],)).name(case.entry))


def _is_real(of: Type) -> bool:
    kinds = {leaf.kind for _, leaf in leaves(of)}
    return kinds == {"real"}


def _example(group: str, path: Path, consts: Mapping[str, int], entries: Entries) -> list[Case]:
    return [
        Case(group, path, entry, dims, consts, GIVEN.get((path.stem, entry), {})) for entry, dims in entries.items()
    ]


def has_zeros(case: Case) -> bool:
    """Whether a parameter of the case begins as zeros."""
    checked = _load(case)
    program = bind(checked, case.entry, dims=case.dims)
    initials = _Initials(checked, case.entry)
    return any(initials.has_zeros(each.type) for each in program.entry.parameters if isinstance(each.type, ModuleOf))


def prepare(case: Case) -> Prepared:
    """The case's Core and operands."""
    checked = _load(case)
    program = bind(checked, case.entry, dims=case.dims, training=case.training)
    initials = _Initials(checked, case.entry)
    values: list[Any] = []
    for at, parameter in enumerate(program.entry.parameters):
        name = parameter.name or f"%{parameter.number}"
        if name in case.given:
            values.append(_given(case.given[name], name, parameter.type))
        elif isinstance(parameter.type, ModuleOf):
            tree = initials.draw(parameter.type, (name,) if at else ())
            values.append(_without_zeros(tree, name) if case.group == "drawn" else tree)
        elif case.path == PRIMITIVES:
            values.append(_operands(case.entry, name, parameter.type))
        else:
            values.append(synthesize(name, parameter.type, SEED))
    return Prepared(case, program, values)


def _load(case: Case) -> Checked:
    return _load_once(case.path, tuple(case.consts.items()))


@lru_cache(maxsize=32)
def _load_once(path: Path, consts: tuple[tuple[str, int], ...]) -> Checked:
    return load(path, {name: rational(value) for name, value in consts})


class _Initials:
    """The initial parameters of an entry's modules."""

    def __init__(self, checked: Checked, entry: str) -> None:
        self.session = BindSession(checked, training=False)
        _, within = split_operators(entry)
        session_signature(self.session, find_entry(self.session, checked, within))  # makes its modules known

    def has_zeros(self, of: ModuleOf) -> bool:
        """Whether a leaf of a module's tree begins as zeros."""
        return any(leaf.initial == Fill(rational(0)) for leaf in initializers(self.session, of))

    def draw(self, of: ModuleOf, prefix: trees.Path = ()) -> Any:
        """A module's tree, its paths begun with `prefix`."""
        return draw_parameters(of, initializers(self.session, of), SEED, prefix)


def _without_zeros(tree: Any, name: str) -> Any:
    """The tree with normals in the place of every leaf that is all zeros."""
    paths = iter([".".join((name, *path)) for path, _ in trees.leaves(tree)])

    def leaf(array: F64) -> F64:
        key = draw.key(SEED, STREAM, next(paths))
        return array if array.any() else draw.normal(key, 0, array.shape, std=DRAWN_STD)

    return trees.map_leaves(tree, leaf)


# Operands of primitives

Domain = Callable[[bytes, tuple[int, ...]], F64]


def _normal(key: bytes, sizes: tuple[int, ...]) -> F64:
    return draw.normal(key, 0, sizes)


def _uniform(key: bytes, sizes: tuple[int, ...], lo: float, hi: float) -> F64:
    return draw.uniform(key, 0, sizes, lo=lo, hi=hi)


def _positive(key: bytes, sizes: tuple[int, ...]) -> F64:
    return libm.exp(2.0 * draw.normal(key, 0, sizes))


def _wide(key: bytes, sizes: tuple[int, ...]) -> F64:
    return draw.normal(key, 0, sizes) * libm.exp(2.0 * draw.normal(key, 1, sizes))


def _near(key: bytes, sizes: tuple[int, ...]) -> F64:
    return np.clip(draw.normal(key, 0, sizes), -2.0, 2.0)


DOMAINS: Mapping[str, Domain] = {
    "x": _normal,
    "y": _normal,
    "z": _normal,
    "wide": _wide,
    "positive": _positive,
    "share": partial(_uniform, lo=-15 / 16, hi=1.0),
    "angle": partial(_uniform, lo=-20.0, hi=20.0),
    "near": _near,
}
"""How an operand of a primitive is drawn, by its name."""


def _operands(entry: str, name: str, of: Type) -> Any:
    """A primitive's operand: a tensor, or a tree of them, each leaf drawn by its own name."""
    found: list[tuple[trees.Path, Any]] = []
    for path, tensor in leaves(of):
        word = path[-1] if path else name
        if tensor.kind == "real":
            key = draw.key(SEED, STREAM, ".".join((entry, name, *path)))
            domain = _normal if name == COTANGENT else DOMAINS[word]
            found.append((path, domain(key, tensor.sizes).astype(np.float32).astype(np.float64)))
        else:
            found.append((path, synthesize(".".join((entry, name, *path)), tensor, SEED)))
    return trees.grow(found)


# Operands of another kind


def _given(value: float | str, name: str, of: Type) -> F64:
    if not isinstance(value, str):
        return np.array(value)
    assert isinstance(of, Tensor), "matrices are tensors"
    key = draw.key(SEED, STREAM, name)
    return MATRICES[value](key, of.sizes)


def _positive_definite(key: bytes, sizes: tuple[int, ...]) -> F64:
    """g·gᵀ + 1 for normals of few bits, whose products and sums are exact, in whatever order they are added."""
    g = np.floor(draw.normal(key, 0, sizes) * 8.0) / 8.0
    return np.sum(g[:, None, :] * g[None, :, :], axis=-1) + np.eye(sizes[0])


def _lower_triangular(key: bytes, sizes: tuple[int, ...]) -> F64:
    """Normals below a diagonal between 1 and 2."""
    below = np.tril(draw.normal(key, 0, sizes), -1)
    return below + np.diag(draw.uniform(key, 1, sizes[:1], lo=1.0, hi=2.0))


MATRICES: Mapping[str, Domain] = {"positive definite": _positive_definite, "lower triangular": _lower_triangular}
"""Matrices of the kinds that programs of linear algebra ask for."""
