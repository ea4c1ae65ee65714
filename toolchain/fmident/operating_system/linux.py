"""Processes of Linux, found by ``/proc`` even if they hide.

Native code may start processes that outlive it. A child of fmident leads its own
session, adopts orphans, and has its own folder in the inherited environment, by which
its descendants can be identified.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import TimeoutExpired
from typing import NoReturn

from fmident.operating_system.contract import ChildProcess

assert sys.platform != "win32", "this branch is for POSIX"  # mypy leaves it out for Windows

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NAME = 15
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
_PASSES = 5
"""Looks at the processes: what is started while others are ended is found in the next."""


class Copy:
    """A copy of this process, with the interface of :class:`subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = -1
        if sys.platform == "linux":
            self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Return the exit code, or ``None`` while the process is alive."""
        if self.returncode is None:
            pid, status = self._asked(os.WNOHANG)
            if pid:
                self._ended(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if self.returncode is None:
            if timeout is not None and not select.select([self._end], [], [], timeout)[0]:
                raise TimeoutExpired("a copy of this process", timeout)
            self._ended(self._asked(0)[1])
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Kill the process."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _asked(self, options: int) -> tuple[int, int]:
        """Return number and status of the copy; the number is 0 while it is alive."""
        try:
            return os.waitpid(self.pid, options)
        except ChildProcessError:
            # SIGCHLD is ignored here, so that nothing is kept of how a process ended.
            if not select.select([self._end], [], [], 0.0)[0]:
                return 0, 0
            return self.pid, 0

    def _ended(self, status: int) -> None:
        self.returncode = os.waitstatus_to_exitcode(status)
        os.close(self._end)


def start_copy(
    work: Callable[[], None], passed: int, output: Path, environment: Mapping[str, str]
) -> ChildProcess | None:
    """Call `work` in a copy of this process that leads its own session.

    The copy has everything imported here, starts at once, keeps only the descriptor
    `passed`, and appends its printed output to `output`. `work` does not return, or ends
    the copy by returning. ``None`` if there can be no copy: not on Linux, a process cannot
    be waited for by a descriptor, or this process has several threads, whose locks the copy
    would wait for.
    """
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return None
    if threading.active_count() > 1 or threading.current_thread() is not threading.main_thread():
        return None
    try:  # kernels before 5.3 have no such call, and some containers do not allow it
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return None
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    # Ctrl-C that comes now is the parent's.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pid = os.fork()
        if pid == 0:
            _be_a_copy(work, passed, output, environment)
        return Copy(pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _be_a_copy(
    work: Callable[[], None], passed: int, output: Path, environment: Mapping[str, str]
) -> NoReturn:
    try:
        gc.disable()  # nothing of the parent's is to be cleaned up here
        os.setsid()
        # Those of crashes may be a library's, which prints its stack over an FMU's last words.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *_CRASHES):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        own = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (own, 1), (own, 2)):
            os.dup2(source, target)
        for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if descriptor > 2 and descriptor != passed:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        os.environ.update(environment)
        tempfile.tempdir = None  # it is asked for again
        # What it starts inherits its name, as it does the environment of a program.
        ctypes.CDLL(None).prctl(_PR_SET_NAME, _name(os.getpid()), 0, 0, 0)
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


def _name(leader: int) -> bytes:
    return b"fmident%x" % leader


def become_subreaper() -> None:
    """Become the parent of orphans among the descendants of this process."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_relatives(leader: int, folder: str | os.PathLike[str]) -> None:
    """Kill all processes of a session, its `leader`, and all with a TMPDIR in `folder`.

    For a copy of this process, also those with its name.
    """
    mark = b"\0TMPDIR=" + os.fsencode(folder)
    for _ in range(_PASSES):
        pids = [pid for pid in _processes() if _belongs(pid, leader, mark)]
        if not pids:
            return
        for pid in pids:
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
    if pid == leader or state[2] == leader or state[3] == _name(leader).decode():
        return True
    try:
        environment = b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:  # another user's, or gone
        return False
    at = environment.find(mark)
    return at >= 0 and environment[at + len(mark) : at + len(mark) + 1] in (b"\0", b"/")


def _state(pid: int) -> tuple[str, int, int, str] | None:
    """Return state, parent, session and name of a process; ``None`` if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    if len(fields) < 4 or fields[0] in "ZX":
        return None
    return fields[0], int(fields[1]), int(fields[3]), name
