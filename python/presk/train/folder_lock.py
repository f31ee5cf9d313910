"""The lock on a run's folder: one training has it from its first file to its last.

It is an advisory lock of the operating system on the file `lock`, which says whose it is. The system lets go of it when
the process ends, however it ends: so a lock that a killed training left is free. Called by `train.folder`.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from presk.text.diagnostics import PreskError, fail
from presk.text.files import shown, unwritable

LOCK = "lock"


class FolderLock:
    """The lock on one folder, taken or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / LOCK
        self._taken: int | None = None

    def take(self) -> None:
        """Takes the lock. E8080 where another training has it, E8002 where there can be none."""
        while self._taken is None:
            try:
                opened = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise unwritable(self.path, error) from error
            try:
                self._lock(opened)
            except BaseException:
                os.close(opened)
                raise
            if self._is_there(opened):
                os.ftruncate(opened, 0)
                os.write(opened, f"{os.getpid()}\n".encode())
                self._taken = opened
            else:
                os.close(opened)  # its owner deleted it between the two: the next one is another file

    def require_free(self) -> None:
        """E8080 where another training has the lock."""
        if self._taken is not None:
            return
        try:
            opened = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return
        try:
            self._lock(opened)
        finally:
            os.close(opened)

    def release(self) -> None:
        """Lets go of the lock, if it was taken."""
        if self._taken is not None:
            taken, self._taken = self._taken, None
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            os.close(taken)

    def _lock(self, opened: int) -> None:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._held_by(opened) from None
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _is_there(self, opened: int) -> bool:
        try:
            return os.path.samestat(os.fstat(opened), self.path.stat())
        except OSError:
            return False

    def _held_by(self, opened: int) -> PreskError:
        with suppress(OSError):
            owner = os.pread(opened, 20, 0).decode("ascii", "replace").strip()
            if owner.isdecimal():
                return self._refusal(f"another training, process {owner}, is running in `{shown(self.folder)}`")
        return self._refusal(f"another training is running in `{shown(self.folder)}`")

    def _refusal(self, sentence: str) -> PreskError:
        return fail("E8080", sentence, hint="wait for it, or name another folder with --out")
