"""Checkpoints: a training between two steps, in two files of a run's folder.

`step-100.safetensors` holds the parameters under their own paths, so it is a file of weights like any other;
`step-100.state.safetensors` holds the optimizer's state. Both say in their metadata what they belong to (`Mark`), the
hash of their arrays and the hash of the metadata itself, so that a damaged or foreign file is refused before anything
is taken from it. Each is written
whole or not at all, the state first: a checkpoint is there where its weights are. Called by the loop, by
`presk run --weights` and by generation.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from presk.run import tensor_files, trees
from presk.run.bits import hash_arrays
from presk.text.diagnostics import Diagnostic, PreskError, did_you_mean, fail
from presk.text.files import is_file, is_folder, shown, sync, unwritable
from presk.train.exact_text import from_text, is_exact, to_text

FOLDER = "checkpoints"
"""Where a run's folder has them."""

BEST = "best.safetensors"
"""The weights with the smallest loss on the rows that measure, in the run's folder."""

FORMAT = "presk-checkpoint-2"

UNSEALED = "presk-checkpoint-1"
"""The form before: its metadata has no hash. Its weights are read, but no training is resumed from it."""

SEAL = "metadata"
"""The key of the metadata's own hash."""

AROUND = frozenset((SEAL, "presk", "order", "quantized"))
"""Keys that a tensor file has beside a checkpoint's: of the file's writer and of its layout, which decide no value."""

SHOWN_RUNS = 8
"""Runs that a hint lists."""

NAME = re.compile(r"step-([0-9]{1,18})\.safetensors")

EXACT = "exact"
"""In the state's file: the parameters' exact numbers, where the reference trains."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a checkpoint says of itself beside its arrays.

    `settings` decide the run's bits, by name. `step` is the last that was taken, `epoch` and `place` where the data
    stand: so many batches of that epoch are behind. `best` is the smallest loss measured yet, and `stale` the number of
    measurements since. `notes` are what further data are read by, such as the tokenizer.
    """

    settings: Mapping[str, str]
    step: int
    epoch: int
    place: int
    best: float | None = None
    stale: int = 0
    notes: Mapping[str, str] | None = None

    def metadata(self) -> dict[str, str]:
        """The mark as a tensor file's metadata has it."""
        named = {"program": self.settings["program"], "realization": self.settings["realization"]}
        counts = {"seed": self.settings["seed"], "step": str(self.step), "epoch": str(self.epoch)}
        measured = {} if self.best is None else {"best": self.best.hex()}
        said = {"format": FORMAT, "place": str(self.place), "stale": str(self.stale), "settings": _json(self.settings)}
        return {**named, **counts, **said, **measured, **(self.notes or {})}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was read: trees of arrays, of exact ones where the reference trains."""

    parameters: Any
    state: Any
    mark: Mark


def write(folder: Path, parameters: Any, state: Any, mark: Mark) -> None:
    """Writes a checkpoint into a run's folder. E8002 where it can't be; those before it stand."""
    stored = {"state": state, EXACT: parameters} if is_exact(parameters) else {"state": state}
    weights = trees.map_leaves(parameters, np.asarray)
    metadata = mark.metadata() | {"parameters": tree_hash(weights)}
    text = to_text(stored)
    path = weights_path(folder, mark.step)
    tensor_files.write(_state_path(path), text, sealed(metadata | {"hash": tree_hash(text)}))
    tensor_files.write(path, weights, sealed(metadata))


def write_best(folder: Path, parameters: Any, mark: Mark) -> None:
    """Writes the weights alone, as the best so far. `sync_best` waits until they have reached the disk."""
    weights = trees.map_leaves(parameters, np.asarray)
    metadata = mark.metadata() | {"parameters": tree_hash(weights)}
    tensor_files.write(folder / BEST, weights, sealed(metadata), synced=False)


def sealed(metadata: Mapping[str, str]) -> dict[str, str]:
    """The metadata with their own hash, without which a changed digit of `best` or `step` would go unnoticed."""
    return {**metadata, SEAL: _seal(metadata)}


def _seal(metadata: Mapping[str, str]) -> str:
    said = {name: text for name, text in metadata.items() if name not in AROUND}
    return f"sha256:{hashlib.sha256(_json(said).encode()).hexdigest()}"


def _require_seal(path: Path, metadata: Mapping[str, str]) -> None:
    """E8081 where the metadata aren't those that were written."""
    if metadata.get(SEAL) is None and metadata.get("format") == UNSEALED:
        return
    if metadata.get(SEAL) != _seal(metadata):
        raise _damaged(path, "is damaged: its metadata aren't those that were written")


