"""`presk realize`: a realization written out for an entry, site by site."""

from __future__ import annotations

import json

import click

from presk.cli.options import CONSTS, DIMS, ENTRY, FILE, QUIET, TRAINING


@click.command("realize")
@FILE
@ENTRY
@click.option("--train", "block", metavar="NAME", help="The step of this train block, at its batch.")
@click.option(
    "--realize",
    metavar="R",
    default="bf16/f32",
    show_default=True,
    help="f64, f32, bf16, f64+fma, f32+fma, bf16/f32 or @FILE.",
)
@click.option("-o", "--out", metavar="FILE", help="Write it there, for --realize @FILE.  [default: to stdout]")
@DIMS
@CONSTS
@TRAINING
@QUIET
def command(
    file: str,
    entry: str | None,
    block: str | None,
    realize: str,
    out: str | None,
    dims: dict[str, int],
    consts: dict[str, str],
    training: bool,
    quiet: bool,
) -> None:
    """Write a realization out for an entry.

    What bf16/f32 decides by the entry's dataflow is stated site by site and parameter by parameter, as a file that can
    be read, changed and given to --realize @FILE. It computes the same bits and has the same hash. It names the entry
    and the hash of its Core at these sizes.
    """
    from dataclasses import replace

    from presk.cli.programs import core_of_entry, core_of_step
    from presk.core.hash import core_hash
    from presk.realization.mixed import expanded
    from presk.realization.model import Plan, read_realization
    from presk.realization.resolve import resolve

    if block is not None and (entry is not None or dims or training):
        raise click.UsageError("a train block says itself what its step is: only --realize applies to it")
    if block is None:
        program, _ = core_of_entry(file, entry, consts, dims, training, quiet)
    else:
        program, _ = core_of_step(file, block, consts)
    given = read_realization(realize)
    resolve(given, Plan("default"), program)
    made = replace(expanded(given, program), entry=program.entry.name, core=core_hash(program))
    if out is None:
        click.echo(json.dumps(made.json(), indent=2))
        return
    made.write(out)
    if not quiet:
        sites = f"{len(made.storage)} sites stored as stated, {len(made.round)} rounded"
        click.echo(f"{out}: {made.name} of {program.entry.name}, {sites}\n{made.hash}", err=True)
