"""A child must not outlive its parent, not even one that is killed and cannot clean up.

The parent holds the writing end of a pipe, the child the reading end. When the parent is
gone, however it went, the kernel sends the child and all of its process group a signal: native
code that hangs in a loop cannot prevent that. (A thread that reads the pipe could not be sure to
get its turn; the parent-death signal of Linux follows the parent's thread, not the parent.)
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

_F_SETSIG = 10  # of Linux, and missing in the module fcntl before Python 3.12


def tie(descriptor: int) -> None:
    """End this process, and those it has started, when the other end of the pipe is closed."""
    import fcntl

    if sys.platform == "linux":
        leads = os.getpgrp() == os.getpid()
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, -os.getpid() if leads else os.getpid())
        fcntl.fcntl(descriptor, _F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)
    else:
        threading.Thread(target=_watch, args=(descriptor,), daemon=True).start()
    if select.select([descriptor], [], [], 0)[0]:  # gone already
        os._exit(1)


def _watch(descriptor: int) -> None:
    os.read(descriptor, 1)
    os._exit(1)
