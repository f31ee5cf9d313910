"""A group of elementwise primitives, maps, reductions and row primitives as one kernel.

Also a value that its readers compute themselves, where it is stored for something else. The kernel has the nest's outer
loops around its passes over the row (`passes`), and is named for the root. Where the nest is a single sweep, an input
that is read only where the root is stored may give it its buffer. Called by `table`.
"""

from __future__ import annotations

from dataclasses import replace

from presk.core.groups import Member
from presk.core.links import reduced_axes
from presk.core.nodes import Ref
from presk.core.roles import ROLES, Role
from presk.kernel.lower import rows
from presk.kernel.lower.apart import launch_apart
from presk.kernel.lower.choices import check_nest, no_accumulation, split
from presk.kernel.lower.code import Code
from presk.kernel.lower.interleave import ACROSS, interleaved, row_loop
from presk.kernel.lower.members import Members, Row
from presk.kernel.lower.passes import Passes, Stored
from presk.kernel.lower.points import RULES
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.reals import Unhonoured
from presk.kernel.lower.runs import launch_in_runs
from presk.kernel.lower.sharing import in_place
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Launch, Lowered
from presk.kernel.nodes import Axis, Expression
from presk.shapes import types
from presk.text.diagnostics import InternalError


def lower_nest(task: Task) -> Lowered:
    """The kernel of a nest."""
    primitive = task.apply(task.root).primitive
    check_nest(task)
    outer, axes = len(task.group.outer), _axes(task)
    ref, stored = Ref(task.root.number), task.stored_type(task.result(task.root))
    code = Code(primitive, task.arithmetic, task.inputs(task.apply(task.root).operands), [(ref, stored)])
    counters = [code.fresh("i") for _ in axes]
    members = Members(Reader(task, code, RULES), counters, [axis.size for axis in axes], outer)
    passes = Passes(code, members.graph, counters, axes, outer)
    members.value = passes.value
    members.reader.held = lambda read: _held(members, read)
    for member in task.group.members:
        members.of[member.number] = _node(members, member)
    node = members.of[task.root.number]
    index = tuple(position.index for position in members.positions(task.group.members[-1].places))
    in_output = members.graph[node].needs[0] if task.layout.passes == 2 else None
    try:
        passes.write([Stored(node, code.output(), index)], in_output)
    except Unhonoured as found:
        raise no_accumulation(task, f"`{found.operation}`, which has no form in it") from None
    plain = code.launch()
    launch = split(task, _interleaved(task, plain))
    ways = in_place(replace(plain, split=launch.split, whole=launch.whole), ref, task.elements)
    ways = tuple(replace(way, launches=tuple(_interleaved(task, each) for each in way.launches)) for way in ways)
    return Lowered((launch,), ((ref, stored),), in_place=ways)


def _interleaved(task: Task, launch: Launch) -> Launch:
    """The launch with as many rows at once as the plan says, sums and functions over runs apart from the rest first.

    Raises E7002 where there is no loop over rows.
    """
    rows = task.layout.rows
    if isinstance(rows, int) and rows % ACROSS == 0:
        launch = launch_apart(launch)
    if task.layout.runs:
        launch = launch_in_runs(launch)
    if rows is None or rows == "none":
        return launch
    if row_loop(launch.kernel) is None:
        raise task.refuse(2, "this nest has no rows with loops of their own, so none can be taken together")
    assert isinstance(rows, int), "check_nest has seen it"
    return interleaved(launch, rows)


def _node(members: Members, member: Member) -> int:
    """The node that is a member's value."""
    let = members.task.lets[member.number]
    apply = members.task.apply(let)
    rule = rows.RULES.get(apply.primitive)
    if rule is None:
        return members.point(member)
    along = member.reduced
    if ROLES[apply.primitive] is Role.ROW:
        along = tuple(member.places[axis] for axis in reduced_axes(apply, members.task.result(let)))
    return rule(Row(members, member, along))


def _axes(task: Task) -> list[Axis]:
    """The nest's loops. A map's body is lowered for leaves of known sizes."""
    loops = (*task.group.outer, *task.group.inner)
    found = [
        Axis(axis.name, axis.size.whole)
        for axis in loops
        if isinstance(axis, types.Axis) and axis.size.whole is not None
    ]
    if len(found) < len(loops):
        raise InternalError(f"a loop of {task.site} has no known size")
    return found


def _held(members: Members, ref: Ref) -> Expression | None:
    """The value of a member, which is the nest's own."""
    node = None if ref.path else members.of.get(ref.number)
    return None if node is None else members.value(node)
