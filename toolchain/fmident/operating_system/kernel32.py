"""What the Windows branch calls of Windows itself, with the types of Microsoft's documentation.

https://learn.microsoft.com/windows/win32/api/: ``synchapi.h``, ``jobapi2.h``, ``winnt.h``,
``namedpipeapi.h``, ``libloaderapi.h``, ``winbase.h``, ``handleapi.h``, ``processthreadsapi.h``.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p, c_wchar_p
from typing import Any

ALREADY_EXISTS = 183
BROKEN_PIPE = 109

JOB_TIME = 0x2
JOB_MEMORY = 0x100
DIE_ON_UNHANDLED = 0x400
KILL_ON_CLOSE = 0x2000
_EXTENDED_LIMITS = 9

NO_ERROR_BOXES = 0x1 | 0x2 | 0x8000
"""SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SEM_NOOPENFILEERRORBOX: nobody would answer."""


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
    "FreeLibrary": (c_int, (c_void_p,)),
    "SetErrorMode": (c_uint32, (c_uint32,)),
}


@functools.cache
def kernel32() -> Any:
    """Return the library with the signatures of what is used of it."""
    library = getattr(ctypes, "WinDLL")("kernel32", use_last_error=True)  # noqa: B009 - see mypy
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def last_error() -> int:
    """Return the error of the last call in this thread."""
    number: int = getattr(ctypes, "get_last_error")()  # noqa: B009 - see mypy
    return number


class Job:
    """A job object: processes that are limited and ended together, with all that they start.

    They are ended when the last handle is closed, that is, when this process is gone, too.

    Parameters
    ----------
    memory
        Greatest committed memory of each of its processes, bytes; ``None``: no limit.
    seconds
        Greatest processor time of each of its processes in user mode; ``None``: no limit.
    ends_with_owner
        Whether closing the handle ends them.
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
        """Add a process by its handle; return whether that was possible."""
        return bool(self._handle and kernel32().AssignProcessToJobObject(self._handle, process))

    def end(self, code: int) -> None:
        """End all of its processes, with an exit code."""
        if self._handle:
            kernel32().TerminateJobObject(self._handle, code)

    def close(self) -> None:
        """Give the handle back."""
        handle, self._handle = self._handle, None
        if handle:
            kernel32().CloseHandle(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


def limits_of(
    memory: int | None, seconds: float | None, *, ends_with_owner: bool
) -> ctypes.Structure:
    """Return the limits of a job as Windows takes them."""
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
    """Return how many bytes wait in a pipe; ``None`` when its other end is closed."""
    available = c_uint32()
    if kernel32().PeekNamedPipe(handle, None, 0, None, ctypes.byref(available), None):
        return available.value
    return None
