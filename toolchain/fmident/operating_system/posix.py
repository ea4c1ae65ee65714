"""Linux, macOS and other POSIX systems; Linux features are omitted elsewhere.

On Linux, processes are found by ``/proc`` even if they hide. Native code may start
processes that outlive it. A child of fmident leads its own session, adopts orphans, and
has its own folder in the inherited environment, by which its descendants can be identified.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import math
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO, Any, NoReturn

from fmident.operating_system.contract import ChildProcess, TakenError, end_with_pipe

assert sys.platform != "win32", "this branch is for POSIX"  # mypy leaves it out for Windows

ENDED_FOR_PROCESSOR_TIME = (-signal.SIGXCPU,)
"""Exit codes of a process that :func:`limit_processor_time` has stopped."""

ENDED_FOR_WANT_OF_MEMORY = (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGSEGV)
"""Exit codes of a process that ran out of memory and did not handle that."""

_PIPE_BYTES = 1 << 20
_F_SETSIG = 10  # of Linux, and missing in the module fcntl before Python 3.12
_C = ctypes.CDLL(None)


_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NAME = 15
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
_PASSES = 5
"""Looks at the processes: what is started while others are ended is found in the next."""


# ------------------------------------------------------------------------------------------- locks


def lock_path(path: Path) -> int:
    """Lock a folder or a file until :func:`unlock`, or until this process ends, in any way.

    Returns a number, -1 without support of locks; raises `TakenError` if already locked.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return -1
    try:
        # Unlike record locks these last until this very descriptor is closed.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise TakenError(str(path)) from None
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def unlock(lock: int) -> None:
    """Release a lock of :func:`lock_path`; -1 has no effect."""
    if lock >= 0:
        os.close(lock)


def lock_record_file(descriptor: int) -> None:
    """Lock an open file for this process, but not for its children.

    POSIX: a record lock, released as soon as the process closes any descriptor of the file.
    Raises `OSError` if another process holds it (EACCES, EAGAIN, EDEADLK).
    """
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_locked_file(path: Path, descriptor: int) -> None:
    """Remove a file that is locked by an open descriptor, and close that."""
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(descriptor)


# ------------------------------------------------------------------------------------------- files


def open_record_file(path: Path) -> int:
    """Open a file to read and write, created if missing; children do not inherit it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Read at an offset, from any thread; fewer bytes at the end of the file."""
    return os.pread(descriptor, count, offset)


def memory_file(name: str, size: int = 0) -> int:
    """Return the descriptor of a new unnamed file in memory, or on disk if not supported."""
    descriptor = _memory_file(name)
    os.ftruncate(descriptor, size)
    return descriptor


def _memory_file(name: str) -> int:
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):
            return os.memfd_create(name, os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def belongs_to_user(status: os.stat_result) -> bool:
    """Return whether a result of :func:`os.stat` belongs to the user of this process."""
    return status.st_uid == os.geteuid()


def is_administrator() -> bool:
    """Return whether this process may install programs for all users."""
    return os.geteuid() == 0


# --------------------------------------------------------------------------------------- processes


def start_child(
    command: Sequence[str],
    passed: Sequence[int] = (),
    *,
    stdin: int | IO[bytes] | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process that leads its own group; Ctrl-C reaches only the parent.

    `command` gets one more argument for each descriptor in `passed`, to be decoded by
    :func:`passed_on`. The others are as for :class:`subprocess.Popen`.
    """
    return subprocess.Popen(
        [*command, *map(str, passed)],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=passed,
        start_new_session=True,
        env=env,
    )


def passed_on(argument: str) -> int:
    """Return, in the child, the descriptor encoded by an argument."""
    return int(argument)


def own_group() -> dict[str, Any]:
    """Return arguments of :class:`subprocess.Popen` that keep Ctrl-C from a process."""
    return {"start_new_session": True}


def end_child(process: ChildProcess) -> None:
    """Kill a process of :func:`start_child` and its group, if it is alive."""
    if process.poll() is None:  # else the number may be another's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def end_family(process: ChildProcess, folder: str | os.PathLike[str]) -> None:
    """Kill a process of :func:`start_child` and all that it has started, even hidden ones.

    Linux: all processes of its session, and all with a TMPDIR in `folder`. Elsewhere: its
    process group.
    """
    if sys.platform == "linux":
        _end_relatives(process.pid, folder)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def end_process(pid: int) -> None:
    """Kill a process; do nothing if it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def tie_to_parent(descriptor: int) -> None:
    """End this process, and its children, when the other end of the pipe is closed.

    When the parent, which holds the writing end, is gone, Linux signals the child's process
    group, even during an infinite loop in native code. (A thread that reads the pipe, as
    elsewhere, might never be scheduled; Linux' parent-death signal follows the parent's
    thread, not the parent.)
    """
    if sys.platform == "linux":
        leads = os.getpgrp() == os.getpid()
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, -os.getpid() if leads else os.getpid())
        fcntl.fcntl(descriptor, _F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)
    else:
        end_with_pipe(descriptor)
    if select.select([descriptor], [], [], 0)[0]:  # gone already
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants of this process, if Linux permits it."""
    if sys.platform == "linux":
        _C.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def hide_core_files() -> None:
    """Write no core file when this process crashes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_memory(size: int) -> None:
    """Limit the address space of this process, in bytes, if the system can.

    macOS refuses it (https://github.com/python/cpython/issues/78783).
    """
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (OSError, ValueError):
        if sys.platform == "linux":
            raise


def memory_limit() -> float:
    """Return the limit on the address space of this process, in bytes; infinite if none."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if most == resource.RLIM_INFINITY else most


def limit_processor_time(seconds: int) -> None:
    """Limit the processor time of this process."""
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if most == resource.RLIM_INFINITY or most > seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))


def offer_to_be_ended_first() -> None:
    """Let the system end this process before others when memory is short."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")


