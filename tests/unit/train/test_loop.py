"""The training loop: the same bits whatever runs them, and to go on is never to have stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.train.programs import BLOCK, LINEAR, linear, written

import presk
from presk.api.program import Program
from presk.run import tensor_files, trees
from presk.text.diagnostics import PreskError
from presk.train import checkpoints, loop, rows
from presk.train.checkpoints import tree_hash
from presk.train.events import Measurement, Remark, Start, Step
from presk.train.folder import METRICS
from presk.train.loop import parameter_hash

X = np.arange(40.0).reshape(20, 2) % 7 / 7
Y = (X @ np.array([[1.0], [-2.0]]) + 0.5) + np.sin(np.arange(20.0))[:, None] / 10
DATA = {"x": X, "y": Y}


def program(keys: str = "") -> Program:
    return Program(linear(keys), "linear")


def fit(keys: str = "", **settings: Any) -> presk.Run:
    given = {"data": DATA, "realize": "f64", **settings}
    return presk.train(program(keys)["fit"], **given)


def bits(run: presk.Run) -> str:
    return parameter_hash(run.params)


# What it computes


def test_a_step_is_what_numpy_makes_of_the_formulas() -> None:
    run = fit("clip = 0.25\n", settings={"optimizer": "sgd(momentum = 0.5)"}, steps=6)
    task_params = presk.compile(presk.loads(LINEAR)["loss"], dims={"I": 2, "O": 1, "batch": 4}).init(seed=3)
    w, b = task_params["w"], task_params["b"]
    moved = [np.zeros_like(w), np.zeros_like(b)]
    batches = islice(_batches(), 6)
    for number, (step, (x, y)) in enumerate(zip(run.history, batches, strict=True), 1):
        assert isinstance(step, Step)
        d = x @ w + b - y
        gradients = [2 * x.T @ d / len(x), 2 * d.sum(0) / len(x)]
        norm = np.sqrt(sum(float((each**2).sum()) for each in gradients))
        rate = 0.05 * number / 5 if number < 5 else 0.05
        assert step.loss == pytest.approx(float((d**2).mean()), rel=1e-13)
        assert step.metrics["worst"] == pytest.approx(np.abs(d).max(), rel=1e-13)
        assert step.norm == pytest.approx(norm, rel=1e-13)
        assert step.lr == rate
        moved = [0.5 * v + g * (0.25 / max(norm, 0.25)) for v, g in zip(moved, gradients, strict=True)]
        w, b = w - rate * moved[0], b - rate * moved[1]
    np.testing.assert_allclose(run.params["w"], w, rtol=1e-13)
    np.testing.assert_allclose(run.params["b"], b, rtol=1e-13)


def _batches() -> Any:
    from presk.train.rows import ArrayRows, Batches

    for each in Batches(ArrayRows(DATA), 4, False, 3).from_step(1):
        yield each["x"], each["y"]


def test_a_loss_falls_and_the_history_has_every_step() -> None:
    run = fit(epochs=20)
    assert [each.step for each in run.history] == list(range(1, 101))
    assert [each.epoch for each in run.history][:25:5] == [1, 2, 3, 4, 5]
    assert sum(run.losses[-5:]) < sum(run.losses[:5]) / 2
    assert run.path is None
    assert repr(run).startswith("<presk.Run of 100 steps, loss ")


def test_frozen_parameters_keep_their_bits() -> None:
    run = fit('freeze = ["w"]\nclip = 0.1\n')
    begun = presk.compile(presk.loads(LINEAR)["loss"], dims={"I": 2, "O": 1, "batch": 4}).init(seed=3)
    assert run.params["w"].tobytes() == begun["w"].tobytes()
    assert run.params["b"] != begun["b"]


def test_a_short_last_batch_is_a_step_of_its_own() -> None:
    kept, dropped = fit("last = keep\n", settings={"batch": "8"}), fit(settings={"batch": "8"})
    assert [len(kept.losses), len(dropped.losses)] == [15, 10]


# The same bits


@pytest.mark.parametrize("realize", ["f64", "f32", "bf16"])
def test_backends_and_threads_give_the_same_bits(realize: str) -> None:
    expected = bits(fit(realize=realize, backend="kernel"))
    assert {bits(fit(realize=realize, backend="native", threads=threads)) for threads in (1, 2, 3, 7)} == {expected}


def test_parameters_begin_and_batches_come_alike_on_every_backend() -> None:
    first = [fit(backend=each, steps=1, bits=128).history[0] for each in ("interp", "kernel", "native")]
    losses = [each.loss for each in first]
    assert losses[1] == losses[2]
    assert losses[0] == pytest.approx(losses[1], rel=1e-14)


def test_the_reference_is_close_and_the_seed_matters() -> None:
    exact = fit(backend="interp", bits=128)
    near = fit()
    for (_, leaf), (_, other) in zip(trees.leaves(exact.params), trees.leaves(near.params), strict=True):
        np.testing.assert_allclose(np.asarray(leaf), other, rtol=1e-12)
    assert bits(fit(seed=4)) != bits(near)


def minigpt(examples: Path, folder: Path | None, **settings: Any) -> presk.Run:
    block = presk.load(examples / "minigpt" / "minigpt.psk")["tiny"]
    return presk.train(block, realize="f32", out=folder, **settings)


@pytest.mark.slow
def test_minigpt_has_one_hash_after_fifty_steps(examples: Path, tmp_path: Path) -> None:
    runs = {
        f"{backend}-{threads}": minigpt(
            examples, tmp_path / f"{backend}-{threads}", backend=backend, threads=threads, steps=50
        )
        for backend, threads in (("kernel", 2), ("native", 1), ("native", 2), ("native", 3), ("native", 7))
    }
    assert len({bits(run) for run in runs.values()}) == 1
    logs = {(tmp_path / name / METRICS).read_bytes() for name in runs}
    assert len(logs) == 1
    last = json.loads([line for line in logs.pop().splitlines() if b'"norm"' in line][-1])
    assert (last["step"], last["parameters"]) == (50, bits(runs["native-1"]))


# Going on


@pytest.mark.parametrize("stops", [(1,), (7,), (5, 12), (1, 2, 3)])
def test_to_go_on_is_never_to_have_stopped(tmp_path: Path, stops: tuple[int, ...]) -> None:
    keys = "eval = 4\nclip = 1.0\n"
    split = {"data": None, "settings": {"data": f'arrays("{tmp_path / "d.npz"}", split = 0.8)'}}
    np.savez(tmp_path / "d.npz", **DATA)
    whole = fit(keys, out=tmp_path / "whole", **split)
    for at, step in enumerate(stops):
        fit(keys, out=tmp_path / "parts", steps=step, resume=at > 0, threads=at + 1, **split)
    rest = fit(keys, out=tmp_path / "parts", resume=True, backend="kernel", **split)
    assert bits(rest) == bits(whole)
    assert rest.history == whole.history
    assert (tmp_path / "parts" / METRICS).read_bytes() == (tmp_path / "whole" / METRICS).read_bytes()
    newest = checkpoints.weights_path(tmp_path / "whole", 20)
    assert checkpoints.read(newest).mark == checkpoints.read(checkpoints.weights_path(tmp_path / "parts", 20)).mark


def test_the_reference_goes_on_from_its_very_numbers(tmp_path: Path) -> None:
    whole = fit(backend="interp", bits=100, steps=6)
    fit(backend="interp", bits=100, steps=3, out=tmp_path / "r")
    rest = fit(backend="interp", bits=100, steps=6, out=tmp_path / "r", resume=True)
    for (_, leaf), (_, other) in zip(trees.leaves(rest.params), trees.leaves(whole.params), strict=True):
        assert leaf.mid.tolist() == other.mid.tolist()


def test_a_damaged_checkpoint_costs_only_time(tmp_path: Path) -> None:
    whole = fit()
    fit(out=tmp_path / "r", steps=17)
    assert checkpoints.steps(tmp_path / "r") == [10, 15, 17]
    checkpoints.weights_path(tmp_path / "r", 17).write_bytes(b"nonsense")
    told: list[object] = []
    rest = fit(out=tmp_path / "r", resume=True, callbacks=[told.append])
    assert bits(rest) == bits(whole)
    assert isinstance(told[0], Remark)
    assert "going on from step 15" in told[0].text
    assert told[1] == Start(15, 25, 3, 20)


def test_other_settings_are_refused(tmp_path: Path) -> None:
    fit(out=tmp_path / "r", steps=3)
    for others in ({"seed": 9}, {"realize": "f32"}, {"settings": {"lr": "0.1"}}, {"data": {"x": X + 1, "y": Y}}):
        with pytest.raises(PreskError) as caught:
            fit(out=tmp_path / "r", resume=True, **others)
        assert caught.value.code == "E8082"
    assert bits(fit(out=tmp_path / "r", resume=True)) == bits(fit())


@pytest.fixture
def heeded() -> Iterator[None]:
    """Signals as a program finds them that neither a shell's background nor `nohup` has made ignore some."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        for number in numbers
    ]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def signals(number: int, step: int, kind: type = Step) -> Callable[[object], None]:
    """A callback that sends this process a signal behind a step."""

    def send(event: object) -> None:
        if isinstance(event, kind) and event.step == step:  # type: ignore[attr-defined]
            os.kill(os.getpid(), number)

    return send


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.usefixtures("heeded")
def test_a_signal_finishes_the_step_and_saves(tmp_path: Path, number: int) -> None:
    whole = fit()
    before = signal.getsignal(number)
    with pytest.raises((KeyboardInterrupt, SystemExit)) as caught:
        fit(out=tmp_path / "r", callbacks=[signals(number, 7)])
    assert isinstance(caught.value, KeyboardInterrupt) == (number == signal.SIGINT)
    assert number == signal.SIGINT or caught.value.args == (128 + number,)
    assert signal.getsignal(number) == before
    assert checkpoints.steps(tmp_path / "r") == [5, 7]
    assert bits(fit(out=tmp_path / "r", resume=True)) == bits(whole)


