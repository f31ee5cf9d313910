"""From a train block and how it is to run to all that the loop needs, decided before the first step.

`settings` name what decides a run's bits: two runs with the same settings give the same parameters after as many steps,
and a checkpoint is gone on from under its own settings alone. Neither backend (but for the reference, whose numbers are
its own), threads nor plan are among them. Called by the loop and by whoever times a step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from presk.check.initial import Leaf
from presk.check.program import Checked
from presk.check.recipes import Recipe
from presk.check.scope import File
from presk.check.training import TrainBlock
from presk.core.nodes import Program
from presk.realization.model import Plan, Realization
from presk.realization.parameters import type_at_rest
from presk.realization.resolve import within
from presk.realization.swamping import LongSum, long_sums
from presk.run import trees
from presk.run.backend import Backend, Entry, Executable
from presk.shapes import constants
from presk.syntax.content import content
from presk.text.diagnostics import fail
from presk.train import certificates
from presk.train.batch_types import leaves, settle
from presk.train.ranges import require_ranges
from presk.train.rates import Rate, depends_on_length, read_rate
from presk.train.rows import Array, Batches
from presk.train.sources import NO_SPLIT, Data, open_data
from presk.train.split import Split
from presk.train.step import DONATED, Task, bind_objective, bind_state, bind_step, initial, open_task

MEASURING = "`data = csv(…, split = 0.9)`; from Python presk.train(…, split=0.9) or measure={…}"
"""How there are rows that measure."""


@dataclass(frozen=True)
class How:
    """How a block is to run. `numbers` names what is computed with: a realization, or the reference's bits.

    `steps` ends the run behind that step, whatever the epochs; `epochs` and `seed` go before the block's. `data` are
    arrays in place of the block's data, `measure` arrays that measure; `split` goes before what the block says of it.
    `proves`: the bits at which each step of a certified training begins; None where nothing is proven.
    """

    backend: Backend
    realization: Realization
    numbers: str
    plan: Plan | None = None
    threads: int | None = None
    steps: int | None = None
    epochs: int | None = None
    seed: int | None = None
    data: Mapping[str, Any] | None = None
    measure: Mapping[str, Any] | None = None
    split: Split = NO_SPLIT
    proves: int | None = None


@dataclass(frozen=True)
class Training:
    """A block ready to run: its data in batches, its rate, its last step, and what its steps and measurements are."""

    task: Task
    how: How
    data: Data
    batches: Batches
    rate: Rate
    last: int
    seed: int
    settings: Mapping[str, str]
    _steps: dict[int, Executable] = field(default_factory=dict[int, Executable])
    _objectives: dict[int, Executable] = field(default_factory=dict[int, Executable])
    _cores: dict[int, Program] = field(default_factory=dict[int, Program])

    def step(self, size: int) -> Executable:
        """The step on a batch of so many rows, compiled once."""
        if size not in self._steps:
            entry = Entry(f"{self.task.block.name}.step", self.core(size))
            how = self.how
            self._steps[size] = how.backend.prepare(
                entry, how.realization, how.plan, threads=how.threads, training=True, donate=DONATED
            )
        return self._steps[size]

    def _long_sums(self) -> list[LongSum]:
        """The sums of a whole batch's step that may swamp; none on the reference."""
        if self.how.backend.name == "interp":
            return []
        return long_sums(self.how.realization, self.core(self.batches.first))

    def core(self, size: int) -> Program:
        """The step on a batch of so many rows, as simplified Core."""
        if size not in self._cores:
            self._cores[size] = bind_step(self.task, settle(self.task.batch, self._sample, size))
        return self._cores[size]

    def objective(self, size: int) -> Executable:
        """The objective on a batch of so many rows, compiled once."""
        if size not in self._objectives:
            batch = settle(self.task.batch, self._sample, size)
            entry = Entry(self.task.block.objective, bind_objective(self.task, batch))
            self._objectives[size] = self._prepare_part(entry)
        return self._objectives[size]

    def begin(self) -> tuple[Any, Any]:
        """The parameters before the first step, in f64, and the optimizer's state."""
        parameters = initial(self.task, self.seed, self._at_rest)
        state = self._prepare_part(Entry("init", bind_state(self.task)))(parameters)
        return parameters, state

    def _at_rest(self, leaf: Leaf) -> str:
        """What a parameter is stored in: the reference reads the f64 that are drawn."""
        if self.how.backend.name == "interp":
            return "f64"
        return type_at_rest(self.how.realization, leaf.path, bool(leaf.type.axes or leaf.layers))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to say before the first step: of sums, of the data, and of a reference that proves nothing."""
        unproven = self.how.backend.name == "interp" and self.how.proves is None
        said = (self._unmeasured(), certificates.UNPROVEN if unproven else None)
        sums = (str(each) for each in self._long_sums())
        return (*sums, *self.data.remarks, *(each for each in said if each is not None))

    def _unmeasured(self) -> str | None:
        """What to say where the block asks for measurements and there are no rows for them."""
        block = self.task.block
        if self.data.measure is not None:
            return None
        if block.data is not None and block.data.numbers.get("split", constants.rational(1)) != constants.rational(1):
            return "nothing is measured: what `split` leaves makes no row"
        return "nothing is measured: no `split` leaves rows for it" if "eval" in block.settings else None

    def tree(self, rows: Mapping[str, Array]) -> Any:
        """Rows as the tree the objective takes."""
        return trees.grow((tuple(name.split(".")), rows[name]) for name in self._names)

    @cached_property
    def _names(self) -> list[str]:
        return list(leaves(self.task.batch))

    @cached_property
    def _sample(self) -> Mapping[str, Array]:
        """A batch's arrays: what sizes of rows are read off."""
        return next(self.batches.from_step(1))

    def _prepare_part(self, entry: Entry) -> Executable:
        """What runs beside the step, in the numbers and loops that were chosen for what the step has of it."""
        how = self.how
        realization, plan = within(how.realization, how.plan or Plan(), entry.program)
        return how.backend.prepare(entry, realization, plan, threads=how.threads)


