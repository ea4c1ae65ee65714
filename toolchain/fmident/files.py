"""Files that are replaced in one step, and folders that are locked while they are used.

A process that is killed cannot tidy up, but the system releases its locks: what can be locked
belongs to nobody, and is removed. What cannot be written where it was asked for goes to another
place: see :func:`written_elsewhere`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

from fmident.errors import Code, FmidentError, advice_on
from fmident.operating_system import TakenError, lock_path, unlock

_Written = TypeVar("_Written")


_TRIES = 100


def save(path: Path, content: str | Callable[[IO[Any]], object]) -> None:
    """Write a file in one step, so that it is complete or not there.

    Parameters
    ----------
    path
        The file; its folder is made when missing.
    content
        Its text, or what writes it to a binary stream.

    Raises
    ------
    fmident.errors.FmidentError
        It cannot be written; the message says where its content is instead.
    """

    def write(place: Path) -> None:
        if place.exists() and not place.is_file():  # a device or a pipe; a folder is refused
            with place.open("wb") as stream:
                fill(stream)
        else:
            with whole_file(place.resolve()) as stream:
                fill(stream)

    def fill(stream: BinaryIO) -> None:
        if isinstance(content, str):
            stream.write(content.encode("utf-8"))
        else:
            content(stream)

    try:
        write(path)
    except OSError as error:
        other = written_elsewhere(path.name, write)
        raise FmidentError(
            f"'{path}' cannot be written: {error.strerror or error}"
            + (f"; what belongs there is in '{other[0]}'" if other else ""),
            hint=advice_on(error),
            code=Code.UNUSABLE_FILE,
        ) from error


def written_elsewhere(name: str, write: Callable[[Path], _Written]) -> tuple[Path, _Written] | None:
    """Write what cannot be written where it was asked for.

    Parameters
    ----------
    name
        Of the file or folder.
    write
        Writes it to a path.

    Returns
    -------
    tuple or None
        The path, and what `write` has returned; ``None`` where it cannot be written anywhere.
    """
    for parent in other_places():
        try:
            return parent / name, write(parent / name)
        except OSError:
            with contextlib.suppress(OSError):
                parent.rmdir()
    return None


def other_places() -> Iterator[Path]:
    """Yield new folders: in the one for temporary files, the current one, that of the user."""
    for base in (tempfile.gettempdir, Path.cwd, Path.home):
        with contextlib.suppress(OSError, RuntimeError):  # there is none
            yield Path(tempfile.mkdtemp(prefix="fmident-saved-", dir=base()))


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
        It cannot be written, with its name; what was there before is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(path)
    handle, temporary, held = _temporary(path)
    try:
        with os.fdopen(handle, "w+b") as stream:
            yield stream
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
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
    """Remove a folder that is not locked; return whether it was removed."""
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
