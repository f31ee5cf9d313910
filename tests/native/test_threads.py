"""What threads see of the extension: the GIL is released, and a caller's floating-point mode changes no bit."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from presk import _native, draw

KEY = bytes(range(32))

UPWARD = {"x86_64": 0x800, "aarch64": 0x400000}
"""The C library's number for rounding toward +∞, by machine."""


def fill_normals(count: int) -> np.ndarray:
    out = np.empty(count)
    _native.fill_normal(KEY, 0, 0, 1.0, 0.0, out)
    return out


@pytest.mark.parametrize(
    "work",
    [
        lambda: fill_normals(1 << 23),
        lambda: _native.fill_uniform(KEY, 0, 0, (0.0, 1.0, 0.0, 1.0), np.empty(1 << 25)),
        lambda: _native.fill_bits(KEY, 0, 0, np.empty(1 << 25, dtype=np.uint64)),
        lambda: _native.shuffle(KEY, 0, np.empty(1 << 23, dtype=np.int64)),
        lambda: _native.apply_f64("erf", np.full(1 << 23, 0.7)),
        lambda: _native.power_f64(np.full(1 << 22, 0.7), np.full(1 << 22, 1.3)),
    ],
    ids=["normal", "uniform", "bits", "shuffle", "apply", "power"],
)
def test_other_threads_run_meanwhile(work: object) -> None:
    """With the GIL held, this thread would wait for the whole call before its first turn."""
    started = threading.Event()
    interval = sys.getswitchinterval()

    def run() -> None:
        started.set()
        work()  # type: ignore[operator]

    worker = threading.Thread(target=run)
    sys.setswitchinterval(1e-5)
    try:
        worker.start()
        started.wait()
        turns = 0
        while worker.is_alive():
            time.sleep(0.001)
            turns += 1
    finally:
        sys.setswitchinterval(interval)
        worker.join()
    assert turns > 10


@pytest.fixture
def upward() -> Iterator[ctypes.CDLL]:
    """The C library, for a test that sets the rounding mode of its own thread."""
    machine = platform.machine()
    name = ctypes.util.find_library("m")
    if machine not in UPWARD or name is None:
        pytest.skip(f"no known way to set the rounding mode on {machine}")
    library = ctypes.CDLL(name)
    yield library
    library.fesetround(0)


def test_a_callers_rounding_mode_changes_no_bit(upward: ctypes.CDLL) -> None:
    x = np.linspace(0.1, 5.0, 1000)
    y = x.astype(np.float32)
    functions = ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos", "erf", "sqrt")

    def everything() -> list[bytes]:
        drawn = [draw.normal(KEY, 1, [1000], std=0.3, mean=0.1), draw.uniform(KEY, 1, [1000], lo=-0.1, hi=0.2)]
        applied = [getattr(draw.libm, name)(x) for name in functions]
        single = [getattr(draw.libm, name)(y) for name in functions]
        return [each.tobytes() for each in [*drawn, *applied, *single, draw.libm.pow(x, x), draw.libm.pow(y, y)]]

    ahead = everything()
    assert upward.fesetround(UPWARD[platform.machine()]) == 0
    try:
        assert np.float64(1) + np.float64(1e-30) > 1, "the mode is set"
        within = everything()
        assert np.float64(1) + np.float64(1e-30) > 1, "the caller's mode is put back"
    finally:
        upward.fesetround(0)
    assert within == ahead


def test_pieces_drawn_on_several_threads_are_the_whole() -> None:
    count, piece = 100_003, 1_000
    whole, pieces = fill_normals(count), np.empty(count)
    with ThreadPoolExecutor(4) as pool:
        for start in range(0, count, piece):
            pool.submit(_native.fill_normal, KEY, 0, start, 1.0, 0.0, pieces[start : start + piece])
    assert np.array_equal(pieces, whole)


def test_an_interrupt_ends_a_long_draw() -> None:
    """The draw would take a quarter of a minute; a piece of it takes a quarter of a second."""
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    script = heeded + "from presk import draw; print('drawing', flush=True); draw.normal(bytes(32), 0, [2**28])"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "drawing\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    "call",
    [
        lambda: _native.fill_bits(b"short", 0, 0, np.empty(1, np.uint64)),
        lambda: _native.fill_bits(KEY, 0, 0, np.empty((2, 2), np.uint64)),
        lambda: _native.fill_bits(KEY, 0, 0, np.empty(4, np.uint64)[::2]),
        lambda: _native.fill_normal(KEY, 0, 0, 1.0, 0.0, np.empty(1, np.float32)),
        lambda: _native.fill_normal(KEY, -1, 0, 1.0, 0.0, np.empty(1)),
        lambda: _native.apply_f64("tan", np.empty(1)),
        lambda: _native.power_f64(np.ones(2), np.ones(3)),
    ],
)
def test_what_does_not_fit_raises(call: object) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        call()  # type: ignore[operator]


def test_a_read_only_array_is_not_written() -> None:
    out = np.zeros(4)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        _native.fill_normal(KEY, 0, 0, 1.0, 0.0, out)
    assert not out.any()
