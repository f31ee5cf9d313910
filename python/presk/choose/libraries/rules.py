"""Elementwise primitives, reductions, rows and contractions, as an array library says them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import count
from math import inf, pi
from string import ascii_letters
from typing import Any, TypeAlias

import numpy as np

from presk.choose.libraries.library import Array
from presk.choose.libraries.task import Rule, Task
from presk.primitives.attributes import take_names
from presk.run import trees
from presk.shapes.align import align

Labels: TypeAlias = tuple[int, ...]


def _binary(function: Callable[[Any, Array, Array], Array]) -> Rule:
    def rule(task: Task, x: Array, y: Array) -> Array:
        return function(task.functions, *task.aligned((x, y)))

    return rule


def _injected(task: Task, x: Array) -> Array:
    """Nats as reals: times a real 1, since the libraries have no cast of one name."""
    return x * task.constant(np.ones(()))


def _unary(function: Callable[[Any, Array], Array]) -> Rule:
    def rule(task: Task, x: Array) -> Array:
        return function(task.functions, x)

    return rule


def _relu(task: Task, x: Array) -> Array:
    return x.clip(0) if task.library.name != "torch" else task.functions.relu(x)


def _erf(task: Task, x: Array) -> Array:
    assert task.library.erf is not None, "checked before"
    return task.library.erf(x)


def _erfc(task: Task, x: Array) -> Array:
    return 1 - _erf(task, x)


def _gelu(task: Task, x: Array) -> Array:
    return x * (_erf(task, x * 0.5**0.5) + 1) * 0.5


def _gelu_tanh(task: Task, x: Array) -> Array:
    return 0.5 * x * (1 + task.functions.tanh((2 / pi) ** 0.5 * (x + 0.044715 * x * x * x)))


def _softplus(task: Task, x: Array) -> Array:
    xp = task.functions
    return xp.log1p(xp.exp(-xp.abs(x))) + _relu(task, x)


def _power(task: Task, x: Array, y: Array) -> Array:
    x, y = task.aligned((x, y))
    return x**y


def _where(task: Task, mask: Array, x: Array, y: Array) -> Array:
    return task.functions.where(*task.aligned((mask, x, y)))


def _reduced(name: str, torch_name: str | None = None) -> Rule:
    """A reduction by its name; `torch_name` where PyTorch says it otherwise."""

    def rule(task: Task, x: Array) -> Array:
        called = torch_name if torch_name and task.library.name == "torch" else name
        return getattr(task.functions, called)(x, task.axes)

    return rule


def _total(task: Task, tree: Any) -> Array:
    return sum(leaf.sum() for _, leaf in trees.leaves(tree))


def _maximum(task: Task, x: Array) -> Array:
    """The rows' maxima, their axes kept with size 1."""
    if task.library.name == "torch":
        return task.functions.amax(x, task.axes, keepdim=True)
    return x.max(axis=task.axes, keepdims=True)


def _logsumexp(task: Task, x: Array) -> Array:
    xp = task.functions
    top = _maximum(task, x)
    return (xp.log(xp.exp(x - top).sum(task.axes)).reshape(-1) + top.reshape(-1)).reshape(_kept(task, x))


def _kept(task: Task, x: Array) -> tuple[int, ...]:
    return tuple(size for at, size in enumerate(x.shape) if at not in task.axes)


def _allowed(task: Task, mask: Array) -> Array:
    """A mask with the axes of the first operand."""
    return task.against(mask, task.tensors[-1].axes, task.tensors[0].axes)


def _softmax(task: Task, x: Array, mask: Array | None = None) -> Array:
    if mask is not None:
        allowed = _allowed(task, mask)
        return task.functions.where(allowed, _plain_softmax(task, task.functions.where(allowed, x, -inf)), 0)
    return _plain_softmax(task, x)


def _plain_softmax(task: Task, x: Array) -> Array:
    axes = task.axes
    if len(axes) == 1:
        return task.library.softmax(x, axes[0])
    rows = task.functions.moveaxis(x, axes, tuple(range(len(axes))))
    shape = rows.shape
    flat = task.library.softmax(rows.reshape((-1, *shape[len(axes) :])), 0)
    return task.functions.moveaxis(flat.reshape(shape), tuple(range(len(axes))), axes)


