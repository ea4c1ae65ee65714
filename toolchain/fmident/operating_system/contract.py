"""Types shared by both branches."""

from __future__ import annotations

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
"""What signals mean that end a process."""
