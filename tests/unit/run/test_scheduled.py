"""Backends that run a schedule: what arguments they take, where they read them, and what decides their bits."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import presk
from presk.core.bind import bind
from presk.realization.model import Realization
from presk.run import machine
from presk.run.backend import Entry
from presk.run.kernel_backend import KernelInterpreter
from presk.run.scheduled import ScheduledExecutable
from presk.text.diagnostics import PreskError

PROGRAM = presk.loads(
    """
    fn affine(m: {w: real[n, k], b: real[k]}, x: real[batch, n]) -> real[batch, k] { dot(x, m.w) + m.b }
    fn pick(x: real[n, k], t: nat[batch] < n) -> real[batch, k] { embed(x, t) }
    fn keep(x: real[n], m: bool[n]) -> real[n] { where(m, x, 0) }
    fn both(x: real[n]) -> (real[n], {twice: real[n], count: nat[n] < n}) {
        (x, {twice = x + x, count = positions[n]()})
    }
    fn noisy(x: real[batch, n]) -> real[batch, n] { x + normal[batch, n]() }
    fn scaled(x: real[n], c: real = 1 / 3) -> real[n] { x * c }
    """
)


def prepared(name: str, realize: str = "f32", donate: Sequence[int] = (), **options: Any) -> ScheduledExecutable:
    threads = options.pop("threads", 2)
    entry = Entry(name, bind(PROGRAM.checked, name, dims=options))
    return KernelInterpreter(watch=True).prepare(entry, Realization(realize), threads=threads, donate=donate)


def affine(**options: Any) -> ScheduledExecutable:
    return prepared("affine", n=3, k=2, batch=4, **options)


W = np.arange(6, dtype=np.float32).reshape(3, 2) / 8
B = np.array([0.5, -2], np.float32)
X = np.arange(12, dtype=np.float32).reshape(4, 3) / 4 - 1
M = {"w": W, "b": B}
Y = X @ W + B


def test_results_are_new_arrays_of_the_realizations_type() -> None:
    for realize, dtype in (("f64", np.float64), ("f32", np.float32), ("bf16", ml_dtypes.bfloat16)):
        result = affine(realize=realize)(M, X)
        assert result.dtype == dtype
        assert result.flags.writeable
        assert np.array_equal(result.astype(np.float32), Y.astype(dtype).astype(np.float32))


def test_trees_come_back_as_trees() -> None:
    first, second = prepared("both", n=3)(np.array([1.0, 2.0, 3.0]))
    assert first.tolist() == [1, 2, 3]
    assert list(second) == ["twice", "count"]
    assert second["twice"].tolist() == [2, 4, 6]
    assert second["count"].dtype == np.int64
    assert second["count"].tolist() == [0, 1, 2]


def unaligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    room = np.zeros(array.nbytes + 1, np.uint8)[1:]
    made = room.view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def readonly(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    made = array.copy()
    made.flags.writeable = False
    return made


LAYOUTS = {
    "Fortran's order": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "an offset": lambda x: np.concatenate((x[:1], x))[1:],
    "not aligned": unaligned,
    "read-only": readonly,
    "other bytes' order": lambda x: x.astype(x.dtype.newbyteorder()),
    "f64": lambda x: x.astype(np.float64),
    "bf16, exactly": lambda x: x.astype(ml_dtypes.bfloat16),
    "a list": lambda x: x.tolist(),
    "a subclass": lambda x: x.view(np.matrix) if x.ndim == 2 else x,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("realize", ["f64", "f32", "bf16"])
def test_arrays_may_lie_in_memory_as_they_like(layout: str, realize: str) -> None:
    run, change = affine(realize=realize), LAYOUTS[layout]
    expected = run(M, X)
    assert np.array_equal(run({"w": change(W), "b": change(B)}, change(X)), expected)
    assert np.array_equal(run.bind(m={"w": change(W), "b": change(B)})(change(X)), expected)


def test_one_array_may_be_several_arguments() -> None:
    square = np.arange(4, dtype=np.float32).reshape(2, 2)
    run = prepared("affine", n=2, k=2, batch=2)
    assert np.array_equal(run({"w": square, "b": square[0]}, square), square @ square + square[0])


def test_arrays_without_elements() -> None:
    run = prepared("affine", n=0, k=2, batch=3)
    assert run({"w": np.zeros((0, 2)), "b": B}, np.zeros((3, 0))).tolist() == [B.tolist()] * 3
    assert prepared("affine", n=3, k=2, batch=0)(M, np.zeros((0, 3))).shape == (0, 2)


def test_f64_reaches_bf16_through_f32() -> None:
    twice = 1 + 2.0**-8 + 2.0**-40
    result = prepared("keep", "bf16", n=1)(np.array([twice]), np.array([True]))
    assert float(result[0]) == 1.0
    exact = presk.compile(PROGRAM["scaled"], realize="f32", backend="kernel", dims={"n": 1})(np.ones(1))
    assert exact[0] == np.float32(1) / np.float32(3)


def test_indices_are_copied_and_checked() -> None:
    run = prepared("pick", n=3, k=2, batch=2)
    tokens = np.array([2, 0])
    assert np.array_equal(run(W, tokens), W[[2, 0]])
    assert np.array_equal(run(W, tokens.astype(np.uint8)), W[[2, 0]])
    for wrong in ([0, 3], [-1, 0], [1 << 40, 0]):
        with pytest.raises(PreskError) as caught:
            run(W, np.array(wrong))
        assert caught.value.code == "E6002"
        assert "`t`" in str(caught.value)


def test_the_extension_checks_indices_itself() -> None:
    run = prepared("pick", n=3, k=2, batch=2)
    with pytest.raises(PreskError) as caught:
        run._kept(1, np.array([0, 3]))  # pyright: ignore[reportPrivateUsage]
    assert caught.value.code == "E6002"
    assert "at [1] is 3, and must be below 3" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (({"w": W}, X), "E6030"),
        (({"w": W, "b": B, "c": B}, X), "E6030"),
        ((W, X), "E6030"),
        ((M, {"x": X}), "E6030"),
        (({"w": W.T, "b": B}, X), "E6001"),
        ((M, X[:3]), "E6001"),
        ((M, X.astype(complex)), "E6001"),
        ((M, "x"), "E6001"),
        ((M, None), "E6001"),
    ],
)
def test_other_arguments_are_refused(arguments: tuple[Any, ...], code: str) -> None:
    with pytest.raises(PreskError) as caught:
        affine()(*arguments)
    assert caught.value.code == code


def test_arguments_that_need_no_look_give_what_a_call_gives() -> None:
    run, pick = affine(), prepared("pick", n=5, k=2, batch=3)
    table, places = np.arange(10, dtype=np.float32).reshape(5, 2), np.array([4, 0, 2])
    keep = prepared("keep", n=3)
    for each, given in (
        (run, (M, X)),
        (run.bind(m=M), (X,)),
        (run, ({"b": B.astype(np.float64), "w": W.T.copy().T}, X[::-1])),
        (pick, (table, places)),
        (keep, (X[0], np.array([True, False, True]))),
    ):
        found = each.immediate(given, 0, 0, 0)
        assert found is not None
        assert found.tobytes() == each(*given).tobytes()


@pytest.mark.parametrize(
    "given",
    [
        ({"w": W}, X),
        ({"w": W, "b": B, "c": B}, X),
        ([W, B], X),
        (M, X.tolist()),
        (M, X[:3]),
        (M, X.astype(int)),
        (M, np.ma.masked_array(X)),
        ({"w": W, "b": 1.0}, X),
    ],
)
def test_other_arguments_are_left_to_a_call(given: tuple[Any, ...]) -> None:
    assert affine().immediate(given, 0, 0, 0) is None


def test_an_index_that_is_none_is_left_to_a_call_which_explains_it() -> None:
    pick = prepared("pick", n=5, k=2, batch=3)
    given = (np.zeros((5, 2), np.float32), np.array([0, 5, 1]))
    assert pick.immediate(given, 0, 0, 0) is None
    assert pick.immediate((given[0], given[1].astype(np.int32)), 0, 0, 0) is None
    with pytest.raises(PreskError, match="batch"):
        pick(*given)


def test_the_extension_refuses_arrays_that_arent_its_inputs() -> None:
    runner = affine().runner
    for array in (X[:3], X.astype(np.int64), X.astype(np.float16)):
        with pytest.raises(presk._native.ScheduleError) as caught:
            runner.take(2, array)
        assert caught.value.args[0] == "E9216"
    with pytest.raises(IndexError):
        runner.take(3, X)
    with pytest.raises(ValueError, match="takes 3 arrays"):
        runner.run([X], seed=0, step=0, row_offset=0, threads=1)
    with pytest.raises(ValueError, match="no backend"):
        presk._native.Schedule("", "other")


def test_what_is_bound_stays_as_it_was() -> None:
    w, b = W.copy(), B.astype(np.float64)
    run = affine()
    bound = run.bind(m={"w": w, "b": b})
    w[:], b[:] = 0, 0
    assert np.array_equal(bound(X), Y)
    assert np.array_equal(bound.bind(x=X)(), Y)
    assert np.array_equal(run(M, X), Y), "binding made another executable"


def test_a_donated_argument_may_come_back_as_the_result() -> None:
    run = prepared("scaled", "f64", donate=[0], n=3)
    x = np.array([3.0, 6.0, 9.0])
    result = run(x, 0.5)
    assert result.tolist() == [1.5, 3.0, 4.5]
    if any(each.shares is not None for each in run.schedule.outputs):
        assert result is x
    frozen = readonly(np.array([3.0, 6.0, 9.0]))
    assert run(frozen, 0.5).tolist() == [1.5, 3.0, 4.5]
    assert frozen.tolist() == [3.0, 6.0, 9.0]


def test_rows_are_their_own_at_any_batch() -> None:
    rows = {batch: prepared("noisy", n=5, batch=batch) for batch in (1, 2, 3, 17)}
    x = np.linspace(0, 1, 17 * 5, dtype=np.float32).reshape(17, 5)
    whole = rows[17](x, seed=3, step=9)
    for batch, run in rows.items():
        for start in range(0, 17 - batch + 1, batch):
            part = run(x[start : start + batch], seed=3, step=9, row_offset=start)
            assert np.array_equal(part, whole[start : start + batch])
    assert not np.array_equal(rows[17](x, seed=4, step=9), whole)
    assert not np.array_equal(rows[17](x, seed=3, step=8), whole)


def test_draws_are_those_of_the_reference() -> None:
    exact = presk.compile(PROGRAM["noisy"], backend="interp")(X, seed=5, step=2, row_offset=7)
    machine = prepared("noisy", "f64", n=3, batch=4)(X, seed=5, step=2, row_offset=7)
    assert np.allclose(np.asarray(exact), machine, rtol=1e-15)


@pytest.mark.parametrize("name", ["seed", "step", "row_offset"])
def test_coordinates_of_draws_are_64_bits(name: str) -> None:
    run = prepared("noisy", n=3, batch=4)
    run(X, **{name: np.int64(3)})
    for wrong in (-1, 1 << 64, 1.5, "1"):
        with pytest.raises(PreskError) as caught:
            run(X, **{name: wrong})
        assert caught.value.code == "E6020"
    if name == "row_offset":
        with pytest.raises(PreskError) as caught:
            run(X, row_offset=(1 << 64) - 1)
        assert caught.value.code == "E6020"


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same_bits(threads: int) -> None:
    big = prepared("noisy", n=300, batch=250, threads=1)
    x = np.zeros((250, 300), np.float32)
    assert np.array_equal(prepared("noisy", n=300, batch=250, threads=threads)(x, seed=1), big(x, seed=1))


@pytest.mark.parametrize("threads", [0, -1, 5000])
def test_a_number_of_threads_that_is_none(threads: int) -> None:
    with pytest.raises(PreskError) as caught:
        affine(threads=threads)
    assert caught.value.code == "E9007"


def test_threads_are_those_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry("affine", bind(PROGRAM.checked, "affine", dims={"n": 3, "k": 2, "batch": 4}))
    assert KernelInterpreter().prepare(entry, Realization()).threads == machine.threads()
    monkeypatch.setenv("PRESK_THREADS", "3")
    assert KernelInterpreter().prepare(entry, Realization()).threads == 3


def test_calls_at_once() -> None:
    run, wrong = prepared("noisy", n=300, batch=200, threads=3), list[str]()
    x = [np.full((200, 300), each, np.float32) for each in range(6)]
    expected = [run(each, seed=at) for at, each in enumerate(x)]

    def call(at: int) -> None:
        for _ in range(5):
            if not np.array_equal(run(x[at], seed=at), expected[at]):
                wrong.append(f"call {at}")

    callers = [threading.Thread(target=call, args=(at,)) for at in range(6)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert not wrong
    assert run.runner.free_arenas >= 1


def test_a_forked_child_has_workers_of_its_own() -> None:
    run = prepared("noisy", n=300, batch=250, threads=4)
    x = np.zeros((250, 300), np.float32)
    before = run(x, seed=2)
    child = os.fork()
    if child == 0:
        fresh = prepared("noisy", n=300, batch=250, threads=2)
        equal = all(np.array_equal(each(x, seed=2), before) for each in (run, fresh, run))
        os._exit(0 if equal else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert np.array_equal(run(x, seed=2), before)


@contextmanager
def rounding_upward() -> Iterator[None]:
    upward = {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine())
    library = ctypes.CDLL(None)
    if upward is None or not hasattr(library, "fesetround"):
        pytest.skip("no way to set the rounding mode")
    found = library.fegetround()
    library.fesetround(upward)
    try:
        yield
    finally:
        library.fesetround(found)


def test_the_callers_rounding_mode_has_no_part() -> None:
    x = np.linspace(0, 1, 250 * 300).reshape(250, 300)
    for realize in ("f64", "f32", "bf16"):
        run = prepared("noisy", realize, n=300, batch=250)
        expected = run(x, seed=1)
        with rounding_upward():
            found = run(x, seed=1)
        assert np.array_equal(found.view(np.uint8), expected.view(np.uint8))


def test_the_arena_is_known_before_anything_runs() -> None:
    run = affine()
    assert run.arena_bytes == run.schedule.arena
    with pytest.raises(PreskError) as caught:
        prepared("noisy", n=1 << 20, batch=1 << 22)
    assert caught.value.code == "E9004"


def test_a_profile_has_every_step() -> None:
    run = prepared("noisy", n=5, batch=4)
    x = np.zeros((4, 5))
    result, timings = run.profile(x, seed=3)
    assert np.array_equal(result, run(x, seed=3))
    assert len(timings) == len(run.schedule.steps)
    assert all(runs == 1 and 0 <= time < 10**9 for _, runs, time in timings)
    assert any(label.startswith("normal") for label, _, _ in timings)
