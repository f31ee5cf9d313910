"""`presk gap`: how far a machine result is from the exact one."""

from __future__ import annotations

from typing import Any

import click

from presk.cli.options import CONSTS, DIMS, ENTRY, FILE, JSON, QUIET, RAW, TRAINING, given_inputs, measuring

NORMS = ("rel", "abs", "max")


@click.command("gap")
@FILE
@ENTRY
@given_inputs
@RAW
@DIMS
@CONSTS
@measuring
@click.option("--max-gap", type=click.FloatRange(0), metavar="X", help="Exit with 1 if the worst gap is above this.")
@click.option(
    "--norm",
    type=click.Choice(NORMS),
    default="rel",
    show_default=True,
    help="Of --max-gap: element by element relative or absolute, or absolute over the largest element.",
)
@click.option("--from-rounded", is_flag=True, help="The reference reads the inputs as the realization stores them.")
@click.option(
    "--certify/--no-certify", default=True, help="From proven values (default), or from midpoints without radii."
)
@click.option("--no-sites", is_flag=True, help="Leave out what each site contributes.")
@click.option("-o", "--out", metavar="FILE", help="Write the certificate there, as JSON.")
@TRAINING
@JSON
@QUIET
def command(
    file: str,
    entry: str | None,
    inputs: dict[str, str],
    weights: str | None,
    raw: bool,
    dims: dict[str, int],
    consts: dict[str, str],
    max_gap: float | None,
    norm: str,
    from_rounded: bool,
    certify: bool,
    no_sites: bool,
    out: str | None,
    training: bool,
    as_json: bool,
    quiet: bool,
    **execution: Any,
) -> None:
    """Measure how far a call is from the exact result.

    Runs the entry on a machine backend and on the reference, on the same inputs (made up as for `run` where they aren't
    given), and states the gap of every output with the reference's proof radius, then what each site contributes: its
    own error, and how far that error alone moves the results. --json prints the certificate, which names the program,
    the realization, the inputs and the result by their hashes.
    """
    import json

    from presk.cli.choose import by_place, choose_entry, choose_settings
    from presk.cli.guard import CheckFailedError
    from presk.cli.inputs import read_inputs
    from presk.cli.prepared import with_weights
    from presk.cli.progress import counting
    from presk.text.files import write_bytes

    chosen = choose_entry(file, entry, consts, quiet)
    compiled = choose_settings(chosen, execution, dims, training, quiet, measures=True)
    given = read_inputs(inputs)
    if weights is not None:
        given, _ = with_weights(compiled, weights, given, raw=raw, quiet=quiet)
    seed = execution["seed"]
    args, named = by_place(compiled, given)
    values = compiled.synthesize(*args, **named, seed=seed)
    args, named = by_place(compiled, values)
    with counting("sites", quiet) as progress:
        found = compiled.gap(
            *args,
            **named,
            certify=certify,
            from_rounded=from_rounded,
            sites=not no_sites,
            seed=seed,
            progress=progress,
        )
    if found.evaluations > 1 and not quiet:
        cost = f"{found.evaluations} evaluations, {found.factor:.1f} times the cost of the first"
        click.echo(f"note: the reference took {found.bits} bits, {found.begun_at} weren't enough ({cost})", err=True)
    certificate = json.dumps(found.json(), indent=2)
    if out is not None:
        write_bytes(out, certificate.encode() + b"\n")
    click.echo(certificate if as_json else str(found))
    if max_gap is not None and found.exceeds(max_gap, norm):
        bound = found.bound(norm)
        may = "is" if found.worst(norm) > max_gap else "isn't known closely enough, and may be"
        click.echo(f"the gap, at most {bound:.3g} ({norm}), {may} above {max_gap:g}", err=True)
        raise CheckFailedError
