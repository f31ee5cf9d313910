"""An entry stated in another array library (NumPy, PyTorch, JAX), for timing beside presk.

`state` turns a Core program into a function of the library's arrays: contractions become its `matmul` or `einsum`,
elementwise primitives, sums and softmax its own. What isn't in the table can't be stated, and says so (E9011): nothing
is left out or put in another's place. The library chooses the order of its sums and what it fuses, so its bits are its
own. Called by `choose.bench`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from string import ascii_letters
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Function,
    Injected,
    Let,
    Literal,
    MakeRecord,
    MakeTuple,
    Operand,
    Program,
    Ref,
)
from presk.core.typing import operand_type
from presk.exact.constants import round_constant
from presk.primitives.attributes import take_axes, take_names
from presk.run import trees
from presk.shapes.align import align
from presk.shapes.types import Tensor, Type
from presk.text.diagnostics import PreskError, fail

Array: TypeAlias = Any
Labels: TypeAlias = tuple[int, ...]

LIBRARIES = ("numpy", "torch", "jax")
"""What `presk bench --against` knows."""


@dataclass(frozen=True)
class Library:
    """An array library: its functions, and how arrays come into it and a call is waited for."""

    name: str
    version: str
    functions: Any
    erf: Callable[[Array], Array] | None
    softmax: Callable[[Array, int], Array]
    enter: Callable[[np.ndarray[Any, Any]], Array]
    compile: Callable[[Callable[..., Any]], Callable[..., Any]]
    wait: Callable[[Any], Any]


def find(name: str, threads: int | None) -> Library | None:
    """The library, set to that many threads where it lets itself be; None where it isn't installed."""
    try:
        return MAKERS[name](threads)
    except ModuleNotFoundError:
        return None


def _numpy(threads: int | None) -> Library:
    def softmax(x: Array, axis: int) -> Array:
        shifted = np.exp(x - x.max(axis=axis, keepdims=True))
        return shifted / shifted.sum(axis=axis, keepdims=True)

    return Library("numpy", np.__version__, np, None, softmax, np.asarray, lambda f: f, lambda x: x)


def _torch(threads: int | None) -> Library:
    import torch  # pyright: ignore[reportMissingImports]

    torch_: Any = torch
    if threads is not None:
        torch_.set_num_threads(threads)

    def enter(array: np.ndarray[Any, Any]) -> Array:
        if array.dtype == ml_dtypes.bfloat16:
            return torch_.from_numpy(np.ascontiguousarray(array).view(np.int16).copy()).view(torch_.bfloat16)
        return torch_.from_numpy(np.array(array))

    def without_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
        return torch_.inference_mode()(function)

    def softmax(x: Array, axis: int) -> Array:
        return torch_.softmax(x, dim=axis)

    return Library("torch", torch_.__version__, torch_, torch_.erf, softmax, enter, without_gradients, lambda x: x)


def _jax(threads: int | None) -> Library:
    import jax  # pyright: ignore[reportMissingImports]

    jax_: Any = jax
    jax_.config.update("jax_enable_x64", True)
    jax_.config.update("jax_platforms", "cpu")
    special, network = jax_.scipy.special, jax_.nn

    def softmax(x: Array, axis: int) -> Array:
        return network.softmax(x, axis=axis)

    return Library(
        "jax", jax_.__version__, jax_.numpy, special.erf, softmax, jax_.numpy.asarray, jax_.jit, jax_.block_until_ready
    )


MAKERS: Mapping[str, Callable[[int | None], Library]] = {"numpy": _numpy, "torch": _torch, "jax": _jax}


def state(program: Program, library: Library, dtype: str) -> Callable[..., Any]:
    """The entry as a function of the library's arrays, trees of them in the places of trees.

    Raises PreskError E9011 for the first primitive or construct the table doesn't have.
    """
    functions = {each.name: each for each in program.functions}
    _check(program, library)

    def call(*arguments: Any) -> Any:
        return _Stated(library, functions, dtype).enter(program.entry, arguments)

    return library.compile(call)


def _check(program: Program, library: Library) -> None:
    for function in program.functions:
        for let in function.body.lets:
            match let.value:
                case Apply(primitive) if primitive not in RULES or (primitive in NEEDS_ERF and library.erf is None):
                    raise _unstated(library, f"`{primitive}`")
                case Apply("softmax", operands) if len(operands) > 1:
                    raise _unstated(library, "a softmax under a mask")
                case Apply() | Call() | MakeTuple() | MakeRecord():
                    pass
                case other:
                    raise _unstated(library, f"a {type(other).__name__.lower()}")


