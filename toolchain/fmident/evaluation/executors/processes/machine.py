"""What this machine can do for worker processes."""

from __future__ import annotations

import os


def processes_available() -> bool:
    """Return whether this system can run worker processes."""
    return os.name == "posix"


def processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
