"""`presk train`: the training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from presk.cli.guard import interruptible
from presk.cli.options import CONSTS, FILE, JSON, NAME_AND_VALUE, QUIET, THREADS

if TYPE_CHECKING:
    from pathlib import Path

    from presk.api.program import Program
    from presk.api.training import Run
    from presk.check.training import TrainBlock
    from presk.realization.model import Realization

DEFAULT_REALIZATION = "f32"

RUNS = "runs"
"""Where a run's folder is made when none is named: `runs/BLOCK`."""


def _changes(_ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """`--set KEY=VALUE` options as a dict; a malformed or repeated one is a usage error."""
    found: dict[str, str] = {}
    for text in given:
        key, dot, rest = text.partition(".")
        match = NAME_AND_VALUE.fullmatch(rest if dot and "=" not in key else text)
        if match is None or not (key.isidentifier() or "=" in key):
            raise click.BadParameter(f"`{text}` isn't of the form KEY=VALUE or KEY.KEYWORD=VALUE", param=parameter)
        name = f"{key}.{match[1]}" if dot and "=" not in key else match[1]
        if name in found:
            raise click.BadParameter(f"`{name}` is given twice", param=parameter)
        found[name] = match[2]
    return found


RUNNING = (
    click.option("--backend", metavar="NAME", help="interp, kernel or native.  [default: native]"),
    click.option("--realize", metavar="R", help="f64, f32, bf16, f64+fma, f32+fma, bf16/f32 or @FILE.  [default: f32]"),
    click.option("--plan", metavar="PLAN", default="auto", show_default=True, help="auto, default, scalar or @FILE."),
    THREADS,
    click.option("--bits", type=int, metavar="N", default=256, show_default=True, help="Precision of the reference."),
    click.option("--certify", is_flag=True, help="On the reference, carry proof radii from step to step."),
    click.option("--seed", type=click.IntRange(0), metavar="N", help="Of all draws.  [default: the block's, or 0]"),
)


def running(command: Any) -> Any:
    """Adds the options of RUNNING."""
    for option in reversed(RUNNING):
        command = option(command)
    return command


@click.command("train")
@FILE
@click.option("--train", "block", metavar="NAME", help="The train block. The sole one if there is one.")
@click.option("--epochs", type=click.IntRange(1), metavar="N", help="In place of the block's.")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="End behind this step, whatever the epochs.")
@click.option(
    "--set",
    "changes",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_changes,
    help="Give a key of the block another value: batch=16, lr.peak=1e-3.",
)
@click.option("-o", "--out", metavar="DIR", help="The run's folder.  [default: runs/NAME]")
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@CONSTS
@running
@JSON
@QUIET
def command(
    file: str,
    block: str | None,
    epochs: int | None,
    steps: int | None,
    changes: dict[str, str],
    out: str | None,
    resume: bool,
    consts: dict[str, str],
    as_json: bool,
    quiet: bool,
    **running: Any,
) -> None:
    """Train a block of a program.

    Steps, measurements and checkpoints go into a folder, from which --resume goes on to the bits that an
    uninterrupted run would have had: on any backend of machine code, any number of threads. An interrupt, SIGTERM or
    SIGHUP finishes the step and saves; a second one ends at once.
    """
    from pathlib import Path

    from presk.api.program import load
    from presk.api.training import train
    from presk.cli.train_log import log
    from presk.train.folder import read_config
    from presk.train.interrupt import stopping

    if out is not None and not out:
        raise click.UsageError("--out: a folder's path")
    wanted: dict[str, Any] = {"epochs": epochs, "seed": running["seed"], "realize": running["realize"], "set": changes}
    before = read_config(Path(out)) if resume and out is not None else {}
    program = load(file, {**_record(before, "consts"), **consts})
    name = sole_block(program, block or before.get("train"))
    folder = Path(out) if out is not None else Path(RUNS) / name
    if resume:
        wanted = _as_before(before or read_config(folder), wanted)
    if not quiet:
        for note in program.notes:
            click.echo(f"note: {note}", err=True)
    options = {name: running[name] for name in ("backend", "plan", "bits", "certify", "threads")}
    options |= {"realize": _realization(wanted["realize"]), "settings": wanted["set"]}
    options |= {"epochs": wanted["epochs"], "steps": steps, "seed": wanted["seed"]}
    with log(quiet, as_json) as tell, stopping():
        run = interruptible(
            lambda: train(program[name], **options, out=folder, resume=resume, callbacks=[tell], quiet=True),
        )
    _conclude(run, as_json)
    if not quiet:
        click.echo(f"note: next: {_next(program, program.checked.trains[name], file, folder)}", err=True)