def kind_of_crash(code: int) -> str | None:
    """Return the name of the signal that ended a process; ``None`` if it ended by itself."""
    if code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def was_killed(code: int) -> bool:
    """Return whether a process was killed from outside, by a signal that cannot be caught."""
    return code == -signal.SIGKILL


class _Copy:
    """A copy of this process, with the interface of :class:`subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = -1
        if sys.platform == "linux":
            self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = self._asked(os.WNOHANG)
            if pid:
                self._ended(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if timeout is not None and not select.select([self._end], [], [], timeout)[0]:
                raise TimeoutExpired("a copy of this process", timeout)
            self._ended(self._asked(0)[1])
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
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
    work: Callable[[], None], passed: Sequence[int], environment: Mapping[str, str]
) -> ChildProcess | None:
    """Call `work` in a copy of this process that leads its own session.

    The copy has everything imported here, starts at once, and keeps only the descriptors
    `passed`, the last of which receives what it prints. `work` does not return, or ends
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
    gate, opening = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            # One that ends before it is known vanishes where this process ignores such ends.
            os.close(opening)
            os.read(gate, 1)
            _be_a_copy(work, passed, environment)
        return _Copy(pid)
    finally:
        os.close(opening)
        os.close(gate)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _be_a_copy(
    work: Callable[[], None], passed: Sequence[int], environment: Mapping[str, str]
) -> NoReturn:
    try:
        gc.disable()  # nothing of the parent's is to be cleaned up here
        os.setsid()
        # Those of crashes may be a library's, which prints its stack over an FMU's last words.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *_CRASHES):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (passed[-1], 1), (passed[-1], 2)):
            os.dup2(source, target)
        for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if descriptor > 2 and descriptor not in passed[:-1]:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        os.environ.update(environment)
        tempfile.tempdir = None  # it is asked for again
        # What it starts inherits its name, as it does the environment of a program.
        _C.prctl(_PR_SET_NAME, _name(os.getpid()), 0, 0, 0)
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


def _name(leader: int) -> bytes:
    return b"fmident%x" % leader


def _end_relatives(leader: int, folder: str | os.PathLike[str]) -> None:
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


# ------------------------------------------------------------------------------------------- pipes


def without_waiting(descriptor: int) -> None:
    """Prepare the reading end of a pipe for :func:`read_available`; let it hold more, on Linux."""
    os.set_blocking(descriptor, False)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # beyond what the administrator permits
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def read_available(descriptor: int, count: int) -> bytes | None:
    """Return the data in a pipe, ``b""`` if its other end is closed, ``None`` if none yet."""
    try:
        return os.read(descriptor, count)
    except BlockingIOError:
        return None


def readable(descriptors: Sequence[int], seconds: float) -> list[tuple[int, bool]]:
    """Wait for pipes with data or closed; return these, each with whether there are data."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [(number, bool(event & select.POLLIN)) for number, event in poll.poll(1000.0 * seconds)]


# ------------------------------------------------------------------------------------- the machine


def processors() -> int:
    """Return the number of processors available to this process."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class PrivateMemory:
    """Private memory in use by a process, this one by default, in bytes.

    Shared and mapped memory do not count; 0 unless on Linux or Windows.
    """

    def __init__(self, pid: int | None = None) -> None:
        path = Path("/proc", "self" if pid is None else str(pid), "statm")
        try:
            # Kept open: reading it again costs some microseconds.
            self._file = os.open(path, os.O_RDONLY) if sys.platform == "linux" else -1
        except OSError:
            self._file = -1

    def __call__(self) -> int:
        """Return the present size; 0 for a process that has ended."""
        if self._file < 0:
            return 0
        try:
            _, resident, shared, *_ = os.pread(self._file, 200, 0).split()
        except (OSError, ValueError):
            return 0
        return (int(resident) - int(shared)) * resource.getpagesize()

    def close(self) -> None:
        """Release the process."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


# ------------------------------------------------------------------------------------- native code


def flush_c_streams() -> None:
    """Flush the printed output of native code."""
    _C.fflush(None)


def end_after_crash(error: OSError) -> None:
    """End this process if :mod:`ctypes` turned a crash into an exception, as on Windows."""


def library_hint(message: str) -> str | None:
    """Return advice if the loader's message on a refused library permits it."""
    if "failed to map segment" in message:
        return "the temporary folder forbids programs (noexec); let TMPDIR name another one"
    if "No such file" in message or "cannot open shared object" in message:
        return "install the library that is named, or export the FMU without dependencies"
    if "undefined symbol" in message:
        return "the FMU was linked against something that is not here; export it as static"
    return None
