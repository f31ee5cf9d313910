"""Gaps for readers: as text, for a terminal, and as HTML, for a notebook. Called by `Gap` and `presk gap`."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from presk.choose.contributions import Contributions, FirstLost, SiteGap
from presk.choose.measure import Decided, Output, OutputGap
from presk.run.mode import in_standard_mode

if TYPE_CHECKING:
    from presk.choose.gap import Gap

SITES_SHOWN = 12
"""Sites listed; those behind them move the results less."""

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Heads and rows; all but the first column are numbers."""


def figure(value: float | None) -> str:
    """A gap to two digits, rounded up: what is shown bounds it too."""
    if value is None or value != value:
        return "–"
    if value == 0 or value in (float("inf"), float("-inf")):
        return f"{value:g}"
    shown = f"{value:.1e}"
    if float(shown) < value:
        mantissa, _, exponent = shown.partition("e")
        tenths = round(float(mantissa) * 10) + 1
        shown = f"{tenths / 10:.1f}e{exponent}" if tenths < 100 else f"1.0e{int(exponent) + 1:+03d}"
    return shown


@in_standard_mode
def as_text(gap: Gap) -> str:
    """The whole report."""
    blocks = ["\n".join(heading(gap)), _aligned(outputs_table(gap))]
    remarks = [line for output in gap.outputs for line in remarks_on(output)]
    if remarks:
        blocks.append("\n".join(remarks))
    if gap.contributions is not None:
        blocks.append(f"{_aligned(sites_table(gap.contributions))}\n{sites_remark(gap.contributions)}")
    return "\n\n".join(blocks)


@in_standard_mode
def as_html(gap: Gap) -> str:
    """The whole report as tables."""
    parts = [f"<p>{'<br>'.join(escape(line) for line in heading(gap))}</p>", _html(outputs_table(gap))]
    parts += [f"<p>{escape(line)}</p>" for output in gap.outputs for line in remarks_on(output)]
    if gap.contributions is not None:
        parts += [_html(sites_table(gap.contributions)), f"<p>{escape(sites_remark(gap.contributions))}</p>"]
    return "".join(parts)


def heading(gap: Gap) -> list[str]:
    """What was measured, against what."""
    reads = "the inputs as stored" if gap.from_rounded else "the inputs as given"
    how = "proven" if gap.proven else "midpoints, not proven"
    if gap.bits > gap.begun_at:
        how += f"; {gap.begun_at} weren't enough"
    return [
        f"{gap.entry}: {gap.realization} on `{gap.backend}`, against the reference at {gap.bits} bits ({how}), {reads}"
    ]


def outputs_table(gap: Gap) -> Table:
    """A row for each output."""
    heads = ("output", "stored", "relative: worst", "median", "absolute: worst", "median", "of the largest", "radius")
    return heads, [_output_row(output) for output in gap.outputs]


def _output_row(output: Output) -> tuple[str, ...]:
    if isinstance(output, Decided):
        found = f"{output.different} of {output.elements} differ"
        return (output.name, output.stored, found, "", "", "", "", "")
    relative, absolute = output.relative, output.absolute
    numbers = (relative.worst, relative.median, absolute.worst, absolute.median, output.scaled, output.radius)
    return (output.name, output.stored, *map(figure, numbers))


def remarks_on(output: Output) -> list[str]:
    """Where the worst element stands, and what became of numbers that were lost."""
    if isinstance(output, Decided):
        if not output.different:
            return []
        where = "" if not output.first else f" at {list(output.first)}"
        return [f"{output.name}: first{where}, {output.exact} over ℝ and {output.machine} on the machine"]
    return [*_worst(output), *_left_out(output), *_lost(output)]


def _worst(output: OutputGap) -> list[str]:
    if output.worst is None or output.lost:
        return []
    at = f" at {output.worst.place}" if output.worst.place else ""
    return [f"{output.name}: worst{at}, {output.worst.exact} over ℝ and {output.worst.machine!r} on the machine"]


