"""How much memory a process holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

GROWTH_LIMIT = 256 * 1024 * 1024
"""Bytes by which the memory of a worker may grow over that after its first runs before it is
replaced. A leak of 1 kB per run is then renewed every 250 000 runs, one of 10 MB every 25."""

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class ResidentSize:
    """Private memory of a process that is in use, in bytes.

    What is shared with other processes or mapped from files does not count. Where the system
    does not tell (it does on Linux), the size is always 0.

    Parameters
    ----------
    pid
        The process; this one by default.
    """

    def __init__(self, pid: int | None = None) -> None:
        path = Path("/proc", "self" if pid is None else str(pid), "statm")
        try:
            # Kept open: reading it again costs some microseconds.
            self._file = os.open(path, os.O_RDONLY) if sys.platform == "linux" else -1
        except OSError:
            self._file = -1

    def __call__(self) -> int:
        """Return the size now; 0 for a process that has ended."""
        if self._file < 0:
            return 0
        try:
            _, resident, shared, *_ = os.pread(self._file, 200, 0).split()
        except (OSError, ValueError):
            return 0
        return (int(resident) - int(shared)) * _PAGE

    def close(self) -> None:
        """Forget the process."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
