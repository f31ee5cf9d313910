"""A run's folder belongs to one training at a time; the lock of a process that is gone is free."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import presk
from presk.text.diagnostics import PreskError
from presk.train.folder_lock import LOCK, FolderLock

HOLDER = """
import sys, time
from pathlib import Path
from presk.train.folder_lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
lock.take()
print("taken", flush=True)
time.sleep(60)
"""

BLOCK = """
module Net { w: real[2, 1] = normal(std = 0.5)
  fn apply(self, x: real[batch, 2]) -> real[batch, 1] { dot(x, self.w) } }
fn loss(m: Net, batch: {x: real[batch, 2], y: real[batch, 1]}) -> real { mean(square(m(batch.x) - batch.y)) }
fn rows(row: nat[batch] < 48) -> {x: real[batch, 2], y: real[batch, 1]} {
  {x = uniform[batch, 2](), y = uniform[batch, 1]()} }
train fit { model = Net; objective = loss; optimizer = sgd(); lr = 0.01
  data = synthetic(rows, count = 48); batch = 6; epochs = 1; seed = 7 }
"""


def refused(folder: Path) -> str:
    with pytest.raises(PreskError) as caught:
        FolderLock(folder).take()
    with pytest.raises(PreskError) as again:
        FolderLock(folder).require_free()
    assert caught.value.code == again.value.code == "E8080"
    return str(caught.value)


def test_one_at_a_time(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    first.take()
    first.take()
    first.require_free()
    assert f"process {os.getpid()}" in refused(tmp_path)
    first.release()
    first.release()
    assert not (tmp_path / LOCK).exists()
    FolderLock(tmp_path).require_free()
    second = FolderLock(tmp_path)
    second.take()
    second.release()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"taken\n"
        assert f"process {holder.pid}" in refused(tmp_path)
        holder.send_signal(signal.SIGKILL)
    assert (tmp_path / LOCK).exists(), "nobody deleted it"
    lock = FolderLock(tmp_path)
    lock.require_free()
    lock.take()
    lock.release()


def test_what_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("no number")
    lock = FolderLock(tmp_path)
    lock.take()
    lock.release()
    (tmp_path / LOCK).mkdir()
    with pytest.raises(PreskError) as caught:
        lock.take()
    assert caught.value.code == "E8002"
    with pytest.raises(PreskError) as caught:
        FolderLock(tmp_path / "missing").take()
    assert caught.value.code == "E8002"


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_training_is_refused_and_harms_nothing(tmp_path: Path, resume: bool) -> None:
    """Begun while the first runs, before its first checkpoint and after a resume; the first ends as it would alone."""
    program, out, codes = presk.loads(BLOCK), tmp_path / "run", list[str]()

    def other(event: object) -> None:
        if isinstance(event, presk.Step) and event.step == 5:
            for again in (False, True):
                with pytest.raises(PreskError) as caught:
                    presk.train(program["fit"], out=out, resume=again)
                codes.append(caught.value.code)

    if resume:
        presk.train(program["fit"], out=out, steps=3)
    found = presk.train(program["fit"], out=out, callbacks=[other], resume=resume)
    assert codes == ["E8080", "E8080"]
    alone = presk.train(program["fit"])
    assert found.params["w"].tobytes() == alone.params["w"].tobytes()
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 8
    assert not (out / LOCK).exists()
    assert presk.train(program["fit"], out=out, resume=True).params["w"].tobytes() == alone.params["w"].tobytes()
