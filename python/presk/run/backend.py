"""The seam: what a backend is asked for, whoever asks and whatever computes.

An `Entry` is prepared once for a realization and a plan and gives an `Executable`, which is called on Values: trees
of tensors whose buffers are machine numbers, nats, booleans or exact reals (`presk.run.values`). Nothing above this
module knows how a backend computes; a test double that counts calls is a Backend too. The training loop, the solver,
the Python API and the command line are written over these two classes alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from presk.core.nodes import Program
from presk.realization.model import Plan, Realization

Value: TypeAlias = Any
"""A tree (dicts and tuples) of NumPy arrays of f64, f32, bf16, i64 or bool, of quantised or of exact arrays."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A function of a program bound to sizes: its name, and the Core program that ends with it."""

    name: str
    program: Program


class Backend(ABC):
    """Something that computes. Its own options (the reference's `bits`) are its constructor's."""

    name: ClassVar[str]

    @abstractmethod
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
        """Makes an entry ready to be called.

        `threads` None takes as many as the process may use. `training` turns dropout on. `donate` names parameters
        whose buffers the call may overwrite; a backend may leave them alone. E7002 where the realization or plan
        can't be run.
        """


class Executable(ABC):
    """An entry ready to be called: any number of times, from any thread."""

    @abstractmethod
    def bind(self, /, **leading: Value) -> Executable:
        """The executable with its first parameters, by name, checked and converted once. Errors as for a call."""

    @abstractmethod
    def __call__(self, *args: Value, seed: int = 0, step: int = 0, row_offset: int = 0) -> Value:
        """The result on the parameters that aren't bound, in order.

        Draws are a function of `seed`, `step` and the row (counted from `row_offset`). E6xxx where a value doesn't fit
        its parameter, naming the axis, the position and the value.
        """

    def immediate(self, args: Sequence[Value], seed: int, step: int, row_offset: int) -> Value | None:
        """The result of a call whose arguments need no look: as `__call__` gives it, but in less time.

        Every argument must be exactly what its parameter's type says: trees of NumPy arrays of just these shapes, of
        floats, of booleans, or of nats as int64 below their bounds. None where one isn't, and from a backend that has
        no such way: `__call__` then converts it, or explains.
        """
        return None
