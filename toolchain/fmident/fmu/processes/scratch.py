"""Temporary folders that do not pile up when processes are killed.

Each folder is locked by the process that made it; the next process removes what nobody holds.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
import weakref
from pathlib import Path

from fmident._closing import Closes
from fmident._locked_folder import make_locked, remove_if_left, remove_locked
from fmident.operating_system import belongs_to_user, unlock

PREFIX = "fmident-scratch-"

_YOUNG = 60.0
"""Seconds for which an unlocked folder is left alone: it may be about to be locked."""

_KEPT = ".kept"
"""A file in a folder that is never swept."""

_swept: set[str] = set()


class ScratchFolder(Closes):
    """A folder of this process, removed with it; a context manager.

    Parameters
    ----------
    purpose
        A word for its name, for people who find it.

    Attributes
    ----------
    path
        The folder, which is private.

    Raises
    ------
    OSError
        It cannot be made.
    """

    def __init__(self, purpose: str = "") -> None:
        _sweep(tempfile.gettempdir())
        self.path, lock = make_locked(f"{PREFIX}{purpose}-" if purpose else PREFIX)
        self._lock = lock
        try:
            self._finalizer = weakref.finalize(self, remove_locked, self.path, lock)
        except BaseException:  # Ctrl-C
            remove_locked(self.path, lock)
            raise

    def close(self) -> None:
        """Remove the folder and what is in it."""
        self._finalizer()

    def keep(self) -> None:
        """Leave the folder where it is for good, for somebody to look at."""
        if self._finalizer.detach() is not None:
            with contextlib.suppress(OSError):
                (self.path / _KEPT).touch()
            unlock(self._lock)


def _sweep(parent: str) -> None:
    """Remove what killed processes have left, once in a process."""
    if parent in _swept:
        return
    _swept.add(parent)
    late = time.time() - _YOUNG
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_ours(entry, late):
                remove_if_left(Path(entry.path))


def _is_ours(entry: os.DirEntry[str], late: float) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    if not (belongs_to_user(found) and stat.S_ISDIR(found.st_mode) and found.st_mtime < late):
        return False
    return not Path(entry.path, _KEPT).exists()
