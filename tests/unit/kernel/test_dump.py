"""The dump's two header lines."""

from __future__ import annotations

import pytest

from presk.kernel.dump import print_dump
from presk.kernel.reader import read_kernel, read_kernels

TEXT = "kernel neg (%0 : f32[2]) -> %1 : f32[2] {\n  for i0 in 0..2 {\n    %1[i0] = (-%0[i0])\n  }\n}\n"


@pytest.mark.parametrize(
    ("launches", "unfused", "saved", "wanted"),
    [
        (1, 1, 0, ["-- 1 kernel, 1 launch, f32", "-- fusion: 1 launch without it, 0 saved (0%)"]),
        (6, 9, 3, ["-- 1 kernel, 6 launches, f32", "-- fusion: 9 launches without it, 3 saved (33%)"]),
        (0, 0, 0, ["-- 1 kernel, 0 launches, f32", "-- fusion: 0 launches without it, 0 saved (0%)"]),
    ],
)
def test_the_header_counts(launches: int, unfused: int, saved: int, wanted: list[str]) -> None:
    assert print_dump([read_kernel(TEXT)], launches, "f32", unfused, saved).splitlines()[:2] == wanted


def test_a_dump_reads_back_as_its_kernels() -> None:
    kernel = read_kernel(TEXT)
    assert read_kernels(print_dump([kernel], 1, "f32", 1, 0)) == (kernel,)


def test_a_kernel_is_shown_once() -> None:
    kernel = read_kernel(TEXT)
    text = print_dump([kernel, read_kernel(TEXT)], 2, "f32", 2, 0)
    assert text.startswith("-- 1 kernel, 2 launches")
    assert text.count("kernel neg") == 1
