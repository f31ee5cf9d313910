"""`presk conformance`: the suite's table, on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from presk.cli.options import JSON, QUIET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presk.choose.conformance.suite import Row
    from presk.choose.conformance.table import Change

GROUPS = ("primitive", "example", "drawn", "gradient")
NAME_WIDTH = 44
TYPE_WIDTH = 10


@click.command("conformance")
@click.option("--backend", metavar="NAME", help="kernel or native.  [default: native]")
@click.option("--group", "groups", type=click.Choice(GROUPS), multiple=True, help="One of the groups.  [default: all]")
@click.option("--only", metavar="PATTERN", help="Cases whose name matches, such as 'minigpt: *'.")
@click.option("--realize", metavar="R", help="In this realization.  [default: f64, f32 and bf16, each case's own]")
@click.option("--table", metavar="FILE", help="Compare with a table; exit with 1 where a gap isn't the table's.")
@click.option("--write", metavar="FILE", help="Write the gaps there, as a table.")
@JSON
@QUIET
def command(
    backend: str | None,
    groups: tuple[str, ...],
    only: str | None,
    realize: str | None,
    table: str | None,
    write: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure every primitive and example against the exact reference.

    A gap is the worst |x - x̂| / (|x| + a) over a case's results. Every case must lie in its type's band, except for a
    listed few whose terms cancel; these are shown with their condition, Σ|terms| / |x|. Exits with 1 where one doesn't.

    A realization is held to the band of the narrowest type it stores; the gaps of integer weights are shown alone.
    """
    from presk.choose.conformance.cases import cases
    from presk.choose.conformance.suite import BEYOND, REFUSED, run_suite
    from presk.choose.conformance.table import changes, gaps_of, read_table, write_table
    from presk.cli.guard import CheckFailedError
    from presk.cli.progress import counting
    from presk.realization.model import read_realization
    from presk.run import registry
    from presk.text.diagnostics import fail

    realization = None if realize is None else read_realization(realize)
    known = None if table is None else read_table(table)
    machine = registry.make(registry.fastest() if backend is None else backend)
    if machine.name == "interp":
        raise click.UsageError("the reference is what is measured against; --backend names a machine backend")
    chosen = cases(groups or GROUPS)
    wanted = [case for case in chosen if only is None or _matches(case.name, only)]
    if not wanted:
        raise click.UsageError(f"no case's name matches `{only}`")
    with counting("cases", quiet) as progress:
        rows = list(run_suite(machine, wanted, progress, realization))
    if all(row.verdict == REFUSED for row in rows):
        raise fail("E7002", f"no case can be run in `{realize}`", hint="name the entry it was written for with --only")
    found = (
        [] if known is None else changes(known, gaps_of(rows), complete=not groups and only is None and realize is None)
    )
    if as_json:
        _print_data(rows, found, machine.name)
    else:
        _print_table(rows, found, machine.name)
    if write is not None:
        write_table(write, gaps_of(rows))
    if found or any(row.verdict == BEYOND for row in rows):
        raise CheckFailedError


def _matches(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def _print_data(rows: list[Row], found: list[Change], backend: str) -> None:
    from dataclasses import asdict

    from presk.choose.gap import plain
    from presk.cli.output import print_json

    differences = [{"case": change.text} for change in found]
    print_json(plain({"backend": backend, "rows": [asdict(row) for row in rows], "changes": differences}))


def _print_table(rows: list[Row], found: list[Change], backend: str) -> None:
    from presk.choose.conformance.suite import BANDS, BEYOND, LISTED_BEYOND, REFUSED

    bands = ", ".join(f"{name} {band.epsilon:.1e} (a = {band.floor:.1e})" for name, band in BANDS.items())
    click.echo(f"worst |x - x̂| / (|x| + a) on `{backend}`, against the reference at 256 bits; bands: {bands}")
    marks = {LISTED_BEYOND: "*", BEYOND: "!"}
    refused = sum(row.verdict == REFUSED for row in rows)
    rows = [row for row in rows if row.verdict != REFUSED]
    for group in dict.fromkeys(row.group for row in rows):
        there = {row.realization: row.type for row in rows if row.group == group}
        types = sorted(there, key=lambda name: list(BANDS).index(there[name]))
        widths = {name: max(TYPE_WIDTH, len(name) + 2) for name in types}
        click.echo(f"\n{group:<{NAME_WIDTH}}" + "".join(f"{name:>{widths[name]}}" for name in types))
        for name in dict.fromkeys(row.name for row in rows if row.group == group):
            cells = {row.realization: row for row in rows if row.group == group and row.name == name}
            shown = (f"{_cell(cells.get(each), marks):>{widths[each]}}" for each in types)
            click.echo(f"{name:<{NAME_WIDTH}}" + "".join(shown))
    remarks = [_remark(row) for row in rows if row.verdict in marks]
    if remarks:
        click.echo("\n" + "\n".join(remarks))
    for change in found:
        click.echo(f"changed: {change.text}")
    counts = [sum(row.verdict == verdict for row in rows) for verdict in (LISTED_BEYOND, BEYOND)]
    click.echo(f"\n{len(rows)} measured; {counts[0]} listed beyond their band (*), {counts[1]} beyond it otherwise (!)")
    if refused:
        click.echo(f"{refused} entries that the realization doesn't fit are left out")


def _cell(row: Row | None, marks: Mapping[str, str]) -> str:
    """A gap with its mark; nothing where the case isn't measured in that type."""
    from presk.choose.report import figure

    return "" if row is None else figure(row.gap) + marks.get(row.verdict, " ")


def _remark(row: Row) -> str:
    from presk.choose.report import figure

    mark = "*" if row.reason else "!"
    parts = [f"{mark} {row.group} {row.name} in {row.realization}: {row.reason or 'not listed'}"]
    if row.condition is not None:
        parts.append(f"Σ|terms| / |x| is {row.condition:.1e}, the gap over Σ|terms| {figure(row.eased)}")
    if row.different:
        parts.append(f"{row.different} of {row.elements} elements are decided otherwise")
    return "; ".join(parts)
