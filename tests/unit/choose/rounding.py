"""A machine for tests: the reference's own arithmetic, every primitive's value rounded once to its machine type.

It is as good as a machine of that type can be at one let, so its gaps are of the size of its roundings. Interior lets
are held in the arithmetic type, sites in their storage, single numbers never in bf16, inputs as the realization stores
them. `spoil` may break a site's value, as a faulty or an overflowing machine would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from flint import arb

from presk.choose.inputs import DTYPES, rounded
from presk.core.sites import sites
from presk.exact.context import Run
from presk.exact.elements import Site, Undefined
from presk.exact.evaluate import evaluate
from presk.exact.reals import Reals
from presk.exact.rounding import round_point
from presk.exact.values import ExactArray
from presk.realization.model import Plan, Realization
from presk.run import trees
from presk.run.backend import Backend, Entry, Executable
from presk.run.record.choices import ARITHMETIC, choices
from presk.run.values import accept
from presk.shapes import types

BITS = 200

Spoil = Callable[[Site, list[Any]], list[Any]]


class Rounding(Backend):
    name: ClassVar[str] = "rounding"

    def __init__(self, spoil: Spoil | None = None) -> None:
        self.spoil = spoil
        self.calls = 0

    def prepare(
        self,
        entry: Entry,
        realization: Realization,
        plan: Plan | None = None,
        *,
        threads: int | None = None,
        training: bool = False,
        donate: Sequence[int] = (),
    ) -> Executable:
        return _Prepared(self, entry, realization, training)


@dataclass
class _Prepared(Executable):
    backend: Rounding
    entry: Entry
    realization: Realization
    training: bool
    leading: dict[str, Any] = field(default_factory=dict)

    def bind(self, /, **leading: Any) -> Executable:
        return _Prepared(self.backend, self.entry, self.realization, self.training, {**self.leading, **leading})

    def __call__(self, *args: Any, seed: int = 0, step: int = 0, row_offset: int = 0) -> Any:
        self.backend.calls += 1
        program = self.entry.program
        given = iter(args)
        values = [
            accept(each.name or "", each.type, self.leading.get(each.name or "") or next(given))
            for each in program.entry.parameters
        ]
        draws = {"seed": seed, "step": step, "row_offset": row_offset}
        inputs = rounded(self.realization, program, values)
        result = evaluate(program, inputs, bits=BITS, watch=self.watch(), training=self.training, **draws)
        return self.stored(result)

    def watch(self) -> Callable[[Run, Site, Any], Any]:
        program, spoil = self.entry.program, self.backend.spoil
        roots = {(site.function, site.number) for site in sites(program)}
        choose = choices(self.realization, Plan("default"), program).site
        lets = {
            (function.name, let.number): let
            for function in program.functions
            for body in _bodies(function.body)
            for let in body.lets
        }

        def watch(run: Run, site: Site, value: Any) -> Any:
            place = (site.function, site.let)
            storage = choose(site.function, lets[place]).storage
            if isinstance(value, tuple):
                return tuple(watch(run, site, each) for each in value)
            if not isinstance(value, Reals):
                return value
            scalar = isinstance(lets[place].type, types.Tensor) and not lets[place].type.axes
            kind = storage if place in roots and not scalar else ARITHMETIC[storage]
            flat = [each if isinstance(each, Undefined) else _rounded(each, kind) for each in value.points()]
            return run.given(flat if spoil is None else spoil(site, flat))

        return watch

    def stored(self, result: Any) -> Any:
        """The result's reals in the default type: they are in it already, spoilt ones aside."""
        kind = self.realization.default

        def leaf(each: Any) -> Any:
            if not isinstance(each, ExactArray):
                return each
            return each.to_float(kind if each.shape else ARITHMETIC[kind])

        return trees.map_leaves(result, leaf)


class Faulty(Rounding):
    """A machine whose results have other numbers in some places: `change` is given each real array."""

    name: ClassVar[str] = "faulty"

    def __init__(self, change: Callable[[Any], Any]) -> None:
        super().__init__()
        self.change = change

    def prepare(self, entry: Entry, realization: Realization, plan: Plan | None = None, **options: Any) -> Executable:
        made = super().prepare(entry, realization, plan, **options)
        change = self.change

        class Changed(Executable):
            def bind(self, /, **leading: Any) -> Executable:
                return made.bind(**leading)

            def __call__(self, *args: Any, **draws: int) -> Any:
                return trees.map_leaves(made(*args, **draws), change)

        return Changed()


def _rounded(point: arb, kind: str) -> arb:
    return arb(float(round_point(point.mid(), kind)))


def _bodies(body: Any) -> Any:
    from presk.core.printer import bodies

    return bodies(body)


def of_type(array: Any, kind: str) -> Any:
    """An array in one of presk's types."""
    return np.asarray(array).astype(DTYPES[kind])
