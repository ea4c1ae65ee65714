"""What both branches share."""

from __future__ import annotations


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
