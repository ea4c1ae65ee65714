"""Common interface to everything that differs between POSIX systems and Windows.

Nothing else in fmident may use what Python has on some systems only;
``tests/test_operating_system.py`` enforces it. ``posix`` runs on Linux and macOS and is
tested thoroughly; ``windows`` has the same names and signatures.
``docs/reference/platforms.md`` lists what was tested where. A lock is identified by a
number for :func:`unlock`.
"""

# ruff: noqa: F403, F405 - what the branch has
from __future__ import annotations

import sys

from fmident.operating_system.contract import CRASHES, ChildProcess, TakenError, come_back

if sys.platform == "win32":
    from fmident.operating_system.windows import *
else:
    from fmident.operating_system.posix import *

__all__ = [
    "CRASHES", "ENDED_FOR_PROCESSOR_TIME", "ENDED_FOR_WANT_OF_MEMORY",
    "ChildProcess", "PrivateMemory", "TakenError", "adopt_orphans",
    "belongs_to_user", "come_back", "end_after_crash", "end_child", "end_family", "end_process",
    "flush_c_streams", "hide_core_files", "is_administrator", "kind_of_crash",
    "library_hint", "limit_memory", "limit_processor_time", "lock_path", "lock_record_file",
    "memory_file", "memory_limit", "offer_to_be_ended_first", "open_record_file", "own_group",
    "passed_on", "processors", "read_at", "read_available", "readable",
    "remove_locked_file", "start_child", "start_copy",
    "tie_to_parent", "unlock", "was_killed", "without_waiting",
]  # fmt: skip
