"""Windows. The same names and signatures as in ``posix``, written against the documentation.

Locks are named kernel objects, which are gone when the process that holds them is. A child is put
into a job object: all that it starts is ended with it, and it is ended with its parent. Descriptors
reach a child as inherited handles. There is no copy of a process, and no file without a name.

The module can be imported on every system, for its tests; what it calls of Windows is looked up
when it is called. Sources: the documentation of Python's modules ``msvcrt``, ``subprocess`` and
``os``, and that of Windows, see ``kernel32``.

Functions of Windows are declared with the types of Microsoft's documentation,
https://learn.microsoft.com/windows/win32/api/: ``synchapi.h``, ``jobapi2.h``, ``winnt.h``,
``namedpipeapi.h``, ``libloaderapi.h``, ``winbase.h``, ``handleapi.h``, ``processthreadsapi.h``.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import hashlib
import importlib
import math
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p, c_wchar_p
from pathlib import Path
from typing import IO, Any

import psutil  # type: ignore[import-untyped]

from fmident.operating_system.contract import ChildProcess, TakenError, end_with_pipe

_ctypes: Any = ctypes
_os: Any = os
_subprocess: Any = subprocess
"""The same modules; what they have on Windows only is unknown to type checkers elsewhere."""

_QUOTA, _ENDED = 1816, 0xE0000001
"""ERROR_NOT_ENOUGH_QUOTA ends a process that has used up its time; a code of our own, bit 29 set as
Windows asks for."""

ENDED_FOR_PROCESSOR_TIME = (_QUOTA,)
"""Exit codes of a process that :func:`limit_processor_time` has stopped."""

_ACCESS_VIOLATION = 0xC0000005
_CRASHES = {
    _ACCESS_VIOLATION: "SIGSEGV",
    0xC00000FD: "SIGSEGV",  # STATUS_STACK_OVERFLOW
    0xC0000374: "SIGABRT",  # STATUS_HEAP_CORRUPTION
    0xC0000409: "SIGABRT",  # STATUS_STACK_BUFFER_OVERRUN, which abort() raises, too
    0xC000001D: "SIGILL",  # STATUS_ILLEGAL_INSTRUCTION
    0xC0000094: "SIGFPE",  # STATUS_INTEGER_DIVIDE_BY_ZERO
    0xC000008E: "SIGFPE",  # STATUS_FLOAT_DIVIDE_BY_ZERO
    0xC0000090: "SIGFPE",  # STATUS_FLOAT_INVALID_OPERATION
    0xC0000006: "SIGBUS",  # STATUS_IN_PAGE_ERROR
    _ENDED: "SIGKILL",
}
"""Exit codes (NTSTATUS) and the signals that mean the same."""

_NO_MEMORY = 0xC0000017  # STATUS_NO_MEMORY

ENDED_FOR_WANT_OF_MEMORY = (_NO_MEMORY, 0xC00000FD, 0xC0000409, 0xC0000005)
"""Exit codes of a process that ran out of memory and did not handle that."""

_BINARY: int = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
"""Files as they are, not inherited by children."""

_starting = threading.Lock()
_own_limits: list[Job] = []
_jobs: dict[int, Job] = {}
"""By the number of the process. Windows gives it to no other while the handle is open."""


# --------------------------------------------------------------------------------------- processes


ALREADY_EXISTS = 183
BROKEN_PIPE = 109

JOB_TIME = 0x2
JOB_MEMORY = 0x100
DIE_ON_UNHANDLED = 0x400
KILL_ON_CLOSE = 0x2000
_EXTENDED_LIMITS = 9

NO_ERROR_BOXES = 0x1 | 0x2 | 0x8000
"""SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SEM_NOOPENFILEERRORBOX: nobody would answer."""


_LOCK_AT = 1 << 20
"""Offset of the locked byte: beyond all content, since Windows lets nobody else read it."""

_POLL = 0.0005
"""Seconds between looks at pipes: Windows cannot wait for anonymous ones."""

_placing = threading.Lock()


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
    handles = [handle_of(descriptor) for descriptor in passed]
    startup = _subprocess.STARTUPINFO(lpAttributeList={"handle_list": [*handles]})
    with _starting:  # no other child of ours gets the handles
        try:
            for handle in handles:
                _os.set_handle_inheritable(handle, True)
            process = _subprocess.Popen(
                [*command, *map(str, handles)],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                startupinfo=startup,
                env=env,
                **own_group(),
            )
        finally:
            for handle in handles:
                _os.set_handle_inheritable(handle, False)
    job = Job()
    if job.take(process._handle):
        _jobs[process.pid] = job
    started: subprocess.Popen[bytes] = process
    return started


def passed_on(argument: str) -> int:
    """Return, in the child, the descriptor encoded by an argument."""
    return int(msvcrt().open_osfhandle(int(argument), os.O_RDWR | _BINARY))


def own_group() -> dict[str, Any]:
    """Return arguments of :class:`subprocess.Popen` that keep Ctrl-C from a process."""
    return {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP


def end_child(process: ChildProcess) -> None:
    """Kill a process of :func:`start_child` and its group, if it is alive."""
    if process.poll() is None:
        if process.pid in _jobs:
            _jobs[process.pid].end(_ENDED)
        with contextlib.suppress(OSError):
            process.kill()


def end_family(process: ChildProcess, folder: str | os.PathLike[str]) -> None:
    """Kill a process of :func:`start_child` and all that it has started, even hidden ones.

    Windows: its whole job, which a process cannot leave.
    """
    job = _jobs.pop(process.pid, None)
    if job is not None:
        job.end(_ENDED)
        job.close()


def end_process(pid: int) -> None:
    """Kill a process; do nothing if it is gone."""
    with contextlib.suppress(OSError):
        os.kill(pid, _ENDED)  # TerminateProcess, for all numbers but those of Ctrl-C and Ctrl-Break


def tie_to_parent(descriptor: int) -> None:
    """End this process, and its children, when the other end of the pipe is closed.

    Windows: the job already does so, or else a thread that waits for the end of the pipe.
    """
    end_with_pipe(descriptor)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants of this process, if Linux permits it."""


