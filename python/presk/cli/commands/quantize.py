"""`presk quantize`: weights as integers with scales, the realization that names them, and the gap they cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from presk.cli.options import CONSTS, DIMS, ENTRY, FILE, JSON, QUIET, measuring

if TYPE_CHECKING:
    from presk.api.compiled import Compiled
    from presk.choose.gap import Gap
    from presk.choose.quantize import QuantizedWeights

TYPES = ("int8", "int4")

SUFFIX = ".safetensors"


@click.command("quantize")
@FILE
@ENTRY
@click.option("--weights", metavar="FILE", required=True, help="The weights: a safetensors file.")
@click.option("--type", "kind", type=click.Choice(TYPES), required=True, help="The integers' type.")
@click.option("--match", "pattern", metavar="PATTERN", help="Which parameters: '*.w'.  [default: all of two axes]")
@click.option("--axis", type=int, default=-1, show_default=True, help="Scales along this axis, layers aside.")
@click.option("-o", "--out", metavar="FILE", required=True, help="Write the weights there; the realization beside it.")
@click.option("--no-gap", is_flag=True, help="Don't measure what it costs.")
@DIMS
@CONSTS
@measuring
@JSON
@QUIET
def command(
    file: str,
    entry: str | None,
    weights: str,
    kind: str,
    pattern: str | None,
    axis: int,
    out: str,
    no_gap: bool,
    dims: dict[str, int],
    consts: dict[str, str],
    as_json: bool,
    quiet: bool,
    **execution: Any,
) -> None:
    """Quantise weights to integers with scales.

    Writes the integers with their scales to --out, and beside it, with the ending .json, the realization that names
    them: --realize with these parameters besides. Then measures on made-up inputs what that costs: the gap to the exact
    result on the weights as they were, and on the numbers the integers stand for.
    """
    beside = _beside(out)
    from presk.api.files import save_file
    from presk.api.generate import carried_notes
    from presk.choose.quantize import quantize_weights
    from presk.cli.choose import choose_entry, choose_settings
    from presk.cli.inputs import read_weights

    chosen = choose_entry(file, entry, consts, quiet)
    compiled = choose_settings(chosen, execution, dims, False, quiet)
    values = compiled.synthesize(seed=execution["seed"], **read_weights(compiled, weights, {})[0])
    given = {name: values[name] for name in compiled.modules}
    made = quantize_weights(
        compiled.core(**values), given, compiled.settings.realization, kind=kind, pattern=pattern, axis=axis
    )
    tree = made.weights if len(given) > 1 else made.weights[compiled.modules[0]]
    realized = choose_settings(
        chosen, {**execution, "realize": made.realization, "backend": compiled.settings.backend}, dims, False, quiet
    )
    gaps = () if no_gap else _gaps(realized, values, execution["seed"])
    save_file(tree, out, of=realized, metadata=carried_notes(weights))
    made.realization.write(beside)
    _report(made, gaps, out, beside, as_json)


def _beside(out: str) -> str:
    """The realization's file; a usage error where the weights' name is no name for weights."""
    if not out.endswith(SUFFIX):
        raise click.UsageError(f"--out names a {SUFFIX} file, not `{out}`")
    return str(Path(out).with_suffix(".json"))


def _gaps(realized: Compiled, values: dict[str, Any], seed: int) -> tuple[Gap, Gap]:
    """The gaps to the exact result on the weights as given, and on what the integers stand for."""
    exact = realized.gap(**values, seed=seed)
    return exact, realized.gap(**values, seed=seed, from_rounded=True)


def _report(made: QuantizedWeights, gaps: tuple[Gap, ...], out: str, beside: str, as_json: bool) -> None:
    from presk.choose.report import figure
    from presk.cli.output import print_json

    if as_json:
        changes = [
            {
                "name": each.name,
                "type": each.made.type,
                "axis": each.made.axis,
                "shape": list(each.made.shape),
                "bytes": [each.bytes_before, each.bytes_after],
                "error": each.error,
            }
            for each in made.changes
        ]
        against = ("weights", "integers")
        measured = {name: gap.json() for name, gap in zip(against, gaps, strict=bool(gaps))}
        print_json({"weights": out, "realization": beside, "parameters": changes, "gaps": measured})
        return
    width = max(len(each.name) for each in made.changes)
    for each in made.changes:
        shape = "×".join(map(str, each.made.shape))
        size = f"{each.bytes_before} → {each.bytes_after} bytes"
        click.echo(f"{each.name:<{width}}  {each.made.type} along {each.made.axis}  {shape}  {size}", nl=False)
        click.echo(f"  worst weight off by {figure(each.error)} of the largest")
    for what, gap in zip(("the weights as they were", "what the integers stand for"), gaps, strict=bool(gaps)):
        worst, relative = figure(gap.worst("max")), figure(gap.worst())
        click.echo(f"gap to exact on {what}: {worst} of the largest result, {relative} relative")
    click.echo(f"written: {out}, {beside}")
    click.echo(f"to run it: --realize @{beside} --weights {out}")
