"""One group to be lowered: its lets and types, how what it reads is held, and what the realization and plan say of it.

A `Task` answers what every rule asks: which element a tensor is read and stored in, which attributes a let has. Called
by the modules of this folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from presk.core.groups import Group
from presk.core.links import Links, links_of
from presk.core.nodes import Apply, Let, Operand, Ref
from presk.core.operands import ref_of
from presk.core.typing import operand_type
from presk.kernel import limits
from presk.kernel.lower.refusal import refusal
from presk.kernel.lowered import Layout, SiteChoice
from presk.kernel.nodes import Arithmetic, Axis, BufferType, Element, ElementKind
from presk.primitives.table import Attribute
from presk.shapes import types
from presk.shapes.types import Tensor, Type, leaves
from presk.text.diagnostics import InternalError, PreskError, fail

STORAGES: dict[str, ElementKind] = {"f64": "f64", "f32": "f32", "bf16": "bf16"}
"""The float types a site may be stored in."""

ARITHMETIC: dict[str, Arithmetic] = {"f64": "f64", "f32": "f32", "bf16": "f32"}
"""The arithmetic type of a storage."""

WIDTH = {"bf16": 16, "f32": 32, "f64": 64}
"""Bits of a float type."""


@dataclass(frozen=True, eq=False)
class Task:
    """A group of `function`, at the element types `elements` of what it reads.

    `lets` are those of the body, `types` of all numbers in the function. `following` is the group that may join a
    contraction's store; its members are then computed at the element.
    """

    function: str
    lets: Mapping[int, Let]
    types: Mapping[int, Type]
    group: Group
    elements: Mapping[Ref, Element]
    choice: SiteChoice
    layout: Layout
    following: Group | None = None
    following_choice: SiteChoice | None = None

    @property
    def site(self) -> str:
        """The site's key, `loss/%17`."""
        return f"{self.function}/%{self.group.root}"

    @property
    def root(self) -> Let:
        """The group's root."""
        return self.lets[self.group.root]

    @property
    def interior(self) -> Arithmetic:
        """The type interior values are computed in: the arithmetic type of the storage."""
        return ARITHMETIC[self.choice.computed or self.choice.storage]

    @property
    def arithmetic(self) -> Arithmetic:
        """The kernels' arithmetic type: f64 where sums are taken in it."""
        return "f64" if self.choice.accumulate == "f64" else self.interior

    def refuse(self, condition: int, sentence: str, hint: str | None = None) -> PreskError:
        """E7002 at this site."""
        return refusal(self.site, condition, sentence, hint)

    # Lets

    def apply(self, let: Let) -> Apply:
        """The primitive a let holds."""
        if not isinstance(let.value, Apply):
            raise InternalError(f"%{let.number} of {self.function} is in a group and holds no primitive")
        return let.value

    def attribute(self, let: Let, name: str) -> Attribute:
        """An attribute of a let, or None."""
        return dict(self.apply(let).attributes).get(name)

    def whole(self, let: Let, name: str) -> int:
        """An attribute that is a whole number, or an axis."""
        value = self.attribute(let, name)
        if not isinstance(value, int):
            raise InternalError(f"%{let.number} of {self.function} has no whole number `{name}`")
        return value

    def tensor(self, operand: Operand) -> Tensor:
        """The type of an operand."""
        return as_tensor(operand_type(operand, self.types))

    def result(self, let: Let) -> Tensor:
        """The type of a let's value."""
        return as_tensor(self.types[let.number])

    def links(self, let: Let) -> Links:
        """For each operand of a let, where its axes stand along the result's."""
        found = self._links.get(let.number)
        if found is None:
            found = self._links[let.number] = links_of(let, self.types)
        return found

    @cached_property
    def _links(self) -> dict[int, Links]:
        return {}

    # Buffers

    def leaves(self, ref: Ref) -> list[Ref]:
        """The tensors of what is referred to, in declaration order; itself where it is one."""
        tree = operand_type(ref, self.types)
        return [Ref(ref.number, (*ref.path, *path)) for path, _ in leaves(tree)]

    def read_type(self, ref: Ref) -> BufferType:
        """What a kernel's input for a tensor is: as it is held, or narrowed to the kernel's type."""
        tensor = self.tensor(ref)
        if tensor.kind != "real":
            return BufferType(plain_element(tensor), axes_of(tensor))
        held = self.elements.get(ref)
        if held is None:
            raise InternalError(f"it isn't said how {ref} of {self.function} is held")
        widest = Element(self.interior) if self.choice.computed else self.real_element(tensor)
        narrow = held.scales is not None or WIDTH[held.kind] <= WIDTH[widest.kind]
        return BufferType(held if narrow else widest, axes_of(tensor))

    def stored_type(self, tensor: Tensor) -> BufferType:
        """What a root of this type is stored in."""
        if tensor.kind != "real":
            return BufferType(plain_element(tensor), axes_of(tensor))
        stored = Element(STORAGES[self.choice.storage]) if self.choice.computed else self.real_element(tensor)
        return BufferType(stored, axes_of(tensor))

    def real_element(self, tensor: Tensor) -> Element:
        """The storage; of a single number the arithmetic type."""
        return Element(STORAGES[self.choice.storage] if tensor.axes else self.interior)

    def inputs(self, operands: tuple[Operand, ...]) -> list[tuple[Ref, BufferType]]:
        """What operands read from memory: of a value computed at the element, what that reads; the root is no input."""
        found: dict[Ref, BufferType] = {}
        seen: set[int] = set()
        waiting = list(reversed(operands))
        while waiting:
            ref = ref_of(waiting.pop())
            if ref is None or ref.number == self.group.root:
                continue
            if not self.is_free(ref) and not self.is_member(ref):
                found |= {leaf: self.read_type(leaf) for leaf in self.leaves(ref) if leaf not in found}
            elif ref.number not in seen:
                seen.add(ref.number)
                waiting += reversed(self.apply(self.lets[ref.number]).operands)
        return list(found.items())

    def reads_of(self, number: int) -> int:
        """How often the group's lets, and those computed at the element for it, name a let as an operand."""
        return self._reads.get(number, 0)

    @cached_property
    def _reads(self) -> Counter[int]:
        groups = [each for each in (self.group, self.following) if each is not None]
        readers = [number for each in groups for number in (*(member.number for member in each.members), *each.free)]
        operands = (operand for reader in readers for operand in self.apply(self.lets[reader]).operands)
        return Counter(ref.number for ref in map(ref_of, operands) if ref is not None)

    def is_free(self, ref: Ref) -> bool:
        """Whether a value is computed at the element by its readers."""
        return not ref.path and ref.number in self._free

    @cached_property
    def _free(self) -> frozenset[int]:
        following = self.following
        joined = () if following is None else (*following.free, *(each.number for each in following.members))
        return frozenset((*self.group.free, *joined))

    def is_member(self, ref: Ref) -> bool:
        """Whether a value is one of the group's own, the root aside."""
        return not ref.path and ref.number in self._interior

    @cached_property
    def _interior(self) -> frozenset[int]:
        return frozenset(member.number for member in self.group.members) - {self.group.root}


