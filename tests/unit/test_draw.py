"""Draws against an independent ChaCha20 in Python, against golden files, and against their distributions."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk import draw
from presk.text.diagnostics import InternalError, PreskError

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "draws.json"

KEY = draw.key(7, "normal", "test#0")

KOLMOGOROV_LIMIT = 1.95
"""√n times the Kolmogorov–Smirnov distance: of correct samples one in a thousand exceeds it."""


def key_by_the_book(seed: int, stream: str, path: str, indices: list[int]) -> bytes:
    text = b"".join(struct.pack("<I", len(each)) + each for each in (stream.encode(), path.encode()))
    rounds = struct.pack(f"<I{len(indices)}I", len(indices), *indices)
    return hashlib.sha256(b"presk-rng-1\0" + struct.pack("<Q", seed) + text + rounds).digest()


def block_by_the_book(key: bytes, counter: int, nonce: int) -> list[int]:
    """The sixteen words of one ChaCha20 block, with a 64-bit counter and nonce."""
    state = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key)]
    state += [counter & 0xFFFFFFFF, counter >> 32, nonce & 0xFFFFFFFF, nonce >> 32]
    x = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for p, q, r, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & 0xFFFFFFFF
            mixed = x[r] ^ x[p]
            x[r] = (mixed << n | mixed >> (32 - n)) & 0xFFFFFFFF

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(mixed + word) & 0xFFFFFFFF for mixed, word in zip(x, state, strict=True)]


def bits_by_the_book(key: bytes, nonce: int, element: int) -> int:
    words = block_by_the_book(key, element // 8, nonce)
    at = 2 * (element % 8)
    return words[at] | words[at + 1] << 32


def uniform_by_the_book(key: bytes, nonce: int, element: int) -> float:
    return (bits_by_the_book(key, nonce, element) >> 11) / 2**53


def normal_nearly_by_the_book(key: bytes, nonce: int, element: int) -> float:
    """With the C library's log and cos, whose last bits may differ from the port's."""
    u, v = (uniform_by_the_book(key, nonce, 2 * element + i) for i in (0, 1))
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


def test_chacha_by_the_book_gives_the_standards_vector() -> None:
    """RFC 7539, 2.3.2; its 32-bit counter and 96-bit nonce are the words of this counter and nonce."""
    words = block_by_the_book(bytes(range(32)), 0x09000000_00000001, 0x00000000_4A000000)
    expected = "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 "
    expected += "466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2"
    assert words == [int(word, 16) for word in expected.split()]


GOLDEN_PLACES: list[tuple[int, str, str, list[int], int, int]] = [
    (0, "init", "tok.w", [], 0, 0),
    (1, "init", "blocks.att.q.w", [2], 0, 0),
    (2**64 - 1, "dropout", "blocks.ff#1", [3, 1000], 2**40 + 17, 12345),
    (123456789, "normal", "f.g#0", [], 2**64 - 1, 2**33 - 3),
    (42, "shuffle", "", [], 3, 0),
    (5, "uniform", "κλειδί#2", [0, 0, 0], 1, 7),
]
"""Seed, stream, path, indices, step, first element."""


def golden_case(place: tuple[int, str, str, list[int], int, int]) -> dict[str, Any]:
    """What the golden file holds for a place; normals are presk's own, held against the formula by a test."""
    seed, stream, path, indices, step, start = place
    key = key_by_the_book(seed, stream, path, indices)
    elements = range(start, start + 12)
    normals = draw.normal(key, step, [12, 1], batch_axis=0, row_offset=start)
    return {
        "seed": seed,
        "stream": stream,
        "path": path,
        "indices": indices,
        "step": step,
        "start": start,
        "key": key.hex(),
        "bits": [f"{bits_by_the_book(key, step, i):016x}" for i in elements],
        "uniform": [uniform_by_the_book(key, step, i).hex() for i in elements],
        "normal": [float(value).hex() for value in normals[:, 0]],
    }


def golden_cases() -> list[dict[str, Any]]:
    return json.loads(GOLDEN.read_text("utf-8"))


def test_the_golden_file_is_by_the_book(bless: bool) -> None:
    """Draws never change: blessing is for cases that are added."""
    made = [golden_case(place) for place in GOLDEN_PLACES]
    if bless:
        GOLDEN.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert golden_cases() == made


@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: case["path"] or case["stream"])
def test_golden_draws(case: dict[str, Any]) -> None:
    key = draw.key(case["seed"], case["stream"], case["path"], case["indices"])
    assert key.hex() == case["key"]
    bits = draw.bits(key, case["step"], 12, case["start"])
    assert [f"{int(each):016x}" for each in bits] == case["bits"]
    for name, kind in (("uniform", draw.uniform), ("normal", draw.normal)):
        values = kind(key, case["step"], [12], batch_axis=0, row_offset=case["start"])
        assert [float(value).hex() for value in values] == case[name]


