"""`presk bench`: how long calls of an entry take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from presk.cli.options import CONSTS, DIMS, ENTRY, FILE, JSON, QUIET, THREADS, TRAINING, given_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presk.api.compiled import Compiled
    from presk.choose.bench import Case, HostProfile, Row
    from presk.choose.contributions import Call
    from presk.realization.model import Realization

RUNNING = (
    click.option("--backend", metavar="NAME", help="interp, kernel or native alone.  [default: all three]"),
    click.option("--realize", metavar="R", help="This realization alone.  [default: f64, f32 and bf16]"),
    click.option("--plan", metavar="PLAN", default="auto", show_default=True, help="auto, default, scalar or @FILE."),
    THREADS,
    click.option("--bits", type=int, metavar="N", default=64, show_default=True, help="Precision of the reference."),
    click.option("--seed", type=click.IntRange(0), metavar="N", default=0, show_default=True, help="Of all draws."),
)
"""The options of execution, with the defaults of a comparison."""


def running(command: Any) -> Any:
    """Adds the options of RUNNING."""
    for option in reversed(RUNNING):
        command = option(command)
    return command


def _names(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> tuple[str, ...]:
    """Names of libraries divided by commas."""
    if given is None:
        return ()
    known = ("numpy", "torch", "jax")
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",")))
    for name in names:
        if name not in known:
            raise click.BadParameter(f"`{name}` is none of {', '.join(known)}")
    return names


@click.command("bench")
@FILE
@ENTRY
@given_inputs
@click.option(
    "--repeat", type=click.IntRange(1, 10_000), metavar="N", default=5, show_default=True, help="Samples of each row."
)
@click.option("--native-only", is_flag=True, help="The rows of the native backend alone.")
@click.option("--host-profile", is_flag=True, help="Also where a native call's time goes, launch by launch.")
@click.option(
    "--against", metavar="NAMES", callback=_names, help="The same entry in numpy, torch, jax, where installed."
)
@click.option("--train", "block", metavar="NAME", help="A step of this train block in place of an entry.")
@DIMS
@CONSTS
@running
@TRAINING
@JSON
@QUIET
def command(
    file: str,
    entry: str | None,
    inputs: dict[str, str],
    weights: str | None,
    repeat: int,
    native_only: bool,
    host_profile: bool,
    against: tuple[str, ...],
    block: str | None,
    dims: dict[str, int],
    consts: dict[str, str],
    backend: str | None,
    realize: str | None,
    training: bool,
    as_json: bool,
    quiet: bool,
    **execution: Any,
) -> None:
    """Time calls of an entry on every backend, in f64, f32 and bf16.

    Medians over samples of at least 2 ms, parameters bound and inputs converted outside of the timing; `first` is the
    first call after preparing. Ratios are to the first row. Rows of one run compare; another run has met another
    machine.
    """
    if native_only and backend not in (None, "native"):
        raise click.UsageError(f"--native-only and --backend {backend} contradict each other")
    if host_profile and backend in ("interp", "kernel"):
        raise click.UsageError(f"--host-profile is of native code; `{backend}` has none")
    from presk.choose import bench

    realizations = _realizations(realize)
    if block is not None:
        given = {"--entry": entry, "--input": inputs, "--weights": weights, "--dim": dims, "--against": against}
        given |= {"--host-profile": host_profile, "--training": training}
        _refuse_beside_train([name for name, value in given.items() if value])
        wanted = (backend,) if backend else ()
        rows = bench.cases(realizations, wanted, native_only=native_only, bits=execution["bits"])
        _time_steps(file, block, consts, list(rows), execution, repeat, quiet, as_json)
        return
    compiled, call = _call(file, entry, inputs, weights, dims, consts, training, quiet, realizations[0], execution)
    rows = bench.cases(
        realizations,
        (backend,) if backend else (),
        native_only=native_only,
        bits=execution["bits"],
    )
    table = _measure(list(rows), call, against, realizations, repeat, quiet)
    profile = None
    if host_profile:
        narrowest = next((each for each in realizations if each.default == "f32"), realizations[0])
        profile = bench.host_profile(bench.Case("native", narrowest, True), call, repeat)
    if as_json:
        _print_json(compiled, call, table, profile)
    else:
        _print_table(table)
        if profile is not None:
            _print_profile(profile)


def _refuse_beside_train(options: list[str]) -> None:
    if options:
        raise click.UsageError(f"{', '.join(options)}: a train block says itself what its step is and reads")


def _time_steps(
    file: str,
    block: str,
    consts: dict[str, str],
    cases: list[Case],
    execution: dict[str, Any],
    repeat: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """The table of a train block's step."""
    from presk.api.program import load
    from presk.cli.commands.train import sole_block
    from presk.cli.progress import counting
    from presk.realization.model import read_plan
    from presk.train.timing import measure

    program = load(file, consts)
    name = sole_block(program, block)
    with counting("timing", quiet) as tell:
        table = measure(
            program.checked,
            program.checked.trains[name],
            cases,
            plan=read_plan(execution["plan"]),
            threads=execution["threads"],
            repeat=repeat,
            tell=tell,
        )
    if as_json:
        _print_rows(f"{name}.step", execution["threads"], table)
    else:
        _print_table(table)