def packed_element(task: Task, operand: Operand) -> Element:
    """What an operand's copy holds: its own element, or of integers with scales the values they stand for."""
    if isinstance(operand, Ref) and not task.is_free(operand):
        element = task.read_type(operand).element
        return element if element.scales is None else Element("f32")
    return Element(task.interior)


def as_tensor(of: Type) -> Tensor:
    """A type that must be a tensor's."""
    if not isinstance(of, Tensor):
        raise InternalError(f"a tensor was expected, not {types.show(of)}")
    return of


def axes_of(tensor: Tensor) -> tuple[Axis, ...]:
    """A tensor's axes as a kernel has them."""
    return tuple(Axis(axis.name, size) for axis, size in zip(tensor.explicit, tensor.sizes, strict=True))


def plain_element(tensor: Tensor) -> Element:
    """The element of nats or booleans. E9206 for nats whose bound kernels have no room for."""
    if tensor.kind == "bool":
        return Element("bool")
    bound = None if tensor.bound is None else tensor.bound.whole
    if bound is None:
        raise InternalError(f"{types.show(tensor)} has a bound that isn't known")
    if bound > limits.BOUND:
        message = f"nats below {bound} are beyond what kernels hold; the largest bound is {limits.BOUND}"
        raise fail("E9206", message, hint="`real` arithmetic has no such bound")
    return Element("i64", bound=max(bound, 1))
