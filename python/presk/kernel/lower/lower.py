"""The lowering of one fusion group: from PSK-Core to kernels, by the reference's semantics, rule for rule.

`lower` is what the recorder calls for each group it meets, by way of the cache (`kernel.cache`). Nothing here knows where
a buffer is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from presk.core.groups import Group
from presk.core.nodes import Body, Function, Let, Loop, MapTrees, Ref
from presk.kernel.lower.table import RULES
from presk.kernel.lower.task import Task, at_leaf
from presk.kernel.lowered import Layout, Lowered, SiteChoice
from presk.kernel.nodes import Element
from presk.shapes.types import Type
from presk.text.diagnostics import InternalError


class Scope:
    """A function's lets and the types of all its numbers: made once for a function, and for each shape of a leaf."""

    def __init__(self, function: Function, leaf: tuple[int, ...] | None = None) -> None:
        self.function = function
        self.leaf = leaf
        self.lets: dict[int, Let] = {}
        self.types: dict[int, Type] = {each.number: each.type for each in function.parameters}
        self._enter(function.body)
        if leaf is not None:
            self.types = at_leaf(self.types, leaf)
            self.lets = {at: replace(let, type=self.types[at]) for at, let in self.lets.items()}

    def _enter(self, body: Body) -> None:
        for let in body.lets:
            self.lets[let.number] = let
            self.types[let.number] = let.type
            match let.value:
                case Loop(state=state, elements=elements, body=inner):
                    self.types |= {each.number: each.type for each in (state, *elements)}
                    self._enter(inner)
                case MapTrees(parameters=parameters, body=inner):
                    self.types |= {each.number: each.type for each in parameters}
                    self._enter(inner)
                case _:
                    continue


def lower(
    scope: Scope,
    group: Group,
    elements: Mapping[Ref, Element],
    choice: SiteChoice,
    layout: Layout,
    following: tuple[Group, SiteChoice] | None = None,
) -> Lowered:
    """The launches of a group of the scope's function.

    `elements` says how each real tensor the group reads is held (of a tree, each leaf); nats and booleans are held as
    their types say. `following` is the group of the add that joins a contraction's store where the layout says
    `epilogue` (`contract.following_add` finds it), with its own choice. Raises PreskError: E7002, conditions 2, 3, 4, 6,
    7, 8 and 9, where the choice or the layout can't be run as stated; E9206 for what is beyond a kernel's limits.
    """
    if group.kind == "view":
        return Lowered((), ())
    after, after_choice = following or (None, None)
    task = Task(
        scope.function.name, scope.lets, scope.types, group, elements, choice, layout, scope.leaf, after, after_choice
    )
    primitive = task.apply(task.root).primitive
    rule = RULES.get(primitive)
    if rule is None:
        raise InternalError(f"`{primitive}` at {task.site} has no kernel")
    return rule(task)