@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: case["path"] or case["stream"])
def test_golden_normals_are_box_and_mullers(case: dict[str, Any]) -> None:
    for i, text in enumerate(case["normal"]):
        expected = normal_nearly_by_the_book(bytes.fromhex(case["key"]), case["step"], case["start"] + i)
        # Two functions within one unit of the last place each, the cosine's argument rounded in both alike.
        assert math.isclose(float.fromhex(text), expected, rel_tol=2**-50)


def test_scale_and_shift_are_rounded_one_by_one() -> None:
    z = draw.normal(KEY, 3, [1000])
    assert np.array_equal(draw.normal(KEY, 3, [1000], std=0.3, mean=0.1), 0.1 + 0.3 * z)
    u = draw.uniform(KEY, 3, [1000])
    assert np.array_equal(draw.uniform(KEY, 3, [1000], lo=-0.1, hi=0.2), -0.1 + (0.2 - -0.1) * u)


SHAPES = st.lists(st.integers(0, 5), max_size=4)


@given(SHAPES, st.integers(0, 2**64 - 1))
def test_shapes_are_filled_in_row_major_order(shape: list[int], step: int) -> None:
    for kind in (draw.uniform, draw.normal):
        values = kind(KEY, step, shape)
        assert values.shape == tuple(shape)
        assert values.dtype == np.float64
        assert np.array_equal(values.reshape(-1), kind(KEY, step, [math.prod(shape)]))