@pytest.mark.usefixtures("heeded")
def test_a_signal_before_the_first_step_leaves_a_folder_to_begin_in(tmp_path: Path) -> None:
    heard: list[str] = []

    def listen(event: object) -> None:
        if isinstance(event, Remark):
            heard.append(event.text)

    with pytest.raises(SystemExit):
        fit(out=tmp_path / "r", callbacks=[signals(signal.SIGTERM, 0, Start), listen])
    assert heard == []
    with pytest.raises(PreskError, match="no checkpoint to go on from"):
        fit(out=tmp_path / "r", resume=True)
    assert bits(fit(out=tmp_path / "r")) == bits(fit())


@pytest.mark.usefixtures("heeded")
def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    for first, second in ((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)):

        def both(event: object, first: int = first, second: int = second) -> None:
            if isinstance(event, Step) and event.step == 7:
                os.kill(os.getpid(), first)
                os.kill(os.getpid(), second)

        out = tmp_path / str(first)
        with pytest.raises((KeyboardInterrupt, SystemExit)) as caught:
            fit(out=out, callbacks=[both])
        assert isinstance(caught.value, KeyboardInterrupt) == (second == signal.SIGINT)
        assert checkpoints.steps(out) == [5]


def test_a_handler_of_the_program_s_own_and_what_is_ignored_stay(tmp_path: Path) -> None:
    heard: list[int] = []
    before = [signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))]
    before += [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)]
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    try:
        run = fit(out=tmp_path / "r", callbacks=[signals(number, 7) for number in numbers])
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    assert heard == [signal.SIGTERM]
    assert len(run.losses) == 25


