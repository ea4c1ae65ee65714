"""Dask workers on this machine, when no scheduler is given.

The scheduler runs in this process, each worker in one of its own that ends when this process
ends, however it does. Workers are started by command, not by ``multiprocessing``, which would
run the user's script again in each. Everything listens on the loopback interface only.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed

from fmident.errors import Code, EstimationError
from fmident.fmu.processes.child import ScratchFolder
from fmident.operating_system import own_group

START_SECONDS = 60.0
"""Workers that are not up after this time are given up."""

LOSSES, PERIOD = 6, 60.0
"""Workers lost within a period, and that period, s, from which on the run is given up."""

_CLOSE_SECONDS = 5.0
_LAST_WORDS = 3


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
        self._cluster: Any = distributed.LocalCluster(
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
