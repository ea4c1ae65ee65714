"""Keep what native code writes to the terminal.

Some FMUs print by themselves, past FMI's logger. While native code runs, the file
descriptors 1 and 2 of the process point to a file in memory.

Descriptors belong to the whole process: what other threads print meanwhile is captured
too, and with several simulations in threads the text cannot be told apart. Simulators
that run in threads beside a progress display may switch it off
(``fmu.simulator(capture_output=False)``).
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 64 * 1024
"""At most this many bytes of the latest output are kept, per run."""

_libc = ctypes.CDLL(None)


class Captured:
    """What was written during one capture; complete once the capture has ended."""

    def __init__(self) -> None:
        self.text = ""


class _Redirection:
    """The process-wide state: one file, saved descriptors, how many captures are open."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth = 0
        self.saved: list[tuple[int, int]] = []
        self.sink = -1
        self.owner = -1

    def open_sink(self) -> int:
        # After a fork the file would be shared with the parent: each process has its own.
        if self.sink < 0 or self.owner != os.getpid():
            self.owner = os.getpid()
            try:
                self.sink = os.memfd_create("fmident-output")
            except (AttributeError, OSError):
                with tempfile.TemporaryFile() as file:
                    self.sink = os.dup(file.fileno())
        return self.sink

    def begin(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth > 1:
                return
            sink = self.open_sink()
            _libc.fflush(None)
            for descriptor in (1, 2):
                try:
                    self.saved.append((descriptor, os.dup(descriptor)))
                except OSError:
                    continue  # closed, as in a daemon: nothing to protect
                os.dup2(sink, descriptor)

    def end(self) -> bytes:
        with self.lock:
            _libc.fflush(None)
            self.depth -= 1
            if self.depth == 0:
                for descriptor, copy in self.saved:
                    os.dup2(copy, descriptor)
                    os.close(copy)
                self.saved.clear()
            size = os.lseek(self.sink, 0, os.SEEK_CUR)
            if size == 0:
                return b""
            content = os.pread(self.sink, LIMIT, max(0, size - LIMIT))
            os.ftruncate(self.sink, 0)
            os.lseek(self.sink, 0, os.SEEK_SET)
            return content


_redirection = _Redirection()


@contextmanager
def captured_output(enabled: bool = True) -> Iterator[Captured]:
    """Capture what the block writes to file descriptors 1 and 2.

    Parameters
    ----------
    enabled
        Whether to capture at all; with ``False`` the text stays empty.
    """
    captured = Captured()
    if not enabled:
        yield captured
        return
    _redirection.begin()
    try:
        yield captured
    finally:
        captured.text = _redirection.end().decode("utf-8", "replace")