@given(SHAPES.filter(bool), st.data())
def test_a_row_alone_is_the_row_in_the_batch(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    offset = data.draw(st.sampled_from([0, 1, 3, 2**30]))
    for kind in (draw.uniform, draw.normal):
        whole = kind(KEY, 1, shape, batch_axis=axis, row_offset=offset)
        assert whole.flags.c_contiguous
        for row in range(shape[axis]):
            alone = kind(KEY, 1, [*shape[:axis], 1, *shape[axis + 1 :]], batch_axis=axis, row_offset=offset + row)
            assert np.array_equal(alone, np.take(whole, [row], axis=axis))


def test_the_batch_axis_is_outermost_wherever_it_stands() -> None:
    first = draw.normal(KEY, 0, [4, 3, 5], batch_axis=0)
    assert np.array_equal(first, draw.normal(KEY, 0, [4, 3, 5]))
    assert np.array_equal(draw.normal(KEY, 0, [3, 4, 5], batch_axis=1), first.transpose(1, 0, 2))
    assert np.array_equal(draw.normal(KEY, 0, [3, 5, 4], batch_axis=2), first.transpose(1, 2, 0))


def test_without_a_batch_axis_the_offset_is_ignored() -> None:
    assert np.array_equal(draw.normal(KEY, 0, [6], row_offset=9), draw.normal(KEY, 0, [6]))


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_piece_of_bits_is_the_bits_of_the_whole(start: int, count: int) -> None:
    assert np.array_equal(draw.bits(KEY, 2, count, start), draw.bits(KEY, 2, 600)[start : start + count])


def test_filling_piece_by_piece_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [draw.bits(KEY, 0, 1000, 5), draw.uniform(KEY, 0, [1000]), draw.normal(KEY, 0, [1000])]
    monkeypatch.setattr(draw, "PIECE", 7)
    pieces = [draw.bits(KEY, 0, 1000, 5), draw.uniform(KEY, 0, [1000]), draw.normal(KEY, 0, [1000])]
    for one, other in zip(whole, pieces, strict=True):
        assert np.array_equal(one, other)


def test_a_big_draw_ends_as_it_should() -> None:
    rows, columns = 3001, 2003
    values = draw.uniform(KEY, 11, [rows, columns])
    assert values[-1, -1] == uniform_by_the_book(KEY, 11, rows * columns - 1)
    assert values[1234, 567] == uniform_by_the_book(KEY, 11, 1234 * columns + 567)


def kolmogorov(sample: np.ndarray, cumulative: np.ndarray) -> float:
    """√n times the largest distance of the empirical distribution from the given one; both in increasing order."""
    n = len(sample)
    steps = np.arange(n + 1) / n
    return math.sqrt(n) * max(float(np.max(steps[1:] - cumulative)), float(np.max(cumulative - steps[:-1])))


@pytest.mark.parametrize("step", range(5))
def test_uniforms_are_uniform(step: int) -> None:
    u = np.sort(draw.uniform(KEY, step, [100_000]))
    assert u[0] >= 0
    assert u[-1] < 1
    assert kolmogorov(u, u) < KOLMOGOROV_LIMIT


@pytest.mark.parametrize("step", range(5))
def test_normals_are_normal(step: int) -> None:
    z = np.sort(draw.normal(KEY, step, [100_000]))
    assert kolmogorov(z, 0.5 + 0.5 * draw.libm.erf(z / math.sqrt(2))) < KOLMOGOROV_LIMIT


def test_neighbours_streams_and_steps_are_uncorrelated() -> None:
    n = 100_000
    z = draw.normal(KEY, 0, [n])
    others = [np.roll(z, 1), draw.normal(KEY, 1, [n]), draw.normal(draw.key(7, "normal", "test#1"), 0, [n])]
    for other in others:
        assert abs(float(np.corrcoef(z, other)[0, 1])) < 5 / math.sqrt(n)


def test_every_order_comes_equally_often() -> None:
    """Chi-square over the 24 orders of four; 23 degrees of freedom exceed 49.7 once in a thousand."""
    counts: dict[tuple[int, ...], int] = {}
    epochs = 12_000
    for epoch in range(epochs):
        order = tuple(draw.shuffle(KEY, epoch, 4).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    expected = epochs / 24
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 49.7


def test_a_shuffle_is_fisher_and_yates() -> None:
    expected = list(range(50))
    for element, place in enumerate(range(49, 0, -1)):
        other = bits_by_the_book(KEY, 6, element) * (place + 1) >> 64
        expected[place], expected[other] = expected[other], expected[place]
    assert draw.shuffle(KEY, 6, 50).tolist() == expected
    assert [draw.shuffle(KEY, 1, n).tolist() for n in (0, 1)] == [[], [0]]


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1", None])
def test_a_seed_out_of_range_is_refused(seed: Any) -> None:
    with pytest.raises(PreskError) as refusal:
        draw.key(seed, "init", "w")
    assert refusal.value.code == "E6020"
    assert str(seed) in str(refusal.value)


def test_seeds_of_numpy_are_taken() -> None:
    assert draw.key(np.uint64(3), "init", "w") == draw.key(3, "init", "w")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "draws",
    [
        lambda: draw.key(0, "init", "w", [2**32]),
        lambda: draw.bits(KEY, -1, 1),
        lambda: draw.bits(KEY, 0, 1, -1),
        lambda: draw.bits(KEY, 0, 1, 2**64 - 1),
        lambda: draw.uniform(KEY, 2**64, [1]),
        lambda: draw.normal(KEY, -1, [1]),
        lambda: draw.normal(KEY, 0, [2, 3], batch_axis=0, row_offset=-1),
        lambda: draw.normal(KEY, 0, [2, 3], batch_axis=0, row_offset=2**63),
        lambda: draw.shuffle(KEY, 2**64, 3),
    ],
)
def test_steps_and_offsets_out_of_range_are_refused(draws: Any) -> None:
    with pytest.raises(PreskError) as refusal:
        draws()
    assert refusal.value.code == "E6020"


@pytest.mark.parametrize("shape", [[10**15], [2**40, 2**20], [2**60, 1]])
def test_a_draw_too_large_is_refused(shape: list[int]) -> None:
    with pytest.raises(PreskError) as refusal:
        draw.normal(KEY, 0, shape)
    assert refusal.value.code == "E6021"


FUNCTIONS = {
    "exp": math.exp,
    "expm1": math.expm1,
    "log": math.log,
    "log1p": math.log1p,
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
    "erf": math.erf,
    "sqrt": math.sqrt,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions(name: str) -> None:
    x = np.linspace(0.01, 20, 2500).reshape(50, 50)
    expected = np.array([FUNCTIONS[name](value) for value in x.reshape(-1)]).reshape(x.shape)
    function = getattr(draw.libm, name)
    assert np.allclose(function(x), expected, rtol=2**-51, atol=2**-55)
    single = function(x.astype(np.float32))
    assert single.dtype == np.float32
    # The argument's own rounding is felt through the slope, most in exp near 20.
    assert np.allclose(
        single, [[FUNCTIONS[name](float(np.float32(v))) for v in row] for row in x], rtol=2e-7, atol=1e-7
    )
    assert draw.libm.at(name, 2.5) == function(np.array([2.5]))[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_elementary_functions_take_any_layout_and_leave_it_unchanged(dtype: Any) -> None:
    x = np.linspace(0.5, 2, 24).astype(dtype).reshape(2, 3, 4)
    before = x.copy()
    expected = draw.libm.exp(x)
    for view in (np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, axis=2)[:, :, ::2]):
        assert np.array_equal(draw.libm.exp(view), expected)
        assert np.array_equal(draw.libm.pow(view, x), draw.libm.pow(x, x))
    assert np.array_equal(x, before)
    assert draw.libm.exp(x[:0]).shape == (0, 3, 4)
    assert draw.libm.exp(np.array(1, dtype)).shape == ()


def test_powers() -> None:
    x, y = np.array([2.0, 9.0, -2.0, 0.0]), np.array([10.0, 0.5, 3.0, 0.0])
    assert draw.libm.pow(x, y).tolist() == [1024.0, 3.0, -8.0, 1.0]


def test_other_types_are_presks_own_fault() -> None:
    with pytest.raises(InternalError):
        draw.libm.exp(np.arange(3))  # type: ignore[type-var]
    with pytest.raises(InternalError):
        draw.libm.pow(np.ones(3), np.ones(2))