def _left_out(output: OutputGap) -> list[str]:
    """What has no figure, or one that isn't an error, and why."""
    of = f"of {output.elements} elements" if output.elements > 1 else "element"
    found = (
        (output.zeros, "0 over ℝ and not on the machine: no relative gap"),
        (output.untold if output.told else 0, "too close to 0 over ℝ to be told from it: no relative figure"),
        (output.within, f"exact within {figure(output.within_by)}"),
        (output.rough, f"within {figure(output.rough_by)} of exact: the reference's bits tell no more"),
    )
    lines = [f"{output.name}: {count} {of} {'is' if count == 1 else 'are'} {what}" for count, what in found if count]
    if not output.told:
        lines.append(f"{output.name}: can't be told from 0 over ℝ: relative figures, and shares of it, are left out")
    return lines


def _lost(output: OutputGap) -> list[str]:
    found = ((output.nan, "NaN"), (output.infinite, "infinite"))
    where = f", first at {output.worst.place}" if output.worst and output.worst.place else ""
    return [
        f"{output.name}: {count} of {output.elements} elements are defined over ℝ, {what} on the machine{where}"
        for count, what in found
        if count
    ]


def sites_table(parts: Contributions) -> Table:
    """A row for the inputs and each site, in falling order of effect."""
    heads = ("site", "primitive", "stored", "own error", "moves the results by")
    rows = [_site_row(each) for each in parts.sites[:SITES_SHOWN]]
    if parts.inputs is not None or parts.inputs_outside:
        moves = "out of the domain" if parts.inputs_outside else figure(parts.inputs)
        rows.insert(0, ("rounding the inputs", "", "", "", moves))
    return heads, rows


def _site_row(each: SiteGap) -> tuple[str, ...]:
    name = f"{each.site} ({each.name})" if each.name else each.site
    own = f"{each.different} differ" if each.different else figure(each.own)
    if each.lost:
        own = f"{each.lost} lost"
    moves = "out of the domain" if each.outside else figure(each.effect)
    return (name, each.primitive, each.stored, own, moves)


def sites_remark(parts: Contributions) -> str:
    """How far the parts add up to the whole."""
    more = len(parts.sites) - SITES_SHOWN
    rest = "" if parts.unexplained is None else f"; they add up to it but for {figure(parts.unexplained)}"
    shown = f" ({more} sites that move less are not shown)" if more > 0 else ""
    lines = [f"all together {figure(parts.total)} of the largest magnitude{rest}{shown}"]
    if parts.total is None:
        lines = [f"no result can be told from 0 over ℝ: shares of it are left out{shown}"]
    if parts.first_lost is not None:
        lines.insert(0, _first_lost(parts.first_lost))
    if parts.unmeasured is not None:
        lines.insert(0, f"the machine's values lead out of the reals before the last site: {parts.unmeasured}")
    return "\n".join(lines)


def _first_lost(lost: FirstLost) -> str:
    """Where the machine first lost a number, and what stands there over the reals."""
    at = f" at {list(lost.where)}" if lost.where else ""
    if lost.site is None:
        return f"first lost: `{lost.name}`{at} is {lost.found} as it is stored"
    name = f"{lost.site} ({lost.name})" if lost.name else lost.site
    line = "" if lost.line is None else f", line {lost.line}"
    on = "on the machine's own inputs the exact value"
    over = (
        f"{on} is {lost.exact}" if lost.exact is not None else f"{on} isn't defined: `{lost.primitive}` {lost.reason}"
    )
    return f"first lost: {name}{at}, `{lost.primitive}`{line}, is {lost.found} on the machine; {over}"


def _aligned(table: Table) -> str:
    heads, rows = table
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]

    def line(row: tuple[str, ...]) -> str:
        cells = (
            text.ljust(width) if at < 2 else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join(map(line, (heads, *rows)))


def _html(table: Table) -> str:
    heads, rows = table
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
