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
from flint import arb

from presk.choose.blame import Blame
from presk.run import trees
from presk.run.backend import Executable
from presk.run.bits import hash_arrays
from presk.run.mode import in_standard_mode
from presk.text.diagnostics import PreskError, fail
from presk.train import certificates, checkpoints
from presk.train.checkpoints import Mark
from presk.train.divergence import find_fault
from presk.train.events import Event, Listener, Measurement, Remark, Start, Step
from presk.train.folder import PLOT, RunFolder
from presk.train.interrupt import Stop, stopping
from presk.train.plot import draw_losses
from presk.train.prepare import Training
from presk.train.rows import in_order
from presk.train.sources import WRITTEN
from presk.train.stagnation import Stagnation, copied

HASHED_EVERY = 50
"""Steps between those whose parameters are hashed."""

KEPT = 3
"""Checkpoints kept where the block doesn't say."""

SECONDS = 60.0
"""Between checkpoints, at most."""

SHARE, GRACE = 0.1, 1.0
"""Of a run's time, and seconds, that writing checkpoints takes where epochs are shorter than that allows."""


@dataclass
class Position:
    """Where a training stands: behind `mark.step`, with these trees."""

    parameters: Any
    state: Any
    mark: Mark


@dataclass(frozen=True)
class Outcome:
    """What a training came to. `signal`: the one that ended it, after a whole step; None where none did. `best` are the
    parameters with the smallest loss measured, where no folder has them.
    """

    parameters: Any
    state: Any
    history: tuple[Step | Measurement, ...]
    signal: int | None
    best: Any = None

    @property
    def step(self) -> int:
        """The last step taken."""
        return max((each.step for each in self.history), default=0)