def _log_softmax(task: Task, x: Array, mask: Array | None = None) -> Array:
    xp = task.functions
    if mask is not None:
        x = xp.where(_allowed(task, mask), x, -inf)
    shifted = x - _maximum(task, x)
    shape = tuple(1 if at in task.axes else size for at, size in enumerate(x.shape))
    return shifted - xp.log(xp.exp(shifted).sum(task.axes)).reshape(shape)


def _cross_entropy(task: Task, x: Array, targets: Array, mask: Array | None = None) -> Array:
    """−log_softmax at the targets; the row's axes are brought to one."""
    xp = task.functions
    logits = task.tensors[0]
    kept = tuple(axis for at, axis in enumerate(logits.axes) if at not in task.axes)
    chosen = task.against(targets, task.tensors[1].axes, kept)
    shape = tuple(size for at, size in enumerate(x.shape) if at not in task.axes)
    rows = xp.moveaxis(_log_softmax(task, x, mask), task.axes, tuple(range(len(kept), len(logits.axes))))
    rows = rows.reshape((*shape, -1))
    at = xp.broadcast_to(chosen, shape)[..., None]
    picked = xp.take_along_dim(rows, at, -1) if task.library.name == "torch" else xp.take_along_axis(rows, at, -1)
    return -picked[..., 0]


def _contraction(labels: Callable[[Task], tuple[Labels, Labels, Labels]]) -> Rule:
    def rule(task: Task, x: Array, y: Array) -> Array:
        left, right, out = labels(task)
        if len(right) == 2 and left[-1] == right[0] and out == (*left[:-1], right[1]):
            return task.functions.matmul(x, y)
        words = ["".join(ascii_letters[each] for each in group) for group in (left, right, out)]
        options = {"optimize": True} if task.library.name == "numpy" else {}
        return task.functions.einsum(f"{words[0]},{words[1]}->{words[2]}", x, y, **options)

    return rule


def _dot(task: Task) -> tuple[Labels, Labels, Labels]:
    label = count()
    x, w = task.tensors
    left = tuple(next(label) for _ in x.axes)
    right = (left[-1], *(next(label) for _ in w.axes[1:]))
    return left, right, (*left[:-1], *right[1:])


def _matmul(task: Task) -> tuple[Labels, Labels, Labels]:
    alignment = align([each.axes[:-2] for each in task.tensors])
    leading = len(alignment.axes)
    i, k, j = range(leading, leading + 3)
    return (*alignment.places[0], i, k), (*alignment.places[1], k, j), (*range(leading), i, j)


def _ein(task: Task) -> tuple[Labels, Labels, Labels]:
    attributes = dict(task.apply.attributes)
    (out,) = take_names(attributes, "out")
    left, right = take_names(attributes, "labels")
    number = {name: at for at, name in enumerate(dict.fromkeys((*left, *right)))}
    return tuple(number[each] for each in left), tuple(number[each] for each in right), tuple(number[e] for e in out)


def _compare(name: str) -> tuple[str, Rule]:
    return name, _binary(lambda xp, x, y: getattr(operator, name)(x, y))


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
    "erfc": _erfc,
    "gelu": _gelu,
    "sum": _reduced("sum"),
    "mean": _reduced("mean"),
    "max": _reduced("max", "amax"),
    "min": _reduced("min", "amin"),
    "any": _reduced("any"),
    "all": _reduced("all"),
    "total": _total,
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "cross_entropy": _cross_entropy,
    "softplus": _softplus,
    "gelu_tanh": _gelu_tanh,
    "sign": _unary(lambda xp, x: xp.sign(x)),
    "floor": _unary(lambda xp, x: xp.floor(x)),
    "pow": _power,
    "where": _where,
    **dict(map(_compare, ("eq", "ne", "lt", "le", "gt", "ge"))),
    "and": _binary(lambda xp, x, y: x & y),
    "or": _binary(lambda xp, x, y: x | y),
    "not": _unary(lambda xp, x: ~x),
    "inject": _injected,
}
"""What can be stated, by the primitive's name."""

NEEDS_ERF = frozenset({"erf", "erfc", "gelu"})
"""Primitives that a library without the error function can't state."""
