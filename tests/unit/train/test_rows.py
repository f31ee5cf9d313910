"""Rows, their order, and batches."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk import draw
from presk.train import rows
from presk.train.rows import ArrayRows, Batches, WindowRows, in_order


def numbered(count: int) -> ArrayRows:
    return ArrayRows({"x": np.arange(count, dtype=np.int64), "y": np.arange(count) * 0.5})


def taken(batches: Batches, first: int, count: int) -> list[list[int]]:
    return [each["x"].tolist() for each in islice(batches.from_step(first), count)]


@given(st.integers(1, 40), st.integers(1, 12), st.booleans(), st.integers(0, 2**64 - 1))
def test_an_epoch_takes_each_row_once(count: int, size: int, keep: bool, seed: int) -> None:
    batches = Batches(numbered(count), size, keep, seed)
    if not batches.per_epoch:
        assert not keep and count < size
        return
    epoch = taken(batches, 1, batches.per_epoch)
    rows = [row for batch in epoch for row in batch]
    assert len(set(rows)) == len(rows) == (count if keep else count - count % size)
    assert all(len(batch) == size for batch in epoch[:-1])


@given(st.integers(0, 30))
def test_a_step_s_batch_needs_none_before_it(first: int) -> None:
    batches = Batches(numbered(10), 3, True, 5)
    assert taken(batches, first + 1, 4) == taken(batches, 1, first + 4)[first:]


def test_the_order_is_the_stream_shuffle_s() -> None:
    batches = Batches(numbered(7), 7, False, 11)
    expected = [draw.shuffle(draw.key(11, "shuffle", ""), epoch, 7).tolist() for epoch in (1, 2, 3)]
    assert taken(batches, 1, 3) == expected
    assert expected[0] != expected[1]


def test_epochs_count_from_one() -> None:
    batches = Batches(numbered(10), 3, False, 0)
    assert [batches.epoch(step) for step in (1, 3, 4, 6, 7)] == [1, 1, 2, 2, 3]


def test_windows_overlap_by_one_symbol() -> None:
    rows = WindowRows(np.arange(100, 112), 4, ("x", "y"))
    assert rows.count == 2
    found = rows.take(np.array([1, 0]))
    assert found["x"].tolist() == [[104, 105, 106, 107], [100, 101, 102, 103]]
    assert (found["y"] == found["x"] + 1).all()
    assert rows.part(1, 2).take(np.array([0]))["y"].tolist() == [[105, 106, 107, 108]]


def begins(symbols: int, context: int, seed: int, epoch: int) -> list[int]:
    rows = WindowRows(np.arange(symbols), context, ("x", "y")).in_epoch(seed, epoch)
    found = rows.take(np.arange(rows.count))
    assert (found["x"] == found["x"][:, :1] + np.arange(context)).all() and (found["y"] == found["x"] + 1).all()
    return found["x"][:, 0].tolist()


@given(st.integers(1, 9), st.integers(0, 200), st.integers(0, 2**64 - 1), st.integers(1, 2**40))
def test_windows_begin_in_equal_parts_of_the_text(context: int, more: int, seed: int, epoch: int) -> None:
    symbols = context + 1 + more
    found = begins(symbols, context, seed, epoch)
    count, places = (symbols - 1) // context, symbols - context
    assert len(found) == count
    edges = [sum(places // count + (part < places % count) for part in range(at)) for at in range(count + 1)]
    assert edges[-1] == places
    assert all(low <= at < high for at, low, high in zip(found, edges, edges[1:], strict=False))


def test_where_a_window_begins_is_what_the_page_says() -> None:
    found = begins(103, 10, 7, 3)  # 93 places, ten parts: three of 10 places, seven of 9
    bits = [int(each) for each in draw.bits(draw.key(7, "windows", ""), 3, 10)]
    sizes = [10] * 3 + [9] * 7
    assert found == [sum(sizes[:at]) + (bits[at] * size >> 64) for at, size in enumerate(sizes)]


def test_windows_begin_everywhere_in_time() -> None:
    found = [begins(30, 8, 1, epoch) for epoch in range(1, 200)]
    assert {place for epoch in found for place in epoch} == set(range(22))
    assert len({tuple(each) for each in found}) > 150
    assert begins(30, 8, 1, 2) == found[1] != begins(30, 8, 2, 2)


def test_batches_take_an_epoch_s_own_windows() -> None:
    batches = Batches(WindowRows(np.arange(100), 8, ("x",)), 5, True, 3)
    stepped = [each["x"][:, 0].tolist() for each in islice(batches.from_step(1), 3 * batches.per_epoch)]
    whole = [stepped[at * batches.per_epoch : (at + 1) * batches.per_epoch] for at in range(3)]
    expected = [begins(100, 8, 3, epoch) for epoch in (1, 2, 3)]
    assert [sorted(begin for batch in epoch for begin in batch) for epoch in whole] == expected
    assert taken(batches, 5, 3) == taken(batches, 1, 7)[4:]


def test_windows_that_measure_stay_in_their_places() -> None:
    measure = WindowRows(np.arange(20), 4, ("x",))
    assert [batch["x"][:, 0].tolist() for _, batch in in_order(measure, 3)] == [[0, 4, 8], [12]]


@pytest.mark.parametrize(("symbols", "count"), [(0, 0), (4, 0), (5, 1), (8, 1), (9, 2)])
def test_a_window_is_whole(symbols: int, count: int) -> None:
    assert WindowRows(np.zeros(symbols, np.int64), 4, ("x",)).count == count


def test_rows_in_their_own_order() -> None:
    found = [(start, batch["x"].tolist()) for start, batch in in_order(numbered(5), 2)]
    assert found == [(0, [0, 1]), (2, [2, 3]), (4, [4])]


def test_the_hash_is_of_content() -> None:
    assert numbered(4).hash() == numbered(4).hash() != numbered(5).hash()
    assert numbered(8).part(0, 4).hash() == numbered(4).hash()


def mapped(folder: Path, values: np.ndarray) -> ArrayRows:
    path = folder / f"{len(list(folder.iterdir()))}.npy"  # what is mapped can't be written anew
    np.save(path, values)
    return ArrayRows({"x": np.lib.format.open_memmap(path, mode="r")})


@pytest.mark.parametrize("width", [1, 3, 100])
def test_a_large_mapped_file_is_known_by_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(rows, "WHOLE", 1024)
    monkeypatch.setattr(rows, "SAMPLES", 8)
    x = np.arange(900.0 * width).reshape(900, width)
    whole = mapped(tmp_path, x)
    before = whole.hash()
    assert before == mapped(tmp_path, x).hash()
    assert list(whole.written()) == ["x"]
    found = {change: _with(tmp_path, x, change).hash() == before for change in range(900)}
    assert not found[0] and not found[899]
    unseen = sum(found.values())
    assert 900 - unseen == pytest.approx(128 // width, abs=8)  # so many rows are read
    assert mapped(tmp_path, x[:-1]).hash() != before
    assert mapped(tmp_path, x.astype(np.float32)).hash() != before
    assert whole.part(0, 100).hash() == ArrayRows({"x": x[:100]}).hash() or width > 1  # a small part is read
    assert ArrayRows({"x": x}).written() == {}


def _with(folder: Path, values: np.ndarray, row: int) -> ArrayRows:
    changed = values.copy()
    changed[row, 0] += 1
    return mapped(folder, changed)
