"""Windows. The same names and signatures as in ``posix``, written against the documentation.

Locks are named kernel objects, which are gone when the process that holds them is. A child is put
into a job object: all that it starts is ended with it, and it is ended with its parent. Descriptors
reach a child as inherited handles. There is no copy of a process, and no file without a name.

The module can be imported on every system, for its tests; what it calls of Windows is looked up
when it is called. Sources: the documentation of Python's modules ``msvcrt``, ``subprocess`` and
``os``, and that of Windows, see ``kernel32``.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fmident.operating_system.contract import ChildProcess
from fmident.operating_system.kernel32 import NO_ERROR_BOXES, Job, kernel32
from fmident.operating_system.windows_files import handle_of, msvcrt

if TYPE_CHECKING:
    import subprocess

COPIES_PROCESSES = False
"""Whether :func:`in_a_copy` works."""

_QUOTA, _ENDED = 1816, 0xE0000001
"""ERROR_NOT_ENOUGH_QUOTA ends a process that has used up its time; a code of our own, bit 29 set as
Windows asks for."""

ENDED_FOR_PROCESSOR_TIME = (_QUOTA,)
"""How a process ends that :func:`limit_processor_time` has stopped."""

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
"""How a process may end that gets no more memory and does not see to that."""

_starting = threading.Lock()
_own_limits: list[Job] = []
_jobs: dict[int, Job] = {}
"""By the number of the process. Windows gives it to no other while the handle is open."""


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
    """Start a process that leads a group of its own; Ctrl-C is for the parent alone.

    Parameters
    ----------
    command
        Program and arguments. What :func:`passed_on` takes follows, one for each of `passed`.
    passed
        Descriptors that the child gets.
    stdin, stdout, stderr, env
        As for :class:`subprocess.Popen`.
    """
    import subprocess

    handles = [handle_of(descriptor) for descriptor in passed]
    windows: Any = subprocess  # what it has on Windows only
    startup = windows.STARTUPINFO(lpAttributeList={"handle_list": [*handles]})
    with _starting:  # no other child of ours gets the handles
        try:
            for handle in handles:
                _set_inheritable(handle, True)
            process: subprocess.Popen[bytes] = subprocess.Popen(
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
                _set_inheritable(handle, False)
    job = Job()
    if job.take(_process_handle(process)):
        _jobs[process.pid] = job
    return process


def _set_inheritable(handle: int, inheritable: bool) -> None:
    set_inheritable: Any = getattr(os, "set_handle_inheritable")  # noqa: B009 - Windows only
    set_inheritable(handle, inheritable)


def _process_handle(process: subprocess.Popen[bytes]) -> int:
    found: Any = process
    return int(found._handle)


def passed_on(argument: str) -> int:
    """Return, in the child, the descriptor that an argument stands for."""
    flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
    descriptor: int = msvcrt().open_osfhandle(int(argument), flags)
    return descriptor


def own_group() -> dict[str, Any]:
    """Return arguments of :class:`subprocess.Popen` that keep Ctrl-C from a process."""
    return {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP


def end_child(process: ChildProcess) -> None:
    """Kill a process of :func:`start_child` and its group, if it lives."""
    if process.poll() is None:
        if process.pid in _jobs:
            _jobs[process.pid].end(_ENDED)
        with contextlib.suppress(OSError):
            process.kill()


def end_family(
    process: ChildProcess, folder: str | os.PathLike[str], *, alive: bool = False
) -> None:
    """Kill all that a process of :func:`start_child` has started, however it has hidden it.

    Windows: all of its job, which a process cannot leave.

    Parameters
    ----------
    process
        The process; it is killed, too, if it lives.
    folder
        Its temporary folder, which no other process has.
    alive
        Whether it is called again later, when the process has ended.
    """
    job = _jobs.get(process.pid)
    if job is not None:
        job.end(_ENDED)
    if not alive and job is not None:
        job.close()
        del _jobs[process.pid]


def end_process(pid: int) -> None:
    """Kill a process at once; nothing happens if it is gone."""
    with contextlib.suppress(OSError):
        os.kill(pid, _ENDED)  # TerminateProcess, for all numbers but those of Ctrl-C and Ctrl-Break


def tie_to_parent(descriptor: int) -> None:
    """End this process, and those it has started, when the other end of the pipe is closed.

    Windows: the job does that already. A thread that waits for the end of the pipe does it where
    a job could not be had.
    """
    threading.Thread(target=_watch, args=(descriptor,), daemon=True).start()


def _watch(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.read(descriptor, 1)
    os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of orphans among the descendants of this process, where Linux allows it."""


