"""What runs in the workers of a cluster. Imported there, and by this side to name it.

The simulations of a chunk run in a process with one instance of the FMU, so that neither
a crash nor a leak of native code touches the worker, and so that they can be stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
import uuid
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker
from distributed.utils import sync

from fmident import __version__
from fmident.errors import EstimationError
from fmident.evaluation import Executor, ProcessExecutor
from fmident.evaluation.tasks import OtherExperiment, Simulated, SimulationTask
from fmident.operating_system import end_process
from fmident.problem.model import EstimatorSettings, Problem

PLUGIN = "fmident"

STUDIES = 4
"""Studies whose FMUs and warm executors one worker keeps."""

IDLE = 600.0
"""Warm executors that were not used for so long are closed, s."""

LARGEST_BYTES = 32_000_000
"""Outputs that one chunk may give."""

_SLICE = 0.02
"""The clock, and whether a batch was called off, are looked at about this often, s."""

_ADDING = threading.Lock()


@dataclass(frozen=True, eq=False)
class Study:
    """What a worker needs of a problem; Dask sends it to each once."""

    key: str
    version: str
    fmu: bytes
    problem: Problem

    @classmethod
    def of(cls, problem: Problem) -> Study:
        """Return a study without what simulations do not need, such as a plugin's cost."""
        slim = Problem(
            Path(problem.fmu.name),
            problem.parameters,
            problem.experiments,
            EstimatorSettings("none"),
            replace(problem.evaluation, executor="processes", executor_options=None, workers=1),
            start_values=problem.start_values,
        )
        return cls(uuid.uuid4().hex, __version__, problem.fmu.read_bytes(), slim)


@dataclass(frozen=True)
class Ran:
    """One outcome per task of a chunk, fewer when its time was up, and what happened to them."""

    outcomes: list[Simulated]
    counts: Counter[str]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]


@dataclass(eq=False)
class _Open:
    """The file of an FMU in a folder of its own, and ready executors."""

    problem: Problem
    idle: list[Executor] = field(default_factory=list)
    busy: int = 0
    used: float = 0.0

    def close(self) -> None:
        while self.idle:
            self.idle.pop().close()
        shutil.rmtree(self.problem.fmu.parent, ignore_errors=True)


