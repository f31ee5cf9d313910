"""Data sources: what each gives, and that what doesn't fit the objective's batch is told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.train.programs import LINEAR, written

from presk.check.program import load
from presk.text.diagnostics import PreskError
from presk.train.sources import Data, open_data
from presk.train.step import open_task

BLOCK = "optimizer = sgd; lr = 0.1; batch = 4; epochs = 1"
TOKENS = """\
const V = 8
module M { w: real[V] = zeros }
type Batch = {x: nat[batch, seq: T] < V, y: nat[batch, seq: T] < V}
fn loss(m: M, batch: Batch) -> real { sum(take(m.w, batch.x, axis = 0)) }
"""


def data_of(folder: Path, program: str, model: str, data: str, given: dict[str, object] | None = None) -> Data:
    text = f"{program}\ntrain t {{ model = {model}; objective = loss; {BLOCK}; {data} }}\n"
    checked = written(folder, text)
    return open_data(open_task(checked, checked.trains["t"]), given, 0)


def refused(code: str, *arguments: object) -> PreskError:
    with pytest.raises(PreskError) as caught:
        data_of(*arguments)  # type: ignore[arg-type]
    assert caught.value.code == code, caught.value.render()
    return caught.value


def every(data: Data) -> dict[str, list[object]]:
    return {name: each.tolist() for name, each in data.train.take(np.arange(data.train.count)).items()}


# In memory


def test_arrays_in_memory_stand_in_place_of_data(tmp_path: Path) -> None:
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10)[:, None]
    found = data_of(tmp_path, LINEAR, "Linear{2, 1}", "", {"x": x, "y": y})
    assert (found.train.count, found.measure) == (10, None)
    split = 'data = csv("unread.csv", x = ["a", "b"], y = ["c"], split = 0.75)'
    found = data_of(tmp_path, LINEAR, "Linear{2, 1}", split, {"x": x, "y": y})
    assert found.measure is not None
    assert (found.train.count, found.measure.count) == (7, 3)
    assert found.measure.take(np.array([0]))["x"].tolist() == [[14.0, 15.0]]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"x": np.zeros((4, 2))}, "it lacks `y`"),
        ({"x": np.zeros((4, 2)), "y": np.zeros((4, 1)), "z": np.zeros(4)}, "unexpected `z`"),
        ({"x": np.zeros((4, 2)), "y": np.zeros((3, 1))}, "different numbers of rows: `x` 4, `y` 3"),
        ({"x": np.zeros((4, 2)), "y": np.zeros(4)}, "`y` of the data given has 1 axis"),
        ({"x": np.zeros((4, 3)), "y": np.zeros((4, 1))}, "the data don't fit the batch"),
        ({"x": np.zeros((4, 2), bool), "y": np.zeros((4, 1))}, "elements of bool"),
        ({"x": np.float64(1), "y": np.zeros((4, 1))}, "different numbers of rows: `x` none, `y` 4"),
    ],
)
def test_arrays_that_are_not_the_batch(tmp_path: Path, given: dict[str, object], says: str) -> None:
    assert says in refused("E8071", tmp_path, LINEAR, "Linear{2, 1}", "", given).diagnostics[0].message


def test_without_data(tmp_path: Path) -> None:
    refused("E8070", tmp_path, LINEAR, "Linear{2, 1}", "")
    empty = {"x": np.zeros((0, 2)), "y": np.zeros((0, 1))}
    refused("E8075", tmp_path, LINEAR, "Linear{2, 1}", "", empty)


# Tables


def test_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
    found = data_of(tmp_path, LINEAR, "Linear{2, 1}", 'data = csv("t.csv", x = ["c", "a"], y = ["b"])')
    assert every(found) == {"x": [[3, 1], [6, 4], [9, 7]], "y": [[2], [5], [8]]}
    error = refused("E8071", tmp_path, LINEAR, "Linear{2, 1}", 'data = csv("t.csv", x = ["c", "a"], y = "b")')
    assert error.hint == '`y = ["…"]` has a column a name, `y = "…"` is one column alone'
    refused("E8071", tmp_path, LINEAR, "Linear{2, 1}", 'data = csv("t.csv", x = ["c", "a"])')
    refused("E8001", tmp_path, LINEAR, "Linear{2, 1}", 'data = csv("u.csv", x = ["c", "a"], y = ["b"])')


def test_a_table_is_scaled_by_the_rows_that_train(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n3,2,6\n100,200,9\n")
    recipe = 'data = csv("t.csv", x = ["a", "b"], y = ["c"], standardize = true, split = 0.67)'
    found = data_of(tmp_path, LINEAR, "Linear{2, 1}", recipe)
    assert every(found) == {"x": [[-1, 0], [1, 0]], "y": [[3], [6]]}
    assert json.loads(found.notes["scaling"]) == {"x": {"mean": [2, 2], "deviation": [1, 1]}}
    assert found.measure is not None
    assert found.measure.take(np.array([0]))["x"].tolist() == [[98, 198]]


def test_what_can_not_be_scaled_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1,1e300,3\n3,2,6\n100,200,9\n")
    recipe = 'data = csv("t.csv", x = ["a", "b"], y = ["c"], standardize = true)'
    assert "can't be standardized" in refused("E8073", tmp_path, LINEAR, "Linear{2, 1}", recipe).diagnostics[0].message
    assert every(data_of(tmp_path, LINEAR, "Linear{2, 1}", recipe.replace(", standardize = true", "")))["y"]


def test_a_list_of_columns_has_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,c\n1,3\n")
    refused("E8027", tmp_path, LINEAR, "Linear{0, 1}", 'data = csv("t.csv", x = [], y = ["c"])')


def test_labels_become_sorted_indices_below_their_bound(tmp_path: Path) -> None:
    program = (
        "module M { w: real[2] = zeros }\n"
        "fn loss(m: M, batch: {x: real[n, 2], y: nat[n] < 2}) -> real { mean(dot(batch.x, m.w) * batch.y) }"
    )
    (tmp_path / "t.csv").write_text("a,b,kind\n1,2,pear\n3,4,apple\n")
    recipe = 'data = csv("t.csv", x = ["a", "b"], y = "kind")'
    found = data_of(tmp_path, program, "M", recipe)
    assert every(found)["y"] == [1, 0]
    assert json.loads(found.notes["labels"]) == {"y": ["apple", "pear"]}
    (tmp_path / "t.csv").write_text("a,b,kind\n1,2,pear\n3,4,apple\n5,6,quince\n")
    error = refused("E8074", tmp_path, program, "M", recipe)
    assert error.diagnostics[0].message == "`y` is 2 in row 2 of the data, and the batch has nats below 2"


# Arrays in files


def test_npz_npy_and_a_folder(tmp_path: Path) -> None:
    x, y = np.arange(8.0).reshape(4, 2), np.arange(4.0)[:, None]
    np.savez(tmp_path / "d.npz", x=x, y=y)
    (tmp_path / "d").mkdir()
    np.save(tmp_path / "d" / "x.npy", x)
    np.save(tmp_path / "d" / "y.npy", y)
    whole = data_of(tmp_path, LINEAR, "Linear{2, 1}", 'data = arrays("d.npz")')
    mapped = data_of(tmp_path, LINEAR, "Linear{2, 1}", 'data = arrays("d")')
    assert every(whole) == every(mapped) == {"x": x.tolist(), "y": y.tolist()}
    assert isinstance(mapped.train.arrays()["x"], np.memmap)
    assert mapped.train.hash() == whole.train.hash()
    refused("E8071", tmp_path, LINEAR, "Linear{2, 1}", 'data = arrays("d/x.npy")')
    (tmp_path / "empty").mkdir()
    refused("E8003", tmp_path, LINEAR, "Linear{2, 1}", 'data = arrays("empty")')
    (tmp_path / "d" / "y.npy").write_bytes(b"\x93NUMPY nonsense")
    refused("E8003", tmp_path, LINEAR, "Linear{2, 1}", 'data = arrays("d")')


# Tokens


def test_tokens(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("abcdefgabcdefgabc")
    found = data_of(tmp_path, TOKENS, "M", 'data = tokens("t.txt", context = 3, split = 0.6)')
    assert found.measure is not None
    assert (found.train.count, found.measure.count) == (3, 2)
    assert every(found) == {"x": [[0, 1, 2], [3, 4, 5], [6, 0, 1]], "y": [[1, 2, 3], [4, 5, 6], [0, 1, 2]]}
    assert found.measure.take(np.array([0]))["x"].tolist() == [[3, 4, 5]]
    assert json.loads(found.notes["tokenizer"]) == {"kind": "chars", "characters": "abcdefg"}


def test_symbols_in_a_file_are_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.arange(8, dtype=np.uint16) % 8)
    found = data_of(tmp_path, TOKENS, "M", 'data = tokens("t.npy", context = 3)')
    assert every(found)["y"] == [[1, 2, 3], [4, 5, 6]]
    assert found.notes == {}
    np.save(tmp_path / "t.npy", np.zeros((2, 2)))
    refused("E8071", tmp_path, TOKENS, "M", 'data = tokens("t.npy", context = 3)')


def test_tokens_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("abcdefghij")
    refused("E8045", tmp_path, TOKENS, "M", 'data = tokens("t.txt", context = 3)')
    (tmp_path / "t.txt").write_text("abc")
    assert "how long" in refused("E8071", tmp_path, TOKENS, "M", 'data = tokens("t.txt")').diagnostics[0].message
    refused("E8075", tmp_path, TOKENS, "M", 'data = tokens("t.txt", context = 3)')
    fixed = TOKENS.replace("seq: T", "seq: 2")
    refused("E8071", tmp_path, fixed, "M", 'data = tokens("t.txt", context = 3)')
    assert data_of(tmp_path, fixed, "M", 'data = tokens("t.txt")').train.count == 1
    refused("E8071", tmp_path, LINEAR, "Linear{2, 1}", 'data = tokens("t.txt", context = 3)')


# Made up


def test_synthetic_rows_are_the_same_for_every_seed_s_training(examples: Path) -> None:
    checked = load(examples / "vae" / "vae.psk")
    task = open_task(checked, checked.trains["ring"])
    one, same, other = (open_data(task, None, seed) for seed in (1, 1, 2))
    assert one.train.count == 1024
    assert one.train.hash() == same.train.hash() != other.train.hash()
    radius = np.linalg.norm(one.train.arrays()["x"], axis=1)
    assert abs(radius.mean() - 1) < 0.05


def test_a_function_that_makes_no_rows(tmp_path: Path) -> None:
    program = LINEAR + "fn made(n: nat) -> real { n }\n"
    refused("E8071", tmp_path, program, "Linear{2, 1}", "data = synthetic(made, count = 3)")
    refused("E8071", tmp_path, program, "Linear{2, 1}", "data = synthetic(made)")


# Batches


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        ("{x: real[n, 2], y: real}", "`y` of the batch is a scalar"),
        ("{x: real[n, 2], y: real[k, 1]}", "first axes of the batch's leaves differ (k, n)"),
    ],
)
def test_a_batch_whose_leaves_do_not_count_rows(tmp_path: Path, batch: str, says: str) -> None:
    program = f"module M {{ w: real = zeros }}\nfn loss(m: M, batch: {batch}) -> real {{ m.w }}\n"
    arrays = {"x": np.zeros((2, 2)), "y": np.zeros((2, 1))}
    assert says in refused("E8071", tmp_path, program, "M", "", arrays).diagnostics[0].message


def test_a_size_that_neither_model_nor_data_decide(tmp_path: Path) -> None:
    program = "module M { w: real = zeros }\nfn loss(m: M, batch: {x: nat[n] < K}) -> real { m.w * mean(batch.x) }\n"
    error = refused("E8071", tmp_path, program, "M", "", {"x": np.arange(3)})
    assert "follow from neither the model nor the data" in error.diagnostics[0].message