def hide_core_files() -> None:
    """Write no core file on a crash; on Windows: show no dialog, and do not wait."""
    kernel32().SetErrorMode(NO_ERROR_BOXES)


def limit_memory(size: int) -> None:
    """Limit the address space of this process, in bytes; on Windows: its committed memory."""
    _limit_own(Job(memory=size, ends_with_owner=False))


def memory_limit() -> float:
    """Return infinity: Windows has no limit on the address space of a process."""
    return math.inf


def limit_processor_time(seconds: int) -> None:
    """Limit the processor time of this process."""
    _limit_own(Job(seconds=seconds, ends_with_owner=False))


def _limit_own(job: Job) -> None:
    if job.take(kernel32().GetCurrentProcess()):
        _own_limits.append(job)  # as long as this process


def offer_to_be_ended_first() -> None:
    """Let the system end this process before others when memory is short."""


def start_copy(
    work: Callable[[], None], passed: Sequence[int], environment: Mapping[str, str]
) -> ChildProcess | None:
    """Return ``None``: Windows makes no copies of processes."""
    return None


def kind_of_crash(code: int) -> str | None:
    """Return the name of the signal that ended a process; ``None`` if it ended by itself."""
    known = _CRASHES.get(code & 0xFFFFFFFF)
    if known is not None:
        return known
    return f"exception 0x{code:08X}" if code & 0xFFFFFFFF >= 0xC0000000 else None


def was_killed(code: int) -> bool:
    """Return whether a process was killed from outside, by a signal that cannot be caught."""
    return code & 0xFFFFFFFF == _ENDED


# ------------------------------------------------------------------------------------- the machine


def processors() -> int:
    """Return the number of processors available to this process."""
    try:
        return len(psutil.Process().cpu_affinity())
    except (AttributeError, OSError, psutil.Error):
        return os.cpu_count() or 1


class PrivateMemory:
    """Private memory in use by a process, this one by default, in bytes.

    Shared and mapped memory do not count; 0 unless on Linux or Windows.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._process: Any = None
        with contextlib.suppress(psutil.Error, OSError):
            self._process = psutil.Process(pid)
        self._gone = (psutil.Error, OSError, AttributeError)

    def __call__(self) -> int:
        """Return the present size; 0 for a process that has ended."""
        try:
            return int(self._process.memory_info().private)
        except self._gone:
            return 0

    def close(self) -> None:
        """Release the process."""
        self._process = None


# ------------------------------------------------------------------------------------- native code


def _c() -> Any:
    """Return Python's own C library; an FMU may have another, with separate buffers."""
    return ctypes.CDLL("ucrtbase")


