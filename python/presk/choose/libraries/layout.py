"""Layout, look-ups and constants, as an array library says them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from presk.choose.libraries.library import Array
from presk.choose.libraries.task import Rule, Task
from presk.primitives.fitting import match_same_rank
from presk.shapes.types import TupleOf


def _reshaped(task: Task, x: Array) -> Array:
    """What keeps the row-major order."""
    return x.reshape(task.result.sizes)


def _transpose(task: Task, x: Array) -> Array:
    order = task.order
    return task.functions.moveaxis(x, order, tuple(range(len(order))))


def _broadcast(task: Task, x: Array) -> Array:
    return task.functions.broadcast_to(task.against(x, task.tensors[0].axes, task.result.axes), task.result.sizes)


def _slice(task: Task, x: Array) -> Array:
    return x[(slice(None),) * task.axis + (slice(task.whole("start"), task.whole("stop")),)]


def _flip(task: Task, x: Array) -> Array:
    return task.functions.flip(x, (task.axis,))


def _same_order(task: Task, values: tuple[Array, ...], free: int | None) -> list[Array]:
    """Operands of one rank with the first one's order of axes."""
    first = task.tensors[0]
    out: list[Array] = []
    for value, tensor in zip(values, task.tensors, strict=True):
        places = match_same_rank(first.axes, tensor, free=free)
        out.append(task.placed(value, places, len(first.axes)))
    return out


def _concat(task: Task, *values: Array) -> Array:
    return task.functions.concatenate(_same_order(task, values, task.axis), task.axis)


def _stack(task: Task, *values: Array) -> Array:
    return task.functions.stack(_same_order(task, values, None), 0)


def _unstack(task: Task, x: Array) -> tuple[Array, ...]:
    assert isinstance(task.type, TupleOf), "one tensor an index"
    return tuple(x[(slice(None),) * task.axis + (at,)] for at in range(len(task.type.items)))


def _index(task: Task, x: Array, index: Array) -> Array:
    return x[(slice(None),) * task.axis + (index,)]


def _embed(task: Task, table: Array, index: Array) -> Array:
    return table[index]


def _one_hot(task: Task, index: Array) -> Array:
    return task.constant(np.eye(task.result.sizes[-1]))[index]


def _positions(task: Task) -> Array:
    return task.constant(np.arange(task.result.sizes[0], dtype=np.int64))


def _causal_mask(task: Task) -> Array:
    rows, columns = task.result.sizes
    return task.constant(np.arange(columns) <= np.arange(rows)[:, None])


def _fixed(make: Callable[[tuple[int, ...]], np.ndarray[Any, Any]]) -> Rule:
    def rule(task: Task) -> Array:
        return task.constant(make(task.result.sizes))

    return rule


def _full(task: Task, c: Array) -> Array:
    return task.functions.broadcast_to(c, task.result.sizes)


def _update_index(task: Task, x: Array, value: Array, index: Array) -> Array:
    """x with one slice replaced, by a choice along the axis: the index may be known at run time alone."""
    axis = task.axis
    tensor = task.tensors[0]
    rest = (*tensor.axes[:axis], *tensor.axes[axis + 1 :])
    new = task.against(value, task.tensors[1].axes, rest)
    at = task.constant(np.arange(tensor.sizes[axis], dtype=np.int64))
    chosen = (at == index).reshape((-1,) + (1,) * (len(tensor.axes) - axis - 1))
    shape = new.shape
    return task.functions.where(chosen, new.reshape((*shape[:axis], 1, *shape[axis:])), x)


LAYOUT: Mapping[str, Rule] = {
    **dict.fromkeys(("split", "merge", "rename", "split_heads", "merge_heads", "stop_gradient"), _reshaped),
    "transpose": _transpose,
    "broadcast_to": _broadcast,
    "slice": _slice,
    "flip": _flip,
    "concat": _concat,
    "stack": _stack,
    "unstack": _unstack,
    "take": _index,
    "index": _index,
    "embed": _embed,
    "one_hot": _one_hot,
    "update_index": _update_index,
    "positions": _positions,
    "causal_mask": _causal_mask,
    "eye": _fixed(lambda sizes: np.eye(sizes[0], sizes[1])),
    "zeros": _fixed(np.zeros),
    "ones": _fixed(np.ones),
    "full": _full,
}
"""What can be stated, by the primitive's name."""
