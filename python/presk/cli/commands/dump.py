"""`presk dump`: what each pass makes of an entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from presk.cli.options import CONSTS, DIMS, ENTRY, FILE, QUIET, TRAINING
from presk.cli.programs import core_of_entry, core_of_step, train_block

if TYPE_CHECKING:
    from presk.core.nodes import Program

PLAN = "plan"
"""The stage that `--plan` alone asks for."""

REALIZED = ("kernel", "schedule", "clif", "asm", PLAN)
"""Stages that depend on a realization and a plan."""

STAGES = ("ast", "core", "groups", *REALIZED)


@click.command("dump")
@FILE
@ENTRY
@click.option(
    "--stage",
    metavar="STAGE",
    type=click.Choice(STAGES),
    help=f"One of {', '.join(STAGES)}.  [with --plan: plan]",
)
@click.option("--train", "block", metavar="NAME", help="The step of this train block, at its batch; alone, its text.")
@click.option("--realize", metavar="R", help="f64, f32, bf16, f64+fma, f32+fma, bf16/f32 or @FILE.  [default: f32]")
@click.option("--plan", metavar="PLAN", help="auto, default, scalar or @FILE.  [default: default; of plan: auto]")
@click.option("-o", "--out", metavar="FILE", help="In the stage plan: write it there, for --plan @FILE.")
@click.option("--expand", is_flag=True, help="Write statements over runs out as loops, in the stage kernel.")
@DIMS
@CONSTS
@TRAINING
@QUIET
def command(
    file: str,
    entry: str | None,
    stage: str | None,
    block: str | None,
    realize: str | None,
    plan: str | None,
    out: str | None,
    expand: bool,
    dims: dict[str, int],
    consts: dict[str, str],
    training: bool,
    quiet: bool,
) -> None:
    """Print what a pass made of an entry.

    ast: the file's syntax tree, which belongs to no entry. core: the entry at its sizes in A-normal form, simplified;
    sites are named by its numbers. groups: how it is cut into loop nests. kernel: the loop nests themselves, under a
    realization and a plan. schedule: all that one call does, buffers, steps and kernels. clif: the kernels as
    Cranelift is given them. asm: their machine code under the lines of the kernels. plan: what the plan says of each
    nest; of auto, what it chose and why; with --out a file that --plan takes back.
    """
    if block is not None and (entry is not None or dims or training or stage == "ast"):
        raise click.UsageError("a train block says itself what its step is: only stages and plans apply to it")
    if stage is None:
        if block is not None and plan is None:
            _dump_step_text(file, block, consts)
            return
        if plan is None:
            raise click.UsageError("Missing option '--stage'.")
        stage = PLAN
    if stage == "ast":
        if entry is not None or dims or training:
            raise click.UsageError("the syntax tree is the file's: --entry, --dim and --training don't apply to it")
        _dump_tree(file)
        return
    if out is not None and stage != PLAN:
        raise click.UsageError(f"--out doesn't apply to the stage {stage}")
    if stage not in REALIZED and (realize is not None or plan is not None):
        raise click.UsageError(f"--realize and --plan don't apply to the stage {stage}")
    if expand and stage != "kernel":
        raise click.UsageError(f"--expand doesn't apply to the stage {stage}")
    program, donated = (
        core_of_entry(file, entry, consts, dims, training, quiet)
        if block is None
        else core_of_step(file, block, consts)
    )
    if stage == "core":
        from presk.core.printer import print_program

        click.echo(print_program(program).rstrip("\n"))
    elif stage == "groups":
        from presk.core.group_text import print_groups

        click.echo(print_groups(program).rstrip("\n"))
    elif stage == PLAN:
        shown = _plan(program, donated, realize or "f32", plan or "auto", out)
        click.echo(shown.rstrip("\n"))
    else:
        shown = _realized(program, donated, stage, realize or "f32", plan or "default", expand)
        click.echo(shown.rstrip("\n"))


def _dump_step_text(file: str, block: str, consts: dict[str, str]) -> None:
    from presk.train.step import open_task, step_text

    found = train_block(file, block, consts)
    checked = found.program.checked
    click.echo(step_text(open_task(checked, checked.trains[found.name])).rstrip("\n"))


def _plan(program: Program, donated: tuple[int, ...], realize: str, plan: str, out: str | None) -> str:
    """What a plan says of an entry's nests: for `auto` with its reasons. Written to `out` as a plan file, if given."""
    from presk.kernel.lowered import Chosen
    from presk.realization.mixed import expanded
    from presk.realization.model import read_plan, read_realization
    from presk.run.machine import planned_for
    from presk.run.record.choices import choices
    from presk.run.record.chosen_text import print_chosen, stated_plan
    from presk.run.record.recorder import record

    machine, chosen = planned_for(), dict[str, list[Chosen]]()
    given, read = expanded(read_realization(realize), program), read_plan(plan)
    record(program, choices(given, read, program, machine, donated), donated, chosen=chosen)
    stated = stated_plan(read, program, given.name, chosen)
    if out is not None:
        stated.write(out)
    return print_chosen(machine, chosen) if read.rule == "auto" else json.dumps(stated.json(), indent=2)


def _realized(program: Program, donated: tuple[int, ...], stage: str, realize: str, plan: str, expand: bool) -> str:
    """The schedule of an entry's simplified Core, or its kernels, or the code made of them."""
    from presk.kernel.dump import print_dump
    from presk.kernel.lowered import Chosen
    from presk.realization.mixed import expanded
    from presk.realization.model import Plan, read_plan, read_realization
    from presk.run.machine import planned_for
    from presk.run.record.choices import choices
    from presk.run.record.chosen_text import print_chosen
    from presk.run.record.counts import launches, saved
    from presk.run.record.recorder import record
    from presk.run.record.text import print_schedule

    machine, chosen = planned_for(), dict[str, list[Chosen]]()
    given, read = expanded(read_realization(realize), program), read_plan(plan)
    schedule = record(program, choices(given, read, program, machine, donated), donated, chosen=chosen)
    if stage == "schedule":
        return print_schedule(schedule)
    if stage in ("clif", "asm"):
        from presk.run.listing import print_clif, print_machine_code

        return print_clif(schedule) if stage == "clif" else print_machine_code(schedule)
    reasons = print_chosen(machine, chosen) if read.rule == "auto" else ""
    made = launches(schedule.steps)
    plain = record(program, choices(given, Plan("default"), program, donate=donated), donated) if reasons else schedule
    unfused = launches(plain.steps) + saved(program)
    text = print_dump(schedule.kernels, made, schedule.realization, unfused, unfused - made, expand=expand)
    return reasons + text


def _dump_tree(file: str) -> None:
    from presk.cli.tree_text import show_tree
    from presk.syntax.parser import parse_or_raise
    from presk.text.sources import read_source

    click.echo(show_tree(parse_or_raise(read_source(file, "the program"))))