def test_what_a_callback_raises_ends_the_run_behind_the_step(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def raises(event: object) -> None:
        if isinstance(event, Step) and event.step == 7:
            raise Enough

    with pytest.raises(Enough):
        fit(out=tmp_path / "r", callbacks=[raises])
    assert checkpoints.steps(tmp_path / "r") == [5, 7]
    assert bits(fit(out=tmp_path / "r", resume=True)) == bits(fit())


def test_checkpoints_take_a_share_of_the_time_where_epochs_are_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    written: list[int] = []
    write = checkpoints.write

    def slowly(folder: Path, parameters: Any, state: Any, mark: checkpoints.Mark) -> None:
        write(folder, parameters, state, mark)
        written.append(mark.step)
        now[0] += 2.0  # longer than the grace

    def tick(event: object) -> None:
        now[0] += 1.0 if isinstance(event, Step) else 0.0

    monkeypatch.setattr(loop, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoints, "write", slowly)
    run = fit(out=tmp_path / "r", callbacks=[tick], epochs=12)
    assert written == [5, 10, 30, 45, 60]  # a fifth of the time at first, a tenth then; the last always
    assert bits(run) == bits(fit(epochs=12))
    assert checkpoints.steps(tmp_path / "r") == [30, 45, 60]


def test_long_epochs_are_saved_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def tick(event: object) -> None:
        now[0] += 25.0 if isinstance(event, Step) else 0.0

    monkeypatch.setattr(loop, "monotonic", lambda: now[0])
    fit("keep = 100\n", out=tmp_path / "r", callbacks=[tick], settings={"batch": "1"}, epochs=1)
    assert checkpoints.steps(tmp_path / "r") == [3, 6, 9, 12, 15, 18, 20]


def test_data_known_by_samples_go_on_with_a_remark_where_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "WHOLE", 64)
    folder = tmp_path / "d"
    folder.mkdir()
    for name, values in DATA.items():
        np.save(folder / f"{name}.npy", values)
    made = Program(written(tmp_path, f'{LINEAR}{BLOCK}data = arrays("d")\n}}\n'), "p.psk")
    presk.train(made["fit"], realize="f64", out=tmp_path / "r", steps=3)

    def told() -> list[str]:
        said: list[Any] = []
        presk.train(made["fit"], realize="f64", out=tmp_path / "r", steps=3, resume=True, callbacks=[said.append])
        return [each.text for each in said if isinstance(each, Remark)]

    assert not any("samples" in each for each in told())
    os.utime(folder / "x.npy", ns=(1, 1))
    assert any("the same by their samples" in each for each in told())
    (folder / "x.npy").unlink()
    np.save(folder / "x.npy", X + 1)
    with pytest.raises(PreskError) as caught:
        told()
    assert caught.value.code == "E8082"


