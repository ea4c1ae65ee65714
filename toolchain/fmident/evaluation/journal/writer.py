"""Writing to the journal in the background, so that a run does not wait for the disk."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import TypeAlias

from fmident._recoverable_lock import RecoverableLock
from fmident.evaluation.journal.file import RecordFile
from fmident.evaluation.journal.records import Record

SYNC_SECONDS = 5.0
"""What a failure of the whole machine can cost; a killed process loses nothing by that."""

_PENDING_BYTES = 32_000_000
"""Memory for records that wait for the disk; then the run waits, too."""

_Job: TypeAlias = tuple[RecordFile, Record | None] | threading.Event | None


class Writer:
    """Appends records in a thread, and has a second one synchronise the files now and then.

    The first error ends all writing; reading goes on.

    Parameters
    ----------
    files
        All that are written to.
    failed
        Called once, in the writing thread, when something cannot be written.
    """

    def __init__(self, files: tuple[RecordFile, ...], failed: Callable[[OSError], None]) -> None:
        self._files = files
        self._failed = failed
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        # Each is written by one thread only, so that the run never waits for a lock.
        self._given = self._written = 0
        self._ending = threading.Event()
        self._broken = False
        self._failing = RecoverableLock()
        self._starting = RecoverableLock()
        self._threads: tuple[threading.Thread, ...] = ()

    def put(self, file: RecordFile, record: Record) -> None:
        """Have a record written soon."""
        while self._given - self._written > _PENDING_BYTES and not self._broken:
            time.sleep(0.001)
        self._given += record.size
        self._put((file, record))

    def empty(self, file: RecordFile) -> None:
        """Have a file emptied, after everything that was put before is written."""
        self._put((file, None))

    def flush(self) -> None:
        """Wait until everything that was put is written, or writing has failed."""
        reached = threading.Event()
        self._put(reached)
        reached.wait()

    def close(self, *, synchronise: bool = True) -> None:
        """Write what is left, synchronise, end the threads."""
        if self._ending.is_set():
            return
        self._ending.set()
        self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        if synchronise:
            self._sync()

    def _put(self, job: _Job) -> None:
        """Hand over a job; the threads are started with the first.

        Until then the process has one thread, so that it can be copied (see
        :func:`fmident.operating_system.start_copy`).
        """
        self._jobs.put(job)
        if self._threads:
            return
        with self._starting:
            if self._threads:
                return
            threads = (
                threading.Thread(target=self._write, name="journal", daemon=True),
                threading.Thread(target=self._synchronise, name="journal-sync", daemon=True),
            )
            for thread in threads:
                thread.start()
            self._threads = threads

    def _write(self) -> None:
        while (job := self._jobs.get()) is not None:
            if isinstance(job, threading.Event):
                job.set()
                continue
            file, record = job
            try:
                if self._broken:
                    pass
                elif record is None:
                    file.empty()
                else:
                    file.append(record)
            except OSError as error:
                self._give_up(error)
            finally:
                if record is not None:
                    self._written += record.size

    def _synchronise(self) -> None:
        while not self._ending.wait(SYNC_SECONDS):
            self._sync()

    def _sync(self) -> None:
        for file in self._files:
            try:
                file.sync()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        with self._failing:
            first, self._broken = not self._broken, True
        if first:
            self._failed(error)


def reason(error: OSError) -> str:
    """Return in words what the system says."""
    return os.strerror(error.errno) if error.errno else str(error)
