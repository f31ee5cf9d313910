"""What a Core value is while a program is recorded: where its elements are, or what is known of it.

Immutable. A tree is its leaves by field; a stacked tree has leaves with leading axes, so that a layer of it is its
leaves from an offset on. Nothing here costs anything at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Union

from presk.core.nodes import Literal
from presk.core.typing import literal_type
from presk.kernel.nodes import Element
from presk.run.record.schedule import View
from presk.shapes.constants import Constant
from presk.shapes.poly import number
from presk.shapes.types import Axis, Stacked, Tensor, Type, fields_of


@dataclass(frozen=True, slots=True)
class Scales:
    """Where the scales of integers are: f32 from a view on, one for each index of the axes `along`, row-major.

    `along` says it of each axis. `row` is the number of elements in one row of the integers as they are stored.
    """

    view: View
    along: tuple[bool, ...]
    row: int


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor's elements, row-major from a view on; of a quantised one, integers with `scales`."""

    view: View
    element: Element
    type: Tensor
    scales: Scales | None = None

    @property
    def count(self) -> int:
        """The number of elements."""
        return volume(self.type)


@dataclass(frozen=True, slots=True)
class Known:
    """A constant of kind `real`, `nat` or `bool`."""

    value: Constant
    kind: str


@dataclass(frozen=True, slots=True)
class Round:
    """A loop's counter plus a start, as a nat."""

    counter: int
    start: int
    type: Tensor


@dataclass(frozen=True, slots=True)
class Tree:
    """A tuple, record or module: its fields in order."""

    fields: tuple[tuple[str, Handle], ...]

    def field(self, name: str) -> Handle:
        """The component of this name."""
        return dict(self.fields)[name]


Handle = Union[Held, Known, Round, Tree]


def volume(tensor: Tensor) -> int:
    """The number of a bound tensor's elements."""
    total = 1
    for size in tensor.sizes:
        total *= size
    return total


def component(handle: Handle, path: tuple[str, ...]) -> Handle:
    """The component of a tree at a path."""
    for name in path:
        assert isinstance(handle, Tree), "a path walks trees"
        handle = handle.field(name)
    return handle


def replaced(handle: Handle, path: tuple[str, ...], value: Handle) -> Handle:
    """The tree with the component at a path replaced."""
    if not path:
        return value
    assert isinstance(handle, Tree), "a path walks trees"
    return Tree(
        tuple((name, replaced(each, path[1:], value) if name == path[0] else each) for name, each in handle.fields)
    )


def leaves(handle: Handle) -> Iterator[Handle]:
    """The leaves of a tree in declaration order."""
    if isinstance(handle, Tree):
        for _, each in handle.fields:
            yield from leaves(each)
    else:
        yield handle


def build(tree: Type, leaf: Callable[[tuple[str, ...], Tensor], Handle], path: tuple[str, ...] = ()) -> Handle:
    """A tree of a type, its leaves made in declaration order."""
    if isinstance(tree, Tensor):
        return leaf(path, tree)
    return Tree(tuple((name, build(each, leaf, (*path, name))) for name, each in fields_of(tree) or ()))


def rebuilt(handle: Handle, leaf: Callable[[Handle], Handle]) -> Handle:
    """The tree with every leaf replaced."""
    if isinstance(handle, Tree):
        return Tree(tuple((name, rebuilt(each, leaf)) for name, each in handle.fields))
    return leaf(handle)


def leaf_type(handle: Handle) -> Tensor:
    """The type of a leaf."""
    match handle:
        case Held(type=tensor) | Round(type=tensor):
            return tensor
        case Known(value, kind):
            return literal_type(Literal(value, kind))
        case Tree():
            raise AssertionError("a tree is no leaf")


def shifted(view: View, start: int = 0, strides: tuple[tuple[int, int], ...] = ()) -> View:
    """The view further on by `start` and by strides of loops."""
    merged = dict(view.strides)
    for counter, stride in strides:
        merged[counter] = merged.get(counter, 0) + stride
    kept = tuple((counter, stride) for counter, stride in sorted(merged.items()) if stride)
    return View(view.buffer, view.start + start, kept)


def layer(handle: Handle, counter: int) -> Handle:
    """The element of a stacked tree, or of a tensor along its first axis, that a loop's counter names."""

    def one(leaf: Handle) -> Handle:
        assert isinstance(leaf, Held), "a stacked tree has tensors for leaves"
        rest = Tensor(leaf.type.kind, leaf.type.axes[1:], leaf.type.bound)
        view = shifted(leaf.view, 0, ((counter, volume(rest)),))
        scales = leaf.scales
        if scales is not None:
            place = shifted(scales.view, 0, ((counter, scale_step(leaf)),))
            scales = replace(scales, view=place, along=scales.along[1:])
        return replace(leaf, view=view, type=rest, scales=scales)

    return rebuilt(handle, one)


def scale_step(held: Held) -> int:
    """How many scales lie between those of two neighbours along the first axis."""
    assert held.scales is not None, "only quantised tensors have scales"
    if not held.scales.along[0]:
        return 0
    total = 1
    for size, varies in zip(held.type.sizes[1:], held.scales.along[1:], strict=True):
        total *= size if varies else 1
    return total


def stacked_type(element: Type, count: int) -> Type:
    """The type whose leaves have a leading axis of `count` more."""
    if isinstance(element, Tensor):
        return Tensor(element.kind, (Axis(None, number(count)), *element.axes), element.bound)
    return Stacked(element, number(count))
