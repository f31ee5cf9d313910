"""An entry's parameters as a realization names them: by the path below the argument, without layer indices.

`blocks.att.qkv.w` is that tensor of every argument that has it, whatever the argument's name, and all layers of it; an
argument that is no tree is named by itself. Called by `realization.resolve` and `choose.quantize`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from presk.core.nodes import Program
from presk.realization.model import MIXED, Realization
from presk.shapes.types import Stacked, Tensor, Type, fields_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor of an argument: its path from the argument's name on, and its type in one layer of `layers` axes."""

    path: tuple[str, ...]
    tensor: Tensor
    layers: int

    @property
    def full(self) -> str:
        """The path with the argument's name, as a schedule's inputs have it."""
        return ".".join(self.path)

    @property
    def name(self) -> str:
        """The path as a realization has it."""
        return ".".join(self.path[1:] or self.path)


def type_at_rest(realization: Realization, path: tuple[str, ...], has_axes: bool) -> str:
    """The float type of a parameter by its path below the argument; of integers with scales f32, which a load gives."""
    name = ".".join(path)
    if name in realization.quant:
        return "f32"
    default = "f32" if realization.default == MIXED else realization.default
    stored = realization.params.get(name, default)
    return stored if has_axes or stored != "bf16" else "f32"


def leaves_of(program: Program) -> tuple[Leaf, ...]:
    """The tensors of an entry's arguments, in declaration order."""
    found: list[Leaf] = []
    for parameter in program.entry.parameters:
        found += _leaves(parameter.type, (parameter.name or f"%{parameter.number}",), 0)
    return tuple(found)


def _leaves(of: Type, path: tuple[str, ...], layers: int) -> Iterator[Leaf]:
    while isinstance(of, Stacked):
        of, layers = of.element, layers + 1
    if isinstance(of, Tensor):
        yield Leaf(path, of, layers)
        return
    for name, each in fields_of(of) or ():
        yield from _leaves(each, (*path, name), layers)