def prepare(checked: Checked, block: TrainBlock, how: How) -> Training:
    """Reads the data and settles everything. E807x for data and for a run without an end."""
    task = open_task(checked, block)
    require_ranges(block)
    if how.realization.quant:
        raise fail("E8079", "quantised parameters can't be trained", hint="train in f64, f32 or bf16, then quantise")
    seed = block.settings.get("seed", 0) if how.seed is None else how.seed
    data = open_data(task, how.data, seed, how.measure, how.split)
    batches = Batches(data.train, block.settings["batch"], block.keep_last, seed)
    if not batches.per_epoch:
        message = f"{data.train.count} rows make no batch of {batches.size}"
        raise fail("E8075", message, hint="a smaller `batch`, or `last = keep`")
    if data.measure is None and "patience" in block.settings:
        message = "`patience` waits for a loss on rows that measure, and there are none"
        raise fail("E8076", message, hint=MEASURING)
    length, last = _length(block, how, batches)
    rate = read_rate(block.rate, length)
    return Training(task, how, data, batches, rate, last, seed, _settings(task, how, data, length, seed))


def _length(block: TrainBlock, how: How, batches: Batches) -> tuple[int, int]:
    """The steps over which the rate falls, and the step that is the last."""
    epochs = block.settings.get("epochs") if how.epochs is None else how.epochs
    if epochs is None and how.steps is None:
        hint = "`epochs = 10` in the block, --epochs or --steps"
        raise fail("E8077", f"the train block `{block.name}` doesn't say when it ends", hint=hint)
    length = (how.steps or 0) if epochs is None else epochs * batches.per_epoch
    return length, length if how.steps is None else how.steps


def _settings(task: Task, how: How, data: Data, length: int, seed: int) -> dict[str, str]:
    block = task.block
    rate = _text(block.rate) + (f" over {length} steps" if depends_on_length(block.rate) else "")
    measured = "" if data.measure is None else f", {data.measure.count} measure: {data.measure.hash()}"
    return {
        "program": task.checked.hash,
        "train": block.name,
        "model": task.model.label,
        "realization": how.numbers,
        "seed": str(seed),
        "optimizer": f"{_text(block.optimizer)} of {_file_hash(block.optimizer_file)}",
        "rate": rate,
        "clip": "none" if block.clip is None else constants.show(block.clip),
        "freeze": ", ".join(block.freeze) or "none",
        "batch": str(block.settings["batch"]),
        "last": "keep" if block.keep_last else "drop",
        "data": f"{data.train.count} {data.train.WORD}: {data.train.hash()}{measured}",
    }


def _file_hash(file: File) -> str:
    """The start of the hash of what a file declares."""
    return f"sha256:{hashlib.sha256(content(file.content)).hexdigest()[:16]}"


def _text(recipe: Recipe) -> str:
    """`adamw(beta1 = 0.9)`"""
    given = {name: constants.show(value) for name, value in recipe.numbers.items()}
    given |= {name: str(value).lower() for name, value in (recipe.words or {}).items()}
    inside = ", ".join(f"{name} = {value}" for name, value in sorted(given.items()))
    return f"{recipe.name}({inside})"
