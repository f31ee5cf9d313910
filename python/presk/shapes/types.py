"""The types of PSK values: tensors with named axes, trees of them, and what stands for them while nothing is bound.

One set of types serves the checker (sizes are polynomials, a leading `Run` stands for `..`) and Core (sizes are
numbers; a Run remains only in the bodies of leafwise maps). Immutable, hashable, compared structurally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

from presk.shapes import constants
from presk.shapes.constants import Constant
from presk.shapes.poly import MARKS, Poly
from presk.text.diagnostics import Diagnostic, PreskError

SIZE_LIMIT = 1 << 62
"""No size and no bound of an entry reaches this: offsets and indices are signed numbers of 64 bits."""

RANK_LIMIT = 32
"""Axes of one tensor: half of what NumPy and kernels take, so that there is room for axes a lowering adds."""

LEAVES_LIMIT = 1 << 14
"""Leaves of one tree. No model comes near it, but `(a, a)` bound to `a` again doubles them every time."""

DEPTH_LIMIT = 40
"""How deep trees nest: each pass over them takes two or three Python frames a level."""

HIDDEN = "_"
"""Axis names that begin so are given by presk to the unnamed axes of a run and dropped again in results."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: a name or None, and a size."""

    name: str | None
    size: Poly


@dataclass(frozen=True, slots=True)
class Run:
    """A run of leading axes of unknown number: `..` of a signature, or a leaf in the body of a map."""

    label: str


AxisOrRun = Union[Axis, Run]
Shape = tuple[AxisOrRun, ...]


class TooManyAxes(PreskError):
    """A tensor of more than RANK_LIMIT axes (E3014)."""

    def __init__(self, diagnostics: Sequence[Diagnostic] | None = None) -> None:
        hint = f"at most {RANK_LIMIT}"
        super().__init__(diagnostics or Diagnostic("E3014", "this tensor has too many axes", hint=hint))


@dataclass(frozen=True, slots=True)
class Tensor:
    """`kind` is `real`, `nat` or `bool`; a scalar has no axes; nats below `bound`.

    `bound` is None for reals and booleans.
    """

    kind: str
    axes: Shape = ()
    bound: Poly | None = None

    def __post_init__(self) -> None:
        if len(self.axes) > RANK_LIMIT:
            raise TooManyAxes

    @property
    def extent(self) -> Extent:
        """One leaf."""
        return 1, 0

    @property
    def run(self) -> Run | None:
        """The leading run, or None."""
        return self.axes[0] if self.axes and isinstance(self.axes[0], Run) else None

    @property
    def explicit(self) -> tuple[Axis, ...]:
        """The axes but for the run."""
        return tuple(axis for axis in self.axes if isinstance(axis, Axis))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape as numbers. Only for bound types: a symbolic size or a run is a fault of the caller."""
        out: list[int] = []
        for axis in self.axes:
            whole = axis.size.whole if isinstance(axis, Axis) else None
            if whole is None:
                raise ValueError(f"{show(self)} has a size that is not bound")
            out.append(whole)
        return tuple(out)


class TreeTooLarge(PreskError):
    """A tree past LEAVES_LIMIT or DEPTH_LIMIT (E3013)."""

    def __init__(self, diagnostics: Sequence[Diagnostic] | None = None) -> None:
        hint = f"at most {LEAVES_LIMIT} leaves, in trees nested at most {DEPTH_LIMIT} deep"
        super().__init__(diagnostics or Diagnostic("E3013", "this tree is too large", hint=hint))


Extent = tuple[int, int]
"""A tree's leaves and levels; a tree holds its own from when it is made, and it says nothing that its parts don't."""


def extent_of(parts: Iterable[Extent]) -> Extent:
    """The extent of a tree made of parts of these. Raises TreeTooLarge."""
    leaf_count, depth = 0, 0
    for part_leaves, part_depth in parts:
        leaf_count += part_leaves
        depth = max(depth, part_depth)
    if leaf_count > LEAVES_LIMIT or depth >= DEPTH_LIMIT:
        raise TreeTooLarge
    return leaf_count, depth + 1


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple."""

    items: tuple[Type, ...]
    extent: Extent = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", extent_of([item.extent for item in self.items]))