def sync_best(folder: Path) -> None:
    """Waits until the best weights have reached the disk. E8002 where they don't."""
    path = folder / BEST
    try:
        sync(path)
    except OSError as error:
        raise unwritable(path, error) from error


def prune(folder: Path, keep: int) -> None:
    """Deletes all but the newest `keep` checkpoints: weights first, for a checkpoint is there where they are."""
    for step in steps(folder)[:-keep]:
        path = weights_path(folder, step)
        for each in (path, _state_path(path)):
            with suppress(OSError):
                each.unlink(missing_ok=True)


def steps(folder: Path) -> list[int]:
    """The steps of a run's folder that have a checkpoint, in order."""
    try:
        names = [each.name for each in (folder / FOLDER).iterdir()]
    except OSError:
        return []
    return sorted(int(found[1]) for name in names if (found := NAME.fullmatch(name)))


def newest(folder: Path, settings: Mapping[str, str]) -> tuple[Checkpoint, list[Diagnostic]]:
    """The newest checkpoint that can be read, and what is wrong with those after it.

    It goes on to the very bits the newer ones would have gone on to, so nothing is lost but time. E8081 where there is
    none, E8082 where one belongs to something else than `settings`.
    """
    damaged: list[Diagnostic] = []
    for step in reversed(steps(folder)):
        try:
            found = read(weights_path(folder, step))
        except PreskError as error:
            damaged.extend(error.diagnostics)
            continue
        require_settings(folder, found.mark.settings, settings)
        return found, damaged
    hint = "without --resume a run begins anew"
    raise PreskError([*damaged, Diagnostic("E8081", f"`{shown(folder)}` has no checkpoint to go on from", None, hint)])


def read(path: Path) -> Checkpoint:
    """The checkpoint whose weights are at `path`. E8001, E8003 and E8081 where it can't be read or is damaged."""
    weights = tensor_files.read(path)
    mark = read_mark(path, weights.metadata)
    named = NAME.fullmatch(path.name)
    if named is not None and int(named[1]) != mark.step:
        raise _damaged(path, f"is the checkpoint of step {mark.step}")
    parameters = _whole(path, weights.arrays, weights.metadata.get("parameters"))
    beside = _state_path(path)
    state = tensor_files.read(beside)
    stored = from_text(_whole(beside, state.arrays, state.metadata.get("hash")))
    is_of_same = read_mark(beside, state.metadata) == mark
    if not is_of_same or state.metadata.get("parameters") != weights.metadata.get("parameters"):
        raise _damaged(beside, "belongs to other weights")
    return Checkpoint(stored.get(EXACT, parameters), stored.get("state", {}), mark)


