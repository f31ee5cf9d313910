"""Which axis of an operand is which of the result, for the primitives that share a loop nest.

`links_of` gives for each operand one Link an axis, or None where the operand's element is found otherwise (a slice, a
window, a flipped axis) and so is read from memory. `Extents` joins axes that these links show to be of one size
whatever the sizes are. Called by `core.nests` and `core.groups`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

from presk.core.nodes import Apply, Let, Ref
from presk.core.operands import ref_of
from presk.core.typing import Types, operand_type
from presk.shapes.align import align
from presk.shapes.types import Shape, Tensor


@dataclass(frozen=True, slots=True)
class Same:
    """The result's axis `at`."""

    at: int


@dataclass(frozen=True, slots=True)
class Parts:
    """The result's axes `at`, row-major: the operand's axis is split into them."""

    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The `which`-th of `of` axes that the result's axis `at` merges."""

    at: int
    which: int
    of: int


@dataclass(frozen=True, slots=True)
class Reduced:
    """The `which`-th axis reduced; the result has it no more."""

    which: int


Link = Union[Same, Parts, Part, Reduced]
Links = tuple[Union[tuple[Link, ...], None], ...]
LinkRule = Callable[[Apply, tuple[Tensor, ...], Tensor], Links]


def links_of(let: Let, types: Types) -> Links:
    """For each operand of the primitive that the let holds, its axes' links, or None."""
    assert isinstance(let.value, Apply), "only primitives have links"
    rule = RULES.get(let.value.primitive)
    operands = tuple(operand_type(operand, types) for operand in let.value.operands)
    tensors = tuple(operand for operand in operands if isinstance(operand, Tensor))
    if rule is None or len(tensors) != len(operands) or not isinstance(let.type, Tensor):
        return (None,) * len(operands)
    return rule(let.value, tensors, let.type)


def reduced_axes(apply: Apply, operand: Tensor) -> tuple[int, ...]:
    """The axes a reduction takes away, or a row primitive's rows lie along; None as attribute means all."""
    value = dict(apply.attributes).get("axis")
    if isinstance(value, tuple):
        return tuple(each for each in value if isinstance(each, int))
    return tuple(range(len(operand.axes)))


def _same(places: Sequence[int]) -> tuple[Link, ...]:
    return tuple(Same(at) for at in places)


def _aligned(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    return tuple(_same(places) for places in align([operand.axes for operand in operands]).places)


def _unmoved(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    """The operand has the result's axes; `one_hot` adds one behind them, `full` all."""
    return (_same(range(len(operands[0].axes))),)


def _transposed(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    order = dict(apply.attributes)["order"]
    places = {each: at for at, each in enumerate(order)} if isinstance(order, tuple) else {}
    return (_same([places[at] for at in range(len(operands[0].axes))]),)


def _broadcast(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    return (_same(_under(result.axes, operands[0].axes)),)


def _under(leading: Shape, other: Shape) -> tuple[int, ...]:
    """The places of axes that align with a leading operand's."""
    return align((leading, other)).places[1]


def _split(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    rank, extra = len(operands[0].axes), len(result.axes) - len(operands[0].axes)
    axis = dict(apply.attributes).get("axis", rank - 1)
    assert isinstance(axis, int), "split has an axis"
    links: list[Link] = [Same(at) for at in range(axis)]
    links.append(Parts(tuple(range(axis, axis + extra + 1))))
    links += [Same(at + extra) for at in range(axis + 1, rank)]
    return (tuple(links),)


def _merge(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    rank = len(operands[0].axes)
    axes = dict(apply.attributes).get("axes", (rank - 2, rank - 1))
    merged = [each for each in axes if isinstance(each, int)] if isinstance(axes, tuple) else []
    first, count = merged[0], len(merged)
    links: list[Link] = [Same(at) for at in range(first)]
    links += [Part(first, which, count) for which in range(count)]
    links += [Same(at - count + 1) for at in range(first + count, rank)]
    return (tuple(links),)


def _reduced(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    """Axes that stay, and those reduced; what else a reduction reads aligns with one or the other."""
    gone = reduced_axes(apply, operands[0])
    kept = [at for at in range(len(operands[0].axes)) if at not in gone]
    row: list[Link] = [
        Reduced(gone.index(at)) if at in gone else Same(kept.index(at)) for at in range(len(operands[0].axes))
    ]
    links: list[tuple[Link, ...] | None] = [tuple(row)]
    links += [_same(_under(result.axes, targets.axes)) for targets in operands[1:2]]
    links += [tuple(row[at] for at in _under(operands[0].axes, mask.axes)) for mask in operands[2:]]
    return tuple(links)


def _rowwise(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    """A row's axes stay; a mask aligns with them."""
    masks = (_same(_under(operands[0].axes, mask.axes)) for mask in operands[1:])
    return (_same(range(len(operands[0].axes))), *masks)


def _elsewhere(apply: Apply, operands: tuple[Tensor, ...], result: Tensor) -> Links:
    """The first operand is read at another index; an index operand is a scalar."""
    return (None, *(() for _ in operands[1:]))


RULES: dict[str, LinkRule] = (
    dict.fromkeys("neg abs square sqrt rsqrt recip exp expm1 log log1p tanh sin cos erf erfc".split(), _aligned)
    | dict.fromkeys("sigmoid softplus relu gelu gelu_tanh silu sign floor".split(), _aligned)
    | dict.fromkeys("gaussian gelu_slope gelu_tanh_slope silu_slope".split(), _aligned)
    | dict.fromkeys("add sub mul div pow maximum minimum where".split(), _aligned)
    | dict.fromkeys("eq ne lt le gt ge and or not inject".split(), _aligned)
    | dict.fromkeys("rename stop_gradient one_hot full".split(), _unmoved)
    | dict.fromkeys("sum mean max min prod any all argmax argmin logsumexp cross_entropy".split(), _reduced)
    | dict.fromkeys("softmax log_softmax".split(), _rowwise)
    | dict.fromkeys("slice index flip windows".split(), _elsewhere)
    | {"transpose": _transposed, "broadcast_to": _broadcast}
    | dict.fromkeys(("split", "split_heads"), _split)
    | dict.fromkeys(("merge", "merge_heads"), _merge)
)
"""By the primitive's name; one that isn't here shares no nest (roles ALONE and FREE)."""

Place = tuple[int, tuple[str, ...], int]
"""An axis: the number of its value, the path in it, the axis's index."""


class Extents:
    """Axes in classes of one size, whatever the sizes: those that links connect in one body, and aligned operands."""

    def __init__(self) -> None:
        self.above: dict[Place, Place] = {}

    def of(self, ref: Ref, axis: int) -> Place:
        """The class of an axis of what `ref` refers to. The way there is shortened for the next time."""
        place = (ref.number, ref.path, axis)
        way: list[Place] = []
        while place in self.above:
            way.append(place)
            place = self.above[place]
        for each in way[:-1]:
            self.above[each] = place
        return place

    def join(self, let: Let, links: Links) -> None:
        """Takes in the links of one let."""
        assert isinstance(let.value, Apply), "only primitives have links"
        result = Ref(let.number)
        for operand, row in zip(let.value.operands, links, strict=True):
            ref = ref_of(operand)
            for axis, link in enumerate(row or ()):
                if isinstance(link, Same) and ref is not None:
                    one, other = self.of(ref, axis), self.of(result, link.at)
                    if one != other:
                        self.above[one] = other