@dataclass(frozen=True, slots=True)
class RecordOf:
    """A record; the order of fields is part of the type."""

    fields: tuple[tuple[str, Type], ...]
    extent: Extent = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", extent_of([each.extent for _, each in self.fields]))


@dataclass(frozen=True, slots=True)
class ModuleOf:
    """A module's parameter tree: its qualified name, its nat and real parameters, and the types of its members."""

    name: str
    arguments: tuple[Constant, ...]
    fields: tuple[tuple[str, Type], ...]
    extent: Extent = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", extent_of([each.extent for _, each in self.fields]))

    @property
    def label(self) -> str:
        """`Linear{3, 2}`, or the bare name of a module without parameters."""
        if not self.arguments:
            return self.name
        return f"{self.name}{{{', '.join(_show_argument(argument) for argument in self.arguments)}}}"


@dataclass(frozen=True, slots=True)
class Stacked:
    """`element * count`: values of a tree type stacked along an unnamed leading axis. The element is no tensor."""

    element: Type
    count: Poly
    extent: Extent = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", extent_of([self.element.extent]))


@dataclass(frozen=True, slots=True)
class TreeVariable:
    """A parameter tree of any type, `P` of `fn f[P](…)`; only while nothing is bound."""

    name: str

    @property
    def extent(self) -> Extent:
        """One leaf, whatever it will be."""
        return 1, 0


Type = Union[Tensor, TupleOf, RecordOf, ModuleOf, Stacked, TreeVariable]
REAL = Tensor("real")
BOOL = Tensor("bool")


def stack(element: Type, count: Poly, name: str | None = None) -> Type:
    """The type of `count` values of type `element` stacked along a leading axis `name`.

    A tensor gets the axis. So do the leaves of tuples and records where the axis has a name; a module's tree, and any
    tree stacked along an unnamed axis, is `Stacked`.
    """
    match element:
        case Tensor(kind, axes, bound):
            return Tensor(kind, (Axis(name, count), *axes), bound)
        case TupleOf(items) if name is not None:
            return TupleOf(tuple(stack(item, count, name) for item in items))
        case RecordOf(fields) if name is not None:
            return RecordOf(tuple((field, stack(each, count, name)) for field, each in fields))
        case _:
            return Stacked(element, count)


LONGEST_PLACE = 9
"""Digits of a place in a tuple at most."""


def fields_of(tree: Type) -> tuple[tuple[str, Type], ...] | None:
    """Names and types of a tree's fields (a tuple's are `0`, `1` …), stacked ones included; None for other types."""
    match tree:
        case RecordOf(fields) | ModuleOf(fields=fields):
            return fields
        case TupleOf(items):
            return tuple((str(at), item) for at, item in enumerate(items))
        case Stacked(element, count):
            fields = fields_of(element)
            return None if fields is None else tuple((name, stack(each, count)) for name, each in fields)
        case Tensor() | TreeVariable():
            return None


def field_of(tree: Type, name: str) -> Type | None:
    """The type of one field, as `fields_of` has it, without those of the others; None where there is no such field."""
    match tree:
        case RecordOf(fields) | ModuleOf(fields=fields):
            for field, each in fields:
                if field == name:
                    return each
            return None
        case TupleOf(items):
            at = int(name) if name.isascii() and name.isdecimal() and len(name) <= LONGEST_PLACE else len(items)
            return items[at] if at < len(items) and str(at) == name else None
        case Stacked(element, count):
            found = field_of(element, name)
            return None if found is None else stack(found, count)
        case Tensor() | TreeVariable():
            return None


def oversized(tree: Type) -> Poly | None:
    """A size or bound of a bound type that reaches SIZE_LIMIT, or None."""
    for _, tensor in leaves(tree):
        for axis in tensor.explicit:
            if (axis.size.whole or 0) >= SIZE_LIMIT:
                return axis.size
        if tensor.bound is not None and (tensor.bound.whole or 0) >= SIZE_LIMIT:
            return tensor.bound
    return None


def leaves(tree: Type, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Tensor]]:
    """Paths and types of a tree's tensors in declaration order."""
    if isinstance(tree, Tensor):
        yield path, tree
        return
    for name, each in fields_of(tree) or ():
        yield from leaves(each, (*path, name))


