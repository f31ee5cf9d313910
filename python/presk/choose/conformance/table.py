"""The table of worst gaps: kept as a file, compared number by number.

Every machine backend gives the same bits, so one table holds for all of them, and it is compared for equality: a gap
that grew, shrank, appeared or went away is a change that someone has to look at. Called by `presk conformance` and the
tests.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from presk.choose.conformance.suite import REFUSED, Row
from presk.text.diagnostics import PreskError, fail
from presk.text.files import read_bytes, shown, write_bytes

FORM = "presk-conformance-1"

Key = tuple[str, str, str]
"""Group, case and realization."""

Gaps = Mapping[Key, float]


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose gap isn't the table's; None where the table, or the suite, hasn't got it."""

    key: Key
    before: float | None
    after: float | None

    @property
    def text(self) -> str:
        """The change in a line."""
        group, name, realization = self.key
        before, after = ("none" if each is None else f"{each!r}" for each in (self.before, self.after))
        return f"{group} {name} in {realization}: {before} in the table, {after} now"


def gaps_of(rows: Iterable[Row]) -> dict[Key, float]:
    """What a table keeps of rows."""
    return {(row.group, row.name, row.realization): row.gap for row in rows if row.verdict != REFUSED}


def changes(before: Gaps, after: Gaps, *, complete: bool) -> list[Change]:
    """Where two tables differ. Unless `complete`, cases that `after` hasn't got are left alone."""
    keys = [*after, *(key for key in before if complete and key not in after)]
    return [Change(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


def write_table(path: str | Path, gaps: Gaps) -> None:
    """Writes a table, whole or not at all. E8002 where it can't be written."""
    nested: dict[str, dict[str, dict[str, float | str]]] = {}
    for (group, name, realization), gap in gaps.items():
        nested.setdefault(group, {}).setdefault(name, {})[realization] = gap if math.isfinite(gap) else str(gap)
    lines = ["{", f'  "form": "{FORM}",', '  "gaps": {']
    for at, (group, cases) in enumerate(nested.items()):
        rows = [f"      {json.dumps(name, ensure_ascii=False)}: {json.dumps(found)}" for name, found in cases.items()]
        lines += [f'    "{group}": {{', ",\n".join(rows), "    }" + ("," if at < len(nested) - 1 else "")]
    write_bytes(path, ("\n".join([*lines, "  }", "}"]) + "\n").encode())


def read_table(path: str | Path) -> dict[Key, float]:
    """The gaps a table holds. E8001 where the file can't be read, E8003 where it is no table."""
    try:
        data: Any = json.loads(read_bytes(path, "the table"))
        if not isinstance(data, dict) or cast(Any, data).get("form") != FORM:
            raise _no_table(path, f"its form isn't {FORM}")
        nested: Any = cast(Any, data)["gaps"]
        return {
            (group, name, realization): float(gap)
            for group, cases in nested.items()
            for name, found in cases.items()
            for realization, gap in found.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _no_table(path, f"{type(error).__name__} while it was read") from error


def _no_table(path: str | Path, why: str) -> PreskError:
    return fail("E8003", f"`{shown(path)}` is no table of conformance: {why}", hint="presk conformance --write FILE")
