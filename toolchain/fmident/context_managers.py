"""Context managers: a lock that Ctrl-C cannot lose, and what is closed at the end of a block."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Self


class RecoverableLock:
    """Keeps threads from each other, to be used in ``with`` statements that are not nested.

    From Python 3.14 on a signal can be handled between the taking of a lock and the beginning of
    the block that gives it back: a plain lock is then held for ever. Only the main thread handles
    signals. It can take this lock again, and gives all of it back at the end of the block.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(RuntimeError):  # it is not held any more
            while True:
                self._lock.release()


class Closes:
    """A context manager that is its own value and calls ``close`` at the end of the block."""

    def close(self) -> None:
        """Free what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
