"""Signals that ask a training to end: the step that runs is finished and kept, and only then does it end.

They are those a user or a system ends a process by: SIGINT, SIGTERM and SIGHUP. One that is ignored (SIGHUP under
`nohup`) stays so, and a handler of SIGTERM or SIGHUP that a program has set is its own. Called by the loop, and by the
command line around it.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Not every system has them all."""


@dataclass(slots=True)
class Stop:
    """The signal that has asked for the end, or None yet."""

    signal: int | None = None

    @property
    def asked(self) -> bool:
        """Whether one has."""
        return self.signal is not None


_ACTIVE: ContextVar[Stop | None] = ContextVar("active", default=None)
"""What an outer `stopping` of this thread, or of the one that began it with its context, has been asked."""


@contextmanager
def stopping() -> Generator[Stop]:
    """Takes the first signal as a wish; a second one ends at once.

    Within another `stopping` it is that one's wish. Only the main thread is told of signals, so elsewhere nothing is
    changed.
    """
    outer = _ACTIVE.get()
    if outer is not None or current_thread() is not main_thread():
        yield outer or Stop()
        return
    stop = Stop()

    def ask(number: int, _frame: FrameType | None) -> None:
        if stop.asked:
            raise end(number)
        stop.signal = number

    before: dict[signal.Signals, Any] = {}
    token = _ACTIVE.set(stop)
    try:
        for number in (each for name in NAMES if (each := getattr(signal, name, None)) is not None):
            if _is_taken(number):
                before[number] = signal.signal(number, ask)
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _ACTIVE.reset(token)


def end(number: int) -> BaseException:
    """What ends a program by this signal: KeyboardInterrupt, or SystemExit with the code a shell gives it."""
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def _is_taken(number: signal.Signals) -> bool:
    handler = signal.getsignal(number)
    if number == signal.SIGINT:
        return handler not in (signal.SIG_IGN, None)
    return handler == signal.SIG_DFL
