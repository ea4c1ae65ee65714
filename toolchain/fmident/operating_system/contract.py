"""What both branches share."""

from __future__ import annotations

from typing import Protocol


class ChildProcess(Protocol):
    """What :class:`subprocess.Popen` offers of a process that is one."""

    pid: int

    @property
    def returncode(self) -> int | None:
        """How it ended: what it returned, or the number of a signal, negative."""

    def poll(self) -> int | None:
        """Return how it ended, ``None`` while it lives."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises :class:`subprocess.TimeoutExpired`."""

    def kill(self) -> None:
        """End it at once."""


class TakenError(Exception):
    """Another process, or another place in this one, holds the lock."""


CRASHES = {
    "SIGSEGV": "segmentation fault: it used memory that is not its own",
    "SIGABRT": "it gave up by abort()",
    "SIGFPE": "arithmetic error",
    "SIGILL": "illegal instruction: built for another processor?",
    "SIGBUS": "bus error",
    "SIGKILL": "killed from outside, perhaps for want of memory",
}
"""What signals mean that end a process."""
