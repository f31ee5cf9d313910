"""What an objective's batch asks of data: its leaves, and their types at the sizes that the data have.

Each leaf's first axis counts rows; that axis is a run `..`, a number, or a variable, and the same in all leaves. Called
by `sources`, and by the loop for each size of batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk.check.signature import RUN
from presk.check.solver import Mismatch, Solver
from presk.check.typing import DIMENSION
from presk.core.bind import ENTRY_RUN
from presk.shapes import types
from presk.shapes.poly import number
from presk.shapes.types import Axis, RecordOf, Run, Tensor
from presk.text.diagnostics import PreskError, counted, did_you_mean, fail
from presk.train.rows import is_large

Array = NDArray[Any]

KINDS = {"real": "fiu", "nat": "iu", "bool": "b"}
"""NumPy's kinds of element types that may stand for each kind of tensor; bfloat16's is told by its name."""

LISTED = 8
"""Fields a message lists."""


def leaves(batch: RecordOf) -> dict[str, Tensor]:
    """The batch's tensors by dotted path. E8071 where one has no axis that counts rows."""
    found = {".".join(path): tensor for path, tensor in types.leaves(batch)}
    for name, tensor in found.items():
        if not tensor.axes:
            hint = f"`{name}: {tensor.kind}[batch]` has a row for each"
            raise fail(
                "E8071", f"`{name}` of the batch is a scalar, and every leaf's first axis counts rows", hint=hint
            )
    firsts = {str(tensor.axes[0].size) if isinstance(tensor.axes[0], Axis) else RUN for tensor in found.values()}
    if len(firsts) > 1:
        shown = ", ".join(sorted(each.replace(DIMENSION, "") for each in firsts))
        raise fail("E8071", f"the first axes of the batch's leaves differ ({shown}), and all of them count rows")
    return found


def require_fields(batch: RecordOf, arrays: Mapping[str, Array], source: str) -> None:
    """E8071 where arrays aren't what the batch's leaves are, as far as names, ranks and types of elements tell."""
    wanted = leaves(batch)
    missing = [name for name in wanted if name not in arrays]
    extra = [name for name in arrays if name not in wanted]
    if missing or extra:
        parts = [
            f"{what} {', '.join(f'`{name}`' for name in names[:LISTED])}"
            for what, names in (("it lacks", missing), ("unexpected", extra))
            if names
        ]
        hint = did_you_mean(extra[0], missing) if extra and missing else f"the batch is {_shown(batch)}"
        raise fail("E8071", f"{source} isn't the objective's batch: {'; '.join(parts)}", hint=hint)
    counts = {name: len(array) if array.ndim else None for name, array in arrays.items()}
    if len(set(counts.values())) > 1 or None in counts.values():
        shown = ", ".join(f"`{name}` {'none' if count is None else count}" for name, count in counts.items())
        raise fail("E8071", f"the arrays of {source} have different numbers of rows: {shown}")
    for name, tensor in wanted.items():
        _require_leaf(name, tensor, arrays[name], source)


def _require_leaf(name: str, of: Tensor, array: Array, source: str) -> None:
    rank = len(of.axes)
    fits = array.ndim == rank or (of.run is not None and array.ndim >= rank)
    if not fits:
        hint = f'`{name} = ["…"]` has a column a name, `{name} = "…"` is one column alone' if array.ndim < 3 else None
        message = f"`{name}` of {source} has {counted(array.ndim, 'axis').replace('axiss', 'axes')}"
        raise fail("E8071", f"{message}, and the batch has {_plain(of)}", hint=hint)
    if array.dtype.kind not in KINDS[of.kind] and not (of.kind == "real" and array.dtype.name == "bfloat16"):
        raise fail("E8071", f"`{name}` of {source} has elements of {array.dtype}, and the batch has {_plain(of)}")


def settle(batch: RecordOf, arrays: Mapping[str, Array], size: int) -> RecordOf:
    """The batch's type at `size` rows of these arrays. E8071 where their sizes don't fit, or leave one open."""
    solver = Solver()
    actual = {name: _actual(tensor, arrays[name].shape[1:], size) for name, tensor in leaves(batch).items()}
    try:
        for name, tensor in leaves(batch).items():
            solver.match(tensor, actual[name], f"`{name}`")
        solver.solve()
    except Mismatch as error:
        raise fail("E8071", f"the data don't fit the batch: {error.message.replace(DIMENSION, '')}") from None
    runs = {} if solver.run is None else {RUN: solver.run}
    found = types.substitute(batch, solver.sizes, runs)
    assert isinstance(found, RecordOf), "a record stays one"
    for name, tensor in ((".".join(path), each) for path, each in types.leaves(found)):
        extents = [axis.size for axis in tensor.explicit] + ([] if tensor.bound is None else [tensor.bound])
        if any(extent.whole is None for extent in extents):
            message = f"`{name}` is {_plain(tensor)}, whose sizes follow from neither the model nor the data"
            raise fail("E8071", message)
    return found


def _actual(of: Tensor, extents: tuple[int, ...], size: int) -> Tensor:
    """The type an array's leaf has at `size` rows. Of a run the first axis is called as it is without data."""
    first = Axis(ENTRY_RUN if isinstance(of.axes[0], Run) else None, number(size))
    return Tensor(of.kind, (first, *(Axis(None, number(extent)) for extent in extents)))


def require_bounds(batch: RecordOf, arrays: Mapping[str, Array]) -> None:
    """E8074 where a nat isn't below its bound; `batch` is settled. Mapped files are looked at batch by batch."""
    for name, tensor in leaves(batch).items():
        array = arrays[name]
        if tensor.kind != "nat" or tensor.bound is None or isinstance(array, np.memmap):
            continue
        bound = tensor.bound.whole or 0
        wrong = np.argwhere((array < 0) | (array >= bound))
        if len(wrong):
            place = tuple(int(at) for at in wrong[0])
            raise _out_of_bounds(name, int(array[place]), place, bound)


def require_finite(arrays: Mapping[str, Array], source: str) -> None:
    """E8033 where an element is NaN or infinite. Large mapped files aren't read for it: a step that they spoil is."""
    for name, array in arrays.items():
        if is_large(array) or array.dtype.kind in "iub":
            continue
        wrong = np.argwhere(~np.isfinite(array.astype(np.float64) if array.dtype.kind == "V" else array))
        if len(wrong):
            row, *rest = (int(at) for at in wrong[0])
            value = array[tuple(wrong[0])]
            where = f"row {row}" + (f", column {rest[0]}" if len(rest) == 1 else f", at {rest}" if rest else "")
            rows = len(np.unique(wrong[:, 0]))
            more = f"; {counted(rows, 'row')} of {len(array)} have such elements" if rows > 1 else ""
            hint = "leave those rows out, or say what stands for a missing value (rows and columns count from 0)"
            raise fail("E8033", f"`{name}` of {source} is {value} in {where}{more}", hint=hint)


def _out_of_bounds(name: str, value: int, place: tuple[int, ...], bound: int) -> PreskError:
    where = f"row {place[0]}" if len(place) == 1 else f"row {place[0]}, at {list(place[1:])}"
    return fail("E8074", f"`{name}` is {value} in {where} of the data, and the batch has nats below {bound}")


def _plain(of: Tensor) -> str:
    return types.show(of).replace(DIMENSION, "")


def _shown(batch: RecordOf) -> str:
    return types.show(batch).replace(DIMENSION, "")
