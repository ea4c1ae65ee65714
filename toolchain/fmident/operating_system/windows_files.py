"""Locks, files and pipes of Windows; see ``windows``."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fmident.operating_system.contract import TakenError
from fmident.operating_system.kernel32 import (
    ALREADY_EXISTS,
    held_in_pipe,
    kernel32,
    last_error,
)

_LOCK_AT = 1 << 20
"""Where a byte is locked: beyond all content, since Windows does not let others read it."""

_POLL = 0.0005
"""Seconds between looks at pipes: Windows cannot wait for anonymous ones."""

_placing = threading.Lock()


def msvcrt() -> Any:
    """Return Python's module of that name."""
    return importlib.import_module("msvcrt")


def handle_of(descriptor: int) -> int:
    """Return the handle of a descriptor."""
    handle: int = msvcrt().get_osfhandle(descriptor)
    return handle


# ------------------------------------------------------------------------------------------- locks


def lock_path(path: Path) -> int:
    """Lock a folder or a file until :func:`unlock`, or until this process ends, however it does.

    Windows: holds for processes of one session on one machine.

    Returns
    -------
    int
        What holds the lock; -1 where there is no such object.

    Raises
    ------
    TakenError
        It is held already.
    """
    name = os.path.normcase(os.path.realpath(path))
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    handle = kernel32().CreateMutexW(None, 0, f"Local\\fmident-{digest[:40]}")
    if not handle:
        return -1
    if last_error() == ALREADY_EXISTS:
        kernel32().CloseHandle(handle)
        raise TakenError(str(path))
    return int(handle)


def unlock(lock: int) -> None:
    """Give back what :func:`lock_path` returned; nothing happens for -1."""
    if lock >= 0:
        kernel32().CloseHandle(lock)


def lock_record_file(descriptor: int) -> None:
    """Lock an open file for this process, but not for its children.

    Raises
    ------
    OSError
        Another process holds it (EACCES, EDEADLK), or there are no locks.
    """
    os.lseek(descriptor, _LOCK_AT, os.SEEK_SET)
    try:
        msvcrt().locking(descriptor, msvcrt().LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EBADF, errno.EINVAL):
            raise
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error


def remove_locked_file(path: Path, descriptor: int) -> None:
    """Remove a file that is locked by an open descriptor, and close that.

    Windows: the other way round, since nobody may remove an open file. If another process opens
    it in between, it stays.
    """
    os.close(descriptor)
    with contextlib.suppress(OSError):
        path.unlink()


# ------------------------------------------------------------------------------------------- files


def open_record_file(path: Path) -> int:
    """Open a file to read and write, made when missing; children do not get it."""
    flags = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
    return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Read at a place, by any thread; fewer bytes at the end of the file."""
    with _kept_place(descriptor, offset):
        return os.read(descriptor, count)


def read_into(descriptor: int, buffer: memoryview, offset: int) -> int:
    """Read at a place into memory; return how many bytes were there."""
    content = read_at(descriptor, len(buffer), offset)
    buffer[: len(content)] = content
    return len(content)


def write_at(descriptor: int, pieces: Sequence[bytes | memoryview], offset: int) -> int:
    """Write pieces one after the other at a place; return how many bytes were written."""
    written = 0
    with _kept_place(descriptor, offset):
        for piece in pieces:
            count = os.write(descriptor, piece)
            written += count
            if count < len(piece):
                break
    return written


@contextmanager
def _kept_place(descriptor: int, offset: int) -> Iterator[None]:
    """Go to a place in a file and back: there is one for all threads."""
    with _placing:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, offset, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


def write_room(descriptor: int, offset: int, count: int) -> None:
    """Have a file grow by room that is going to be written, where that can be."""


def synchronise(descriptor: int) -> None:
    """Wait until the content of a file is on the disk."""
    os.fsync(descriptor)


def memory_file(name: str, size: int = 0) -> int:
    """Return the descriptor of a new file in memory, or on disk where there is no such thing.

    Windows: a temporary file (``O_TEMPORARY``), which is removed when its last descriptor is
    closed, and kept in memory as far as there is room (``O_SHORT_LIVED``).
    """
    import tempfile

    place = Path(tempfile.gettempdir(), f"{name}-{os.getpid()}-{os.urandom(8).hex()}")
    wanted = ("O_BINARY", "O_NOINHERIT", "O_TEMPORARY", "O_SHORT_LIVED")
    flags = sum(getattr(os, flag, 0) for flag in wanted)
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o600)
    os.ftruncate(descriptor, size)
    return descriptor


@contextmanager
def come_back() -> Iterator[None]:
    """Come back to the working directory, whatever native code makes of it."""
    before = os.getcwd()  # noqa: PTH109 - as it is
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.chdir(before)


def belongs_to_user(found: os.stat_result) -> bool:
    """Return whether what :func:`os.stat` has found belongs to the user of this process.

    Windows does not say. The folder for temporary files is the user's own there.
    """
    return True


def is_administrator() -> bool:
    """Return whether this process may install programs for all; on Windows nothing asks for it."""
    return False


# ------------------------------------------------------------------------------------------- pipes


def without_waiting(descriptor: int) -> None:
    """Prepare the reading end of a pipe for :func:`read_available`."""


def read_available(descriptor: int, count: int) -> bytes | None:
    """Return what is in a pipe, ``b""`` when its other end is closed, ``None`` if nothing yet."""
    held = held_in_pipe(handle_of(descriptor))
    if held is None:
        return b""
    return os.read(descriptor, min(count, held)) if held else None


def readable(descriptors: Sequence[int], seconds: float) -> list[tuple[int, bool]]:
    """Wait until something is in one of some pipes, or one is closed.

    Returns
    -------
    list
        Descriptors, each with whether something is in there to be read; empty when the time
        is over.
    """
    deadline = time.monotonic() + seconds
    handles = [(descriptor, handle_of(descriptor)) for descriptor in descriptors]
    while True:
        held = [(descriptor, held_in_pipe(handle)) for descriptor, handle in handles]
        found = [(descriptor, bool(count)) for descriptor, count in held if count != 0]
        if found or time.monotonic() >= deadline:
            return found
        time.sleep(_POLL)