class Studies(WorkerPlugin):  # type: ignore[misc]
    """The open studies of one Dask worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._running: dict[Executor, str] = {}
        self._called_off: deque[str] = deque(maxlen=64)
        self._sweeper: asyncio.Task[None] | None = None
        self._folder = Path()

    def setup(self, worker: Worker) -> None:
        """Create the private folder; called by Dask."""
        # Dask removes the worker's own folder even after the worker was killed.
        self._folder = Path(worker.local_directory) / PLUGIN
        self._folder.mkdir(mode=0o700)
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())

    def teardown(self, worker: Worker) -> None:
        """Close all executors and remove the folder; called by Dask."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        with self._lock:
            for executor in self._running:
                _interrupt(executor)
        self.close([*self._open])
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(
        self,
        study: Study,
        other: OtherExperiment | None,
        batch: str,
        seconds: float,
        tasks: Sequence[SimulationTask],
    ) -> Ran:
        """Run tasks until the time is up or the batch is called off; see :func:`run_chunk`."""
        outcomes: list[Simulated] = []
        with self._borrowed(study, batch) as executor:
            start = begin = time.perf_counter()  # opening the FMU is not a simulation
            before, size, received = executor.report(), 1, 0
            while (
                len(outcomes) < len(tasks)
                and batch not in self._called_off
                and begin - start <= seconds
                and received <= LARGEST_BYTES
            ):
                part = tasks[len(outcomes) : len(outcomes) + size]
                outcomes += executor.run_all([replace(task, other=other) for task in part])
                received += sum(getattr(one, "nbytes", 0) for one in outcomes[-len(part) :])
                each = (time.perf_counter() - begin) / size
                size, begin = max(1, int(_SLICE / max(each, 1e-6))), time.perf_counter()
            after = executor.report()
        counts = Counter(
            {n: getattr(after, n) - getattr(before, n) for n in ("renewals", "crashes", "timeouts")}
        )
        return Ran(outcomes, counts, after.notes, after.doubts)

    @contextlib.contextmanager
    def _borrowed(self, study: Study, batch: str) -> Iterator[Executor]:
        """Lend a ready executor, one per thread of the worker."""
        with self._lock:
            if study.key not in self._open:
                self._open[study.key] = self._unpacked(study)
            self._open.move_to_end(study.key)
            here = self._open[study.key]
            here.busy += 1
            executor = here.idle.pop() if here.idle else None
        sound = False
        try:
            executor = executor or ProcessExecutor(here.problem)
            with self._lock:
                self._running[executor] = batch
            yield executor
            sound = True
        finally:
            with self._lock:
                here.busy -= 1
                here.used = time.monotonic()
                if executor is not None:
                    self._running.pop(executor, None)
                    if sound and self._open.get(study.key) is here:
                        here.idle.append(executor)
                        executor = None
                surplus = [key for key, one in self._open.items() if one.busy == 0][:-STUDIES]
            if executor is not None:
                executor.close()
            self.close(surplus)

    def _unpacked(self, study: Study) -> _Open:
        file = self._folder / study.key / study.problem.fmu.name
        file.parent.mkdir(mode=0o700)
        file.write_bytes(study.fmu)
        return _Open(replace(study.problem, fmu=file))

    def close(self, keys: Sequence[str]) -> None:
        """Close studies."""
        with self._lock:
            closing = [self._open.pop(key) for key in keys if key in self._open]
        for one in closing:
            one.close()

    def call_off(self, batch: str) -> None:
        """Stop the simulations of a batch and skip the rest."""
        self._called_off.append(batch)
        with self._lock:
            for executor in [e for e, runs in self._running.items() if runs == batch]:
                _interrupt(executor)

    async def _sweep(self) -> None:
        """Close what an estimation that was killed has left behind."""
        while True:
            await asyncio.sleep(IDLE / 10.0)
            late = time.monotonic() - IDLE
            with self._lock:
                old = [k for k, one in self._open.items() if one.busy == 0 and one.used < late]
            self.close(old)


# ------------------------------------------------------ called from the other side


def run_chunk(
    study: Study,
    other: OtherExperiment | None,
    batch: str,
    seconds: float,
    tasks: Sequence[SimulationTask],
) -> Ran:
    """Run tasks one after the other; after `seconds` no further one is started.

    This is the task of the cluster. `other` replaces the problem's experiments; `batch`
    identifies the batch, so that the rest of it can be cancelled.
    """
    worker = get_worker()
    if study.version != __version__:
        raise EstimationError(
            f"worker {worker.address} has fmident {__version__}, this process fmident"
            f" {study.version}",
            hint=f"where it runs: pip install 'fmident[dask]=={study.version}'",
        )
    with _ADDING:
        if PLUGIN not in worker.plugins:
            sync(worker.loop, worker.plugin_add, Studies(), name=PLUGIN, catch_errors=False)
    studies: Studies = worker.plugins[PLUGIN]
    return studies.run(study, other, batch, seconds, tasks)


def keep(data: Study | OtherExperiment) -> Study | OtherExperiment:
    """Return the data, which Dask then moves to the workers that need them, and moves again."""
    return data


def version() -> str:
    """Return the version of fmident of the worker."""
    return __version__


async def call_off(batch: str, dask_worker: Worker) -> None:
    """Cancel the rest of a batch."""
    if PLUGIN in dask_worker.plugins:
        dask_worker.plugins[PLUGIN].call_off(batch)


async def release(study: str, dask_worker: Worker) -> None:
    """Release the resources of a study."""
    if PLUGIN in dask_worker.plugins:
        # Ending processes takes a moment, in which the worker has to answer its scheduler.
        await asyncio.to_thread(dask_worker.plugins[PLUGIN].close, [study])


def _interrupt(executor: Executor) -> None:
    if isinstance(executor, ProcessExecutor):
        for pid in executor.pids:
            end_process(pid)
