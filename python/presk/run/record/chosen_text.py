"""What the plan `auto` chose, as comment lines: what `presk dump --plan auto` prints.

A line for the machine it was chosen for; then for each site its layout in the JSON of a plan file, and a line for each
reason. A site lowered in several ways has as many. Called by the command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from presk.kernel.lowered import Chosen, Layout, Machine, Split


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


def layout_json(layout: Layout) -> dict[str, Any]:
    """A layout as a plan file states it: what is left open left out."""
    stated = {field.name: getattr(layout, field.name) for field in fields(Layout)}
    split = layout.split
    if isinstance(split, Split):
        stated["split"] = {"depth": split.depth} | ({} if split.workers is None else {"workers": split.workers})
    return {name: value for name, value in stated.items() if value is not None}
