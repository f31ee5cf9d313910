"""The adjoint of a leafwise map: leaf by leaf, the body's lets computed again at the leaf's own axes.

A map is computed leaf by leaf anyway, so this costs no launch; what the body takes from outside is summed over the
leaves like any other cotangent. Called by `adjoint`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from presk.core.leafwise import Types, at_leaf
from presk.core.nodes import Apply, MapTrees, Operand, Ref
from presk.core.typing import operand_type
from presk.core.vjp.activity import Activity, Path
from presk.core.vjp.scope import Primal, Scope
from presk.core.vjp.shaping import renamed
from presk.core.vjp.writing import Writing, checked, within
from presk.primitives.reductions import OF_SOME_ELEMENTS, is_choice_of_nothing
from presk.shapes.types import Tensor, leaves
from presk.text.diagnostics import InternalError


class LeafScope(Scope):
    """A map's body at one leaf, written into the body around the map."""

    def __init__(self, around: Scope, primal: Primal, mapped: MapTrees, leaf: Path, own: frozenset[int]) -> None:
        super().__init__(primal, around.numbers, around.functions, own)
        self.around = around
        self.mapped = mapped
        self.leaf = leaf
        self.lets = around.lets

    @property
    def outer(self) -> Scope:
        """The body in which the map stands."""
        return self.around

    def keep(self, ref: Ref, type_: object) -> Operand:
        """Nothing is kept of a map's body."""
        raise InternalError(f"%{ref.number} of a map's body isn't kept")

    def parameter(self, ref: Ref) -> Operand:
        """The leaf of a tree."""
        at = next(at for at, each in enumerate(self.mapped.parameters) if each.number == ref.number)
        value = self.around.value(checked(within(self.mapped.operands[at], self.leaf)))
        of = operand_type(ref, self.primal.types)
        return renamed(self, value, of.axes) if isinstance(of, Tensor) else value


def write_map(writing: Writing, scope: Scope, mapped: MapTrees, found: Mapping[Path, Operand]) -> None:
    """Passes the cotangents of a map's result on."""
    tree = operand_type(mapped.operands[0], scope.primal.types)
    for path, leaf in leaves(tree):
        seeds: dict[Path, Operand] = {}
        for item in ((),) if mapped.arity is None else tuple((str(at),) for at in range(mapped.arity)):
            if (*item, *path) in found:
                seeds[item] = found[(*item, *path)]
        at = at_leaf(mapped, leaf.axes, scope.primal.types)
        if seeds and _has_value(at, scope.primal.types):
            _write_leaf(writing, scope, at, path, seeds)


def _has_value(mapped: MapTrees, around: Types) -> bool:
    """Whether the map has a value at a leaf: its body may choose among the elements of one that has none."""
    types = {**around, **{each.number: each.type for each in mapped.parameters}}
    types |= {let.number: let.type for let in mapped.body.lets}
    for let in mapped.body.lets:
        if isinstance(let.value, Apply) and let.value.primitive in OF_SOME_ELEMENTS:
            of = operand_type(let.value.operands[0], types)
            if isinstance(of, Tensor) and is_choice_of_nothing(of, dict(let.value.attributes)):
                return False
    return True


def _write_leaf(writing: Writing, scope: Scope, mapped: MapTrees, path: Path, seeds: Mapping[Path, Operand]) -> None:
    body = mapped.body
    own = frozenset((*(each.number for each in mapped.parameters), *(let.number for let in body.lets)))
    types = dict(scope.primal.types)
    types |= {each.number: each.type for each in mapped.parameters}
    types |= {let.number: let.type for let in body.lets}
    primal = replace(
        scope.primal,
        lets={**scope.primal.lets, **{let.number: let for let in body.lets}},
        types=types,
        stored=scope.primal.stored - own,
        interior=scope.primal.interior | own,
    )
    outside = {leaf for leaf in writing.active if leaf[0] not in own}
    activity = Activity(types, outside, lambda _function, _given: frozenset())
    for parameter, operand in zip(mapped.parameters, mapped.operands, strict=True):
        whole = within(operand, path)
        if isinstance(whole, Ref) and (whole.number, whole.path) in writing.active:
            activity.add(parameter.number, [()])
    activity.body(body)
    inner = LeafScope(scope, primal, mapped, path, own)
    inside = replace(writing, primal=primal, active=activity.active)
    inside.body(inner, body, seeds)
    for (number, place), value in inner.cotangents.items():
        at = next((at for at, each in enumerate(mapped.parameters) if each.number == number), None)
        target = Ref(number, place) if at is None else within(mapped.operands[at], path)
        writing.give(scope, target, value)