# Measuring


def test_measurements_are_means_over_the_rows_kept_back(tmp_path: Path) -> None:
    keys = 'data = arrays("unread", split = 0.7)\n'
    run = fit(keys, out=tmp_path / "r")
    found = [each for each in run.history if isinstance(each, Measurement)]
    assert [each.step for each in found] == [3, 6, 9, 12, 15]
    d = X[14:] @ run.params["w"] + run.params["b"] - Y[14:]
    assert found[-1].loss == pytest.approx(float((d**2).mean()), rel=1e-13)
    best = min(found, key=lambda each: each.loss)
    assert [each for each in found if each.is_best][-1] == best
    weights = presk.load_file(tmp_path / "r" / checkpoints.BEST)
    if best.step == 15:
        assert parameter_hash(weights) == bits(run)


@pytest.mark.usefixtures("heeded")
def test_a_stop_leaves_a_measurement_to_whoever_goes_on(tmp_path: Path) -> None:
    keys = 'data = arrays("unread", split = 0.7)\n'
    whole = fit(keys, out=tmp_path / "whole")
    with pytest.raises(SystemExit):
        fit(keys, out=tmp_path / "r", callbacks=[signals(signal.SIGTERM, 6)])
    folder = tmp_path / "r"
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    assert [each["step"] for each in lines if "measured" in each] == [3]
    fit(keys, out=folder, resume=True, steps=6)  # nothing but the measurement
    assert checkpoints.read(checkpoints.weights_path(folder, 6)).mark.best is not None
    assert fit(keys, out=folder, resume=True).history == whole.history
    assert (folder / METRICS).read_bytes() == (tmp_path / "whole" / METRICS).read_bytes()
    best, expected = (tensor_files.read(each / checkpoints.BEST) for each in (folder, tmp_path / "whole"))
    assert best.metadata == expected.metadata
    assert tree_hash(best.arrays) == tree_hash(expected.arrays)


def test_patience_ends_a_training(tmp_path: Path) -> None:
    keys = 'data = arrays("unread", split = 0.7)\npatience = 2\neval = 1\n'
    run = fit(keys, settings={"lr": "3", "optimizer": "sgd"}, realize="f64", out=tmp_path / "r", epochs=1000)
    found = [each for each in run.history if isinstance(each, Measurement)]
    assert [each.is_best for each in found[-2:]] == [False, False]
    assert len(found) < 20
    again = fit(keys, settings={"lr": "3", "optimizer": "sgd"}, out=tmp_path / "r", epochs=1000, resume=True)
    assert again.history == run.history


