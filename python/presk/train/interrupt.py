"""An interrupt while training: the step that runs is finished and kept, and only then does it end.

Called by the loop.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from types import FrameType


@dataclass(slots=True)
class Stop:
    """Whether an interrupt has asked for the end."""

    asked: bool = False


@contextmanager
def stopping() -> Generator[Stop]:
    """Takes the first interrupt as a wish; a second one ends at once.

    Only the main thread is told of interrupts, so elsewhere nothing is changed.
    """
    stop = Stop()
    if current_thread() is not main_thread():
        yield stop
        return

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