def hide_core_files() -> None:
    """Write no core file when this process crashes; on Windows: show no box, and do not wait."""
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
    """Have the system end this process before others when memory is short."""


def in_a_copy(work: Callable[[], bytes]) -> bytes:
    """Return what `work` returns in a copy of this process; nothing if the copy dies.

    Windows cannot do it: :data:`COPIES_PROCESSES` is to be asked before.
    """
    raise NotImplementedError("Windows makes no copies of processes")


def start_copy(
    work: Callable[[], None], passed: int, output: Path, environment: Mapping[str, str]
) -> ChildProcess | None:
    """Return ``None``: Windows makes no copies of processes."""
    return None


def kind_of_crash(code: int) -> str | None:
    """Return the name of the signal that ended a process; ``None`` if it has ended by itself."""
    known = _CRASHES.get(code & 0xFFFFFFFF)
    if known is not None:
        return known
    return f"exception 0x{code:08X}" if code & 0xFFFFFFFF >= 0xC0000000 else None


def was_killed(code: int) -> bool:
    """Return whether a process was ended from outside, by what cannot be caught."""
    return code & 0xFFFFFFFF == _ENDED


# ------------------------------------------------------------------------------------- the machine


def processors() -> int:
    """Return how many processors this process may use."""
    import psutil  # type: ignore[import-untyped]

    try:
        return len(psutil.Process().cpu_affinity())
    except (AttributeError, OSError, psutil.Error):
        return os.cpu_count() or 1


class PrivateMemory:
    """Private memory of a process that is in use, in bytes.

    What is shared with other processes or mapped from files does not count. Where the system
    does not tell (it does on Linux and on Windows), the size is always 0.

    Parameters
    ----------
    pid
        The process; this one by default.
    """

    def __init__(self, pid: int | None = None) -> None:
        import psutil

        self._process: Any = None
        with contextlib.suppress(psutil.Error, OSError):
            self._process = psutil.Process(pid)
        self._gone = (psutil.Error, OSError, AttributeError)

    def __call__(self) -> int:
        """Return the size now; 0 for a process that has ended."""
        try:
            return int(self._process.memory_info().private)
        except self._gone:
            return 0

    def close(self) -> None:
        """Forget the process."""
        self._process = None


def resident_bytes() -> float | None:
    """Return the resident memory of this process; its greatest so far where only that is known."""
    import psutil

    try:
        return float(psutil.Process().memory_info().rss)
    except (psutil.Error, OSError):
        return None


# ------------------------------------------------------------------------------------- native code


def _c() -> Any:
    """Return the C library of Python itself; an FMU may have another, with buffers of its own."""
    return ctypes.CDLL("ucrtbase")


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def flush_c_streams() -> None:
    """Write out what native code has printed."""
    _c().fflush(None)


def allocator() -> tuple[int, int]:
    """Return the addresses of C's ``calloc`` and ``free``."""
    return _address(_c().calloc), _address(_c().free)


def text_formatter() -> int | None:
    """Return the address of Windows' function behind ``vsnprintf``; ``None``: C has that itself."""
    return _address(getattr(_c(), "__stdio_common_vsprintf"))


def unload_library(handle: int) -> None:
    """Remove a shared library from the process."""
    kernel32().FreeLibrary(handle)


def end_after_crash(error: OSError) -> None:
    """End this process if :mod:`ctypes` has made an exception of a crash, as it does on Windows.

    What native code has left is not to be gone on with; a process of its own protects from that.
    """
    if str(error).startswith("exception: "):
        os.write(2, f"native code crashed: {error}\n".encode())
        os._exit(_ACCESS_VIOLATION - (1 << 32))


def library_hint(message: str) -> str | None:
    """Return what to do when the loader refuses a library, from its words, if they tell."""
    if "WinError 193" in message:
        return "the library is for another processor: export the FMU for this one"
    if "WinError 126" in message or "one of its dependencies" in message:
        return "install the libraries that it needs, or export the FMU without dependencies"
    if "WinError 127" in message:
        return "the FMU was linked against something that is not here; export it as static"
    return None