def flush_c_streams() -> None:
    """Flush the printed output of native code."""
    _c().fflush(None)


def end_after_crash(error: OSError) -> None:
    """End this process if :mod:`ctypes` turned a crash into an exception, as on Windows.

    The state after a crash is undefined.
    """
    if str(error).startswith("exception: "):
        os.write(2, f"native code crashed: {error}\n".encode())
        os._exit(_ACCESS_VIOLATION - (1 << 32))


def library_hint(message: str) -> str | None:
    """Return advice if the loader's message on a refused library permits it."""
    if "WinError 193" in message:
        return "the library is for another processor: export the FMU for this one"
    if "WinError 126" in message or "one of its dependencies" in message:
        return "install the libraries that it needs, or export the FMU without dependencies"
    if "WinError 127" in message:
        return "the FMU was linked against something that is not here; export it as static"
    return None


class _BasicLimits(ctypes.Structure):
    """``JOBOBJECT_BASIC_LIMIT_INFORMATION``."""

    _fields_ = (
        ("per_process_user_time", c_int64),  # units of 100 ns
        ("per_job_user_time", c_int64),
        ("flags", c_uint32),
        ("minimum_working_set", c_size_t),
        ("maximum_working_set", c_size_t),
        ("active_processes", c_uint32),
        ("affinity", c_size_t),
        ("priority_class", c_uint32),
        ("scheduling_class", c_uint32),
    )


class _Limits(ctypes.Structure):
    """``JOBOBJECT_EXTENDED_LIMIT_INFORMATION``."""

    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", c_uint64 * 6),
        ("process_memory", c_size_t),
        ("job_memory", c_size_t),
        ("peak_process_memory", c_size_t),
        ("peak_job_memory", c_size_t),
    )


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "CreateMutexW": (c_void_p, (c_void_p, c_int, c_wchar_p)),
    "CloseHandle": (c_int, (c_void_p,)),
    "CreateJobObjectW": (c_void_p, (c_void_p, c_wchar_p)),
    "SetInformationJobObject": (c_int, (c_void_p, c_int, c_void_p, c_uint32)),
    "AssignProcessToJobObject": (c_int, (c_void_p, c_void_p)),
    "TerminateJobObject": (c_int, (c_void_p, c_uint32)),
    "GetCurrentProcess": (c_void_p, ()),
    "PeekNamedPipe": (c_int, (c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p)),
    "SetErrorMode": (c_uint32, (c_uint32,)),
}


@functools.cache
def kernel32() -> Any:
    """Return the library with the signatures of the functions used."""
    library = _ctypes.WinDLL("kernel32", use_last_error=True)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def last_error() -> int:
    """Return the error of the last call in this thread."""
    return int(_ctypes.get_last_error())


