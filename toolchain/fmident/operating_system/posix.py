"""Linux, macOS and other POSIX systems; Linux features are omitted elsewhere."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import math
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fmident.operating_system import linux
from fmident.operating_system.contract import ChildProcess, TakenError

assert sys.platform != "win32", "this branch is for POSIX"  # mypy leaves it out for Windows

COPIES_PROCESSES = True
"""Whether :func:`in_a_copy` works."""

start_copy = linux.start_copy

ENDED_FOR_PROCESSOR_TIME = (-signal.SIGXCPU,)
"""How a process ends that :func:`limit_processor_time` has stopped."""

ENDED_FOR_WANT_OF_MEMORY = (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGSEGV)
"""How a process may end that gets no more memory and does not see to that."""

_F_SETSIG = 10  # of Linux, and missing in the module fcntl before Python 3.12
_C = ctypes.CDLL(None)
_C.dlclose.argtypes = (ctypes.c_void_p,)


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


def read_into(descriptor: int, buffer: memoryview, offset: int) -> int:
    """Read at an offset into memory; return the number of bytes read."""
    return os.preadv(descriptor, (buffer,), offset)


def write_at(descriptor: int, pieces: Sequence[bytes | memoryview], offset: int) -> int:
    """Write pieces one after the other at an offset; return the number of bytes written."""
    if len(pieces) == 1:
        return os.pwrite(descriptor, pieces[0], offset)
    return os.pwritev(descriptor, pieces, offset)


def write_room(descriptor: int, offset: int, count: int) -> None:
    """Preallocate space of a file that will be written, if possible."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # no room for that much, or not in such a file
            os.posix_fallocate(descriptor, offset, count)


def synchronise(descriptor: int) -> None:
    """Wait until the content of a file is on disk."""
    if sys.platform == "linux":
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


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


@contextmanager
def come_back() -> Iterator[None]:
    """Restore the working directory afterwards, whatever native code does to it."""
    try:
        folder = os.open(".", os.O_RDONLY)
    except OSError:  # no way back
        yield
        return
    try:
        yield
    finally:
        os.fchdir(folder)
        os.close(folder)


def belongs_to_user(found: os.stat_result) -> bool:
    """Return whether a result of :func:`os.stat` belongs to the user of this process."""
    return found.st_uid == os.geteuid()


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


def end_family(
    process: ChildProcess, folder: str | os.PathLike[str], *, alive: bool = False
) -> None:
    """Kill a process of :func:`start_child` and all that it has started, even hidden ones.

    Linux: all processes of its session, and all with a TMPDIR in `folder`. Elsewhere: its
    process group. With `alive`, this is called again when the process has ended.
    """
    if sys.platform == "linux":
        linux.end_relatives(process.pid, folder)
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
        threading.Thread(target=_watch, args=(descriptor,), daemon=True).start()
    if select.select([descriptor], [], [], 0)[0]:  # gone already
        os._exit(1)


def _watch(descriptor: int) -> None:
    os.read(descriptor, 1)
    os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants of this process, if Linux permits it."""
    if sys.platform == "linux":
        linux.become_subreaper()


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


def in_a_copy(work: Callable[[], bytes]) -> bytes:
    """Return the result of `work` in a copy of this (single-threaded) process, or nothing."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = work()
            with os.fdopen(write, "wb") as stream:
                stream.write(result)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        content = stream.read()
    os.waitpid(pid, 0)
    return content


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


# ------------------------------------------------------------------------------------------- pipes


def without_waiting(descriptor: int) -> None:
    """Prepare the reading end of a pipe for :func:`read_available`."""
    os.set_blocking(descriptor, False)


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


def resident_bytes() -> float | None:
    """Return the resident memory of this process, or its maximum if only that is known."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(peak) if sys.platform == "darwin" else 1024.0 * peak
    return float(pages * resource.getpagesize())


# ------------------------------------------------------------------------------------- native code


def flush_c_streams() -> None:
    """Flush the printed output of native code."""
    _C.fflush(None)


def allocator() -> tuple[int, int]:
    """Return the addresses of C's ``calloc`` and ``free``."""
    return _address(_C.calloc), _address(_C.free)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def text_formatter() -> int | None:
    """Return the address of Windows' ``vsnprintf`` function; ``None``: C has its own."""
    return None


def unload_library(handle: int) -> None:
    """Unload a shared library from the process."""
    _C.dlclose(handle)


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