def _record(config: dict[str, Any], key: str) -> dict[str, Any]:
    found = config.get(key)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _realization(given: object) -> Realization:
    """The realization an option names, or the one a run's folder has as JSON."""
    from presk.realization.model import Realization, read_realization

    if isinstance(given, dict):
        return Realization(**cast("dict[str, Any]", given))
    return read_realization(DEFAULT_REALIZATION if given is None else str(given))


def _as_before(config: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What isn't given is as the run was begun; what is given and differs is refused where it decides a bit."""
    given = {key: each for key, each in wanted.items() if each is not None}
    return {
        **wanted,
        **{key: config.get(key) for key in wanted},
        **given,
        "set": {**_record(config, "set"), **given["set"]},
    }


def sole_block(program: Program, block: str | None) -> str:
    """The block named, or the program's sole one. E8084 otherwise."""
    from presk.text.diagnostics import did_you_mean, fail

    names = program.trains
    if not names:
        hint = "`train NAME { model = …; objective = …; optimizer = …; lr = …; batch = … }`"
        raise fail("E8084", f"`{program.name}` has no train block", hint=hint)
    if block in names:
        return str(block)
    if block is not None:
        hint = did_you_mean(block, names) or f"it has {', '.join(names)}"
        raise fail("E8084", f"`{program.name}` has no train block `{block}`", hint=hint)
    if len(names) == 1:
        return names[0]
    listed = ", ".join(f"`{name}`" for name in names)
    raise fail("E8084", f"`{program.name}` has several train blocks: {listed}", hint=f"name one: --train {names[0]}")


def _next(program: Program, block: TrainBlock, file: str, folder: Path) -> str:
    """A command that uses the weights: to write, or to call an entry of the model."""
    from shlex import quote

    from presk.train.generate import NEXT_TOKEN

    listed = {each.name: each for each in program.entries()}
    names = list(listed)
    weights = f"--weights {quote(str(folder))}"
    if any(name.rpartition(".")[2] == NEXT_TOKEN for name in names):
        return f"presk generate {quote(file)} {weights}"
    model = block.model.path[-1]
    own = [name for name in names if name.startswith((f"{model}.", f"{model}{{"))]
    entry = f"{model}.apply" if f"{model}.apply" in own else own[0] if own else block.objective
    if entry not in listed:
        return f"presk check {quote(file)} lists what `{weights}` may be given to"
    dims = "".join(f" --dim {'batch' if dim == '..' else dim}=2" for dim in listed[entry].free_dimensions)
    return f"presk run {quote(file)} --entry {quote(entry)} {weights}{dims}"


def _conclude(run: Run, as_json: bool) -> None:
    """What the run came to, in one line or as data."""
    import json

    from presk.train.events import Measurement, Step
    from presk.train.loop import parameter_hash

    steps = [each for each in run.history if isinstance(each, Step)]
    measured = [each for each in run.history if isinstance(each, Measurement)]
    digest = parameter_hash(run.params)
    if not as_json:
        click.echo(f"{run.path}  step {steps[-1].step if steps else 0}  parameters {digest}")
        return
    data = {
        "path": str(run.path),
        "last": steps[-1].data() if steps else None,
        "measured": measured[-1].data() if measured else None,
        "parameters": digest,
    }
    click.echo(json.dumps(data, indent=2))
