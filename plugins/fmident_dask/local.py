"""Dask workers on this machine, when no scheduler is given.

The scheduler runs in this process, each worker in one of its own that ends when this process
ends, however it does. Workers are started by command, not by ``multiprocessing``, which would
run the user's script again in each. Everything listens on the loopback interface only.

How many simulations go into one chunk.

Chunks must be long against the milliseconds that the cluster takes for each, and short
against the rest of the batch, so that no worker is idle at its end. So a chunk takes a part
of what is left (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers
C-36, 1987), but not longer than a fraction of a second, which keeps Ctrl-C and lost workers
cheap.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident.errors import Code, EstimationError
from fmident.evaluation.tasks import SimulationTask
from fmident.fmu.processes.child import ScratchFolder
from fmident.operating_system import own_group
from fmident_dask.connection import import_distributed

START_SECONDS = 60.0
"""Workers that are not up after this time are given up."""

LOSSES, PERIOD = 6, 60.0
"""So many workers lost within so many seconds are too many."""

_CLOSE_SECONDS = 5.0
_LAST_WORDS = 3


SECONDS = 0.2
"""Longest chunk, as expected, unless one simulation takes longer."""

_PER_SLOT = 0.01
"""Seconds per slot that a chunk may take in large clusters: this side must keep up."""

LARGEST_BYTES = 32_000_000
"""Outputs that one chunk may give."""

_NEWEST = 0.5
"""Weight of the latest measurement."""


@dataclass(frozen=True)
class _Worker:
    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def lives(self) -> bool:
        return self.process.poll() is None

    def let_go(self) -> None:
        """Close the worker's standard input, which makes it end."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    @property
    def last_words(self) -> str:
        try:
            text = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        lines = text.strip().splitlines()[-_LAST_WORDS:]
        return ": " + " / ".join(lines) if lines else ""


class LocalCluster:
    """A scheduler in this process and workers with one thread each."""

    def __init__(self, workers: int) -> None:
        self._scratch = ScratchFolder("dask")
        self._folder = self._scratch.path
        self._started = 0
        self._losses: deque[float] = deque(maxlen=LOSSES)
        self._workers: list[_Worker] = []
        self._cluster: Any = import_distributed().LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False, "local_directory": str(self._folder)},
            silence_logs=logging.CRITICAL,
        )
        try:
            # Without the dashboard this server has nothing to tell.
            self._cluster.scheduler.http_server.stop()
            for _ in range(workers):
                self._start_one()
            self._wait(workers)
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        address: str = self._cluster.scheduler_address
        return address

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids of the running workers."""
        return tuple(w.process.pid for w in self._workers if w.lives)

    def revive(self) -> None:
        """Replace lost workers; raises `EstimationError` if too many are lost in a short time."""
        for lost in [w for w in self._workers if not w.lives]:
            now = time.monotonic()
            self._losses.append(now)
            if len(self._losses) == LOSSES and now - self._losses[0] < PERIOD:
                raise EstimationError(
                    f"{LOSSES} Dask workers on this machine were lost within {PERIOD:.0f} s, the"
                    f" last one with exit status {lost.process.returncode}{lost.last_words}",
                    hint="is the memory too small for so many workers? Lower 'workers' in "
                    '[evaluation], or choose executor = "processes"',
                    code=Code.EXECUTOR_LOST,
                )
            lost.let_go()
            self._workers.remove(lost)
            self._start_one()

    def close(self) -> None:
        """Stop the workers and the scheduler; a second call has no effect."""
        for worker in self._workers:
            worker.let_go()
        deadline = time.monotonic() + _CLOSE_SECONDS
        for process in [worker.process for worker in self._workers]:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._workers.clear()
        self._cluster.close(timeout=_CLOSE_SECONDS)
        self._scratch.close()

    def _start_one(self) -> None:
        folder = self._folder / str(self._started)
        folder.mkdir()
        self._started += 1
        command = [sys.executable, "-P", "-m", f"{__package__}.local_worker"]
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, self.address, str(folder)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, **single, "TMPDIR": str(folder)},  # removed with the folder
                **own_group(),  # Ctrl-C is for this process, which ends the workers
            )
        self._workers.append(_Worker(process, folder))

    def _wait(self, count: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while len(self._cluster.scheduler.workers) < count:
            dead = next((w for w in self._workers if not w.lives), None)
            if dead is not None or time.monotonic() > deadline:
                which = dead or self._workers[0]
                status = which.process.returncode
                how = f"is not up after {START_SECONDS:.0f} s"
                raise EstimationError(
                    f"a Dask worker on this machine {how if dead is None else 'did not start'}"
                    f" (status {status}){which.last_words}",
                    hint='choose executor = "processes", which needs no Dask',
                )
            time.sleep(0.02)


class ChunkSizes:
    """Sizes chunks by the measured duration of simulations and the size of their outputs."""

    def __init__(self, output_bytes: Sequence[int]) -> None:
        self._bytes = [max(1, size) for size in output_bytes]
        self._seconds: dict[int, float] = {}

    def observe(self, tasks: Sequence[SimulationTask], seconds: float) -> None:
        """Record the time that tasks took, one after the other."""
        expected = [self._seconds.get(task.experiment, 0.0) for task in tasks]
        total = sum(expected)
        for task, share in zip(tasks, expected, strict=True):
            # Experiments of unlike length share the time as they did before.
            measured = seconds * share / total if total > 0.0 else seconds / len(tasks)
            known = self._seconds.get(task.experiment, measured)
            self._seconds[task.experiment] = known + _NEWEST * (measured - known)

    @staticmethod
    def longest(slots: int) -> float:
        """Return the maximum duration of a chunk, s."""
        return max(SECONDS, _PER_SLOT * slots)

    def take(self, tasks: Sequence[SimulationTask], begin: int, slots: int) -> int:
        """Return the end of the chunk that starts at task `begin`, for `slots` parallel tasks."""
        longest = self.longest(slots)
        most = max(1, -(-(len(tasks) - begin) // (2 * slots)))
        time, size = 0.0, 0
        for end in range(begin, min(begin + most, len(tasks))):
            seconds = self._seconds.get(tasks[end].experiment)
            if seconds is None:
                return max(end, begin + 1)  # how long it takes is found out with one
            time += seconds
            size += self._bytes[tasks[end].experiment] * (1 + len(tasks[end].sensitivities))
            if end > begin and (time > longest or size > LARGEST_BYTES):
                return end
        return min(begin + most, len(tasks))
