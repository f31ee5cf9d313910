"""Indices in memory that nobody has written: every executor reads zeros there, and leaves no buffer."""

from __future__ import annotations

import numpy as np
import pytest

from presk import _native

FILL = """kernel fill (%0 : f64[5]) -> %1 : f64[16] {
  for i0 in 0..16 {
    %1[i0] = 12345.678
  }
}
"""

DIRTY = """kernel fill (%0 : f64[5]) -> %1 : f64[5] {
  t0 : f64[5]
  for i0 in 0..5 {
    t0[i0] = %0[i0]
  }
  for i0 in 0..5 {
    %1[i0] = t0[i0]
  }
}
"""

ARENA = 'arena 128 bytes\nbuffer a0 : f64[16] at 0\nbuffer a1 : i64<5>[5] at 0\nlaunch k0 fill (h0) -> (a0) "f"\n'

NONE = "arena 0 bytes\n"


def leak(head: str, *lines: str, scratch: str = "") -> str:
    body = "\n".join(lines)
    return f"kernel leak {head} {{\n{scratch}\nfor i0 in 0..5 {{\n{body}\n}}\n}}\n"


ONE = "(%0 : f64[5]) -> %1 : f64[5]"

CASES = {
    "an arena buffer over what was floats": (
        ARENA + 'launch k1 leak (h0, a1) -> (o0) "f"',
        FILL + leak("(%0 : f64[5], %1 : i64<5[5]) -> %2 : f64[5]", "%2[i0] = %0[%1[i0]]"),
        [1.5] * 5,
    ),
    "an output over what was floats": (
        ARENA + 'launch k1 leak (h0) -> (o0, a1) "f"',
        FILL + leak("(%0 : f64[5]) -> %1 : f64[5], %2 : i64<5[5]", "%1[i0] = %0[%2[i0]]", "%2[i0] = i0"),
        [1.5] * 5,
    ),
    "a store through scratch": (
        NONE + 'launch k0 leak (h0) -> (o0) "f"',
        leak(ONE, "%1[t0[i0]] = %0[i0]", scratch="t0 : i64<5[5]"),
        [5.5, 0, 0, 0, 0],
    ),
    "one element among many": (
        NONE + 'launch k0 leak (h0) -> (o0) "f"',
        leak(ONE, "%1[i0] = %0[t0[4000]]", scratch="t0 : i64<5[4096]\nt0[0] = 0"),
        [1.5] * 5,
    ),
    "scratch that another kernel has filled": (
        NONE + 'launch k0 fill (h0) -> (o0) "f"\nlaunch k1 leak (h0) -> (o0) "f"',
        DIRTY + leak(ONE, "%1[i0] = %0[t0[i0]]", scratch="t0 : i64<5[5]"),
        [1.5] * 5,
    ),
    "a variable between": (
        NONE + 'launch k0 fill (h0) -> (o0) "f"\nlaunch k1 leak (h0) -> (o0) "f"',
        DIRTY + leak(ONE, "n0 = min((t0[i0] + 1), 4)", "%1[i0] = %0[n0]", scratch="t0 : i64<5[5]"),
        [2.5] * 5,
    ),
    "an index that is stored in a round that may not be": (
        NONE + 'launch k0 fill (h0) -> (o0) "f"\nlaunch k1 leak (h0) -> (o0) "f"',
        DIRTY + leak(ONE, "if (%0[i0] > 3) {\nt0[0] = 2\n}", "%1[i0] = %0[t0[0]]", scratch="t0 : i64<5[1]"),
        [1.5, 1.5, 3.5, 3.5, 3.5],
    ),
    "an index of an earlier round": (
        NONE + 'launch k0 fill (h0) -> (o0) "f"\nlaunch k1 leak (h0) -> (o0) "f"',
        DIRTY + leak(ONE, "%1[i0] = %0[t0[max((i0 - 1), 0)]]", "t0[i0] = i0", scratch="t0 : i64<5[5]"),
        [1.5, 1.5, 2.5, 3.5, 4.5],
    ),
    "a truth value": (
        NONE + 'launch k0 fill (h0) -> (o0) "f"\nlaunch k1 leak (h0) -> (o0) "f"',
        DIRTY + leak(ONE, "%1[i0] = select(t0[i0], %0[0], %0[4])", scratch="t0 : bool[5]"),
        [5.5] * 5,
    ),
    "a number": (
        NONE + 'launch k0 fill (h0) -> (o0) "f"\nlaunch k1 leak (h0) -> (o0) "f"',
        DIRTY + leak(ONE, "%1[i0] = (%0[0] + t0[i0])", scratch="t0 : f64[5]"),
        [1.5] * 5,
    ),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("backend", ["kernel", "native"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_nobody_wrote_is_zero(case: tuple[str, str, list[float]], backend: str, threads: int) -> None:
    steps, kernels, expected = case
    text = f'schedule "f" realized "f64" {{\ninput h0 : f64[5] "x"\noutput o0 : f64[5] ""\n{steps}\n}}\n{kernels}'
    made = _native.Schedule(text, backend)
    for _ in range(3):
        (found,) = made.run([np.arange(5) + 1.5], seed=0, step=0, row_offset=0, threads=threads)
        assert found.tolist() == expected
