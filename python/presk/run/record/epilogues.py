"""Which additions join the store of the contraction before them, in a body as it is recorded.

A plan's `epilogue` is stated at the contraction; the plan `auto` joins wherever it can be done. The contraction is then
launched where the addition stands, since what is added may come about between the two, and the addition has no launch
of its own. Called by the recorder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from presk.core.groups import Group
from presk.core.nodes import Apply, Body, Let
from presk.core.sites import known_as
from presk.kernel.lower.contraction import LABELS
from presk.kernel.lower.epilogue import following_add
from presk.kernel.lower.lower import types_of
from presk.kernel.lower.refusal import refusal
from presk.kernel.lowered import Layout
from presk.run.record.frame import Frame

if TYPE_CHECKING:
    from presk.run.record.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Join:
    """A contraction, and the group of the addition that joins its store."""

    let: Let
    group: Group
    add: Let
    following: Group


def joins_of(recorder: Recorder, frame: Frame, body: Body, groups: Sequence[Group]) -> dict[int, Join]:
    """The joins of a body by the number of the contraction.

    Raises E7002, condition 2, where a plan lays out the nest of an addition that it also joins to another.
    """
    found: dict[int, Join] = {}
    lets = {let.number: let for let in body.lets}
    for group in groups:
        let = lets[group.root]
        if not isinstance(let.value, Apply) or let.value.primitive not in LABELS:
            continue
        if not _is_wanted(recorder, frame, let):
            continue
        following = following_add(body, groups, group, types_of(frame.function))
        if following is None or any(each.following.root == following.root for each in found.values()):
            continue  # of two products that are added one is stored, and joined by the other
        add = lets[following.root]
        if recorder.choices.machine is not None and not _is_alike(recorder, frame, let, add):
            continue
        if recorder.choices.layout(frame.function.name, add) != Layout():
            site, own = (f"{known_as(frame.function)}/%{each.number}" for each in (let, add))
            sentence = f"it joins the store of `{site}` as the plan says, and has no nest of its own"
            raise refusal(own, 2, sentence, "lay out one of the two")
        found[let.number] = Join(let, group, add, following)
    return found


def _is_wanted(recorder: Recorder, frame: Frame, let: Let) -> bool:
    return recorder.choices.machine is not None or bool(recorder.choices.layout(frame.function.name, let).epilogue)


def _is_alike(recorder: Recorder, frame: Frame, let: Let, add: Let) -> bool:
    """Whether the realization says the same of both sites' types, as a join needs."""
    of, after = (recorder.choices.site(frame.function.name, each) for each in (let, add))
    return of.storage == after.storage and after.accumulate is None
