"""How to call each primitive on random operands: a recipe by name, used by `generate`.

A recipe asks `Choices` for operands and gives them with attributes as a program writes them; whether the primitive
takes them is decided by its rule, and a refusal costs one let. `test_generate` holds that every primitive has a recipe
and is really generated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from presk.core.nodes import Literal, Operand
from presk.primitives.all import TABLE
from presk.primitives.call import Given
from presk.primitives.contractions import RUN_LABEL
from presk.primitives.table import Misfit
from presk.shapes import constants
from presk.shapes.poly import number
from presk.shapes.types import Axis, Shape, Tensor

Made = tuple[Sequence[Operand], dict[str, Given]]


class Choices(ABC):
    """What recipes ask for."""

    @abstractmethod
    def whole(self, low: int, high: int) -> int: ...

    @abstractmethod
    def pick(self, options: Sequence[Any]) -> Any: ...

    @abstractmethod
    def chance(self) -> bool: ...

    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def axes(self, low: int = 0, high: int = 3) -> Shape: ...

    @abstractmethod
    def tensor(self, kind: str | None = None, rank: int = 0) -> tuple[Operand, Tensor]: ...

    @abstractmethod
    def fresh(self, wanted: Tensor) -> tuple[Operand, Tensor]: ...

    @abstractmethod
    def aligned(self, leading: Tensor, kind: str | None = None) -> Operand: ...

    @abstractmethod
    def constant(self, kind: str) -> Literal: ...


Recipe = Callable[[Choices], Made]


def _unary(kind: str | None) -> Recipe:
    return lambda choices: ([choices.tensor(kind)[0]], {})


def _binary(kinds: tuple[str, ...]) -> Recipe:
    def recipe(choices: Choices) -> Made:
        x, found = choices.tensor(choices.pick(kinds))
        y = choices.aligned(found)
        return ([x, y] if choices.chance() else [y, x]), {}

    return recipe


def _where(choices: Choices) -> Made:
    a, found = choices.tensor(choices.pick(("real", "real", "nat", "bool")))
    b = choices.aligned(found)
    return [choices.aligned(found, "bool"), *((a, b) if choices.chance() else (b, a))], {}


def _some_axes(choices: Choices, tensor: Tensor) -> Given:
    """One axis, several in order, or all."""
    chosen = tuple(at for at in range(len(tensor.axes)) if choices.chance())
    if not chosen or choices.whole(0, 4) == 0:
        return None
    return chosen[0] if len(chosen) == 1 and choices.chance() else chosen


def _one_axis(choices: Choices, tensor: Tensor) -> int:
    return choices.whole(0, len(tensor.axes) - 1)


def _reduction(kind: str, ties: bool = False) -> Recipe:
    def recipe(choices: Choices) -> Made:
        x, found = choices.tensor(kind)
        given: dict[str, Given] = {"axis": _some_axes(choices, found)}
        return [x], given | ({"ties": choices.pick(("first", "last"))} if ties else {})

    return recipe


def _along(kind: str | None, **more: Any) -> Recipe:
    """A primitive along one axis."""

    def recipe(choices: Choices) -> Made:
        x, found = choices.tensor(kind, rank=1)
        return [x], {"axis": _one_axis(choices, found), **{name: value(choices) for name, value in more.items()}}

    return recipe


def _row(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    operands = [x, choices.aligned(found, "bool")] if choices.chance() else [x]
    return operands, {"axis": _some_axes(choices, found)}


def _cross_entropy(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    at = _one_axis(choices, found)
    rows = tuple(axis for place, axis in enumerate(found.axes) if place != at)
    targets, _ = choices.fresh(Tensor("nat", rows, _size(found, at)))
    return [x, targets], {"axis": at}


def _size(tensor: Tensor, at: int) -> Any:
    axis = tensor.axes[at]
    if not isinstance(axis, Axis):
        raise Misfit("E3004", "a run has no one size")
    return axis.size


def _dot(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    last = found.axes[-1]
    return [x, choices.fresh(Tensor("real", (last, *choices.axes(0, 1))))[0]], {}


def _matmul(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=2)
    batch = found.axes[:-2] if choices.chance() else ()
    other = Tensor("real", (*batch, found.axes[-1], Axis(None, number(choices.size()))))
    return [x, choices.fresh(other)[0]], {}


def _dot_left(choices: Choices) -> Made:
    cotangent, found = choices.tensor("real", rank=1)
    free = choices.whole(0, len(found.axes))
    first = Axis(None, number(choices.size()))
    kept = found.axes[: len(found.axes) - free]
    w = Tensor("real", (first, *found.axes[len(kept) :]))
    return [cotangent, choices.fresh(w)[0]], {"new": (*kept, first)}


def _dot_right(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    further = tuple(Axis(None, axis.size) for axis in choices.axes(0, 1) if isinstance(axis, Axis))
    cotangent = Tensor("real", (*found.axes[:-1], *further))
    return [x, choices.fresh(cotangent)[0]], {"new": (found.axes[-1], *further)}


def _ein(choices: Choices) -> Made:
    x, left = choices.tensor("real")
    y, right = choices.tensor("real")
    labels = list("ijklmnop")
    first = tuple(labels.pop(0) if isinstance(axis, Axis) else RUN_LABEL for axis in left.axes)
    sizes = {label: axis.size for label, axis in zip(first, left.axes, strict=True) if isinstance(axis, Axis)}
    second: list[str] = []
    for axis in right.axes:
        shared = [label for label in sizes if isinstance(axis, Axis) and sizes[label] == axis.size]
        shared = [label for label in shared if label not in second]
        own = labels.pop(0) if isinstance(axis, Axis) else RUN_LABEL
        second.append(choices.pick(shared) if shared and choices.chance() else own)
    known = list(dict.fromkeys((*first, *second)))
    out = tuple(label for label in known if label != RUN_LABEL and choices.chance())
    if choices.chance():
        out = tuple(reversed(out))
    if RUN_LABEL in known:
        out = (RUN_LABEL, *out)
    return [x, y], {"out": (out,), "labels": (first, tuple(second))}


def _embed(choices: Choices) -> Made:
    table, found = choices.tensor("real", rank=1)
    return [table, _index(choices, found, 0, choices.axes(0, 2))], {}


def _index(choices: Choices, tensor: Tensor, at: int, axes: Shape) -> Operand:
    """Nats that may index an axis."""
    return choices.fresh(Tensor("nat", axes, _size(tensor, at)))[0]


def _take(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    at = _one_axis(choices, found)
    return [x, _index(choices, found, at, choices.axes(0, 1))], {"axis": at}


def _one_hot(choices: Choices) -> Made:
    x, found = choices.tensor("nat")
    bound = found.bound.whole if found.bound is not None else 0
    return [x], {"new": (Axis(choices.pick((None, "k")), number((bound or 0) + choices.whole(0, 1))),)}


def _gather(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    at = _one_axis(choices, found)
    axes = tuple(
        Axis(axis.name, number(choices.size())) if place == at else axis for place, axis in enumerate(found.explicit)
    )
    return [x, _index(choices, found, at, axes)], {"axis": at}


def _scatter_add(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    at = _one_axis(choices, found)
    rows = Axis("n", number(choices.size()))
    values = Tensor("real", (*found.axes[:at], rows, *found.axes[at + 1 :]))
    return [x, _index(choices, found, at, (rows,)), choices.aligned(values)], {"axis": at}


def _top_k(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    return [x], {
        "axis": _one_axis(choices, found),
        "k": choices.whole(0, 2),
        "ties": choices.pick(("first", "last")),
    }


def _split(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    at = _one_axis(choices, found)
    whole = _size(found, at).whole or 0
    divisor = choices.pick([each for each in range(1, whole + 1) if whole % each == 0] or [1])
    names = choices.pick(((None, None), ("p", "q"), ("p", None)))
    new = (Axis(names[0], number(divisor)), Axis(names[1], number(whole // divisor)))
    return [x], {"axis": at, "new": new if choices.whole(0, 4) else (Axis(names[0], number(whole)),)}


def _merge(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    first = _one_axis(choices, found)
    stop = choices.whole(first + 1, len(found.axes))
    product = 1
    for axis in found.explicit[first:stop]:
        product *= axis.size.whole or 0
    return [x], {"axes": tuple(range(first, stop)), "new": (Axis(choices.pick((None, "m")), number(product)),)}


def _transpose(choices: Choices) -> Made:
    x, found = choices.tensor()
    order = list(range(len(found.axes)))
    moved = [order.pop(choices.whole(0, len(order) - 1)) for _ in found.axes]
    return [x], {"order": tuple(moved)}


def _rename(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    names = [axis.name for axis in found.explicit if axis.name is not None]
    if not names:
        return [x], {"names": ()}
    if len(names) > 1 and choices.chance():
        return [x], {"names": ((names[0], names[1]), (names[1], names[0]))}
    return [x], {"names": ((choices.pick(names), choices.pick(("r", "a", names[0]))),)}


def _slice(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    at = _one_axis(choices, found)
    start = choices.whole(0, _size(found, at).whole or 0)
    return [x], {"axis": at, "start": start, "stop": choices.whole(start, _size(found, at).whole or 0)}


def _split_heads(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    whole = _size(found, len(found.axes) - 1).whole or 0
    return [x], {"heads": choices.pick([each for each in (1, 2, 3) if whole % each == 0])}


def _merge_heads(choices: Choices) -> Made:
    x, _ = choices.tensor(None, rank=2)
    return [x], {}


def _broadcast_to(choices: Choices) -> Made:
    x, found = choices.tensor()
    axes = list(found.axes)
    axes.insert(choices.whole(0, len(axes)) if axes else 0, Axis("z", number(choices.size())))
    return [x], {"new": tuple(axes) if choices.whole(0, 4) else found.axes}


def _windows(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    given: dict[str, Given] = {"axis": _one_axis(choices, found), "new": (Axis("w", number(choices.whole(1, 2))),)}
    return [x], given | {"stride": choices.whole(1, 2), "dilation": choices.whole(1, 2)}


def _several(choices: Choices) -> tuple[list[Operand], Tensor]:
    x, found = choices.tensor()
    return [x, *(choices.fresh(found)[0] for _ in range(choices.whole(0, 2)))], found


def _concat(choices: Choices) -> Made:
    operands, found = _several(choices)
    return operands, {"axis": choices.whole(0, max(len(found.axes) - 1, 0))}


def _stack(choices: Choices) -> Made:
    operands, _ = _several(choices)
    return operands, {"new": (Axis(choices.pick((None, "n")), number(len(operands))),)}


def _constants(count: int | None, operands: bool = False) -> Recipe:
    def recipe(choices: Choices) -> Made:
        given: dict[str, Given] = {"new": choices.axes(count or 0, 3 if count is None else count)}
        return ([choices.aligned(Tensor("real"))] if operands else []), given

    return recipe


def _drawn(choices: Choices) -> Made:
    return [], {"new": choices.axes(0, 2)}


def _sample(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    one = Literal(constants.rational(1))
    return [x, one, one], {"axis": _one_axis(choices, found)}


def _dropout_mask(choices: Choices) -> Made:
    return [Literal(constants.apply("div", constants.rational(1), constants.rational(4)))], {"new": choices.axes(0, 2)}


def _index_at(choices: Choices) -> Made:
    x, found = choices.tensor(None, rank=1)
    at = _one_axis(choices, found)
    known = _size(found, at).whole or 0
    literal = Literal(constants.rational(choices.whole(0, max(known - 1, 0))), "nat")
    return [x, literal if choices.chance() else _index(choices, found, at, ())], {"axis": at}


def _update_index(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    at = _one_axis(choices, found)
    row = Tensor("real", (*found.axes[:at], *found.axes[at + 1 :]))
    return [x, choices.aligned(row), _index(choices, found, at, ())], {"axis": at}


def _update_slice(choices: Choices) -> Made:
    x, found = choices.tensor("real", rank=1)
    at = _one_axis(choices, found)
    whole = _size(found, at).whole or 0
    start = choices.whole(0, whole)
    axis = found.axes[at]
    short = Axis(axis.name if isinstance(axis, Axis) else None, number(choices.whole(0, whole - start)))
    v, _ = choices.fresh(Tensor("real", (*found.axes[:at], short, *found.axes[at + 1 :])))
    return [x, v], {"axis": at, "start": start}


RECIPES: dict[str, Recipe] = {
    **{name: _unary("real") for name, row in TABLE.items() if row.family == "elementwise" and len(row.operands) == 1},
    "not": _unary("bool"),
    "inject": _unary("nat"),
    **dict.fromkeys(("add", "mul", "eq", "ne", "lt", "le", "gt", "ge"), _binary(("real", "real", "nat"))),
    **dict.fromkeys(("sub", "div", "pow", "maximum", "minimum"), _binary(("real",))),
    **dict.fromkeys(("and", "or"), _binary(("bool",))),
    "where": _where,
    **dict.fromkeys(("sum", "mean", "max", "min", "prod", "logsumexp"), _reduction("real")),
    **dict.fromkeys(("any", "all"), _reduction("bool")),
    **dict.fromkeys(("argmax", "argmin"), _reduction("real", ties=True)),
    "cumsum": _along("real"),
    "total": _unary("real"),
    **dict.fromkeys(("softmax", "log_softmax"), _row),
    "cross_entropy": _cross_entropy,
    "dot": _dot,
    "matmul": _matmul,
    "ein": _ein,
    "dot_vjp_l": _dot_left,
    "dot_vjp_r": _dot_right,
    "embed": _embed,
    "take": _take,
    "one_hot": _one_hot,
    "gather": _gather,
    "scatter_add": _scatter_add,
    "sort": _along("real"),
    "top_k": _top_k,
    "split": _split,
    "merge": _merge,
    "transpose": _transpose,
    "rename": _rename,
    "slice": _slice,
    "pad": _along(None, before=lambda choices: choices.whole(0, 2), after=lambda choices: choices.whole(0, 1)),
    "flip": _along(None),
    "split_heads": _split_heads,
    "merge_heads": _merge_heads,
    "broadcast_to": _broadcast_to,
    "windows": _windows,
    "concat": _concat,
    "stack": _stack,
    "unstack": _along(None),
    "positions": _constants(1),
    "causal_mask": _constants(2),
    "zeros": _constants(None),
    "ones": _constants(None),
    "full": _constants(None, operands=True),
    "eye": _constants(2),
    "normal": _drawn,
    "uniform": _drawn,
    "sample": _sample,
    "dropout_mask": _dropout_mask,
    "index": _index_at,
    "update_index": _update_index,
    "update_slice": _update_slice,
    "stop_gradient": _unary(None),
}
"""By the primitive's name."""

LEAFWISE = RECIPES.keys() - {name for name, each in TABLE.items() if each.draws}
"""What stands in the body of a map."""
