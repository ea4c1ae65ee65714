"""The FMU's log: C functions that format messages into memory, without Python.

FMI's logger callback takes a ``printf`` format and variable arguments, which Python
cannot receive. Those in ``c/log.c``
format into a ring of records, so a message costs no more than its formatting, needs no
interpreter lock, and can never fill memory or reach the terminal.

Keep what native code writes to the terminal.

Some FMUs print by themselves, past FMI's logger. While native code runs, the file
descriptors 1 and 2 of the process point to a file in memory.

Descriptors belong to the whole process: what other threads print meanwhile is captured
too, and with several simulations in threads the text cannot be told apart. Simulators
that run in threads beside a progress display may switch it off
(``fmu.simulator(capture_output=False)``).
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import re
import struct
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from fmident.context_managers import RecoverableLock
from fmident.errors import FmuError
from fmident.fmu.native_code.loops import loops
from fmident.operating_system import flush_c_streams, memory_file, read_at

STATUS_NAMES = ("ok", "warning", "discard", "error", "fatal", "pending")
RECORDS = 1000
RECORD_BYTES = 2048
_CATEGORY_AT = 8
_MESSAGE_AT = 72
_HEADER_BYTES = 64
BUFFER_BYTES = _HEADER_BYTES + RECORDS * RECORD_BYTES


LIMIT = 64 * 1024
"""About this many bytes of the latest output are kept, per run."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class LogRecord:
    """One message of an FMU, or of the engine about the FMU.

    `status` is ``"ok"``, ``"warning"``, ``"discard"``, ``"error"``, ``"fatal"``,
    ``"output"`` for text that the FMU printed, or ``"note"`` for remarks of the engine.
    """

    status: str
    category: str
    message: str

    def __str__(self) -> str:
        return f"[{self.status}] {self.message}"


class LogBuffer:
    """A ring of the latest messages, with the addresses of C functions that fill it.

    `memory` is a map of :data:`BUFFER_BYTES` bytes, private by default. A shared one can be
    read by another process, even after a crash.
    """

    def __init__(self, memory: mmap.mmap | None = None) -> None:
        self._memory = memory if memory is not None else mmap.mmap(-1, BUFFER_BYTES)
        functions, ring = loops(), _take_ring()
        functions.open_ring(ring, ctypes.addressof(ctypes.c_char.from_buffer(self._memory)))
        weakref.finalize(self, _return_ring, ring).atexit = False
        self.logger_address: int = functions.logger(ring)
        self.plain_logger_address: int = functions.text_logger(ring)

    def clear(self) -> None:
        """Delete all messages."""
        self._memory[:8] = b"\0" * 8

    def records(self, names: Mapping[tuple[str, int], str]) -> list[LogRecord]:
        """Return the messages since :meth:`clear`, oldest first.

        `names` replace value references such as ``#r12#`` in the text.
        """
        return decode(self._memory, names)


def decode(memory: mmap.mmap | bytes, names: Mapping[tuple[str, int], str]) -> list[LogRecord]:
    """Read the records of a ring."""
    (count,) = struct.unpack_from("<q", memory, 0)
    records: list[LogRecord] = []
    if count > RECORDS:
        dropped = count - RECORDS
        records.append(LogRecord("note", "", f"{dropped} earlier messages were dropped"))
    for number in range(max(0, count - RECORDS), count):
        at = _HEADER_BYTES + (number % RECORDS) * RECORD_BYTES
        record = bytes(memory[at : at + RECORD_BYTES])
        (status,) = struct.unpack_from("<i", record, 0)
        category = _text(record[_CATEGORY_AT:_MESSAGE_AT])
        message = _resolve(_text(record[_MESSAGE_AT:]), names).rstrip()
        name = STATUS_NAMES[status] if 0 <= status < len(STATUS_NAMES) else f"status {status}"
        records.append(LogRecord(name, category, message))
    return records


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def _resolve(message: str, names: Mapping[tuple[str, int], str]) -> str:
    """Replace ``#<type><value reference>#`` by the name (FMI 2.0.4, section 2.1.5)."""

    def name(match: re.Match[str]) -> str:
        variable = names.get((match[1].lower(), int(match[2])))
        return match[0] if variable is None else variable

    return re.sub(r"#([ribsRIBS])(\d+)#", name, message).replace("##", "#")