def run(training: Training, out: Path | None, config: Mapping[str, Any], *, resume: bool, tell: Listener) -> Outcome:
    """Trains to the last step, or as long as the block's patience, or until a signal (`interrupt`).

    `out` is the run's folder, `config` what it says of itself. E808x for the folder and its checkpoints, E8083 where
    the loss is no number any more.
    """
    loop = _Loop(training, None if out is None else RunFolder(out), tell)
    try:
        with stopping() as stop:
            position = loop.resume() if resume else loop.begin(config)
            loop.run(position, stop)
        if loop.fault is not None:
            raise loop.fault
        return Outcome(position.parameters, position.state, tuple(loop.history), stop.signal, loop.best)
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
        self.began = self.saved_at = monotonic()
        self.saving = 0.0
        self.saved_step: int = 0
        self.is_best_synced = True
        self.best: Any = None
        self.stagnation = Stagnation(training)
        self.before: Position | None = None
        self.stop = Stop()
        self.fault: Exception | None = None
        self.radius, self.raised = arb(0), 0

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
        self.folder.lock()
        found, damaged = checkpoints.newest(self.folder.path, self.training.settings)
        for each in damaged:
            self._say(Remark(f"{each.message}: going on from step {found.mark.step}"))
        before, now = ((notes or {}).get(WRITTEN) for notes in (found.mark.notes, self.training.data.notes))
        if before != now:
            self._say(Remark("the data were written since the run began; they are the same by their samples alone"))
        self.history.extend(self.folder.resume(found.mark.step))
        self.saved_step = found.mark.step
        return Position(found.parameters, found.state, found.mark)

    def run(self, position: Position, stop: Stop) -> None:
        """Steps until the end, and what belongs behind them."""
        training, step = self.training, position.mark.step
        self.stop = stop
        count = sum(leaf.size for _, leaf in trees.leaves(position.parameters))
        self._say(Start(step, training.last, count, training.data.train.count))
        for each in training.remarks:
            self._say(Remark(each))
        if step >= training.last or self._is_stale(position.mark):
            self._say(Remark(f"the run is behind step {step}, its last"))
        if step and self._measures_at(step) and not self._has_measured(step):
            self._measure(position)  # a stop cut it short
            self.saved_step = 0
        for rows in training.batches.from_step(position.mark.step + 1):
            if position.mark.step >= training.last or self._is_over(position.mark):
                break
            self._step(position, rows)
            self._between(position)
        if training.how.proves is not None and position.mark.step > step:
            self._say(Remark(certificates.summary(position.parameters, self.radius, self.raised)))
        if self.folder is not None and position.mark.step:
            self._save(position)
            missing = draw_losses(self.folder.path / PLOT, training.task.block.name, self.history)
            if missing is not None:
                self._say(Remark(missing))
            if stop.asked:
                self._say(Remark(f"saved behind step {position.mark.step}: --resume goes on from there"))

    @in_standard_mode
    def _step(self, position: Position, rows: Mapping[str, Any]) -> None:
        training, mark = self.training, position.mark
        step = mark.step + 1
        rate = training.rate(step)
        size = len(next(iter(rows.values())))
        given = (training.tree(rows), np.array(float(step)), np.array(rate))

        def taken(executable: Executable, parameters: Any, state: Any) -> Any:
            return executable(parameters, state, *given, seed=training.seed, step=step)

        before = self.stagnation.before(step, position.parameters, position.state)
        position.parameters, position.state, measured = taken(training.step(size), position.parameters, position.state)
        lost = None if before is None else self.stagnation.lost(before, position.parameters, size, taken)
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
        if lost is not None:
            self._say(Remark(f"step {step}: {lost}"))
        if training.how.proves is not None:
            self._certify(step, measured, position)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise self._diverged(told)

    def _certify(self, step: int, measured: Any, position: Position) -> None:
        """What a certified step proves. E6008 where nothing is left."""
        found = certificates.swamped(step, measured, position.parameters)
        if found is not None:
            raise found
        self.radius = max(self.radius, certificates.widest_radius({"loss": measured["loss"]}))
        self.raised += measured["loss"].bits > (self.training.how.proves or 0)

    def _between(self, position: Position) -> None:
        """What is due behind a step."""
        step = position.mark.step
        if self._measures_at(step):
            self._measure(position)
        if self.folder is not None and self._saves_at(step):
            self._save(position)
        if self.folder is None and monotonic() - self.saved_at > SECONDS:
            kept = trees.map_leaves((position.parameters, position.state), copied)
            self.before = Position(kept[0], kept[1], position.mark)
            self.saved_at = monotonic()

    def _is_due(self, step: int) -> bool:
        """Whether it is time to measure: at an epoch's end, or where the block says."""
        every = self.settings.get("eval")
        return self._ends_epoch(step) if every is None else step % every == 0

    def _ends_epoch(self, step: int) -> bool:
        return step % self.training.batches.per_epoch == 0

    def _measures_at(self, step: int) -> bool:
        return self.training.data.measure is not None and self._is_due(step)

    def _has_measured(self, step: int) -> bool:
        return any(isinstance(each, Measurement) and each.step == step for each in reversed(self.history))

    def _saves_at(self, step: int) -> bool:
        """Whether a checkpoint is due; what decides no bit may depend on the clock."""
        now = monotonic()
        is_place = self._ends_epoch(step) or self._is_due(step)
        return now - self.saved_at > SECONDS or (is_place and self.saving <= GRACE + SHARE * (now - self.began))

    @in_standard_mode
    def _measure(self, position: Position) -> None:
        """The objective's mean over the rows that measure, each batch by its rows; and whether it is the best yet.

        Nothing where a stop is asked for meanwhile: whoever goes on measures then.
        """
        training, mark = self.training, position.mark
        rows = training.data.measure
        assert rows is not None, "asked for where there are some"
        sums: dict[str, float] = {}
        for start, batch in in_order(rows, training.batches.size):
            if self.stop.asked:
                return
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
        if is_best and self.folder is None:
            self.best = trees.map_leaves(position.parameters, copied)
        elif is_best and self.folder is not None:
            began = monotonic()
            checkpoints.write_best(self.folder.path, position.parameters, position.mark)
            self.is_best_synced = False
            self.saving += monotonic() - began

    @in_standard_mode
    def _save(self, position: Position) -> None:
        """A checkpoint, unless this step has one."""
        assert self.folder is not None, "asked for where there is one"
        if position.mark.step == self.saved_step:
            return
        began = monotonic()
        self.folder.sync()
        if not self.is_best_synced:
            checkpoints.sync_best(self.folder.path)
            self.is_best_synced = True
        checkpoints.write(self.folder.path, position.parameters, position.state, position.mark)
        checkpoints.prune(self.folder.path, self.settings.get("keep", KEPT))
        self.saved_step, self.saved_at = position.mark.step, monotonic()
        self.saving += self.saved_at - began

    def _note(self, event: Step | Measurement) -> None:
        self.history.append(event)
        if self.folder is not None:
            self.folder.write(event)
        self._say(event)

    def _say(self, event: Event) -> None:
        """Tells an event. What a listener raises ends the run as a stop does: behind a whole step, saved."""
        try:
            self.tell(event)
        except Exception as error:  # noqa: BLE001 - raised again at the end
            self.fault = self.fault or error

    def _is_over(self, mark: Mark) -> bool:
        """Whether someone asked for the end, or the loss hasn't fallen for as long as the block waits."""
        return self._is_stale(mark) or self.stop.asked or self.fault is not None

    def _is_stale(self, mark: Mark) -> bool:
        patience = self.settings.get("patience")
        return patience is not None and mark.stale >= patience

    def _fault(self, what: str, step: int) -> Blame | None:
        """What made the step's loss or gradient something else than a number, by running it again, traced."""
        if self.training.how.backend.name == "interp" or self.stop.asked:
            return None  # the reference names a site itself
        start = self.before
        if self.folder is not None and checkpoints.steps(self.folder.path):
            found, _ = checkpoints.newest(self.folder.path, self.training.settings)
            start = Position(found.parameters, found.state, found.mark)
        after = 0 if start is None else start.mark.step
        again = f"steps {after + 1} to {step} run" if after + 1 < step else f"step {step} runs"
        self._say(Remark(f"the {what} of step {step} isn't finite; {again} once more to find where that began"))
        parameters, state = self.training.begin() if start is None else (start.parameters, start.state)
        return find_fault(self.training, parameters, state, after, step, lambda: self.stop.asked)

    def _diverged(self, step: Step) -> PreskError:
        what = "loss" if not math.isfinite(step.loss) else "gradient's norm"
        value = step.loss if not math.isfinite(step.loss) else step.norm
        saved = f"; the checkpoint of step {self.saved_step} is as it was" if self.saved_step else ""
        message = f"the {what} of step {step.step} is {value}"
        fault = self._fault(what, step.step)
        if fault is None:
            hint = "a smaller learning rate, a `clip`, or a wider realization"
            return fail("E8083", f"{message}{saved}", hint=hint)
        hint = "a smaller learning rate, a `clip`, or a wider realization, if it isn't an argument outside a domain"
        if fault.primitive is None:
            hint = "leave that row out, or say what stands for a missing value"
        return fail("E8083", f"{message}: {fault.text()}{saved}", fault.span, hint)


LOSS = "\0loss"
"""The loss among the metrics, under a name that none of them has."""


def parameter_hash(parameters: Any) -> str:
    """`sha256:…` of a tree of parameters, as `presk hash` prints it for a file of them."""
    return hash_arrays({".".join(path): np.asarray(leaf) for path, leaf in trees.leaves(parameters)})


def _number(leaf: Any) -> float:
    """A scalar as f64: exactly, or from the reference's numbers rounded once."""
    return float(np.asarray(leaf).astype(np.float64))
