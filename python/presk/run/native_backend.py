"""The backend `native`: schedules whose kernels are machine code, made by Cranelift in this process.

It runs the same schedules as the backend `kernel` and gives the same bits, on any number of threads, with lanes or
without, at any instruction set. All kernels of an entry are compiled side by side, without the GIL, and each once for
as long as anybody uses it. `PRESK_ISA` forces a lower instruction set than the machine's. Made by `run.registry`.
"""

from __future__ import annotations

import os
from typing import ClassVar

from presk import _native
from presk.kernel.native import HOST
from presk.run.scheduled import ScheduledBackend
from presk.text.diagnostics import did_you_mean, fail

ISA_VARIABLE = "PRESK_ISA"

ISAS = ("host", "baseline", "sse2", "sse4.2", "avx", "avx2", "avx512")
"""Instruction sets that can be forced; `host` is all the machine has, `baseline` what every one of its kind has."""


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


def target() -> str:
    """The instruction set that code is made for: what `PRESK_ISA` says, else the machine's. E9008 for an unknown."""
    wanted = os.environ.get(ISA_VARIABLE, HOST)
    if wanted not in ISAS:
        hint = did_you_mean(wanted, ISAS) or f"one of {', '.join(ISAS)}"
        raise fail("E9008", f"{ISA_VARIABLE} is `{wanted}`, which is no instruction set", hint=hint)
    return wanted
