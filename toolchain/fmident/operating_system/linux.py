"""Processes of Linux: found in ``/proc``, however they have hidden themselves.

Native code may start processes that outlive it. A child of fmident leads a session of its own,
adopts what its descendants leave behind, and has a folder of its own in its environment, which they
inherit: so they are found among all processes after it has ended, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

assert sys.platform != "win32", "this branch is for POSIX"  # mypy leaves it out for Windows

_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 5
"""Looks at the processes: what is started while others are ended is found in the next."""


def become_subreaper() -> None:
    """Become the parent of orphans among the descendants of this process."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_relatives(leader: int, folder: str | os.PathLike[str]) -> None:
    """Kill all processes of a session, and all that have `folder` or one in it as TMPDIR.

    Parameters
    ----------
    leader
        The process that has led the session; it is killed, too, if it lives.
    folder
        Its temporary folder, which no other process has.
    """
    mark = b"\0TMPDIR=" + os.fsencode(folder)
    for _ in range(_PASSES):
        found = [pid for pid in _processes() if _belongs(pid, leader, mark)]
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - names are enough, and often asked for
    except OSError:
        return []
    own = os.getpid()
    return [int(name) for name in names if name.isdecimal() and int(name) != own]


def _belongs(pid: int, leader: int, mark: bytes) -> bool:
    state = _state(pid)
    if state is None:
        return False
    if pid == leader or state[2] == leader:
        return True
    try:
        environment = b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:  # another user's, or gone
        return False
    at = environment.find(mark)
    return at >= 0 and environment[at + len(mark) : at + len(mark) + 1] in (b"\0", b"/")


def _state(pid: int) -> tuple[str, int, int] | None:
    """Return state, parent and session of a process; ``None`` for one that has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    if len(fields) < 4 or fields[0] in "ZX":
        return None
    return fields[0], int(fields[1]), int(fields[3])