def test_a_loss_that_is_no_number_ends_a_training(tmp_path: Path) -> None:
    with pytest.raises(PreskError) as caught:
        fit(settings={"lr": "1e200", "optimizer": "sgd"}, out=tmp_path / "r")
    assert caught.value.code == "E8083"
    assert "of step" in caught.value.diagnostics[0].message


# What can't run


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = checkpoints.write

    def full(folder: Path, parameters: object, state: object, mark: checkpoints.Mark) -> None:
        if mark.step > 5:
            raise PreskError(presk.Diagnostic("E8002", "no space left on device"))
        written(folder, parameters, state, mark)

    monkeypatch.setattr(loop.checkpoints, "write", full)
    with pytest.raises(PreskError) as caught:
        fit(out=tmp_path / "r")
    assert caught.value.code == "E8002"
    monkeypatch.undo()
    assert bits(fit(out=tmp_path / "r", resume=True)) == bits(fit())


# What a block may name


def test_an_optimizer_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "walk.psk").write_text(
        "fn init[P](p: P) -> {steps: real, last: P} { {steps = 0, last = p} }\n"
        "fn step[P](p: P, g: P, s: {steps: real, last: P}, t: real, lr: real, back: bool = false) "
        "-> (P, {steps: real, last: P}) {\n"
        "  (map(p = p, g = g) { where(back, p + lr * g, p - lr * g) }, {steps = s.steps + 1, last = p})\n}\n"
    )
    block = BLOCK.replace("optimizer = adamw(weight_decay = 0.01)", "optimizer = walk(back = true)")
    checked = written(tmp_path, f"{LINEAR}{block}\n}}\n")
    run = presk.train(Program(checked, "p")["fit"], data=DATA, realize="f64", epochs=1, out=tmp_path / "r")
    assert run.losses[-1] > run.losses[0]
    state = checkpoints.read(checkpoints.weights_path(tmp_path / "r", 5)).state
    assert state["steps"] == 5.0


def test_an_objective_of_another_file_means_what_it_means_there(tmp_path: Path) -> None:
    (tmp_path / "lib.psk").write_text(
        "const W = 2\ntype Rows = {x: real[batch, W], y: real[batch, 1]}\n"
        + LINEAR.replace("batch: {x: real[batch, I], y: real[batch, O]}", "batch: Rows").replace(
            "m: Linear{I, O}", "m: Linear{W, 1}"
        )
    )
    block = BLOCK.replace("Linear{2, 1}", "lib.Linear{lib.W, 1}").replace("objective = loss", "objective = lib.loss")
    checked = written(tmp_path, f"import lib\nconst W = 5\n{block}\n}}\n")
    assert bits(presk.train(Program(checked, "p")["fit"], data=DATA, realize="f64")) == bits(fit())


def test_frozen_parameters_of_stacked_layers(examples: Path) -> None:
    settings = {"freeze": '["blocks.att.*", "tok.w"]', "batch": "4"}
    run = minigpt(examples, None, settings=settings, steps=2)
    program = presk.load(examples / "minigpt" / "minigpt.psk")
    begun = presk.compile(program["loss"], dims={"batch": 4}).init(seed=1)
    same = {
        ".".join(path): bool((leaf == other.astype(np.float32)).all())
        for (path, leaf), (_, other) in zip(trees.leaves(run.params), trees.leaves(begun), strict=True)
    }
    still = {"tok.w", "blocks.att.qkv.w", "blocks.att.qkv.b", "blocks.att.out.w", "blocks.att.out.b"}
    assert {name for name, unmoved in same.items() if unmoved} == still


@pytest.mark.parametrize(("example", "block"), [("classifier", "fruit"), ("vae", "ring")])
def test_dropout_and_noise_are_the_same_draws_everywhere(examples: Path, example: str, block: str) -> None:
    entry = presk.load(examples / example / f"{example}.psk")[block]
    runs = [presk.train(entry, steps=5, backend=each, threads=3) for each in ("kernel", "native")]
    assert bits(runs[0]) == bits(runs[1])
    exact = presk.train(entry, steps=5, backend="interp", bits=96)
    assert runs[0].losses == pytest.approx(exact.losses, rel=1e-5)


def test_what_else_a_program_was_asked_for_is_no_setting(tmp_path: Path) -> None:
    one = program()
    presk.compile(one["lion.step[Linear{2, 1}]"])
    presk.train(one["fit"], data=DATA, realize="f64", out=tmp_path / "r", steps=3)
    assert bits(fit(out=tmp_path / "r", resume=True)) == bits(fit())


