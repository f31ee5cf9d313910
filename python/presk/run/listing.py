"""Machine code of a schedule's kernels as text: what `presk dump --stage clif` and `--stage asm` print.

Each kernel is listed as the native backend compiles it: in lanes, and with the loop that its launches divide, if there
is one. Called by the command line.
"""

from __future__ import annotations

from collections.abc import Iterator

from presk import _native
from presk.kernel.native import MachineCode, clif, machine_code
from presk.run.machine import target
from presk.run.record.schedule import Schedule
from presk.run.record.text import print_schedule
from presk.run.scheduled import diagnosed

BYTES_SHOWN = 8
"""Bytes of an instruction that are written out."""


def print_clif(schedule: Schedule) -> str:
    """Each kernel's CLIF, as generated; a line `;;` names the kernel. E9218 for a kernel there is no code for."""
    isa = target()
    return "\n".join(
        f"{_head(text, depth)}\n{clif(text, target=isa, depth=depth)}" for text, depth in compiled(schedule)
    )


def print_machine_code(schedule: Schedule) -> str:
    """Each kernel's instructions under the lines of its text: position, bytes, words. E9218 as for `print_clif`."""
    isa = target()
    blocks: list[str] = []
    for text, depth in compiled(schedule):
        found = machine_code(text, target=isa, depth=depth)
        blocks.append("\n".join((f"{_head(text, depth)}, {len(found.code)} bytes", *_lines(text, found))) + "\n")
    return "\n".join(blocks)


def compiled(schedule: Schedule) -> list[tuple[str, int | None]]:
    """What running the schedule compiles: each kernel's text, and the depth of the loop its launches may divide."""
    return diagnosed(None, lambda: _native.schedule_kernels(print_schedule(schedule)))


def _head(text: str, depth: int | None) -> str:
    divided = "" if depth is None else f", divided at depth {depth}"
    return f";; {text.partition('{')[0].strip()}{divided}"


def _lines(text: str, found: MachineCode) -> Iterator[str]:
    source = text.splitlines()
    line = -1
    for each in found.instructions:
        if each.line != line:
            line = each.line
            yield f"; {line:>3}  {source[line - 1]}" if line else ";      entering, leaving, spilling"
        code = found.code[each.start : each.end]
        shown = code[:BYTES_SHOWN].hex(" ") + (" …" if len(code) > BYTES_SHOWN else "")
        yield f"  {each.start:05x}  {shown:<{3 * BYTES_SHOWN + 2}} {each.text}"
