"""The backend `native`: schedules whose kernels are machine code, made by Cranelift in this process.

It runs the same schedules as the backend `kernel` and gives the same bits, on any number of threads, with lanes or
without, at any instruction set. All kernels of an entry are compiled side by side, without the GIL, and each once for
as long as anybody uses it. `PRESK_ISA` forces a lower instruction set than the machine's. Made by `run.registry`.
"""

from __future__ import annotations

from typing import ClassVar

from presk import _native
from presk.run.machine import target
from presk.run.scheduled import ScheduledBackend


class Native(ScheduledBackend):
    """Machine code for kernels.

    `lanes` rewrites loops to vectors of sixteen bytes where their rounds are independent. Raises E9008 where
    `PRESK_ISA` names no instruction set.
    """

    name: ClassVar[str] = "native"
    is_native: ClassVar[bool] = True

    def __init__(self, *, lanes: bool = True, watch: bool = False) -> None:
        super().__init__(watch=watch)
        self.lanes = lanes
        self.target = target()

    def compile(self, text: str) -> _native.Schedule:
        """A schedule's text with its kernels compiled. Raises the extension's ScheduleError."""
        return _native.Schedule(text, self.name, watch=self.watch, target=self.target, lanes=self.lanes)
