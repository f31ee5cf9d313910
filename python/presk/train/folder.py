"""A run's folder: `config.json` says what runs, `metrics.jsonl` has a line for each step and measurement, `checkpoints`
what it goes on from, `best.safetensors` the best weights, `loss.png` the plot.

Lines reach the disk before the checkpoint they belong to, so a run that goes on from a checkpoint finds all lines up to
it and cuts off those behind. Called by the loop.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from presk.text.diagnostics import fail
from presk.text.files import is_file, make_folder, read_bytes, shown, unwritable, write_bytes
from presk.train import checkpoints
from presk.train.events import Measurement, Step, from_data
from presk.train.folder_lock import FolderLock

CONFIG = "config.json"
METRICS = "metrics.jsonl"
PLOT = "loss.png"


class RunFolder:
    """A run's folder, open for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._metrics: IO[bytes] | None = None
        self._lock = FolderLock(path)

    def require_free(self) -> None:
        """E8080 where the folder holds a run.

        One that ended before its first checkpoint is none: there is nothing to go on from.
        """
        if checkpoints.steps(self.path):
            hint = "--resume goes on with it, --out NAME begins another"
            raise fail("E8080", f"the folder `{shown(self.path)}` holds a run already", hint=hint)
        self._lock.require_free()

    def lock(self) -> None:
        """Keeps other trainings out of the folder until it is closed. E8080 where one has it."""
        self._lock.take()

    def begin(self, config: Mapping[str, Any]) -> None:
        """Makes the folder of a new run. E8080 where it holds one already, E8002 where it can't be made."""
        self.require_free()
        make_folder(self.path)
        self.lock()
        self.require_free()  # a run that ended between the two may have left a checkpoint
        try:
            (self.path / checkpoints.FOLDER).mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from error
        write_bytes(self.path / CONFIG, (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode())
        self._open("wb")

    def resume(self, step: int) -> list[Step | Measurement]:
        """The lines up to a step, all others cut off. E8081 where one of them is damaged or missing."""
        path = self.path / METRICS
        kept: list[Step | Measurement] = []
        length = 0
        for line in read_bytes(path, "the log").splitlines(keepends=True):
            try:
                event = from_data(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                break
            if event.step > step or not line.endswith(b"\n"):
                break
            kept.append(event)
            length += len(line)
        found = sum(isinstance(each, Step) for each in kept)
        if found != step:
            message = f"`{shown(path)}` has the lines of {found} steps, and the checkpoint is behind step {step}"
            raise fail("E8081", message)
        try:
            os.truncate(path, length)
        except OSError as error:
            raise unwritable(path, error) from error
        self._open("ab")
        return kept

    def write(self, event: Step | Measurement) -> None:
        """Adds a line. E8002 where the disk refuses it."""
        assert self._metrics is not None, "the folder is open"
        try:
            self._metrics.write(json.dumps(event.data(), ensure_ascii=False).encode() + b"\n")
            self._metrics.flush()  # who follows the log sees each step
        except OSError as error:
            raise unwritable(self.path / METRICS, error) from error

    def sync(self) -> None:
        """Waits until all lines have reached the disk."""
        assert self._metrics is not None, "the folder is open"
        try:
            self._metrics.flush()
            os.fsync(self._metrics.fileno())
        except OSError as error:
            raise unwritable(self.path / METRICS, error) from error

    def close(self) -> None:
        """Lets go of the log and of the folder."""
        try:
            if self._metrics is not None:
                metrics, self._metrics = self._metrics, None
                try:
                    metrics.close()
                except OSError as error:
                    raise unwritable(self.path / METRICS, error) from error
        finally:
            self._lock.release()

    def _open(self, mode: str) -> None:
        try:
            self._metrics = (self.path / METRICS).open(mode)
        except OSError as error:
            raise unwritable(self.path / METRICS, error) from error


def read_config(path: Path) -> dict[str, Any]:
    """What the folder of a run says it runs. E8081 where there is no run."""
    file = path / CONFIG
    if not is_file(file):
        raise fail("E8081", f"`{shown(path)}` holds no run to go on with", hint="without --resume one begins there")
    try:
        found = json.loads(read_bytes(file, "the run's configuration"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise fail("E8081", f"`{shown(file)}` is damaged")
    return found  # pyright: ignore[reportUnknownVariableType]
