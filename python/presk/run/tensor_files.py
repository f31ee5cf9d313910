"""Trees of arrays in safetensors files: keys are dotted paths, the metadata says whose they are.

The metadata holds `presk` (the version that wrote it), `order` (the paths in declaration order, as JSON; the format
itself sorts) and whatever the caller adds, such as the hashes of program and realization. A quantised array is stored
as its integers, int4 two to a byte, and its scales under `.scale`; `quantized` in the metadata says of which type, axis
and shape. Files are read through the format's own library, which checks sizes and offsets before anything is trusted.
Called by the Python API, the command line and whoever keeps checkpoints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from presk import __version__
from presk.realization.quantized import Quantized, from_stored
from presk.run import trees
from presk.text.diagnostics import PreskError, did_you_mean, fail
from presk.text.files import reason, replacing, shown, unreadable

Array = NDArray[Any]

STORED = frozenset({"float64", "float32", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"})
"""Element types a file may hold, by NumPy's names."""

TRANSPOSED = ".T"
"""Behind a name of the file: its last two axes change places."""

SCALE = ".scale"
"""Behind the name of a quantised array: its scales."""

EACH = "{}"
"""In a name of the file: 0, 1, 2 … as far as there are any, stacked along a new leading axis."""


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A file's arrays by their names, in declaration order where the file says it, and its metadata."""

    arrays: Mapping[str, Array]
    metadata: Mapping[str, str]


