"""One run at a time for each result folder."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from pathlib import Path
from typing import Any

from fmident._json import loads_json
from fmident._recoverable_lock import RecoverableLock
from fmident.errors import Code, EstimationError
from fmident.operating_system import (
    lock_record_file,
    open_record_file,
    remove_locked_file,
    write_at,
)

_OWN: dict[str, dict[str, Any]] = {}
"""Locks that this process holds, and what their files tell.

POSIX locks do not keep a process from its own files. Worse, they are gone as soon as it closes any
descriptor of such a file: so it must not even read one that it has locked.
"""

_CHANGING = RecoverableLock()

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class RunLock:
    """A lock that the system releases when the process ends, however it ends.

    POSIX record locks are used, since child processes do not inherit them: workers that
    outlive a killed run for a moment do not hold its lock.

    Parameters
    ----------
    path
        The lock file; it says who holds the lock, and is removed on release.
    what
        What is locked, for the message.

    Raises
    ------
    fmident.errors.EstimationError
        Another run holds it; with its process number and start.
    OSError
        The file cannot be made.
    """

    def __init__(self, path: Path, what: Path) -> None:
        self.path = path
        self._name = str(path.resolve())
        self.note = ""
        with _CHANGING:
            if self._name in _OWN:
                raise _refusal(what, _OWN[self._name])
            self._take(what)
            _OWN[self._name] = _self()
        with contextlib.suppress(OSError):  # a full disk; the lock itself needs no room
            os.ftruncate(self._descriptor, 0)
            write_at(self._descriptor, [json.dumps(_OWN[self._name]).encode()], 0)

    def release(self) -> None:
        """Let others in."""
        with _CHANGING:
            if _OWN.pop(self._name, None) is None:
                return
            remove_locked_file(self.path, self._descriptor)

    def _take(self, what: Path) -> None:
        path = self.path
        while True:
            self._descriptor = open_record_file(path)
            try:
                self._lock(what)
                if self._still_there():
                    break
            except BaseException:
                os.close(self._descriptor)
                raise
            os.close(self._descriptor)  # it was just released and removed: make a new one

    def _lock(self, what: Path) -> None:
        try:
            lock_record_file(self._descriptor)
        except OSError as error:
            if error.errno in _HELD:
                raise _refusal(what, _holder(self.path)) from None
            self.note = (
                f"this file system keeps no locks ({error.strerror}): see to it yourself that no "
                f"second run writes into '{what}'"
            )

    def _still_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except FileNotFoundError:
            return False


def _self() -> dict[str, Any]:
    import socket

    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "started": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _holder(path: Path) -> dict[str, Any]:
    try:
        found = loads_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _refusal(what: Path, holder: dict[str, Any]) -> EstimationError:
    who = ""
    if holder:
        pid, host, started = (holder.get(k) for k in ("pid", "host", "started"))
        who = f": process {pid} on {host}, since {started}"
    return EstimationError(
        f"another run is at work on the result folder '{what}'{who}",
        hint="wait for it, end it, or give another folder with -o",
        code=Code.FOLDER_IN_USE,
    )
