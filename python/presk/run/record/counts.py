"""How many launches a call makes, and how many fusion saves of them: the numbers a dump begins with.

Every run counts: a loop's body once a round, a leafwise map's once a leaf, a function's once a call. Called by the
command line.
"""

from __future__ import annotations

from collections.abc import Sequence

from presk.core.groups import partition
from presk.core.nodes import Body, Call, Function, Loop, MapTrees, Program
from presk.run.record.schedule import Launch, Repeat, Step
from presk.shapes.types import leaves


def launches(steps: Sequence[Step]) -> int:
    """The launches of one run of a schedule's steps."""
    total = 0
    for step in steps:
        if isinstance(step, Launch):
            total += 1
        elif isinstance(step, Repeat):
            total += step.trips * launches(step.steps)
    return total


def saved(program: Program) -> int:
    """The launches that fusion saves in one call of a program's entry."""
    done: dict[str, int] = {}
    for function in program.functions:  # called ones first
        done[function.name] = _saved(function, done)
    return done[program.entry.name]


def _saved(function: Function, done: dict[str, int]) -> int:
    own = {each.owner: each.saved for each in partition(function).bodies}

    def body(each: Body, owner: int | None) -> int:
        total = own[owner]
        for let in each.lets:
            match let.value:
                case Call(name):
                    total += done[name]
                case Loop(trips=trips, body=inner):
                    total += trips * body(inner, let.number)
                case MapTrees(body=inner) as mapped:
                    count = len(list(leaves(let.type)))
                    total += count // (mapped.arity or 1) * body(inner, let.number)
                case _:
                    continue
        return total

    return body(function.body, None)
