"""Training a program's blocks: `presk.train`.

Called by users and by the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from presk.api.arguments import folder, listeners, require, table, text
from presk.api.arguments import settings as as_text
from presk.api.arrays import incoming
from presk.api.compiled import workers
from presk.api.constants import Number, exact_number
from presk.api.program import Entry, find_entry
from presk.api.signature import whole_number
from presk.core.nodes import Program
from presk.draw import require_seed
from presk.exact.proving import Precision
from presk.realization.model import Plan, Realization, read_plan, read_realization
from presk.run import registry
from presk.run.backend import Backend
from presk.run.mode import in_standard_mode
from presk.shapes import constants
from presk.text.diagnostics import did_you_mean, fail
from presk.train.checkpoints import read_weights
from presk.train.events import Event, Measurement, Progress, Step
from presk.train.interrupt import end
from presk.train.loop import run
from presk.train.overrides import override
from presk.train.preparation import Preparation
from presk.train.prepare import How, Training, prepare
from presk.train.split import Split

Setting: TypeAlias = Number | bool | Sequence[str]
"""What a key of a block may be given as."""


@dataclass(frozen=True)
class Run:
    """What a training came to.

    `params` is the tree of parameters behind the last step, `history` every step and measurement from the first step
    on, `path` the run's folder, or None where nothing was written. `preparation` is what was done to the data before:
    `run.preparation.standardize(x)` does it to others, `run.preparation.names(y)` are the labels of predictions.
    """

    params: Any
    history: tuple[Step | Measurement, ...]
    path: Path | None
    preparation: Preparation = field(default_factory=Preparation)
    _best: Any = None

    @property
    def best(self) -> Any:
        """The parameters with the smallest loss measured; those after the last step where nothing was."""
        if not any(isinstance(each, Measurement) for each in self.history):
            return self.params
        return self._best if self.path is None else read_weights(self.path)[0]

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
    certify: bool = False,
    threads: int | None = None,
    data: Mapping[str, Any] | None = None,
    measure: Mapping[str, Any] | None = None,
    split: Number | None = None,
    shuffle: bool | None = None,
    stratify: str | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Setting] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callable[[Event], None]] = (),
    quiet: bool | None = None,
) -> Run:
    """Trains a block of a program, `program["tiny"]` or `"path.psk:tiny"`, from its first step, or from where a run in
    `out` stopped.

    `data` are arrays in place of the block's data, by the fields of the objective's batch, a row along the first axis;
    texts where the batch has nats are labels, as in a table. On rows that don't train the loss is measured, the best
    weights are kept and `patience` waits: `measure` are arrays of such rows, or `split` is the share of the rows that
    trains. The split is in their order, drawn with `shuffle`, or drawn to the same share of each label of the field
    `stratify`. What isn't given is as the block says. `epochs`, `seed` and `settings` go before the block's
    (`{"batch": 16, "lr.peak": 1e-3, "optimizer": "sgd"}`: numbers, or PSK text); `steps` ends the run after that step,
    whatever the epochs.

    `certify`, on the backend `interp`, carries proof radii from step to step: a step that `bits` can't decide takes
    more, and one that leaves no digit ends the training (E6008). Without it the reference proves nothing.

    `out` is a folder for checkpoints, the log and the plot; with `resume` the run in it goes on, to the bits it would
    have had without a stop. Each callback is told of every step (`presk.Step`), every measurement
    (`presk.Measurement`) and every remark. Without callbacks some lines on stderr show how it goes, unless `quiet`;
    `quiet=False` shows them beside callbacks. The other options are those of `compile`.

    An interrupt finishes the step, saves, and is raised then: KeyboardInterrupt, or for SIGTERM and SIGHUP, where the
    program has no handlers of its own, SystemExit. So is what a callback raises. Raises PreskError: E802x for settings,
    E804x and E807x for data, E808x for the run's folder and for a loss that is no number any more.
    """
    block = find_block(block)
    changes = as_text("settings", settings)
    told = listeners("callbacks", callbacks)
    path = None if out is None else folder("out", out)
    checked = block.program.checked
    if resume and out is None:
        raise fail("E8080", "a run that goes on needs its folder", hint='presk.train(…, out="runs/tiny", resume=True)')
    changed = override(checked, checked.trains[block.name], changes)
    name = registry.fastest() if backend is None else text("backend", backend)
    realization = realize if isinstance(realize, Realization) else read_realization(realize)
    how = How(
        _backend(name, whole_number("bits", bits), certify),
        realization,
        (f"{bits} bits, certified" if certify else f"{bits} bits") if name == "interp" else realization.name,
        plan if isinstance(plan, Plan) else read_plan(plan),
        None if threads is None else workers(threads),
        None if steps is None else _positive("steps", steps),
        None if epochs is None else _positive("epochs", epochs),
        None if seed is None else require_seed(seed),
        _arrays("data", data),
        _arrays("measure", measure),
        _split(split, shuffle, stratify),
        bits if certify else None,
    )
    training = prepare(checked, changed, how)
    if not told if quiet is None else not quiet:
        told = (Progress(), *told)

    def tell(event: Event) -> None:
        for callback in told:
            callback(event)

    config = _config(block, realization, changes, training)
    outcome = run(training, path, config, resume=resume, tell=tell)
    if outcome.signal is not None:
        raise end(outcome.signal)
    return Run(outcome.parameters, outcome.history, path, Preparation.from_metadata(training.data.notes), outcome.best)


def _backend(name: str, bits: int, certify: bool) -> Backend:
    """The backend a training runs on. E6009 for a certificate from a machine backend."""
    require("certify", "true or false", certify, bool)
    if certify and name != "interp":
        hint = 'the reference does: --backend interp --certify (`backend="interp"`)'
        raise fail("E6009", f"the backend `{name}` can't certify a training", hint=hint)
    return registry.make(name, bits=bits, proven=Precision.deciding(bits) if certify else None)


def _config(block: Entry, realization: Realization, changes: dict[str, str], training: Training) -> dict[str, Any]:
    """What a run's folder says of the run."""
    return {
        "program": block.program.name,
        "consts": {each: constants.show(value) for each, value in block.program.checked.overrides.items()},
        "train": block.name,
        "realize": realization.json(),
        "set": changes,
        "epochs": training.how.epochs,
        "seed": training.how.seed,
        "settings": dict(training.settings),
    }


def _arrays(name: str, given: Mapping[str, Any] | None) -> Any:
    return None if given is None else incoming(name, dict(table(name, given))).tree


def _split(share: Number | None, shuffle: bool | None, stratify: str | None) -> Split:
    if shuffle is not None:
        require("shuffle", "true or false", shuffle, bool)
    exact = None if share is None else exact_number("split", share)
    if exact is not None and not 0 < exact <= 1:
        raise fail("E8034", f"`split` is the share of the rows that train, above 0 and at most 1, not {float(exact):g}")
    return Split(exact, shuffle, None if stratify is None else text("stratify", stratify))


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
