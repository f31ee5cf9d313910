"""The training loop, over the Backend seam: steps, what is said of them, measurements and checkpoints.

Everything that decides a bit was settled before (`prepare`); what happens here between steps, such as when a checkpoint
is written, decides none. Called by the Python API, and by the command line through it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from presk.run import trees
from presk.run.bits import hash_arrays
from presk.text.diagnostics import PreskError, fail
from presk.train import checkpoints
from presk.train.checkpoints import Mark
from presk.train.events import Listener, Measurement, Remark, Start, Step
from presk.train.folder import PLOT, RunFolder
from presk.train.interrupt import Stop, stopping
from presk.train.plot import draw_losses
from presk.train.prepare import Training
from presk.train.rows import in_order

HASHED_EVERY = 50
"""Steps between those whose parameters are hashed."""

KEPT = 3
"""Checkpoints kept where the block doesn't say."""

SECONDS = 60.0
"""Between checkpoints within an epoch."""


@dataclass
class Position:
    """Where a training stands: behind `mark.step`, with these trees."""

    parameters: Any
    state: Any
    mark: Mark


@dataclass(frozen=True)
class Outcome:
    """What a training came to. `interrupted`: an interrupt ended it, behind a whole step."""

    parameters: Any
    state: Any
    history: tuple[Step | Measurement, ...]
    interrupted: bool

    @property
    def step(self) -> int:
        """The last step taken."""
        return max((each.step for each in self.history), default=0)


def run(training: Training, out: Path | None, config: Mapping[str, Any], *, resume: bool, tell: Listener) -> Outcome:
    """Trains to the last step, or as long as the block's patience, or until an interrupt.

    `out` is the run's folder, `config` what it says of itself. E808x for the folder and its checkpoints, E8083 where
    the loss is no number any more.
    """
    loop = _Loop(training, None if out is None else RunFolder(out), tell)
    try:
        with stopping() as stop:
            position = loop.resume() if resume else loop.begin(config)
            loop.run(position, stop)
        return Outcome(position.parameters, position.state, tuple(loop.history), stop.asked)
    finally:
        if loop.folder is not None:
            loop.folder.close()


