"""Keep what native code writes to the terminal.

Some FMUs print by themselves, past FMI's logger. While native code runs, the file
descriptors 1 and 2 of the process point to a file in memory.

Descriptors belong to the whole process: what other threads print meanwhile is captured
too, and with several simulations in threads the text cannot be told apart. Simulators
that run in threads beside a progress display may switch it off
(``fmu.simulator(capture_output=False)``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from fmident._recoverable_lock import RecoverableLock
from fmident.operating_system import flush_c_streams, memory_file, read_at

LIMIT = 64 * 1024
"""About this many bytes of the latest output are kept, per run."""

Result = TypeVar("Result")


class Capture:
    """Text that native code wrote to file descriptors 1 and 2 during :meth:`around`.

    Parameters
    ----------
    enabled
        Whether to capture at all; with ``False`` the text stays empty.
    """

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self.text = ""

    def around(self, work: Callable[[], Result]) -> Result:
        """Call `work` and return its result; :attr:`text` then holds what it wrote.

        The descriptors are restored whatever happens. Ctrl-C can strike at any place, in
        the restoring too, and must not leave the user without a terminal: hence a second
        attempt, and no context manager, whose exit could be interrupted before it begins.
        """
        if not self.enabled:
            return work()
        try:
            _redirection.begin(self)
            return work()
        finally:
            try:
                _redirection.end(self)
            except BaseException:
                _redirection.end(self)
                raise

    def trim(self) -> None:
        """Keep only the latest output of a long run in memory."""
        if self.enabled:
            _redirection.trim(self)


class _Redirection:
    """The process-wide state: one file, saved descriptors, who is capturing.

    Every step can be repeated after an interruption.
    """

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
        """Move what was written to the user's text, if it is at least so many bytes."""
        size = os.lseek(self.sink, 0, os.SEEK_CUR) if self.sink >= 0 else 0
        if size >= least:
            content = read_at(self.sink, LIMIT, max(0, size - LIMIT))
            user.text = (user.text + content.decode("utf-8", "replace"))[-LIMIT:]
            os.ftruncate(self.sink, 0)
            os.lseek(self.sink, 0, os.SEEK_SET)


_redirection = _Redirection()