# Numbers and loops that are chosen place by place


MIXED = presk.Realization(
    storage={"adamw.step/%33": "f64", "loss_adjoint/%4": "f64"},
    order={"loss/%6": {"kind": "interleaved", "partials": 2}},
    params={"w": "bf16"},
)
LOOPS = presk.Plan("default", {"adamw.step/%33": {"split": "none"}, "loss/%2": {"form": "row-wise"}})


def test_sites_of_the_step_are_chosen_though_init_and_the_objective_have_few_of_them(tmp_path: Path) -> None:
    keys = 'data = arrays("unread", split = 0.7)\neval = 3\n'
    runs = [fit(keys, realize=MIXED, plan=LOOPS, steps=8, backend=each, threads=2) for each in ("native", "kernel")]
    assert bits(runs[0]) == bits(runs[1])
    assert bits(runs[0]) != bits(fit(keys, steps=8, realize="f32"))
    assert any(isinstance(each, Measurement) for each in runs[0].history)
    fit(keys, realize=MIXED, plan=LOOPS, steps=4, out=tmp_path / "r")
    gone_on = fit(keys, realize=MIXED, plan=LOOPS, steps=8, out=tmp_path / "r", resume=True)
    assert bits(gone_on) == bits(runs[0])


@pytest.mark.parametrize(
    "chosen",
    [
        {"realize": presk.Realization(storage={"nowhere/%1": "f64"})},
        {"plan": presk.Plan("default", {"nowhere/%1": {"lanes": 1}})},
        {"realize": presk.Realization(params={"nobody": "bf16"})},
    ],
)
def test_what_the_step_does_not_have_is_refused(chosen: dict[str, Any]) -> None:
    with pytest.raises(PreskError, match=r"nowhere|nobody") as caught:
        fit(**chosen, steps=2)
    assert caught.value.code == "E7002"


# Where a loss stops being a number

SPOILED = """\
module M { w: real = ones }
fn reach(x: real[batch]) -> real[batch] { log(x) }
fn loss(m: M, batch: {x: real[batch]}) -> real { mean(reach(batch.x * m.w)) }
train t { model = M; objective = loss; optimizer = sgd; lr = 0.25; batch = 4; epochs = 9; seed = 3 }
"""


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("backend", ["native", "kernel"])
def test_the_operation_that_spoils_a_loss_is_named(tmp_path: Path, saved: bool, backend: str) -> None:
    entry = presk.loads(SPOILED)["t"]
    told: list[str] = []
    with pytest.raises(PreskError) as caught:
        presk.train(
            entry,
            data={"x": np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])},
            backend=backend,
            out=tmp_path / "r" if saved else None,
            callbacks=[lambda event: told.append(event.line())],
        )
    found = caught.value.diagnostics[0]
    assert found.code == "E8083"
    # w falls by lr · mean(1/w) = 1/(4w): 1, 0.75, 0.4167, −0.1833, whose logarithm step 4 takes
    assert "the loss of step 4 is nan: `reach/%1` (log) is nan at [0], of -" in found.message
    assert found.span is not None and found.span.text == "log(x)"
    assert any("run once more" in line or "runs once more" in line for line in told)
    if saved:
        assert "the checkpoint of step" in found.message


def test_an_optimizer_that_overflows_is_named() -> None:
    text = SPOILED.replace("log(x)", "square(square(x))").replace("lr = 0.25", "lr = 1e6")
    with pytest.raises(PreskError, match=r"\(square\) is inf at \[\d\], of") as caught:
        presk.train(presk.loads(text)["t"], data={"x": np.arange(8.0)}, quiet=True)
    assert caught.value.code == "E8083"


def test_a_large_mapped_file_s_nan_is_named_by_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(1.0, 9.0)
    x[5] = np.nan
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(rows, "WHOLE", 1)
    (tmp_path / "p.psk").write_text(SPOILED.replace("seed = 3", 'data = arrays("x.npy"); seed = 3'))
    with pytest.raises(PreskError, match=r"`batch\.x` is nan at") as caught:
        presk.train(presk.load(tmp_path / "p.psk")["t"], quiet=True)
    assert caught.value.code == "E8083"