def _unstated(library: Library, what: str) -> PreskError:
    return fail("E9011", f"the entry can't be stated in {library.name}: it has {what}")


@dataclass(frozen=True)
class _Stated:
    """One call while it runs."""

    library: Library
    functions: Mapping[str, Function]
    dtype: str

    def enter(self, function: Function, arguments: Sequence[Any]) -> Any:
        types: dict[int, Type] = {each.number: each.type for each in function.parameters}
        values = {each.number: value for each, value in zip(function.parameters, arguments, strict=True)}
        return self.body(function.body, values, types)

    def body(self, body: Body, values: dict[int, Any], types: dict[int, Type]) -> Any:
        for let in body.lets:
            values[let.number] = self.let(let, values, types)
            types[let.number] = let.type
        return self.operand(body.result, values)

    def let(self, let: Let, values: Mapping[int, Any], types: Mapping[int, Type]) -> Any:
        match let.value:
            case Apply(primitive, operands) as apply:
                tensors = [operand_type(each, types) for each in operands]
                given = [self.operand(each, values) for each in operands]
                return RULES[primitive](_Task(self.library, apply, let.type, tensors), *given)
            case Call(name, operands):
                return self.enter(self.functions[name], [self.operand(each, values) for each in operands])
            case MakeTuple(items):
                return tuple(self.operand(each, values) for each in items)
            case MakeRecord(fields):
                return {name: self.operand(each, values) for name, each in fields}
            case _:
                raise _unstated(self.library, f"a {type(let.value).__name__.lower()}")

    def operand(self, operand: Operand, values: Mapping[int, Any]) -> Any:
        match operand:
            case Literal(value):
                narrow = "f64" if self.dtype == "f64" else "f32"
                number = np.asarray(float(round_constant(value, narrow)), dtype=DTYPES[self.dtype])
                return self.library.enter(number)
            case Injected(Ref(number, path)) | Ref(number, path):
                return _component(values[number], path)