def _realizations(realize: str | None) -> list[Realization]:
    from presk.choose.bench import UNIFORM
    from presk.realization.model import read_realization

    return [read_realization(name) for name in ((realize,) if realize else UNIFORM)]


def _call(
    file: str,
    entry: str | None,
    inputs: dict[str, str],
    weights: str | None,
    dims: dict[str, int],
    consts: dict[str, str],
    training: bool,
    quiet: bool,
    realization: Realization,
    execution: dict[str, Any],
) -> tuple[Compiled, Call]:
    """The compiled entry, and the call to be timed: on the values given, the rest made up as `presk run` does."""
    from presk.api.compiled import compile
    from presk.choose.contributions import Call
    from presk.cli.choose import choose_entry
    from presk.cli.inputs import read_inputs, read_weights
    from presk.run.backend import Entry
    from presk.run.values import accept

    chosen = choose_entry(file, entry, consts, quiet)
    compiled = compile(
        chosen,
        realize=realization,
        backend="native",
        plan=execution["plan"],
        bits=execution["bits"],
        dims=dims,
        threads=execution["threads"],
        training=training,
    )
    given = read_inputs(inputs)
    if weights is not None:
        given |= read_weights(compiled, weights, given)[0]
    values = compiled.synthesize(seed=execution["seed"], **given)
    core = compiled.core(**values)
    accepted = [accept(each.name or "", each.type, values[each.name or ""]) for each in core.entry.parameters]
    settings = compiled.settings
    call = Call(
        Entry(chosen.name, core),
        realization,
        settings.plan,
        accepted,
        seed=execution["seed"],
        training=training,
        threads=settings.threads,
    )
    return compiled, call


def _measure(
    cases: list[Case],
    call: Call,
    against: tuple[str, ...],
    realizations: Sequence[Realization],
    repeat: int,
    quiet: bool,
) -> list[Row]:
    from presk.choose import bench
    from presk.cli.progress import counting

    with counting("timing", quiet) as tell:
        rows = bench.measure(cases, call, repeat, tell)
    others = [bench.against(name, each, call, repeat) for name in against for each in realizations]
    return bench.ratios([*rows, *others])


def _print_table(rows: list[Row]) -> None:
    width = max(len(row.name) for row in rows)
    click.echo(f"{'':{width}}  {'median':>10}  {'least':>10}  {'ratio':>8}  {'prepare':>10}  {'first':>10}")
    for row in rows:
        if row.median is None:
            click.echo(f"{row.name:{width}}  {row.note}")
            continue
        times = (row.median, row.best, row.prepare, row.first)
        median, best, prepare, first = (_time(each) for each in times)
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}×"
        click.echo(f"{row.name:{width}}  {median:>10}  {best:>10}  {ratio:>8}  {prepare:>10}  {first:>10}")


def _print_profile(profile: HostProfile) -> None:
    inside = profile.inside
    click.echo(f"\n{profile.name}: {_time(profile.call)} a call, {_time(inside)} in its steps by a clock around each")
    width = max((len(each.label) for each in profile.launches), default=0)
    for each in profile.launches:
        share = each.seconds / inside if inside else 0.0
        click.echo(f"{each.label:{width}}  {each.runs:>6}×  {_time(each.seconds):>10}  {share:>6.1%}")


def _print_json(compiled: Compiled, call: Call, rows: list[Row], profile: HostProfile | None) -> None:
    from dataclasses import asdict

    more = {} if profile is None else {"host_profile": asdict(profile)}
    _print_rows(compiled.entry.name, call.threads, rows, **more)


def _print_rows(entry: str, threads: int | None, rows: list[Row], **more: Any) -> None:
    from dataclasses import asdict

    from presk.cli.output import print_json
    from presk.run import machine

    found: dict[str, Any] = {
        "entry": entry,
        "processor": machine.processor(),
        "threads": threads or machine.threads(),
        "unit": "s",
        "rows": [asdict(row) for row in rows],
    }
    print_json(found | more)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:.0f} {unit}"
    raise AssertionError("a unit was found")