def read_mark(path: Path, metadata: Mapping[str, str]) -> Mark:
    """What a checkpoint's metadata says. E8081 where it isn't one's, or isn't what was written."""
    if metadata.get("format") == UNSEALED and SEAL not in metadata:
        raise _damaged(path, "was written by an earlier version, whose checkpoints have no hash of their metadata")
    if metadata.get("format") != FORMAT:
        raise _damaged(path, "isn't a checkpoint of a training")
    _require_seal(path, metadata)
    known = {"format", "settings", "step", "epoch", "place", "best", "stale", "parameters", "hash", *AROUND}
    try:
        settings = cast(dict[str, str], json.loads(metadata["settings"]))
        step, epoch, place = (int(metadata[name]) for name in ("step", "epoch", "place"))
        best = float.fromhex(metadata["best"]) if "best" in metadata else None
        notes = {name: text for name, text in metadata.items() if name not in known | settings.keys()}
        return Mark(settings, step, epoch, place, best, int(metadata["stale"]), notes)
    except (KeyError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        raise _damaged(path, "doesn't say what it belongs to") from error


def weights_path(folder: Path, step: int) -> Path:
    """The weights of a step's checkpoint."""
    return folder / FOLDER / f"step-{step}.safetensors"


def find_weights(path: Path) -> Path:
    """The weights that a path names: a file itself; of a run's folder the best ones, else the newest.

    E8081 for a folder without any.
    """
    if not is_folder(path):
        if not is_file(path) and (runs := _runs_beside(path)):
            shown_runs = ", ".join(f"`{shown(each)}`" for each in runs[:SHOWN_RUNS])
            message = f"there are no weights `{shown(path)}`"
            raise fail("E8001", message, hint=did_you_mean(str(path), map(str, runs)) or f"there are {shown_runs}")
        return path
    if is_file(path / BEST):
        return path / BEST
    found = steps(path)
    if not found:
        raise fail("E8081", f"the folder `{shown(path)}` has no checkpoint", hint="`presk train` writes them")
    return weights_path(path, found[-1])


def _runs_beside(path: Path) -> list[Path]:
    """The folders of runs where one is looked for that isn't there."""
    try:
        return sorted(each for each in path.parent.iterdir() if is_file(each / BEST) or steps(each))
    except OSError:
        return []


def read_weights(path: Path, names: Mapping[str, str] | None = None) -> tuple[Any, Mapping[str, str]]:
    """The tree of weights that a path names, as `find_weights` and `tensor_files.read_tree` have it, and the metadata.

    E8081 where a training wrote them and their bits are others now.
    """
    file = find_weights(path)
    found = tensor_files.read(file)
    if found.metadata.get("format") in (FORMAT, UNSEALED) or SEAL in found.metadata:
        _require_seal(file, found.metadata)
        _require_whole(file, found.arrays, found.metadata.get("hash", found.metadata.get("parameters")))
    return tensor_files.tree_of(file, found, names), found.metadata


def read_metadata(path: Path) -> Mapping[str, str]:
    """The metadata of the weights that a path names, as `find_weights` has it."""
    return tensor_files.read(find_weights(path)).metadata


def run_folder(path: Path) -> Path | None:
    """The run's folder that a path names, or is a file of weights in; None for other files."""
    if is_folder(path):
        return path
    if path.parent.name == FOLDER:
        return path.parent.parent
    return path.parent if path.name == BEST else None


def require_settings(folder: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """E8082 where a run that is to go on was begun with other settings."""
    for name in {"program": "", "train": "", **before, **now}:
        if before.get(name) != now.get(name):
            was, is_now = (shown(each.get(name) or "none") for each in (before, now))
            message = (
                f"the run in `{shown(folder)}` was begun with another {WORDS.get(name, name)}: {was}, not {is_now}"
            )
            raise fail("E8082", message, hint="go on with the same, or begin another run: --out FOLDER")


WORDS = {"program": "program, or other constants", "data": "set of data", "rate": "learning rate", "train": "block"}
"""What messages call settings whose names don't say it."""


def tree_hash(tree: object) -> str:
    """`sha256:…` of a tree's arrays: what `presk hash` prints for a file of them."""
    return hash_arrays({".".join(path): np.asarray(leaf) for path, leaf in trees.leaves(tree)})


def _state_path(path: Path) -> Path:
    return path.with_suffix(".state.safetensors")


def _whole(path: Path, arrays: Mapping[str, Any], said: str | None) -> Any:
    """The tree of a file's arrays. E8081 where their bits aren't those that were written."""
    _require_whole(path, arrays, said)
    return trees.grow((tuple(name.split(".")), array) for name, array in arrays.items())


def _require_whole(path: Path, arrays: Mapping[str, Any], said: str | None) -> None:
    if hash_arrays(dict(arrays)) != said:
        raise _damaged(path, "is damaged: its bits aren't those that were written")


def _damaged(path: Path, what: str) -> PreskError:
    return fail("E8081", f"`{shown(path)}` {what}")


def _json(data: object) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False)