_lock = RecoverableLock()
_rings: list[int] = []
"""Numbers of the C functions that are free."""

_counter = itertools.count()
_free: list[LogBuffer] = []


def _take_ring() -> int:
    """Return the number of C functions that no buffer uses."""
    with _lock:
        ring = _rings.pop() if _rings else next(_counter)
    most = loops().rings()
    if ring >= most:
        raise FmuError(
            f"{most} simulators are open in this process, which are as many as there can be",
            hint="close those that are not needed any more",
        )
    return ring


def _return_ring(ring: int) -> None:
    loops().open_ring(ring, None)
    _rings.append(ring)


def borrow_buffer() -> LogBuffer:
    """Return an empty buffer, to be returned by :func:`return_buffer`."""
    with _lock:
        buffer = _free.pop() if _free else None
    if buffer is None:
        buffer = LogBuffer()
    buffer.clear()
    return buffer


def return_buffer(buffer: LogBuffer) -> None:
    """Keep a buffer that no FMU uses any more for reuse."""
    with _lock:
        _free.append(buffer)


class Capture:
    """Output of native code to file descriptors 1 and 2 during :meth:`around`, if `enabled`."""

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self.text = ""

    def around(self, work: Callable[[], Result]) -> Result:
        """Call `work` and return its result; :attr:`text` then holds its output.

        Even if Ctrl-C occurs while restoring, the user must not lose the terminal: hence a
        second attempt, and no context manager, whose exit could be interrupted before it
        begins.
        """
        try:
            self.begin()
            return work()
        finally:
            try:
                self.end()
            except BaseException:
                self.end()
                raise

    def begin(self) -> None:
        """Begin to keep the output; who calls it must end it as :meth:`around` does."""
        if self.enabled:
            _redirection.begin(self)

    def end(self) -> None:
        """Give the terminal back; repeatable."""
        if self.enabled:
            _redirection.end(self)

    def trim(self) -> None:
        """Keep only the latest output of a long run in memory."""
        if self.enabled:
            _redirection.trim(self)


class _Redirection:
    """Process-wide state; every step can be repeated after an interruption."""

    def __init__(self) -> None:
        self.lock = RecoverableLock()
        self.users: set[int] = set()
        self.saved: list[tuple[int, int]] = []
        self.sink = -1
        self.owner = -1

    def open_sink(self) -> int:
        # After a fork the file would be shared with the parent: each process has its own.
        if self.sink < 0 or self.owner != os.getpid():
            self.sink = memory_file("fmident-output")
            self.owner = os.getpid()
        return self.sink

    def begin(self, user: Capture) -> None:
        with self.lock:
            self.users.add(id(user))
            if self.saved:
                return
            sink = self.open_sink()
            flush_c_streams()
            for descriptor in (1, 2):
                try:
                    self.saved.append((descriptor, os.dup(descriptor)))
                except OSError:
                    continue  # closed, as in a daemon: nothing to protect
                os.dup2(sink, descriptor)

    def end(self, user: Capture) -> None:
        with self.lock:
            flush_c_streams()
            self.users.discard(id(user))
            if not self.users:
                for descriptor, copy in self.saved:
                    os.dup2(copy, descriptor)
                while self.saved:
                    os.close(self.saved.pop()[1])
            self.collect(user, 1)

    def trim(self, user: Capture) -> None:
        with self.lock:
            self.collect(user, 16 * LIMIT)

    def collect(self, user: Capture, least: int) -> None:
        """Move the output to the user's text, if it has at least `least` bytes."""
        size = os.lseek(self.sink, 0, os.SEEK_CUR) if self.sink >= 0 else 0
        if size >= least:
            content = read_at(self.sink, LIMIT, max(0, size - LIMIT))
            user.text = (user.text + content.decode("utf-8", "replace"))[-LIMIT:]
            os.ftruncate(self.sink, 0)
            os.lseek(self.sink, 0, os.SEEK_SET)


_redirection = _Redirection()