class Job:
    """A job object: processes that are limited and ended together, with all that they start.

    If `ends_with_owner`, they end with this process. `memory` is the maximum committed
    memory of each process, bytes, and `seconds` its user-mode processor time; ``None`` for
    no limit.
    """

    def __init__(
        self,
        *,
        memory: int | None = None,
        seconds: float | None = None,
        ends_with_owner: bool = True,
    ) -> None:
        self._handle = kernel32().CreateJobObjectW(None, None)
        limits = limits_of(memory, seconds, ends_with_owner=ends_with_owner)
        if self._handle:
            kernel32().SetInformationJobObject(
                self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
            )

    def take(self, process: int) -> bool:
        """Add a process by its handle; return success."""
        return bool(self._handle and kernel32().AssignProcessToJobObject(self._handle, process))

    def end(self, code: int) -> None:
        """End all of its processes, with an exit code."""
        if self._handle:
            kernel32().TerminateJobObject(self._handle, code)

    def close(self) -> None:
        """Close the handle."""
        handle, self._handle = self._handle, None
        if handle:
            kernel32().CloseHandle(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


def limits_of(
    memory: int | None, seconds: float | None, *, ends_with_owner: bool
) -> ctypes.Structure:
    """Return the limits of a job as a Windows structure."""
    limits = _Limits()
    limits.basic.flags = DIE_ON_UNHANDLED | (KILL_ON_CLOSE if ends_with_owner else 0)
    if memory is not None:
        limits.basic.flags |= JOB_MEMORY
        limits.process_memory = memory
    if seconds is not None:
        limits.basic.flags |= JOB_TIME
        limits.basic.per_process_user_time = round(1e7 * seconds)
    return limits


def held_in_pipe(handle: int) -> int | None:
    """Return the number of bytes waiting in a pipe; ``None`` when its other end is closed."""
    available = c_uint32()
    if kernel32().PeekNamedPipe(handle, None, 0, None, ctypes.byref(available), None):
        return available.value
    return None


def msvcrt() -> Any:
    """Return the Python module ``msvcrt``."""
    return importlib.import_module("msvcrt")


def handle_of(descriptor: int) -> int:
    """Return the handle of a descriptor."""
    return int(msvcrt().get_osfhandle(descriptor))


# ------------------------------------------------------------------------------------------- locks


def lock_path(path: Path) -> int:
    """Lock a folder or a file until :func:`unlock`, or until this process ends, in any way.

    Windows: for processes of one session. Returns a number; raises `TakenError` if locked.
    """
    name = os.path.normcase(os.path.realpath(path))
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    handle = kernel32().CreateMutexW(None, 0, f"Local\\fmident-{digest[:40]}")
    if not handle:
        return -1
    if last_error() == ALREADY_EXISTS:
        kernel32().CloseHandle(handle)
        raise TakenError(str(path))
    return int(handle)


def unlock(lock: int) -> None:
    """Release a lock of :func:`lock_path`; -1 has no effect."""
    if lock >= 0:
        kernel32().CloseHandle(lock)


def lock_record_file(descriptor: int) -> None:
    """Lock an open file for this process, but not for its children.

    Raises `OSError` if another process holds it (EACCES, EDEADLK), or there are no locks.
    """
    os.lseek(descriptor, _LOCK_AT, os.SEEK_SET)
    try:
        msvcrt().locking(descriptor, msvcrt().LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EBADF, errno.EINVAL):
            raise
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error


def remove_locked_file(path: Path, descriptor: int) -> None:
    """Remove a file that is locked by an open descriptor, and close that.

    Windows: in reverse order; if another process opens it in between, it remains.
    """
    os.close(descriptor)
    with contextlib.suppress(OSError):
        path.unlink()


# ------------------------------------------------------------------------------------------- files


def open_record_file(path: Path) -> int:
    """Open a file to read and write, created if missing; children do not inherit it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o644)


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Read at an offset, from any thread; fewer bytes at the end of the file."""
    with _kept_place(descriptor, offset):
        return os.read(descriptor, count)


@contextmanager
def _kept_place(descriptor: int, offset: int) -> Iterator[None]:
    """Seek in a file and back, since all threads share the position."""
    with _placing:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, offset, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


def memory_file(name: str, size: int = 0) -> int:
    """Return the descriptor of a new file in memory, or on disk if not supported.

    Windows: a temporary file (``O_TEMPORARY``), if possible in memory (``O_SHORT_LIVED``).
    """
    place = Path(tempfile.gettempdir(), f"{name}-{os.getpid()}-{os.urandom(8).hex()}")
    flags = _BINARY | getattr(os, "O_TEMPORARY", 0) | getattr(os, "O_SHORT_LIVED", 0)
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o600)
    os.ftruncate(descriptor, size)
    return descriptor


def belongs_to_user(status: os.stat_result) -> bool:
    """Return whether a result of :func:`os.stat` belongs to the user; Windows does not tell."""
    return True


def is_administrator() -> bool:
    """Return whether this process may install programs for all users; unused on Windows."""
    return False


# ------------------------------------------------------------------------------------------- pipes


def without_waiting(descriptor: int) -> None:
    """Prepare the reading end of a pipe for :func:`read_available`."""


def read_available(descriptor: int, count: int) -> bytes | None:
    """Return the data in a pipe, ``b""`` if its other end is closed, ``None`` if none yet."""
    held = held_in_pipe(handle_of(descriptor))
    if held is None:
        return b""
    return os.read(descriptor, min(count, held)) if held else None


def readable(descriptors: Sequence[int], seconds: float) -> list[tuple[int, bool]]:
    """Wait for pipes with data or closed; return these, each with whether there are data."""
    deadline = time.monotonic() + seconds
    handles = [(descriptor, handle_of(descriptor)) for descriptor in descriptors]
    while True:
        held = [(descriptor, held_in_pipe(handle)) for descriptor, handle in handles]
        ready = [(descriptor, bool(count)) for descriptor, count in held if count != 0]
        if ready or time.monotonic() >= deadline:
            return ready
        time.sleep(_POLL)
