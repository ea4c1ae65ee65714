"""Types and functions that the modules for POSIX systems and Windows share."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Protocol


class ChildProcess(Protocol):
    """The part of :class:`subprocess.Popen` that child processes provide."""

    pid: int

    @property
    def returncode(self) -> int | None:
        """Exit code, or the negative number of a signal."""

    def poll(self) -> int | None:
        """Return the exit code, or ``None`` while the process is alive."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises :class:`subprocess.TimeoutExpired`."""

    def kill(self) -> None:
        """Kill the process."""


class TakenError(Exception):
    """The lock is held by another process, or elsewhere in this one."""


CRASHES = {
    "SIGSEGV": "segmentation fault: it used memory that is not its own",
    "SIGABRT": "it gave up by abort()",
    "SIGFPE": "arithmetic error",
    "SIGILL": "illegal instruction: built for another processor?",
    "SIGBUS": "bus error",
    "SIGKILL": "killed from outside, perhaps for want of memory",
}
"""Meanings of signals that end a process."""


@contextlib.contextmanager
def come_back() -> Iterator[None]:
    """Restore the working directory afterwards, whatever native code does to it."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - as it is
    except OSError:  # no way back
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.chdir(folder)


def end_with_pipe(descriptor: int) -> None:
    """End this process when the other end of a pipe is closed."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.read(descriptor, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
