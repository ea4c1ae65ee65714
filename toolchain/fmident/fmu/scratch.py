"""Temporary folders that do not pile up when processes are killed.

A process that is killed cannot tidy up. So each folder is locked by the process that made it,
and the system releases the lock however the process ends: the next one removes what nobody holds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

PREFIX = "fmident-scratch-"

_YOUNG = 60.0
"""Seconds for which an unlocked folder is left alone: it may be about to be locked."""

_swept: set[str] = set()


class ScratchFolder:
    """A folder of this process, removed with it; a context manager.

    Attributes
    ----------
    path
        The folder, which is private.

    Raises
    ------
    OSError
        It cannot be made.
    """

    def __init__(self) -> None:
        _sweep(tempfile.gettempdir())
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            self._finalizer = weakref.finalize(self, _remove, self.path, _locked(self.path))
        except BaseException:  # Ctrl-C
            _remove(self.path, -1)
            raise

    def close(self) -> None:
        """Remove the folder and what is in it."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _locked(path: Path) -> int:
    """Return the descriptor that locks a folder; -1 where that is not possible or it is taken."""
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return -1
    try:
        # Unlike record locks these last until this very descriptor is closed.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def _remove(path: Path, descriptor: int) -> None:
    try:
        shutil.rmtree(path, ignore_errors=True)
    except BaseException:
        # Ctrl-C is heeded when the folder is gone: nobody would come back to it.
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _sweep(parent: str) -> None:
    """Remove what killed processes have left, once in a process."""
    if parent in _swept or os.name != "posix":
        return
    _swept.add(parent)
    late = time.time() - _YOUNG
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_ours(entry, late):
                descriptor = _locked(Path(entry.path))
                if descriptor >= 0:
                    _remove(Path(entry.path), descriptor)


def _is_ours(entry: os.DirEntry[str], late: float) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    own = found.st_uid == os.geteuid()
    return own and stat.S_ISDIR(found.st_mode) and found.st_mtime < late
