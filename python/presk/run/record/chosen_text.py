"""What the plan `auto` chose, as a plan that runs the same and as comment lines, which `presk dump --plan auto` prints.

The lines: the machine it was chosen for; then for each site its layout in the JSON of a plan file, and each reason. A
site lowered in several ways has as many. Called by the Python API and the command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from presk.core.hash import core_hash
from presk.core.nodes import Program
from presk.core.sites import let_of, sites
from presk.kernel.lowered import Chosen, Layout, Machine, Split
from presk.realization.model import Plan
from presk.run.record.choices import IN_ONE_LANE, is_product


def print_chosen(machine: Machine, chosen: Mapping[str, Sequence[Chosen]]) -> str:
    """The comment lines."""
    workers = f"{machine.threads} worker{'' if machine.threads == 1 else 's'}"
    caches = ", ".join(f"{each >> 10} KiB" for each in machine.caches) or "not known"
    lines = [f"plan auto for {workers}, caches {caches}, vectors of {machine.vector} bytes", *_sites(chosen)]
    return "".join(f"-- {line}\n" for line in lines)


def _sites(chosen: Mapping[str, Sequence[Chosen]]) -> Iterator[str]:
    for site, ways in chosen.items():
        for each in dict.fromkeys(ways):
            yield f"{site}: {json.dumps(layout_json(each.layout))}"
            yield from (f"  {reason}" for reason in each.why)


def stated_plan(plan: Plan, program: Program, realization: str, chosen: Mapping[str, Sequence[Chosen]]) -> Plan:
    """The plan under which an entry was recorded, every layout stated: it records the same schedule.

    `chosen` is what the recorder noted under the rule `auto`.
    """
    match plan.rule:
        case "auto":
            known = {f"{name}/%{each.number}" for each in sites(program) for name in (each.function, each.named)}
            first = {site: ways[0].layout for site, ways in chosen.items() if site in known}
        case "scalar":
            first = {each.key: IN_ONE_LANE for each in sites(program) if is_product(let_of(program, each))}
        case _:
            return plan
    layouts = {site: layout_json(layout) for site, layout in first.items() if layout != Layout()}
    return Plan("default", layouts, realization, program.entry.name, core_hash(program), fuse=plan.rule == "auto")


def layout_json(layout: Layout) -> dict[str, Any]:
    """A layout as a plan file states it: what is left open left out."""
    stated = {field.name: getattr(layout, field.name) for field in fields(Layout)}
    split = layout.split
    if isinstance(split, Split):
        stated["split"] = {"depth": split.depth} | ({} if split.workers is None else {"workers": split.workers})
    return {name: value for name, value in stated.items() if value is not None}
