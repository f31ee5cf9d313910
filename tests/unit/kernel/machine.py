"""A small host for tests: runs a Core program of one body, group by group, on the kernel interpreter.

It knows no arenas and no schedule: each let has an array of its own. Every kernel is verified, and run with the shadow
map, so that an element read before it is written, or left unwritten, is found. Where a group may run in place, it is
run so too, and must give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from presk.core.groups import Group, partition
from presk.core.nodes import Apply, Function, Injected, Let, Literal, Operand, Program, Ref
from presk.core.typing import operand_type
from presk.exact.constants import round_constant
from presk.kernel.lower import lower
from presk.kernel.lower.epilogue import following_group
from presk.kernel.lower.lower import types_of
from presk.kernel.lowered import Buffered, Launch, Layout, Lowered, SiteChoice, Temporary
from presk.kernel.native import Program as Kernel
from presk.kernel.native import parallel_depths
from presk.kernel.nodes import BufferType, Element
from presk.kernel.printer import print_kernel
from presk.shapes.constants import Rational
from presk.shapes.types import Tensor, TupleOf, Type, fields_of, leaves

DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "bool": np.bool_,
    "int8": np.int8,
    "int4": np.uint8,
}
ARITHMETIC = {"f64": "f64", "f32": "f32", "bf16": "f32"}
WIDTH = {"bf16": 0, "f32": 1, "f64": 2}


@dataclass
class Held:
    """A tensor's elements, flat; of integers with scales both."""

    array: np.ndarray[Any, Any]
    element: Element
    scales: np.ndarray[Any, Any] | None = None


def rounded(array: Any, kind: str) -> np.ndarray[Any, Any]:
    """Floats in another type; bf16 through f32."""
    with np.errstate(over="ignore"):
        array = np.asarray(array)
        if kind == "bf16" and array.dtype == np.float64:
            array = array.astype(np.float32)
        return array.astype(DTYPES[kind])


def hold(array: Any, tensor: Tensor, storage: str) -> Held:
    """An argument as a host holds it: rank-0 reals in the arithmetic type."""
    if tensor.kind == "real":
        kind = storage if tensor.axes else ARITHMETIC[storage]
        return Held(np.ascontiguousarray(rounded(array, kind)).reshape(-1), Element(kind))  # type: ignore[arg-type]
    if tensor.kind == "bool":
        return Held(np.ascontiguousarray(array, dtype=np.bool_).reshape(-1), Element("bool"))
    bound = tensor.bound.whole if tensor.bound is not None else 1
    return Held(np.ascontiguousarray(array, dtype=np.int64).reshape(-1), Element("i64", bound=max(bound or 1, 1)))


def quantised(shape: Sequence[int], type_: str, axis: int, seed: int) -> tuple[Held, np.ndarray[Any, Any]]:
    """Random integers with a scale for each index of an axis, and the values they stand for, which bf16 holds too."""
    rng = np.random.default_rng(seed)
    most = 127 if type_ == "int8" else 7
    integers = rng.integers(-most, most + 1, shape)
    scales = (2.0 ** rng.integers(-8, -4, shape[axis])).astype(np.float32)
    along = [size if at == axis else 1 for at, size in enumerate(shape)]
    values = integers.astype(np.float32) * scales.reshape(along)
    if type_ == "int8":
        return Held(integers.astype(np.int8).reshape(-1), Element("int8", scales=(axis, axis + 1)), scales), values
    padded = np.pad(integers.reshape(-1, shape[-1]), ((0, 0), (0, shape[-1] % 2)))
    nibbles = (padded & 15).astype(np.uint8)
    packed = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).reshape(-1)
    return Held(packed, Element("int4", scales=(axis, axis + 1)), scales), values


