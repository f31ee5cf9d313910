"""A signal whose handler raises ends a call wherever it is: between steps, in a long launch, on workers, in a draw."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

from presk import _native

LONG = 10**12
"""Rounds that would take hours."""

LAUNCH = 'launch k0 k (h0) -> (o0){split} "f"'

SMALL = "kernel k (%0 : f32[5]) -> %1 : f32[1] {\n  %1[0] = %0[0]\n}\n"

SCAN = f"""kernel k (%0 : f32[5]) -> %1 : f32[1] {{
  s0 = 0
  for i0 in 0..{LONG} {{
    s0 = ((s0 * 0.5) + %0[0])
  }}
  %1[0] = s0
}}
"""

NEST = """kernel k (%0 : f32[5]) -> %1 : f32[64] {
  for i0 in 0..64 {
    s0 = 0
    for i1 in 0..100000 {
      if (%0[0] > 0) {
        for i2 in 0..1000000 {
          s0 = ((s0 * 0.5) + %0[0])
        }
      }
    }
    %1[i0] = s0
  }
}
"""

INDICES = """kernel k (%0 : f32[5]) -> %1 : f32[64] {
  t0 : i64<64[64]
  for i0 in 0..64 {
    for i1 in 0..100000000000 {
      t0[i0] = i0
    }
  }
  for i0 in 0..64 {
    %1[t0[i0]] = %0[0]
  }
}
"""

EMPTY = """kernel k (%0 : f32[5]) -> %1 : f32[1] {
  for i0 in 0..1000000000 {
    for i1 in 0..1000000 {
    }
  }
  %1[0] = 1
}
"""


def schedule(steps: str, kernel: str = "", size: int = 1) -> str:
    head = f'schedule "f" realized "f32" {{\ninput h0 : f32[5] "x"\noutput o0 : f32[{size}] ""\narena 0 bytes\n'
    return f"{head}{steps}\n}}\n{kernel}"


CASES = {
    "a launch of one loop": schedule(LAUNCH.format(split=""), SCAN),
    "a launch of a nest": schedule(LAUNCH.format(split=" whole"), NEST, 64),
    "a launch that is divided": schedule(LAUNCH.format(split=" split at 0"), NEST, 64),
    "indices in scratch": schedule(LAUNCH.format(split=""), INDICES, 64),
    "loops without a statement": schedule(LAUNCH.format(split=""), EMPTY),
    "many launches": schedule(f"loop l0 in 0..{LONG} {{\n{LAUNCH.format(split='')}\n}}", SMALL),
    "many rounds of nothing": schedule(f"loop l0 in 0..{LONG} {{\n}}"),
    "many draws": schedule(f'loop l0 in 0..{LONG} {{\nnormal 1.0 0.0 [2000] f32 key "a" "b" [] -> (o0)\n}}', size=2000),
}


@contextmanager
def signalled(number: signal.Signals = signal.SIGINT) -> Generator[None]:
    """Sends this process a signal a moment after the block has begun."""
    begun = threading.Event()

    def send() -> None:
        begun.wait()
        time.sleep(0.05)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        begun.set()
        yield
    finally:
        sender.join()


def call(text: str, backend: str, threads: int) -> Any:
    made = _native.Schedule(text, backend)
    return made.run([np.ones(5, np.float32)], seed=0, step=0, row_offset=0, threads=threads)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("backend", ["kernel", "native"])
@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_ctrl_c_ends_a_call_that_would_take_hours(text: str, backend: str, threads: int) -> None:
    with pytest.raises(KeyboardInterrupt), signalled():
        call(text, backend, threads)
    (found,) = call(schedule(LAUNCH.format(split=""), SMALL), backend, threads)
    assert found == [1.0]


class StoppedError(Exception):
    pass


@pytest.fixture
def handled() -> Generator[Callable[[Callable[[], None]], None]]:
    """Sets what SIGUSR1 does, for the test."""
    before = signal.getsignal(signal.SIGUSR1)

    def handle(does: Callable[[], None]) -> None:
        def handler(_number: int, _frame: FrameType | None) -> None:
            does()

        signal.signal(signal.SIGUSR1, handler)

    yield handle
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("backend", ["kernel", "native"])
def test_the_exception_is_the_handlers_and_a_handler_that_raises_none_lets_the_call_end(
    handled: Callable[[Callable[[], None]], None], backend: str
) -> None:
    def stop() -> None:
        raise StoppedError("now")

    handled(stop)
    with pytest.raises(StoppedError, match="now"), signalled(signal.SIGUSR1):
        call(CASES["a launch of one loop"], backend, 1)
    seen: list[int] = []
    handled(lambda: seen.append(1))
    rounds = 10**9 if backend == "native" else 10**7
    with signalled(signal.SIGUSR1):
        call(schedule(LAUNCH.format(split=""), SCAN.replace(str(LONG), str(rounds))), backend, 1)
    assert seen == [1]


def test_an_executable_is_well_after_an_interrupt() -> None:
    """The same one: its arena, its scratch and its pool; what it computes is what it did before."""
    text = schedule(LAUNCH.format(split=" split at 0"), NEST.replace("100000 ", "20 "), 64)
    made = _native.Schedule(text, "native")
    x = np.full(5, 0.25, np.float32)
    (before,) = made.run([x], seed=0, step=0, row_offset=0, threads=3)
    long = _native.Schedule(CASES["a launch that is divided"], "native")
    with pytest.raises(KeyboardInterrupt), signalled():
        long.run([x], seed=0, step=0, row_offset=0, threads=3)
    assert long.free_arenas == 1
    (after,) = made.run([x], seed=0, step=0, row_offset=0, threads=3)
    assert before.tobytes() == after.tobytes()