def transform(tree: Type, tensor: Callable[[Tensor], Tensor], size: Callable[[Poly], Poly]) -> Type:
    """The type with every tensor, count and size of a module argument replaced; itself if nothing changes."""
    match tree:
        case Tensor():
            return tensor(tree)
        case TupleOf(items):
            return TupleOf(tuple(transform(item, tensor, size) for item in items))
        case RecordOf(fields):
            return RecordOf(tuple((name, transform(each, tensor, size)) for name, each in fields))
        case ModuleOf(name, arguments, fields):
            there = tuple(_transform_argument(argument, size) for argument in arguments)
            inside = [transform(each, tensor, size) for _, each in fields]
            if there == arguments and all(new is old for new, (_, old) in zip(inside, fields, strict=True)):
                return tree
            return ModuleOf(name, there, tuple((field, new) for new, (field, _) in zip(inside, fields, strict=True)))
        case Stacked(element, count):
            return stack(transform(element, tensor, size), size(count))
        case TreeVariable():
            return tree


def substitute(
    tree: Type,
    sizes: Mapping[str, Poly],
    runs: Mapping[str, Shape] | None = None,
    trees: Mapping[str, Type] | None = None,
) -> Type:
    """The type with dimension variables, runs and tree variables replaced."""
    if trees and isinstance(tree, TreeVariable):
        return trees.get(tree.name, tree)

    def replace(tensor: Tensor) -> Tensor:
        if all(isinstance(axis, Axis) and axis.size.variables().isdisjoint(sizes) for axis in tensor.axes) and (
            tensor.bound is None or tensor.bound.variables().isdisjoint(sizes)
        ):
            return tensor
        axes: list[AxisOrRun] = []
        for axis in tensor.axes:
            if isinstance(axis, Axis):
                axes.append(Axis(axis.name, axis.size.substitute(sizes)))
            else:
                axes.extend((runs or {}).get(axis.label, (axis,)))
        bound = None if tensor.bound is None else tensor.bound.substitute(sizes)
        return Tensor(tensor.kind, tuple(axes), bound)

    if trees and isinstance(tree, TupleOf):
        return TupleOf(tuple(substitute(item, sizes, runs, trees) for item in tree.items))
    if trees and isinstance(tree, RecordOf):
        return RecordOf(tuple((name, substitute(each, sizes, runs, trees)) for name, each in tree.fields))
    if trees and isinstance(tree, Stacked):
        return stack(substitute(tree.element, sizes, runs, trees), tree.count.substitute(sizes))
    return transform(tree, replace, lambda size: size.substitute(sizes))


def show(tree: Type) -> str:
    """The type as PSK writes it: `real[batch: 4, 3]`, `{k: real[seq: T]}`, `Block * 2`."""
    match tree:
        case Tensor(kind, axes, bound):
            shown = kind if not axes else f"{kind}[{', '.join(show_axis(axis) for axis in axes)}]"
            return shown if bound is None else f"{shown} < {bound}"
        case TupleOf(items):
            inside = ", ".join(show(item) for item in items)
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        case RecordOf(fields):
            return f"{{{', '.join(f'{name}: {show(each)}' for name, each in fields)}}}"
        case ModuleOf():
            return tree.label
        case Stacked(element, count):
            factor = f"({count})" if len(count.terms) > 1 else str(count)
            return f"{show(element)} * {factor}"
        case TreeVariable(name):
            return name


def show_axis(axis: AxisOrRun) -> str:
    """`batch: 4`, `3`, `..`, or `batch` where a variable of that name is the size."""
    if isinstance(axis, Run):
        return ".."
    if axis.name is None:
        return str(axis.size)
    lone = axis.size.sole_variable
    return axis.name if lone is not None and lone.strip(MARKS) == axis.name else f"{axis.name}: {axis.size}"


def _show_argument(argument: Constant) -> str:
    if isinstance(argument, constants.Symbolic):
        return str(argument.size)
    return constants.show(argument)


def _transform_argument(argument: Constant, size: Callable[[Poly], Poly]) -> Constant:
    match argument:
        case constants.Rational():
            return argument
        case constants.Symbolic(value):
            return constants.from_size(size(value))
        case constants.Apply(function, arguments):
            return constants.apply(function, *(_transform_argument(each, size) for each in arguments))
