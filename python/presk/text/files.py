"""Reading and replacing files: one place where an operating system's refusal becomes a diagnostic.

A file that is written is written whole or not at all: into a temporary name beside it, synced, then renamed over it, so
that an interrupt or a full disk leaves what was there. Called by the tensor files, the command line, realizations and
plans, and whoever keeps checkpoints.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from presk.text.diagnostics import PreskError, fail

PLAIN_MODE = 0o666
"""Permissions of a new file, before the process's umask takes from them."""


STREAM_LIMIT = 1 << 30
"""Bytes that are read of what is no regular file, for a device may go on for ever."""


def read_bytes(path: str | Path, what: str = "the file", most: int | None = None) -> bytes:
    """The whole file, or its first `most` bytes. E8001 where it can't be read; `what` names it in the sentence."""
    try:
        with Path(path).open("rb") as stream:
            if most is not None:
                return stream.read(most)
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return stream.read()
            data = stream.read(STREAM_LIMIT + 1)
            if len(data) > STREAM_LIMIT:
                raise ValueError(f"it is no regular file and gives more than {STREAM_LIMIT} bytes")
            return data
    except (OSError, ValueError, MemoryError) as error:
        raise unreadable(path, error, what) from error


def is_file(path: str | Path) -> bool:
    """Whether a regular file is there, links followed. E8001 where the operating system won't say."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: str | Path) -> bool:
    """Whether a folder is there, links followed. E8001 where the operating system won't say."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: str | Path) -> int:
    """What is there, 0 for nothing. `Path.is_file` raises or not where a folder may not be looked into, by version."""
    try:
        return Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return 0
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: str | Path, error: Exception, what: str = "the file") -> PreskError:
    """E8001: the file can't be read, and why."""
    hint = "it is a folder" if isinstance(error, IsADirectoryError) else None
    return fail("E8001", f"{what} `{shown(path)}` can't be read: {reason(error)}", hint=hint)


def unwritable(path: str | Path, error: Exception) -> PreskError:
    """E8002: the file can't be written, and why. What stood there before stands there still."""
    return fail("E8002", f"`{shown(path)}` can't be written: {reason(error)}")


def reason(error: Exception) -> str:
    """What the operating system or a library said, as one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join((text or type(error).__name__).split())


def shown(path: str | Path) -> str:
    """A path as text that can be printed anywhere, undecodable bytes and control characters replaced."""
    text = str(path).encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


@contextmanager
def replacing(path: str | Path, *, synced: bool = True) -> Generator[Path]:
    """Gives a temporary path to write to; a `with` block that ends well puts that file in place of `path`.

    It has reached the disk then, or, where not `synced`, outlives the process but not the machine's fall. Links are
    followed, permissions kept. What isn't a regular file (`/dev/stdout`) stays what it is, and the bytes are copied
    there at the end. E8002 where the file, or the temporary one, can't be written; the old file is then as it was.
    """
    try:
        target = Path(os.path.realpath(path))
        status = target.stat() if target.exists() else None
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    if status is not None and not stat.S_ISREG(status.st_mode):
        if stat.S_ISDIR(status.st_mode):
            raise unwritable(path, IsADirectoryError(0, "it is a folder"))
        with _refusals(path), TemporaryDirectory(prefix="presk-") as folder:
            made = Path(folder) / "made"
            yield made
            with made.open("rb") as source, target.open("wb") as stream:
                shutil.copyfileobj(source, stream)
        return
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with _refusals(path):
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PLAIN_MODE))
            mode = stat.S_IMODE((temporary.stat() if status is None else status).st_mode)
            yield temporary
            temporary.chmod(mode)  # a library may have put a file of its own in its place
            if synced:
                sync(temporary)
            temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Replaces the file's content, whole or not at all. E8002 where that can't be done."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def make_folder(path: Path) -> None:
    """Makes the folder where there is none, and those above it. Git ignores all that is in a folder made here, so that
    a run in a clone leaves nothing untracked: its `.gitignore` says so. E8002 where the folder can't be made.
    """
    try:
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    if is_new:
        write_bytes(path / ".gitignore", b"# made by presk; delete this file to have git see the others\n*\n")


@contextmanager
def _refusals(path: str | Path) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def sync(path: Path) -> None:
    """Waits until the file's content has reached the disk, so that the rename never runs ahead of it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
