"""Training a program's blocks: `presk.train`.

Called by users and by the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from presk.api.arguments import folder, listeners, table, text, texts
from presk.api.arrays import incoming
from presk.api.compiled import workers
from presk.api.program import Entry, find_entry
from presk.api.signature import whole_number
from presk.core.nodes import Program
from presk.draw import require_seed
from presk.realization.model import Plan, Realization, read_plan, read_realization
from presk.run import registry
from presk.run.mode import in_standard_mode
from presk.shapes import constants
from presk.text.diagnostics import did_you_mean, fail
from presk.train.events import Event, Measurement, Step
from presk.train.interrupt import end
from presk.train.loop import run
from presk.train.overrides import override
from presk.train.prepare import How, prepare


@dataclass(frozen=True)
class Run:
    """What a training came to.

    `params` is the tree of parameters behind the last step, `history` every step and measurement from the first step
    on, `path` the run's folder, or None where nothing was written.
    """

    params: Any
    history: tuple[Step | Measurement, ...]
    path: Path | None

    @property
    def losses(self) -> list[float]:
        """The loss of each step's batch, from the first step on."""
        return [each.loss for each in self.history if isinstance(each, Step)]

    def __repr__(self) -> str:
        losses = self.losses
        ends = f", loss {losses[0]:.6f} to {losses[-1]:.6f}" if losses else ""
        return f"<presk.Run of {len(losses)} steps{ends}>"


@in_standard_mode
def train(
    block: Entry | str,
    *,
    realize: str | Realization = "f32",
    backend: str | None = None,
    plan: str | Plan = "auto",
    bits: int = 256,
    threads: int | None = None,
    data: Mapping[str, Any] | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callable[[Event], None]] = (),
) -> Run:
    """Trains a block of a program, `program["tiny"]` or `"path.psk:tiny"`, from its first step, or from where a run in
    `out` stopped.

    `data` are arrays in place of the block's data, by the fields of the objective's batch, a row along the first axis.
    `epochs`, `seed` and `settings` (`{"batch": "16", "lr.peak": "1e-3"}`, PSK text) go before the block's; `steps` ends
    the run behind that step, whatever the epochs. `out` is a folder for checkpoints, the log and the plot; with
    `resume` the run in it goes on, to the bits it would have had without a stop. Each callback is told of every step
    (`presk.Step`), every measurement (`presk.Measurement`) and every remark. The other options are those of `compile`.

    An interrupt finishes the step, saves, and is raised then: KeyboardInterrupt, or for SIGTERM and SIGHUP, where the
    program has no handlers of its own, SystemExit. So is what a callback raises. Raises PreskError: E802x for settings,
    E804x and E807x for data, E808x for the run's folder and for a loss that is no number any more.
    """
    block = find_block(block)
    changes = texts("settings", settings)
    told = listeners("callbacks", callbacks)
    path = None if out is None else folder("out", out)
    checked = block.program.checked
    if resume and out is None:
        raise fail("E8080", "a run that goes on needs its folder", hint='presk.train(…, out="runs/tiny", resume=True)')
    changed = override(checked, checked.trains[block.name], changes)
    name = registry.fastest() if backend is None else text("backend", backend)
    realization = realize if isinstance(realize, Realization) else read_realization(realize)
    how = How(
        registry.make(name, bits=whole_number("bits", bits)),
        realization,
        f"exact to {bits} bits" if name == "interp" else realization.name,
        plan if isinstance(plan, Plan) else read_plan(plan),
        None if threads is None else workers(threads),
        None if steps is None else _positive("steps", steps),
        None if epochs is None else _positive("epochs", epochs),
        None if seed is None else require_seed(seed),
        None if data is None else incoming("data", dict(table("data", data))).tree,
    )
    training = prepare(checked, changed, how)
    config = {
        "program": block.program.name,
        "consts": {each: constants.show(value) for each, value in checked.overrides.items()},
        "train": block.name,
        "realize": realization.json(),
        "set": changes,
        "epochs": how.epochs,
        "seed": how.seed,
        "settings": dict(training.settings),
    }

    def tell(event: Event) -> None:
        for callback in told:
            callback(event)

    outcome = run(training, path, config, resume=resume, tell=tell)
    if outcome.signal is not None:
        raise end(outcome.signal)
    return Run(outcome.parameters, outcome.history, path)


def find_block(block: Entry | str) -> Entry:
    """A train block given as one, or as text, `path.psk:tiny`. E8084 for an entry that is none."""
    found = find_entry(block)
    names = list(found.program.checked.trains)
    if found.name not in names:
        hint = did_you_mean(found.name, names) or (f"it has {', '.join(names)}" if names else "it has none")
        raise fail("E8084", f"`{found.program.name}` has no train block `{found.name}`", hint=hint)
    return found


def step_core(block: Entry) -> Program:
    """The simplified Core of a block's step at its batch and its data's sizes: what `presk dump --train` shows."""
    checked = block.program.checked
    how = How(registry.make(registry.fastest()), Realization(), Realization().name, steps=1)
    training = prepare(checked, checked.trains[block.name], how)
    return training.core(training.batches.size)


def _positive(name: str, given: object) -> int:
    count = whole_number(name, given)
    if count < 1:
        raise fail("E8077", f"`{name}` is {count}, and a training has a step at least")
    return count
