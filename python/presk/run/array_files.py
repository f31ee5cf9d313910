"""Arrays from files of every kind that presk takes: npy, npz, safetensors.

The kind is told by the file's first bytes, never by its name. Files are untrusted: nothing is unpickled, an array
larger than the memory is refused before it is read, and whatever NumPy can't make sense of is E8003. Called by the
command line.
"""

from __future__ import annotations

import errno
import os
import tokenize
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from presk.run import tensor_files
from presk.text.diagnostics import fail
from presk.text.files import is_file, reason, replacing, shown, unreadable

Array = NDArray[Any]

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")

SOLE = ""
"""The name of a file's only array, where the format gives it none."""

TENSOR_SUFFIXES = (".npy", ".npz", ".safetensors")
"""By these names a folder's tensor files are found."""

_MALFORMED = (
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    OverflowError,
)
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)


def read(path: str | Path) -> dict[str, Array]:
    """The file's arrays by name (`SOLE` for an npy file's).

    E8001 where it can't be read, E8003 where it is no such file.
    """
    with _diagnosed(path), Path(path).open("rb") as opened:
        start = opened.read(len(NPY_MAGIC))
        opened.seek(0)
        if start.startswith(NPY_MAGIC):
            return {SOLE: _array(opened, os.fstat(opened.fileno()).st_size)}
        if start.startswith(ZIP_MAGICS):
            return _archive(opened)
    return dict(tensor_files.read(path).arrays)


def map_npy(path: str | Path) -> Array:
    """The array of an npy file, mapped: its elements are read from the disk when they are looked at.

    E8001 where it can't be read, E8003 where it is no npy file.
    """
    with _diagnosed(path):
        return np.lib.format.open_memmap(path, mode="r")


def read_folder(path: str | Path) -> dict[str, Array]:
    """All arrays of the tensor files in a folder and below, as `file/name`, sorted. E8003 where there are none."""
    found: dict[str, Array] = {}
    for file in sorted(Path(path).rglob("*")):
        if file.suffix in TENSOR_SUFFIXES and is_file(file):
            inside = file.relative_to(path).as_posix()
            found.update({f"{inside}/{name}" if name else inside: array for name, array in read(file).items()})
    if not found:
        raise fail("E8003", f"the folder `{shown(path)}` holds no npy, npz or safetensors file")
    return found


def write_npz(path: str | Path, arrays: dict[str, Array]) -> None:
    """Writes an npz file, whole or not at all; NumPy's format has no bfloat16, which is written as float32, exactly."""
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            plain = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(plain), allow_pickle=False)


@contextmanager
def _diagnosed(path: str | Path) -> Generator[None]:
    try:
        yield
    except (*_MALFORMED, *_BROKEN_ARCHIVE) as error:
        raise fail("E8003", f"`{shown(path)}` isn't a well-formed file of arrays: {reason(error)}") from error
    except (OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno == errno.EINVAL:  # an archive pointed before its own start
            raise fail("E8003", f"`{shown(path)}` isn't a well-formed file of arrays: {reason(error)}") from error
        raise unreadable(path, error) from error


def _array(opened: IO[bytes], size: int) -> Array:
    """One npy text of `size` bytes; its header is held against that before anything is allocated."""
    version = np.lib.format.read_magic(opened)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of the npy format")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = header(opened)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read")
    count = 1
    for extent in shape:
        if extent < 0:
            raise ValueError(f"a negative extent in the shape {shape}")
        count *= int(extent)
    if count * dtype.itemsize > size:
        raise ValueError(f"{count} elements are announced, and the file has {size} bytes")
    data = opened.read(count * dtype.itemsize)
    flat = np.frombuffer(data, dtype=dtype, count=count)
    return flat.reshape(shape, order="F" if in_columns else "C")


def _archive(opened: IO[bytes]) -> dict[str, Array]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found: dict[str, Array] = {}
    with zipfile.ZipFile(opened) as archive:
        total = sum(member.file_size for member in archive.infolist())
        if total > memory:
            raise ValueError(f"{total} bytes unpacked, more than this machine's memory")
        for member in archive.infolist():
            with archive.open(member) as inside:
                found[member.filename.removesuffix(".npy")] = _array(inside, member.file_size)
    return found