def _component(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree[name] if hasattr(tree, "keys") else tree[int(name)]
    return tree


DTYPES: Mapping[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class _Task:
    """One primitive being called."""

    library: Library
    apply: Apply
    type: Type
    operands: Sequence[Type]

    @property
    def tensors(self) -> list[Tensor]:
        return [each for each in self.operands if isinstance(each, Tensor)]

    def aligned(self, values: Sequence[Array]) -> list[Array]:
        """The operands with the result's axes, of size 1 where one has none."""
        alignment = align([each.axes for each in self.tensors])
        xp = self.library.functions
        out: list[Array] = []
        for value, places in zip(values, alignment.places, strict=True):
            order = sorted(range(len(places)), key=places.__getitem__)
            moved = value if order == list(range(len(order))) else xp.moveaxis(value, order, list(range(len(order))))
            at: dict[int, int] = dict(zip(sorted(places), moved.shape, strict=True))
            wanted = tuple(at.get(place, 1) for place in range(len(alignment.axes)))
            leading = tuple(range(len(wanted) - len(places), len(wanted)))
            out.append(moved if tuple(sorted(places)) == leading else moved.reshape(wanted))
        return out


Rule: TypeAlias = Callable[..., Array]


def _binary(function: Callable[[Any, Array, Array], Array]) -> Rule:
    def rule(task: _Task, x: Array, y: Array) -> Array:
        return function(task.library.functions, *task.aligned((x, y)))

    return rule


def _unary(function: Callable[[Any, Array], Array]) -> Rule:
    def rule(task: _Task, x: Array) -> Array:
        return function(task.library.functions, x)

    return rule


def _relu(task: _Task, x: Array) -> Array:
    return x.clip(0) if task.library.name != "torch" else task.library.functions.relu(x)


def _erf(task: _Task, x: Array) -> Array:
    assert task.library.erf is not None, "checked before"
    return task.library.erf(x)


def _gelu(task: _Task, x: Array) -> Array:
    return x * (_erf(task, x * 0.5**0.5) + 1) * 0.5


def _reduced(name: str) -> Rule:
    def rule(task: _Task, x: Array) -> Array:
        axes = take_axes(dict(task.apply.attributes), task.tensors[0])
        return getattr(task.library.functions, name)(x, axes)

    return rule


def _softmax(task: _Task, x: Array) -> Array:
    axes = take_axes(dict(task.apply.attributes), task.tensors[0])
    if len(axes) == 1:
        return task.library.softmax(x, axes[0])
    rows = task.library.functions.moveaxis(x, axes, tuple(range(len(axes))))
    shape = rows.shape
    flat = task.library.softmax(rows.reshape((-1, *shape[len(axes) :])), 0)
    return task.library.functions.moveaxis(flat.reshape(shape), tuple(range(len(axes))), axes)


def _contraction(labels: Callable[[_Task], tuple[Labels, Labels, Labels]]) -> Rule:
    def rule(task: _Task, x: Array, y: Array) -> Array:
        left, right, out = labels(task)
        if len(left) == len(right) == len(out) == 2 and left[1] == right[0] and out == (left[0], right[1]):
            return task.library.functions.matmul(x, y)
        words = ["".join(ascii_letters[each] for each in group) for group in (left, right, out)]
        options = {"optimize": True} if task.library.name == "numpy" else {}
        return task.library.functions.einsum(f"{words[0]},{words[1]}->{words[2]}", x, y, **options)

    return rule


def _dot(task: _Task) -> tuple[Labels, Labels, Labels]:
    label = count()
    x, w = task.tensors
    left = tuple(next(label) for _ in x.axes)
    right = (left[-1], *(next(label) for _ in w.axes[1:]))
    return left, right, (*left[:-1], *right[1:])


def _matmul(task: _Task) -> tuple[Labels, Labels, Labels]:
    alignment = align([each.axes[:-2] for each in task.tensors])
    leading = len(alignment.axes)
    i, k, j = range(leading, leading + 3)
    return (*alignment.places[0], i, k), (*alignment.places[1], k, j), (*range(leading), i, j)


def _ein(task: _Task) -> tuple[Labels, Labels, Labels]:
    attributes = dict(task.apply.attributes)
    (out,) = take_names(attributes, "out")
    left, right = take_names(attributes, "labels")
    number = {name: at for at, name in enumerate(dict.fromkeys((*left, *right)))}
    return tuple(number[each] for each in left), tuple(number[each] for each in right), tuple(number[e] for e in out)


def _same(task: _Task, x: Array) -> Array:
    return x


RULES: Mapping[str, Rule] = {
    "dot": _contraction(_dot),
    "matmul": _contraction(_matmul),
    "ein": _contraction(_ein),
    "add": _binary(lambda xp, x, y: x + y),
    "sub": _binary(lambda xp, x, y: x - y),
    "mul": _binary(lambda xp, x, y: x * y),
    "div": _binary(lambda xp, x, y: x / y),
    "maximum": _binary(lambda xp, x, y: xp.maximum(x, y)),
    "minimum": _binary(lambda xp, x, y: xp.minimum(x, y)),
    "neg": _unary(lambda xp, x: -x),
    "abs": _unary(lambda xp, x: xp.abs(x)),
    "square": _unary(lambda xp, x: x * x),
    "sqrt": _unary(lambda xp, x: xp.sqrt(x)),
    "rsqrt": _unary(lambda xp, x: 1 / xp.sqrt(x)),
    "recip": _unary(lambda xp, x: 1 / x),
    "exp": _unary(lambda xp, x: xp.exp(x)),
    "expm1": _unary(lambda xp, x: xp.expm1(x)),
    "log": _unary(lambda xp, x: xp.log(x)),
    "log1p": _unary(lambda xp, x: xp.log1p(x)),
    "tanh": _unary(lambda xp, x: xp.tanh(x)),
    "sin": _unary(lambda xp, x: xp.sin(x)),
    "cos": _unary(lambda xp, x: xp.cos(x)),
    "sigmoid": _unary(lambda xp, x: 1 / (1 + xp.exp(-x))),
    "silu": _unary(lambda xp, x: x / (1 + xp.exp(-x))),
    "relu": _relu,
    "erf": _erf,
    "gelu": _gelu,
    "sum": _reduced("sum"),
    "mean": _reduced("mean"),
    "softmax": _softmax,
    "rename": _same,
}
"""What can be stated, by the primitive's name."""

NEEDS_ERF = frozenset({"erf", "gelu"})
"""Primitives that a library without the error function can't state."""


def arguments(library: Library, values: Sequence[Any]) -> list[Any]:
    """Values as the library's arrays."""
    return [trees.map_leaves(each, lambda leaf: library.enter(np.asarray(leaf))) for each in values]