def values_of(held: Held, shape: Sequence[int]) -> Held:
    """What integers with scales stand for."""
    if held.scales is None or held.element.scales is None:
        return held
    integers = held.array
    if held.element.kind == "int4":
        nibbles = np.stack([integers & 15, integers >> 4], axis=-1).reshape(-1, (shape[-1] + 1) // 2 * 2)
        integers = ((nibbles[:, : shape[-1]].astype(np.int64) + 8) % 16 - 8).reshape(-1)
    along = [size if at == held.element.scales[0] else 1 for at, size in enumerate(shape)]
    values = integers.reshape(shape).astype(np.float32) * held.scales.reshape(along)
    return Held(values.reshape(-1), Element("f32"))


def empty(buffer: BufferType) -> np.ndarray[Any, Any]:
    """Room for a buffer, full of what mustn't be read."""
    count = int(np.prod([axis.size for axis in buffer.axes], dtype=np.int64))
    filled = np.empty(count, dtype=DTYPES[buffer.element.kind])
    if filled.dtype == np.int64:
        filled.fill(-1 << 60)
    elif filled.dtype != np.bool_:
        filled.fill(np.nan)
    return filled


@dataclass
class Machine:
    """Runs a function of one body. `kernels` are the texts it ran, launch by launch, those in place left out."""

    function: Function
    choice: Callable[[Let], SiteChoice]
    layout: Callable[[Let], Layout] = lambda let: Layout()
    kernels: list[str] = field(default_factory=list[str])
    held: dict[Ref, Held] = field(default_factory=dict[Ref, Held])

    @property
    def types(self) -> Mapping[int, Type]:
        return types_of(self.function)

    def run(self, arguments: Sequence[Held | Mapping[str, Any] | tuple[Any, ...]]) -> Any:
        """The result, a tree of arrays, from each parameter's leaves."""
        for parameter, argument in zip(self.function.parameters, arguments, strict=True):
            self.give(Ref(parameter.number), argument)
        groups = [each for body in partition(self.function).bodies for each in body.groups]
        lets = {let.number: let for let in self.function.body.lets}
        joins = self.joins(groups, lets)
        first = {product.root for product, _ in joins.values()}
        for group in groups:
            if group.root in joins:
                self.group(*joins[group.root], lets)
            elif group.root not in first:
                self.group(group, None, lets)
        for let in lets.values():
            if not isinstance(let.value, Apply):
                self.tree(let)
        return self.result(self.function.body.result)

    def give(self, ref: Ref, argument: Any) -> None:
        if isinstance(argument, Held):
            self.held[ref] = argument
            return
        named = argument if isinstance(argument, Mapping) else {str(at): each for at, each in enumerate(argument)}
        for name, each in named.items():
            self.give(Ref(ref.number, (*ref.path, name)), each)

    def tree(self, let: Let) -> None:
        """A tuple that a body ends with."""
        for at, item in enumerate(let.value.items):  # type: ignore[union-attr]
            self.give(Ref(let.number, (str(at),)), self.operand(item))

    def operand(self, operand: Operand) -> Any:
        of = operand_type(operand, self.types)
        if isinstance(operand, Literal):
            assert isinstance(of, Tensor)
            if of.kind == "real":
                lets = self.function.body.lets
                kind = ARITHMETIC[self.choice(lets[-1]).storage] if lets else "f64"
                value = np.array([round_constant(operand.value, kind)], dtype=DTYPES[kind])
                return Held(value, Element(kind))  # type: ignore[arg-type]
            assert isinstance(operand.value, Rational)
            return hold(np.array([int(operand.value.value)]), of, "f64")
        if isinstance(operand, Injected):
            nats = self.held[operand.operand]
            return Held(nats.array.astype(np.float64), Element("f64"))
        if isinstance(of, Tensor):
            return values_of(self.held[operand], of.sizes)
        parts = {name: self.operand(Ref(operand.number, (*operand.path, name))) for name, _ in fields_of(of) or ()}
        return tuple(parts.values()) if isinstance(of, TupleOf) else parts

    def result(self, operand: Operand) -> Any:
        of = operand_type(operand, self.types)
        return shaped(self.operand(operand), of)

    # Groups

    def joins(self, groups: Sequence[Group], lets: Mapping[int, Let]) -> dict[int, tuple[Group, Group]]:
        """A contraction and the group that joins its store, by the root of that."""
        wanted = [each for each in groups if each.kind != "view" and self.layout(lets[each.root]).epilogue]
        pairs = [(each, following_group(self.function.body, groups, each, self.types)) for each in wanted]
        return {found.root: (each, found) for each, found in pairs if found is not None}

    def group(self, group: Group, found: Group | None, lets: Mapping[int, Let]) -> None:
        """Runs a group, with the one that joins its store if there is any."""
        let = lets[group.root]
        if group.kind == "view":
            for member in group.members:
                self.view(lets[member.number])
            return
        choice, layout = self.choice(let), self.layout(let)
        following = None
        reads = [read.ref for read in group.reads]
        if found is not None:
            following = (found, self.choice(lets[found.root]))
            reads += [read.ref for read in found.reads if read.ref.number != group.root]
        elements = {ref: self.held[ref].element for each in reads for ref in self.leaves(each)}
        lowered = lower(self.function, self.function.body, group, elements, choice, layout, following)
        self.held |= self.launched(lowered)

    def leaves(self, ref: Ref) -> list[Ref]:
        return [Ref(ref.number, (*ref.path, *path)) for path, _ in leaves(operand_type(ref, self.types))]

    def launched(self, lowered: Lowered) -> dict[Ref, Held]:
        """Runs a group, and each way to run it in place, which must agree."""
        found = self.launches(lowered, lowered.launches, {})
        for way in lowered.in_place:
            overwritten = self.held[way.overwritten]
            before = overwritten.array.copy()
            other = self.launches(lowered, way.launches, {way.output: Held(before, overwritten.element)})
            for ref, each in found.items():
                assert other[ref].array.tobytes() == each.array.tobytes(), "in place gives other bits"
        return found

    def launches(self, lowered: Lowered, launches: Sequence[Launch], results: dict[Ref, Held]) -> dict[Ref, Held]:
        given = dict(results)
        results |= {ref: Held(empty(each), each.element) for ref, each in lowered.stored if ref not in results}
        rooms = [Held(empty(each), each.element) for each in lowered.temporaries]

        def buffer(source: Buffered) -> Held:
            if isinstance(source, Temporary):
                return rooms[source.number]
            return results[source] if source in results else self.held[source]

        for launch in launches:
            text = print_kernel(launch.kernel)
            if not given:
                self.kernels.append(text)
            shared = {output.shares for output in launch.kernel.outputs}
            inputs: list[np.ndarray[Any, Any]] = []
            for number, (source, wanted) in enumerate(zip(launch.inputs, launch.kernel.inputs, strict=True)):
                each = buffer(source)
                if number in shared:
                    assert isinstance(source, Ref) and given, "a buffer is shared in place"
                    inputs.append(np.empty(0, dtype=each.array.dtype))
                    continue
                inputs.append(at_edge(each, wanted.element))
                if each.scales is not None:
                    inputs.append(each.scales)
            outputs = [buffer(each).array for each in launch.outputs]
            depths = parallel_depths(text)
            Kernel(text).run(inputs, outputs, shadow=True, split=depths[0] if depths else None)
        return results

    # Views

    def view(self, let: Let) -> None:
        """A view's elements, by NumPy."""
        apply = let.value
        assert isinstance(apply, Apply) and isinstance(apply.operands[0], Ref)
        source = self.held[apply.operands[0]]
        shape = self.shape(apply.operands[0])
        attributes = dict(apply.attributes)
        array = source.array.reshape(shape)
        match apply.primitive:
            case "slice":
                array = array[attributes["start"] : attributes["stop"]]  # type: ignore[misc]
            case "index":
                at = apply.operands[1]
                assert isinstance(at, Literal) and isinstance(at.value, Rational)
                array = array[int(at.value.value)]
            case "unstack":
                for number in range(shape[0]):
                    self.held[Ref(let.number, (str(number),))] = Held(array[number].reshape(-1), source.element)
                return
            case _:
                pass
        self.held[Ref(let.number)] = Held(np.ascontiguousarray(array).reshape(-1), source.element)

    def shape(self, operand: Operand) -> tuple[int, ...]:
        of = operand_type(operand, self.types)
        assert isinstance(of, Tensor)
        return of.sizes


def at_edge(held: Held, wanted: Element) -> np.ndarray[Any, Any]:
    """What a kernel is given: narrowed where the host holds more than it takes."""
    if held.scales is not None or held.element.kind == wanted.kind:
        return held.array
    assert WIDTH[held.element.kind] > WIDTH[wanted.kind], "kernels widen what is narrower themselves"
    return rounded(held.array, wanted.kind)


def shaped(held: Any, of: Type) -> Any:
    """Arrays of a result in their shapes."""
    if isinstance(of, Tensor):
        return held.array.reshape(of.sizes)
    inner = [each for _, each in fields_of(of) or ()]
    if isinstance(held, tuple):
        return tuple(shaped(each, kind) for each, kind in zip(held, inner, strict=True))
    return {name: shaped(each, kind) for (name, each), kind in zip(held.items(), inner, strict=True)}


def given(function: Function, arguments: Sequence[Any], storage: str) -> list[Any]:
    """Arguments as a host holds them."""

    def one(of: Type, value: Any) -> Any:
        if isinstance(of, Tensor):
            return hold(value, of, storage)
        inner = fields_of(of) or ()
        if isinstance(value, tuple):
            return tuple(one(each, part) for (_, each), part in zip(inner, value, strict=True))
        return {name: one(each, value[name]) for name, each in inner}

    return [one(parameter.type, value) for parameter, value in zip(function.parameters, arguments, strict=True)]


def run(program: Program, arguments: Sequence[Any], choice: SiteChoice, layout: Layout | None = None) -> Any:
    """The entry's value on arguments, every site realized alike."""
    machine = Machine(program.entry, lambda let: choice, lambda let: layout or Layout())
    return machine.run(given(program.entry, arguments, choice.storage))
