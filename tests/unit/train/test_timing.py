"""A step that is timed is the loop's own: a row for each case, and a note for what is refused."""

from __future__ import annotations

from pathlib import Path

import presk
from presk.choose.bench import Case, cases
from presk.train.timing import measure

TYPES = [presk.Realization("f32"), presk.Realization("bf16")]


def rows_of(examples: Path, wanted: list[Case]) -> list[tuple[str, bool, str | None]]:
    program = presk.load(examples / "regression" / "regression.psk").checked
    told: list[tuple[int, int]] = []
    found = measure(
        program,
        program.trains["regression"],
        wanted,
        plan=presk.Plan("auto"),
        threads=1,
        repeat=1,
        tell=lambda done, whole: told.append((done, whole)),
    )
    assert told == [(at + 1, len(wanted)) for at in range(len(wanted))]
    return [(row.name, row.median is not None, row.note) for row in found]


def test_a_row_for_each_case(examples: Path) -> None:
    wanted = list(cases(TYPES, ["interp", "kernel"], bits=53))
    names = ["interp 53 bits", "kernel f32", "kernel bf16"]
    assert rows_of(examples, wanted) == [(name, True, None) for name in names]


def test_what_cannot_be_run_is_a_note(examples: Path) -> None:
    strange = presk.Realization("f32", storage={"nowhere/%1": "f64"})
    ((name, is_measured, note),) = rows_of(examples, [Case("kernel", strange)])
    assert name.startswith("kernel f32~") and not is_measured
    assert note is not None and note.startswith("E7002: ")
