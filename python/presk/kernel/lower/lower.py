"""The lowering of one fusion group: from PSK-Core to kernels, by the reference's semantics, rule for rule.

`lower` is what the recorder calls for each group it meets. Nothing here knows where a buffer is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from threading import Lock

from presk.core.groups import Group
from presk.core.nodes import Body, Function, Loop, MapTrees, Ref
from presk.core.sites import known_as
from presk.kernel.limits import BUFFERS
from presk.kernel.lower import auto
from presk.kernel.lower.runs import laid_in_runs
from presk.kernel.lower.table import RULES, Rule
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Layout, Lowered, Machine, SiteChoice
from presk.kernel.nodes import Element
from presk.shapes.types import Type
from presk.text.diagnostics import InternalError, fail

FUNCTIONS_KEPT = 16
"""Functions whose types are kept: a function is lowered group by group."""

_types: OrderedDict[int, tuple[Function, dict[int, Type]]] = OrderedDict()
_guard = Lock()


def lower(
    function: Function,
    body: Body,
    group: Group,
    elements: Mapping[Ref, Element],
    choice: SiteChoice,
    layout: Layout,
    following: tuple[Group, SiteChoice] | None = None,
    machine: Machine | None = None,
) -> Lowered:
    """The launches of a group of one of the function's bodies, whose sizes are known.

    With a `machine` the rule `auto` lays the nest out for it, and `layout` must leave everything open.

    `elements` says how each real tensor the group reads is held (of a tree, each leaf); nats and booleans are held as
    their types say. `following` is the group that joins a contraction's store where the layout says `epilogue`
    (`epilogue.following_group` finds it), with its own choice. Raises PreskError: E7002, conditions 2, 3, 4,
    6, 7, 8 and 9, where the choice or the layout can't be run as stated; E9206 for what is beyond a kernel's limits.
    """
    if group.kind == "view":
        return Lowered((), ())
    lets = {let.number: let for let in body.lets}
    after, after_choice = following or (None, None)
    task = Task(known_as(function), lets, types_of(function), group, elements, choice, layout, after, after_choice)
    if len(elements) > BUFFERS:
        message = f"`{task.site}` reads {len(elements)} tensors, and a kernel reads at most {BUFFERS}"
        raise fail("E9206", message, hint="stack them, or let a function take a part: a call has its own kernels")
    primitive = task.apply(task.root).primitive
    rule = RULES.get(primitive)
    if rule is None:
        raise InternalError(f"`{primitive}` at {task.site} has no kernel")
    return _laid(rule, task) if machine is None else auto.lower(task, partial(_laid, rule), machine)


def _laid(rule: Rule, task: Task) -> Lowered:
    """The launches of a group at the point its layout says."""
    lowered = rule(task)
    return laid_in_runs(lowered) if task.layout.runs else lowered


def types_of(function: Function) -> Mapping[int, Type]:
    """The type of every number in a function; kept by the function's identity."""
    with _guard:
        found = _types.get(id(function))
        if found is None or found[0] is not function:
            found = _types[id(function)] = (function, _collect(function))
        _types.move_to_end(id(function))
        while len(_types) > FUNCTIONS_KEPT:
            _types.popitem(last=False)
    return found[1]


def _collect(function: Function) -> dict[int, Type]:
    types: dict[int, Type] = {each.number: each.type for each in function.parameters}
    waiting = [function.body]
    while waiting:
        for let in waiting.pop().lets:
            types[let.number] = let.type
            match let.value:
                case Loop(state=state, elements=elements, body=inner):
                    types |= {each.number: each.type for each in (state, *elements)}
                    waiting.append(inner)
                case MapTrees(parameters=parameters, body=inner):
                    types |= {each.number: each.type for each in parameters}
                    waiting.append(inner)
                case _:
                    continue
    return types
