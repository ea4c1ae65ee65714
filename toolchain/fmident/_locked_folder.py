"""Folders that are locked while they are used, so that what a killed process left is told apart.

A process that is killed cannot tidy up. The system releases its locks however it ends: a folder
that can be locked belongs to nobody.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_TRIES = 100


class TakenError(Exception):
    """Another process holds the folder."""


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
    descriptor : int
        Holds the lock until it is closed; -1 where the file system keeps no locks.

    Raises
    ------
    OSError
        It cannot be made.
    """
    for _ in range(_TRIES):
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            descriptor = lock_folder(path)
        except TakenError:
            continue  # another process took it for one that was left, and removes it
        except BaseException:  # Ctrl-C
            remove_locked(path, -1)
            raise
        if path.exists():
            return path, descriptor
        if descriptor >= 0:
            os.close(descriptor)
    raise FileExistsError(f"no folder '{prefix}...' can be made")


def lock_folder(path: Path) -> int:
    """Lock a folder and return the descriptor that holds the lock; -1 where that is not possible.

    Raises
    ------
    TakenError
        Another process holds it.
    """
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return -1
    try:
        # Unlike record locks these last until this very descriptor is closed.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise TakenError(str(path)) from None
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def remove_if_left(path: Path) -> bool:
    """Remove a folder that nobody holds; return whether it was so."""
    try:
        descriptor = lock_folder(path)
    except TakenError:
        return False
    if descriptor < 0:
        return False
    remove_locked(path, descriptor)
    return True


def remove_locked(path: Path, descriptor: int) -> None:
    """Remove a folder, then close the descriptor that locks it (none if negative)."""
    try:
        shutil.rmtree(path, ignore_errors=True)
    except BaseException:
        # Ctrl-C takes effect when the folder is gone: nobody would come back to it.
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