def write(path: str | Path, tree: object, metadata: Mapping[str, str] | None = None, *, synced: bool = True) -> None:
    """Writes a tree of arrays, whole or not at all; `synced` as `replacing` has it.

    E6031 for what is no such tree, E8002 where it can't be written.
    """
    from safetensors import SafetensorError, TensorSpec, serialize_file

    arrays: dict[str, Array] = {}
    quantized: dict[str, object] = {}
    for names, leaf in trees.leaves(tree):
        name = _key(names)
        if isinstance(leaf, Quantized):
            arrays |= {name: leaf.stored(), name + SCALE: np.ascontiguousarray(leaf.scale)}
            quantized[name] = {"type": leaf.type, "axis": leaf.axis, "shape": list(leaf.shape)}
        else:
            arrays[name] = _storable(name, leaf)
    header = {"presk": __version__, "order": json.dumps(list(arrays)), **(metadata or {})}
    if quantized:
        header["quantized"] = json.dumps(quantized)
    specs = {
        name: TensorSpec(dtype=array.dtype.name, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
        for name, array in arrays.items()
    }
    with replacing(path, synced=synced) as temporary:
        try:
            serialize_file(specs, temporary, metadata=header)
        except SafetensorError as error:
            raise OSError(reason(error)) from error


def read(path: str | Path) -> TensorFile:
    """All arrays of a file. E8001 where it can't be read, E8003 where it isn't a safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with cast(Any, safe_open(str(path), framework="np")) as opened:
            metadata: dict[str, str] = opened.metadata() or {}
            names: list[str] = list(opened.keys())
            arrays: dict[str, Array] = {name: opened.get_tensor(name) for name in names}
    except SafetensorError as error:
        raise fail("E8003", f"`{shown(path)}` isn't a safetensors file: {reason(error)}") from error
    except (OSError, MemoryError) as error:
        raise unreadable(path, error) from error
    except (ValueError, TypeError, AttributeError, KeyError, RuntimeError) as error:  # a type or path it can't handle
        raise fail("E8003", f"`{shown(path)}` can't be taken as a safetensors file: {reason(error)}") from error
    return TensorFile({name: arrays[name] for name in _order(metadata, arrays)}, metadata)


def read_tree(path: str | Path, names: Mapping[str, str] | None = None) -> Any:
    """The tree a file holds, quantised arrays as such. With `names`, only what they name is taken, as it is stored:
    `{"head.w": "lm_head.weight.T"}`.

    A value of `names` is a name of the file; `.T` behind it swaps the last two axes, and `{}` in it stands for
    0, 1, 2 …, whose arrays are stacked along a new leading axis. Errors as for `read`; E8004 lists the names the file
    lacks.
    """
    return tree_of(path, read(path), names)


def tree_of(path: str | Path, file: TensorFile, names: Mapping[str, str] | None = None) -> Any:
    """The same of a file that was read."""
    if names is None:
        return trees.grow((tuple(name.split(".")), leaf) for name, leaf in _leaves(path, file))
    missing = [wanted for wanted in names.values() if not _sources(wanted, file.arrays)]
    if missing:
        hint = did_you_mean(missing[0].removesuffix(TRANSPOSED), file.arrays)
        raise fail("E8004", f"`{shown(path)}` has no {', '.join(f'`{name}`' for name in missing)}", hint=hint)
    return trees.grow((tuple(name.split(".")), _taken(wanted, file.arrays)) for name, wanted in names.items())


def _leaves(path: str | Path, file: TensorFile) -> Iterator[tuple[str, Array | Quantized]]:
    """The file's arrays by name, integers joined with their scales. E8003 where the metadata isn't true of them."""
    described = _described(file.metadata)
    scales = {name + SCALE for name in described}
    missing = next((name for name in (*described, *scales) if name not in file.arrays), None)
    if missing is not None:
        raise fail("E8003", f"`{shown(path)}` says that arrays are quantised, and lacks `{shown(missing)}`")
    for name, array in file.arrays.items():
        if name in described:
            try:
                yield name, from_stored(array, described[name][0], file.arrays[name + SCALE], described[name][1])
            except PreskError as error:
                message = f"`{name}` of `{shown(path)}` isn't the quantised array the file says"
                raise fail("E8003", f"{message}: {error.diagnostics[0].message}") from error
        elif name not in scales:
            yield name, array


def _described(metadata: Mapping[str, str]) -> dict[str, tuple[tuple[int, ...], int]]:
    """The quantised arrays' shapes and axes by name; none where the metadata doesn't say it in this form."""
    try:
        said = json.loads(metadata.get("quantized", "{}"))
        return {
            str(name): (tuple(int(size) for size in each["shape"]), int(each["axis"])) for name, each in said.items()
        }
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError, OverflowError):
        return {}


def _key(names: trees.Path) -> str:
    if not names or any(not name or "." in name for name in names):
        what = "a lone array" if not names else f"a field named `{'.'.join(names)}`"
        raise fail("E6031", f"{what} has no dotted path to be stored under", hint="put it into a dict: {'x': array}")
    return ".".join(names)


def _storable(name: str, leaf: object) -> Array:
    array = np.asarray(leaf)
    if array.dtype.name not in STORED:
        raise fail("E6031", f"`{name}` is an array of {array.dtype}, which a file of weights can't hold")
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(array.shape)


def _order(metadata: Mapping[str, str], arrays: Mapping[str, Array]) -> list[str]:
    """The names in declaration order where the metadata says one of exactly these names, else sorted."""
    try:
        order = json.loads(metadata.get("order", "null"))
    except (ValueError, RecursionError):
        order = None
    if isinstance(order, list) and all(isinstance(each, str) for each in cast(list[object], order)):
        named = cast(list[str], order)
        if len(named) == len(arrays) and set(named) == set(arrays):
            return named
    return sorted(arrays)


def _sources(wanted: str, arrays: Mapping[str, Array]) -> list[str]:
    """The file's names that `wanted` stands for; none where it lacks them."""
    plain = wanted.removesuffix(TRANSPOSED)
    if EACH not in plain:
        return [plain] if plain in arrays else []
    found: list[str] = []
    while (name := plain.replace(EACH, str(len(found)))) in arrays:
        found.append(name)
    return found


def _taken(wanted: str, arrays: Mapping[str, Array]) -> Array:
    parts = [arrays[name] for name in _sources(wanted, arrays)]
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise fail("E8004", f"the arrays of `{wanted}` have different shapes: {', '.join(map(str, sorted(shapes)))}")
    array = np.stack(parts) if EACH in wanted else parts[0]
    if not wanted.endswith(TRANSPOSED):
        return array
    if array.ndim < 2:
        raise fail("E8004", f"`{wanted}` asks for the transpose of an array of shape {array.shape}")
    return np.ascontiguousarray(array.swapaxes(-1, -2))
