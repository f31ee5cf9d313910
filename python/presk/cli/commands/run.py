"""`presk run`: one call of an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from presk.cli.guard import interruptible
from presk.cli.options import CONSTS, DIMS, ENTRY, FILE, JSON, QUIET, RAW, TRAINING, execution, given_inputs

if TYPE_CHECKING:
    from presk.api.compiled import Compiled
    from presk.shapes.types import Type
    from presk.train.preparation import Preparation

FORMATS = ("text", "json", "npz")


@click.command("run")
@FILE
@ENTRY
@given_inputs
@RAW
@click.option("-o", "--out", metavar="FILE", help="Write the result there: npz, or json by the name or --format.")
@click.option("--format", "shape", type=click.Choice(FORMATS), help="Of the result.  [default: text, or --out's name]")
@DIMS
@CONSTS
@execution
@TRAINING
@JSON
@QUIET
def command(
    file: str,
    entry: str | None,
    inputs: dict[str, str],
    weights: str | None,
    raw: bool,
    out: str | None,
    shape: str | None,
    dims: dict[str, int],
    consts: dict[str, str],
    training: bool,
    as_json: bool,
    quiet: bool,
    **execution: Any,
) -> None:
    """Call an entry once on given or made-up inputs.

    What isn't given is made up from --seed: parameters by their initializers, reals standard normal, nats uniform below
    their bound, masks mostly true. Sizes come of the inputs given and of --dim.
    """
    form = _form(out, shape, as_json)
    from presk.cli.choose import by_place, choose_entry, choose_settings
    from presk.cli.inputs import read_inputs
    from presk.cli.prepared import with_weights
    from presk.train.preparation import Preparation

    chosen = choose_entry(file, entry, consts, quiet)
    compiled = choose_settings(chosen, execution, dims, training, quiet)
    given = read_inputs(inputs)
    preparation = Preparation()
    if weights is not None:
        given, preparation = with_weights(compiled, weights, given, raw=raw, quiet=quiet)
    args, named = by_place(compiled, given)
    values = compiled.synthesize(*args, **named, seed=execution["seed"])
    args, named = by_place(compiled, values)
    result = interruptible(lambda: compiled(*args, **named, seed=execution["seed"]))
    if compiled.proof is not None and not quiet:
        _note(compiled)
    of = compiled.specialize(*args, **named).result
    _deliver(result, of, compiled.settings.precision.digits, form, out, preparation)


def _note(compiled: Compiled) -> None:
    """What proving took, and what it fell short of, on stderr."""
    from presk.cli.output import proof_notes

    proof, digits = compiled.proof, compiled.settings.precision.of_a_call().digits
    assert proof is not None, "the reference has just proven something"
    for note in proof_notes(proof, None if digits is None else f"{digits} digits of every number"):
        click.echo(f"note: {note}", err=True)


def _form(out: str | None, shape: str | None, as_json: bool) -> str:
    """The format asked for; a usage error where options contradict each other."""
    if as_json and shape not in (None, "json"):
        raise click.UsageError(f"--json and --format {shape} contradict each other")
    if as_json or shape is not None:
        form = "json" if as_json else str(shape)
    else:
        form = "text" if out is None else "json" if out.endswith(".json") else "npz"
    if form == "npz" and out is None:
        raise click.UsageError("--format npz needs --out FILE")
    return form


def _deliver(result: Any, of: Type, digits: int | None, form: str, out: str | None, preparation: Preparation) -> None:
    import json

    from presk.cli.output import as_arrays, as_json, as_text
    from presk.cli.prepared import as_lines, with_labels
    from presk.run.array_files import write_npz
    from presk.text.files import write_bytes

    if form == "npz":
        assert out is not None, "checked with the options"
        write_npz(out, as_arrays(result))
        return
    if form == "text":
        text = "\n".join([as_text(result, of, digits), *as_lines(result, of, preparation)])
    else:
        text = json.dumps(with_labels(as_json(result, of), result, of, preparation), indent=2)
    if out is None:
        click.echo(text)
    else:
        write_bytes(out, text.encode() + b"\n")
