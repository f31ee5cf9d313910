"""The machine presk runs on: how many threads it may use, its instruction sets, its caches.

Read from the operating system, nothing measured. Called by `presk env`, and by whoever sizes a pool or a plan.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from presk.kernel.lowered import Machine
from presk.kernel.native import HOST
from presk.text.diagnostics import did_you_mean, fail

THREADS_VARIABLE = "PRESK_THREADS"

MOST_THREADS = 1024
"""Threads of one worker pool, however they are asked for; `presk_rt::pool::MOST_THREADS` is the same number."""

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
CPU_INFO = Path("/proc/cpuinfo")

LONG_VECTORS = {"avx512f", "avx512vl"}
"""Flags of a processor whose vectors are of LONG_VECTOR bytes; of others wide tiles take SHORT_VECTOR at a time."""

LONG_VECTOR, SHORT_VECTOR = 64, 32

ISA_VARIABLE = "PRESK_ISA"

ISAS = (HOST, "baseline", "sse2", "sse4.2", "avx", "avx2", "avx512", "aarch64")
"""Instruction sets that can be forced; `host` is all the machine has, `baseline` what every one of its kind has.

Code for a machine of another kind can be dumped, and is refused where it would run (E9218).
"""

LONG_TARGETS = (HOST, "avx512")
"""Those with vectors of LONG_VECTOR bytes, where the machine has them."""

INSTRUCTION_SETS = ("sse2", "avx", "avx2", "fma", "avx512f", "avx512vl", "avx512_bf16", "neon", "asimd", "sve")
"""Flags that decide which code presk would choose, as Linux names them."""


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache of a core: its level, its bytes, and how many logical processors share it."""

    level: int
    bytes: int
    shared_by: int


def threads() -> int:
    """How many workers a call may use: PRESK_THREADS, else the processors this process may run on.

    Affinity and a container's quota count. E9007 where the variable is no number from 1 on.
    """
    wanted = os.environ.get(THREADS_VARIABLE)
    if wanted is not None:
        is_number = wanted.isascii() and wanted.isdecimal() and len(wanted) <= len(str(MOST_THREADS))
        return require_threads(int(wanted) if is_number else 0, f"{THREADS_VARIABLE} is `{wanted}`")
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return allowed if quota is None else max(1, min(allowed, quota))


def require_threads(count: int, sentence: str) -> int:
    """The count, where one pool may have so many threads. E9007 with the sentence where it may not."""
    if not 1 <= count <= MOST_THREADS:
        raise fail("E9007", sentence, hint=f"a number from 1 to {MOST_THREADS}")
    return count


def target() -> str:
    """The instruction set that code is made for: what `PRESK_ISA` says, else the machine's. E9008 for an unknown."""
    wanted = os.environ.get(ISA_VARIABLE, HOST)
    if wanted not in ISAS:
        hint = did_you_mean(wanted, ISAS) or f"one of {', '.join(ISAS)}"
        raise fail("E9008", f"{ISA_VARIABLE} is `{wanted}`, which is no instruction set", hint=hint)
    return wanted


def processor() -> str:
    """The processor's name as the system tells it."""
    return _cpu_info().get("model name") or platform.processor() or platform.machine()


def instruction_sets() -> tuple[str, ...]:
    """Those of INSTRUCTION_SETS the processor has; empty where the system doesn't say."""
    info = _cpu_info()
    flags = set((info.get("flags") or info.get("Features") or "").split())
    return tuple(name for name in INSTRUCTION_SETS if name in flags)


def caches() -> tuple[Cache, ...]:
    """The first core's data caches, the nearest first; empty where the system doesn't say."""
    found: list[Cache] = []
    for folder in sorted(CACHES.glob("index*")):
        try:
            if (folder / "type").read_text().strip() == "Instruction":
                continue
            level = int((folder / "level").read_text())
            size = _bytes((folder / "size").read_text().strip())
            shared = _count((folder / "shared_cpu_list").read_text().strip())
        except (OSError, ValueError):
            continue
        found.append(Cache(level, size, shared))
    return tuple(found)


def planned_for(count: int | None = None) -> Machine:
    """What the plan `auto` lays nests out for: so many workers (None: all there are), and this machine.

    Its vectors are those of the instruction set that `PRESK_ISA` names, where that forces a lower one.
    """
    caches, vector = _lasting()
    is_long = vector == LONG_VECTOR and target() in LONG_TARGETS
    return Machine(threads() if count is None else count, caches, LONG_VECTOR if is_long else SHORT_VECTOR)


@cache
def _lasting() -> tuple[tuple[int, ...], int]:
    """Bytes of the first core's data caches by level, and of its widest vectors; read once."""
    levels = {each.level: each.bytes for each in caches()}
    vector = LONG_VECTOR if set(instruction_sets()) >= LONG_VECTORS else SHORT_VECTOR
    return tuple(levels[level] for level in sorted(levels)), vector


def _quota() -> int | None:
    """Whole processors of the container's quota, rounded up; None without one."""
    try:
        quota, period = CGROUP_QUOTA.read_text().split()
        return None if quota == "max" else -(-int(quota) // int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _cpu_info() -> dict[str, str]:
    """The first processor's lines."""
    try:
        first = CPU_INFO.read_text().split("\n\n")[0]
    except OSError:
        return {}
    lines = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def _bytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


def _count(ranges: str) -> int:
    """How many numbers `0-3,8` names."""
    count = 0
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        count += int(last or first) - int(first) + 1
    return count