class _Loop:
    def __init__(self, training: Training, folder: RunFolder | None, tell: Listener) -> None:
        self.training = training
        self.folder = folder
        self.tell = tell
        self.history: list[Step | Measurement] = []
        self.settings = training.task.block.settings
        self.saved_at = monotonic()
        self.saved_step: int = 0

    def begin(self, config: Mapping[str, Any]) -> Position:
        """The position before the first step."""
        if self.folder is not None:
            self.folder.require_free()
        parameters, state = self.training.begin()
        self.training.step(self.training.batches.first)  # what can't be compiled leaves no folder behind
        if self.folder is not None:
            self.folder.begin(config)
        return Position(parameters, state, Mark(self.training.settings, 0, 1, 0, notes=self.training.data.notes))

    def resume(self) -> Position:
        """The position of the folder's newest checkpoint that can be read."""
        assert self.folder is not None, "what goes on has a folder"
        found, damaged = checkpoints.newest(self.folder.path, self.training.settings)
        for each in damaged:
            self.tell(Remark(f"{each.message}: going on from step {found.mark.step}"))
        self.history.extend(self.folder.resume(found.mark.step))
        self.saved_step = found.mark.step
        return Position(found.parameters, found.state, found.mark)

    def run(self, position: Position, stop: Stop) -> None:
        """Steps until the end, and what belongs behind them."""
        training, step = self.training, position.mark.step
        count = sum(leaf.size for _, leaf in trees.leaves(position.parameters))
        self.tell(Start(step, training.last, count, training.data.train.count))
        for rows in training.batches.from_step(position.mark.step + 1):
            if position.mark.step >= training.last or stop.asked or self._is_stale(position.mark):
                break
            self._step(position, rows)
            self._between(position)
        if self.folder is not None and position.mark.step:
            self._save(position)
            missing = draw_losses(self.folder.path / PLOT, training.task.block.name, self.history)
            if missing is not None:
                self.tell(Remark(missing))
            if stop.asked:
                self.tell(Remark(f"saved behind step {position.mark.step}: --resume goes on from there"))

    def _step(self, position: Position, rows: Mapping[str, Any]) -> None:
        training, mark = self.training, position.mark
        step = mark.step + 1
        rate = training.rate(step)
        size = len(next(iter(rows.values())))
        position.parameters, position.state, measured = training.step(size)(
            position.parameters,
            position.state,
            training.tree(rows),
            np.array(float(step)),
            np.array(rate),
            seed=training.seed,
            step=step,
        )
        epoch, place = divmod(step, training.batches.per_epoch)
        position.mark = replace(mark, step=step, epoch=epoch + 1, place=place)
        loss, norm = _number(measured["loss"]), _number(measured["norm"])
        metrics = {".".join(path): _number(leaf) for path, leaf in trees.leaves(measured.get("metrics", {}))}
        hashed = step % HASHED_EVERY == 0
        told = Step(
            step,
            training.batches.epoch(step),
            loss,
            rate,
            norm,
            metrics,
            parameter_hash(position.parameters) if hashed else None,
        )
        self._note(told)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise self._diverged(told)

    def _between(self, position: Position) -> None:
        """What is due behind a step."""
        step, per_epoch = position.mark.step, self.training.batches.per_epoch
        ends_epoch = step % per_epoch == 0
        every = self.settings.get("eval")
        is_due = ends_epoch if every is None else step % every == 0
        if is_due and self.training.data.measure is not None:
            self._measure(position)
        if self.folder is not None and (ends_epoch or is_due or monotonic() - self.saved_at > SECONDS):
            self._save(position)

    def _measure(self, position: Position) -> None:
        """The objective's mean over the rows that measure, each batch by its rows; and whether it is the best yet."""
        training, mark = self.training, position.mark
        rows = training.data.measure
        assert rows is not None, "asked for where there are some"
        sums: dict[str, float] = {}
        for start, batch in in_order(rows, training.batches.size):
            size = len(next(iter(batch.values())))
            found = training.objective(size)(
                position.parameters, training.tree(batch), seed=training.seed, step=mark.step, row_offset=start
            )
            loss, metrics = found if training.task.block.metrics else (found, dict[str, Any]())
            numbers = {".".join(path): _number(leaf) for path, leaf in trees.leaves(metrics)}
            for name, value in {LOSS: _number(loss), **numbers}.items():
                sums[name] = sums.get(name, 0.0) + value * size
        means = {name: value / rows.count for name, value in sums.items()}
        loss = means.pop(LOSS)
        is_best = mark.best is None or loss < mark.best
        best, stale = (loss, 0) if is_best else (mark.best, mark.stale + 1)
        position.mark = replace(mark, best=best, stale=stale)
        self._note(Measurement(mark.step, training.batches.epoch(mark.step), loss, means, is_best))
        if is_best and self.folder is not None:
            checkpoints.write_best(self.folder.path, position.parameters, position.mark)

    def _save(self, position: Position) -> None:
        """A checkpoint, unless this step has one."""
        assert self.folder is not None, "asked for where there is one"
        if position.mark.step == self.saved_step:
            return
        self.folder.sync()
        checkpoints.write(self.folder.path, position.parameters, position.state, position.mark)
        checkpoints.prune(self.folder.path, self.settings.get("keep", KEPT))
        self.saved_step, self.saved_at = position.mark.step, monotonic()

    def _note(self, event: Step | Measurement) -> None:
        self.history.append(event)
        if self.folder is not None:
            self.folder.write(event)
        self.tell(event)

    def _is_stale(self, mark: Mark) -> bool:
        """Whether the loss on the rows that measure hasn't fallen for as long as the block waits."""
        patience = self.settings.get("patience")
        return patience is not None and mark.stale >= patience

    def _diverged(self, step: Step) -> PreskError:
        what = "loss" if not math.isfinite(step.loss) else "gradient's norm"
        value = step.loss if not math.isfinite(step.loss) else step.norm
        saved = f"; the checkpoint behind step {self.saved_step} stands" if self.saved_step else ""
        hint = "a smaller learning rate, a `clip`, or a wider realization"
        return fail("E8083", f"the {what} of step {step.step} is {value}{saved}", hint=hint)


LOSS = "\0loss"
"""The loss among the metrics, under a name that none of them has."""


def parameter_hash(parameters: Any) -> str:
    """`sha256:…` of a tree of parameters, as `presk hash` prints it for a file of them."""
    return hash_arrays({".".join(path): np.asarray(leaf) for path, leaf in trees.leaves(parameters)})


def _number(leaf: Any) -> float:
    """A scalar as f64: exactly, or from the reference's numbers rounded once."""
    return float(np.asarray(leaf).astype(np.float64))
