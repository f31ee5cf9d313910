"""Which groups join the store of the contraction before them, in a body as it is recorded.

A plan's `epilogue` is stated at the contraction; the plan `auto` joins where it can be done and pays. The contraction
is then launched where the group stands, since what else that reads may come about between the two, and the group has no
launch of its own. Called by the recorder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from presk.core.groups import Group
from presk.core.nodes import Apply, Body, Let
from presk.core.sites import known_as
from presk.kernel.lower.contraction import LABELS
from presk.kernel.lower.epilogue import following_group, pays
from presk.kernel.lower.lower import types_of
from presk.kernel.lower.refusal import refusal
from presk.kernel.lowered import Layout, Machine
from presk.run.record.frame import Frame
from presk.shapes.types import Tensor

if TYPE_CHECKING:
    from presk.run.record.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Join:
    """A contraction and its group, and the group that joins its store, with its root."""

    let: Let
    group: Group
    root: Let
    following: Group


def joins_of(recorder: Recorder, frame: Frame, body: Body, groups: Sequence[Group]) -> dict[int, Join]:
    """The joins of a body by the number of the contraction.

    Raises E7002, condition 2, where a plan lays out the nest of a group that it also joins to another.
    """
    found: dict[int, Join] = {}
    lets = {let.number: let for let in body.lets}
    for group in groups:
        let = lets[group.root]
        if not isinstance(let.value, Apply) or let.value.primitive not in LABELS:
            continue
        if not _is_wanted(recorder, frame, let):
            continue
        following = following_group(body, groups, group, types_of(frame.function))
        if following is None or any(each.following.root == following.root for each in found.values()):
            continue  # of two products in one group one is stored, and read by the other's
        join = Join(let, group, lets[following.root], following)
        if recorder.choices.machine is not None and not _joins(recorder, frame, lets, join, recorder.choices.machine):
            continue
        if recorder.choices.layout(frame.function.name, join.root) != Layout():
            site, own = (f"{known_as(frame.function)}/%{each.number}" for each in (let, join.root))
            sentence = f"it joins the store of `{site}` as the plan says, and has no nest of its own"
            raise refusal(own, 2, sentence, "lay out one of the two")
        found[let.number] = join
    return found


def _is_wanted(recorder: Recorder, frame: Frame, let: Let) -> bool:
    return recorder.choices.machine is not None or bool(recorder.choices.layout(frame.function.name, let).epilogue)


def _joins(recorder: Recorder, frame: Frame, lets: dict[int, Let], join: Join, machine: Machine) -> bool:
    """Whether the rule `auto` joins it: where the realization says the same of both sites' types, and it pays."""
    of, after = (recorder.choices.site(frame.function.name, each) for each in (join.let, join.root))
    members = [lets[each.number] for each in join.following.members]
    is_alike = (of.storage, of.computed) == (after.storage, after.computed) and after.accumulate is None
    assert isinstance(join.root.type, Tensor), "an epilogue gives a tensor"
    return is_alike and pays(members, join.root.type, of.storage, machine)
