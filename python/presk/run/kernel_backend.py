"""The backend `kernel`: schedules whose kernels the interpreter runs, the yardstick of every faster backend."""

from __future__ import annotations

from typing import ClassVar

from presk.run.scheduled import ScheduledBackend


class KernelInterpreter(ScheduledBackend):
    """Machine arithmetic in the kernel text's own words: every operation rounded, every access checked."""

    name: ClassVar[str] = "kernel"
