"""The backend `interp`: the exact reference behind the seam.

It computes with real numbers, at its own `bits`, or with proof radii at as many bits as the digits asked for take: in
no realization and no plan, whose keys are held against the entry all the same. It uses one thread and gives nothing of
its arguments' buffers away. Its results are ExactArrays (int64 and bool arrays for nats and booleans), which cross the
seam untouched.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from presk.core.nodes import Body, Loop, Program
from presk.exact.evaluate import DEFAULT_BITS, evaluate
from presk.exact.precision import working
from presk.exact.proving import Enough, Precision, Proof, prove
from presk.exact.values import ExactArray
from presk.realization.model import Plan, Realization
from presk.realization.resolve import resolve
from presk.run import trees
from presk.run.backend import Backend, Entry, Executable, Value
from presk.run.mode import in_standard_mode
from presk.run.values import accept
from presk.shapes import types
from presk.shapes.types import Tensor, Type
from presk.text.diagnostics import fail

BALL_BYTES = 64
"""Memory of one exact number beside its digits: flint's ball and its place in a list."""


class Interp(Backend):
    """The exact reference: on midpoints at `bits`, or with radii where it is told what is to be `proven`.

    `enough` judges instead whether what is proven suffices. `proof` is what the last certified call took. E6012 for a
    precision that it can't work at.
    """

    name: ClassVar[str] = "interp"

    def __init__(self, bits: int = DEFAULT_BITS, proven: Precision | None = None, enough: Enough | None = None) -> None:
        self.bits = bits if proven is None else proven.bits
        with working(self.bits):
            self.proven = proven
        self.enough = enough
        self.proof: Proof | None = None

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
        """The entry on the reference.

        E7002 where the realization or the plan names what the entry lacks: the reference computes in neither, but a
        wrong key is wrong on every backend. E9004 where one value of it wouldn't fit the machine's memory.
        """
        resolve(realization, plan or Plan(), entry.program)
        _refuse_too_large(entry.program, self.bits)
        return _Exact(self, entry, training)


@dataclass(frozen=True)
class _Exact(Executable):
    backend: Interp
    entry: Entry
    training: bool
    leading: dict[str, Value] = field(default_factory=dict[str, Value])

    @in_standard_mode
    def bind(self, /, **leading: Value) -> Executable:
        taken = {name: of for name, of in self._parameters() if name in leading}
        accepted = {
            name: trees.map_leaves(accept(name, of, leading[name], finite=True), _held) for name, of in taken.items()
        }
        return _Exact(self.backend, self.entry, self.training, {**self.leading, **accepted})

    @in_standard_mode
    def __call__(self, *args: Value, seed: int = 0, step: int = 0, row_offset: int = 0) -> Value:
        given = iter(args)
        values = [
            self.leading[name] if name in self.leading else accept(name, of, next(given), finite=True)
            for name, of in self._parameters()
        ]
        backend, program = self.backend, self.entry.program
        draws: dict[str, Any] = {"seed": seed, "step": step, "row_offset": row_offset, "training": self.training}
        if backend.proven is None:
            return evaluate(program, values, bits=backend.bits, **draws)
        proof = prove(program, values, backend.proven, enough=backend.enough, **draws)
        backend.proof = replace(proof, values=None)  # the caller alone keeps the result
        return proof.values

    def _parameters(self) -> list[tuple[str, Type]]:
        """Names and types of the entry's parameters; every parameter of an entry has a name."""
        return [(each.name or "", each.type) for each in self.entry.program.entry.parameters]


def _held(leaf: Value) -> Value:
    """Floats as exact numbers: made once, and the reference keeps with them the layouts it makes of them."""
    return leaf if isinstance(leaf, ExactArray) or leaf.dtype.kind in "ib" else ExactArray.from_floats(leaf)


def _refuse_too_large(program: Program, bits: int) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    per_number = BALL_BYTES + bits // 8
    for function in program.functions:
        for of in (*(each.type for each in function.parameters), *_let_types(function.body)):
            elements = _elements(of)
            if elements * per_number > memory:
                shown = types.show(of)
                what = f"{shown if len(shown) <= 80 else shown[:77] + '...'} in `{function.name}`"
                limit = f"more than this machine's memory holds at {bits} bits"
                raise fail("E9004", f"{what} has {elements} elements, {limit}", hint="smaller dimensions or fewer bits")


def _let_types(body: Body) -> Iterator[Type]:
    for let in body.lets:
        yield let.type
        if isinstance(let.value, Loop):
            yield from _let_types(let.value.body)


def _elements(of: Type) -> int:
    tensors: list[Tensor] = [tensor for _, tensor in types.leaves(of)]
    return sum(math.prod(tensor.sizes) for tensor in tensors)
