"""Folders that are locked while they are used, so that what a killed process left is told apart.

A process that is killed cannot tidy up. The system releases its locks however it ends: a folder
that can be locked belongs to nobody.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from fmident.operating_system import TakenError, lock_path, unlock

_TRIES = 100


def make_locked(prefix: str, parent: Path | None = None) -> tuple[Path, int]:
    """Make a private folder and lock it.

    Parameters
    ----------
    prefix
        Its name begins with it.
    parent
        Where; the folder for temporary files by default.

    Returns
    -------
    path : Path
        The folder.
    lock : int
        What :func:`remove_locked` takes; -1 where the file system keeps no locks.

    Raises
    ------
    OSError
        It cannot be made.
    """
    for _ in range(_TRIES):
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = lock_path(path)
        except TakenError:
            continue  # another process took it for one that was left, and removes it
        except BaseException:  # Ctrl-C
            remove_locked(path, -1)
            raise
        if path.exists():
            return path, lock
        unlock(lock)
    raise FileExistsError(f"no folder '{prefix}...' can be made")


def remove_if_left(path: Path) -> bool:
    """Remove a folder that nobody holds; return whether it was so."""
    try:
        lock = lock_path(path)
    except TakenError:
        return False
    if lock < 0:
        return False
    remove_locked(path, lock)
    return True


def remove_locked(path: Path, lock: int) -> None:
    """Remove a folder, then give back its lock."""
    try:
        shutil.rmtree(path, ignore_errors=True)
    except BaseException:
        # Ctrl-C takes effect when the folder is gone: nobody would come back to it.
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        unlock(lock)
