"""Parameters in files: `presk.save_file` and `presk.load_file`.

safetensors files whose keys are dotted paths. The metadata holds the version that wrote it, the paths' order, and,
where a program is given, whose parameters they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from presk.api.arguments import path as as_path
from presk.api.arguments import require, texts
from presk.api.compiled import Compiled
from presk.api.program import Program
from presk.run import tensor_files
from presk.train.checkpoints import read_weights
from presk.train.preparation import Preparation


def save_file(
    tree: Any, path: str | Path, *, of: Compiled | Program | None = None, metadata: Mapping[str, str] | None = None
) -> None:
    """Writes a tree of arrays as a safetensors file, whole or not at all.

    `of` notes the program's hash, and a Compiled's entry and realization. Raises PreskError: E6031 for what is no
    tree of arrays, E8002 where the file can't be written; what stood there then stands there still.
    """
    noted: dict[str, str] = {}
    if isinstance(of, Compiled):
        noted = {"entry": of.entry.name, "realization": of.settings.realization.name}
        of = of.entry.program
    if of is not None:
        require("of", "a Compiled or a program", of, Program)
        noted["program"] = of.hash
    tensor_files.write(as_path("path", path), tree, {**noted, **texts("metadata", metadata)})


def load_file(path: str | Path, names: Mapping[str, str] | None = None) -> Any:
    """The tree in a safetensors file: nested dicts of arrays, tuples where fields are numbered. Of a run's folder the
    best weights, else the newest.

    `names` takes weights from elsewhere: it maps presk's dotted paths to names of the file, and only these are taken.
    `.T` behind a name swaps the last two axes, `{}` in it stands for 0, 1, 2 …, stacked along a new leading axis:

        presk.load_file("torch.safetensors", names={"blocks.att.qkv.w": "layers.{}.qkv.weight.T", "head.b": "lm.bias"})

    Where a training standardized its data a warning says so: `presk.Preparation.of(path)` has what it did.

    Raises PreskError: E8001 where the file can't be read, E8003 where it is none, E8004 for names it lacks, E8081 where
    a training wrote it and its bits are others now. Whether the tree is an entry's is found out where it is used: E6030
    lists what is missing, extra or misshaped.
    """
    tree, metadata = read_weights(Path(as_path("path", path)), None if names is None else texts("names", names))
    standardized = Preparation.from_metadata(metadata).scaling
    if standardized:
        shown = ", ".join(f"`{name}`" for name in standardized)
        message = (
            f"presk: these weights were trained on standardized {shown}, and nothing standardizes what they are given: "
            f"presk.Preparation.of({str(path)!r}).standardize(…) does"
        )
        warnings.warn(message, stacklevel=2)
    return tree
