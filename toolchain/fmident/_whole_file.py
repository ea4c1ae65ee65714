"""Files that are replaced only by whole ones, with nothing left beside them by killed processes."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fmident.operating_system import TakenError, lock_path, unlock


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that takes its place when all of it is written.

    What killed processes have left of earlier tries is removed.

    Parameters
    ----------
    path
        The file; its folder is made when missing.

    Yields
    ------
    stream
        To write and to seek in.

    Raises
    ------
    OSError
        It cannot be written; what was there before is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(path)
    handle, temporary, held = _temporary(path)
    try:
        with os.fdopen(handle, "w+b") as stream:
            yield stream
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        unlock(held)


def _temporary(path: Path) -> tuple[int, Path, int]:
    """Return an open file beside another, its path, and what locks it."""
    while True:
        handle, name = tempfile.mkstemp(prefix=_prefix(path), dir=path.parent)
        temporary = Path(name)
        try:
            held = lock_path(temporary)
        except TakenError:  # another process took it for one that was left, and removes it
            os.close(handle)
            continue
        if temporary.exists():
            return handle, temporary, held
        os.close(handle)
        unlock(held)


def _remove_left(path: Path) -> None:
    """Remove the temporary files of the same name that no process holds, where that is possible."""
    name = re.compile(re.escape(_prefix(path)) + "[a-z0-9_]{8}")
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for left in [Path(e.path) for e in entries if name.fullmatch(e.name) and e.is_file()]:
            with contextlib.suppress(TakenError):
                held = lock_path(left)
                if held < 0:
                    continue
                try:
                    left.unlink(missing_ok=True)
                finally:
                    unlock(held)


def _prefix(path: Path) -> str:
    """Return how names of temporary files begin, which nobody else gives to a file."""
    return f".{path.name}.fmident-"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
