"""What runs in the workers of a cluster. Imported there, and by this side to name it.

Who runs the simulations inside a worker of the cluster.

A process of its own with one instance of the FMU, so that neither a crash nor a leak of native
code touches the worker, and so that a simulation can be stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Worker, WorkerPlugin, get_worker

from fmident import __version__
from fmident.errors import FmidentError
from fmident.evaluation import Executor, ProcessExecutor
from fmident.evaluation.tasks import Simulated
from fmident.operating_system import end_process
from fmident_dask.shipments import (
    Answer,
    Chunk,
    Missing,
    OtherExperiment,
    Ran,
    Refused,
    Shipment,
    WorkerCounts,
    unpack,
)

if TYPE_CHECKING:
    from fmident.problem.model import Problem

PLUGIN = "fmident"

STORE_BYTES = 2_000_000_000
"""Shipments that one worker keeps; the one not used for longest goes first."""

STUDIES = 4
"""Pairs of problem and FMU with warm executors that one worker keeps."""

IDLE = 600.0
"""Warm executors that were not used for so long are closed, s."""

_SLICE = 0.02
"""The clock, and whether a batch was called off, are looked at about this often, s."""

_CALLED_OFF = 64


class _GoneError(Exception):
    """A shipment that was dropped for others after it had been checked."""


@dataclass
class _Study:
    """Ready executors of one problem and FMU."""

    idle: list[Executor] = field(default_factory=list)
    busy: int = 0
    used: float = 0.0


class WorkerStore(WorkerPlugin):  # type: ignore[misc]
    """Shipments, at most `limit` bytes of them, and ready executors of one Dask worker."""

    def __init__(self, limit: int = STORE_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._sizes: OrderedDict[str, tuple[Path, int]] = OrderedDict()
        self._studies: OrderedDict[tuple[str, str], _Study] = OrderedDict()
        self._others: OrderedDict[str, OtherExperiment] = OrderedDict()
        self._running: dict[Executor, str] = {}
        self._called_off: OrderedDict[str, None] = OrderedDict()
        self._sweeper: asyncio.Task[None] | None = None
        self.folder = Path()

    def setup(self, worker: Worker) -> None:
        """Create the private folder; called by Dask."""
        # Dask removes the worker's own folder even after the worker was killed.
        self.folder = Path(worker.local_directory) / PLUGIN
        self.folder.mkdir(mode=0o700)
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())

    def teardown(self, worker: Worker) -> None:
        """Close all executors and remove the folder; called by Dask."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        with self._lock:
            idle = [executor for study in self._studies.values() for executor in study.idle]
            self._studies.clear()
            for executor in self._running:
                interrupt(executor)
        _close(idle)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------- shipments

    def missing(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the keys whose shipments are not here."""
        with self._lock:
            for key in keys:
                if key in self._sizes:
                    self._sizes.move_to_end(key)
            return tuple(key for key in keys if key not in self._sizes)

    def receive(self, shipment: Shipment) -> None:
        """Keep a shipment, and drop old ones when the limit is exceeded."""
        if not shipment.is_sound:
            raise FmidentError(f"'{shipment.name}' was damaged on its way to the worker")
        with self._lock:
            if shipment.key in self._sizes:
                return
            path = self.folder / shipment.key / shipment.name
            path.parent.mkdir(mode=0o700)
            path.write_bytes(shipment.content)
            self._sizes[shipment.key] = path, len(shipment.content)
            held = {key for study in self._studies for key in study} | {shipment.key}
            total = sum(size for _, size in self._sizes.values())
            for key in [k for k in self._sizes if k not in held]:
                if total <= self._limit:
                    break
                old, size = self._sizes.pop(key)
                shutil.rmtree(old.parent, ignore_errors=True)
                total -= size

    def _path(self, key: str) -> Path:
        with self._lock:
            if key not in self._sizes:
                raise _GoneError(key)
            return self._sizes[key][0]

    # --------------------------------------------------------------- simulations

    def run(self, chunk: Chunk) -> Ran:
        """Run a chunk, without tasks that exceed its time or were cancelled meanwhile."""
        outcomes: list[Simulated] = []
        with self._borrowed(chunk) as executor:
            start = time.perf_counter()  # opening the FMU is not a simulation
            before = executor.report()
            size = 1
            while len(outcomes) < len(chunk.tasks) and not self._is_called_off(chunk.batch):
                begin = time.perf_counter()
                if begin - start > chunk.seconds:
                    break
                outcomes += self._run_slice(executor, chunk, len(outcomes), size)
                each = (time.perf_counter() - begin) / size
                size = max(1, int(_SLICE / max(each, 1e-6)))
            seconds = time.perf_counter() - start
            counts = WorkerCounts.between(before, executor.report())
        return Ran(outcomes, seconds, counts)

    def _run_slice(
        self, executor: Executor, chunk: Chunk, begin: int, size: int
    ) -> list[Simulated]:
        tasks = chunk.tasks[begin : begin + size]
        if chunk.other is None:
            return executor.run(tasks)
        other = self._other(chunk.other)
        values = [t.values for t in tasks]
        return executor.run_other(
            other.experiment, other.variables, values, chunk.tasks[0].sensitivities
        )

    def _other(self, key: str) -> OtherExperiment:
        with self._lock:
            known = self._others.get(key)
        if known is None:
            known = unpack(self._path(key).read_bytes())
            with self._lock:
                self._others[key] = known
                while len(self._others) > STUDIES:
                    self._others.popitem(last=False)
        return known

    def call_off(self, batch: str) -> None:
        """Stop the simulations of a batch and skip the rest."""
        with self._lock:
            self._called_off[batch] = None
            for executor in [e for e, runs in self._running.items() if runs == batch]:
                interrupt(executor)
            while len(self._called_off) > _CALLED_OFF:
                self._called_off.popitem(last=False)

    def _is_called_off(self, batch: str) -> bool:
        with self._lock:
            return batch in self._called_off

    # ----------------------------------------------------------------- executors

    @contextlib.contextmanager
    def _borrowed(self, chunk: Chunk) -> Iterator[Executor]:
        """Lend a ready executor, one per thread of the worker."""
        key = chunk.fmu, chunk.problem
        with self._lock:
            study = self._studies.setdefault(key, _Study())
            self._studies.move_to_end(key)
            study.busy += 1
            executor = study.idle.pop() if study.idle else None
        sound = False
        try:
            if executor is None:
                problem = unpack(self._path(chunk.problem).read_bytes())
                executor = open_executor(problem, self._path(chunk.fmu))
            with self._lock:
                self._running[executor] = chunk.batch
            yield executor
            sound = True
        finally:
            closing: list[Executor] = []
            with self._lock:
                study.busy -= 1
                study.used = time.monotonic()
                if executor is not None:
                    self._running.pop(executor, None)
                    reusable = sound and self._studies.get(key) is study
                    (study.idle if reusable else closing).append(executor)
                closing += self._surplus()
            _close(closing)

    def _surplus(self) -> list[Executor]:
        """Forget surplus studies; return the executors to close."""
        closing: list[Executor] = []
        for key in list(self._studies):
            if len(self._studies) <= STUDIES:
                break
            if self._studies[key].busy == 0:
                closing += self._studies.pop(key).idle
        return closing

    def release(self, fmu: str, problem: str) -> None:
        """Close the idle executors of a study; keep its FMU."""
        with self._lock:
            study = self._studies.pop((fmu, problem), None)
            idle = [] if study is None else study.idle
        _close(idle)

    async def _sweep(self) -> None:
        """Close what an estimation that was killed has left behind."""
        while True:
            await asyncio.sleep(IDLE / 10.0)
            with self._lock:
                late = time.monotonic() - IDLE
                old = [k for k, s in self._studies.items() if s.busy == 0 and s.used < late]
                idle = [executor for key in old for executor in self._studies.pop(key).idle]
            _close(idle)


def _close(executors: Sequence[Executor]) -> None:
    for executor in executors:
        executor.close()


# ------------------------------------------------------ called from the other side


def run_chunk(chunk: Chunk) -> Answer:
    """Run a chunk, or return why it cannot be run; this is the task of the cluster."""
    worker = get_worker()
    store: WorkerStore | None = worker.plugins.get(PLUGIN)
    missing = chunk.shipments if store is None else store.missing(chunk.shipments)
    if store is None or missing:
        return Missing(worker.address, missing)
    try:
        return store.run(chunk)
    except _GoneError as gone:
        return Missing(worker.address, (str(gone),))
    except FmidentError as error:
        return Refused(worker.address, error)


async def greet(keys: Sequence[str], dask_worker: Any) -> tuple[str, tuple[str, ...]]:
    """Return the version of fmident of the worker and the shipments that it lacks."""
    return __version__, (await _store(dask_worker)).missing(keys)


async def receive_shipments(shipments: Sequence[Shipment], dask_worker: Any) -> None:
    """Keep shipments."""
    store = await _store(dask_worker)
    for shipment in shipments:
        store.receive(shipment)


async def call_off(batch: str, dask_worker: Any) -> None:
    """Cancel the rest of a batch."""
    (await _store(dask_worker)).call_off(batch)


async def release_study(fmu: str, problem: str, dask_worker: Any) -> None:
    """Release the resources of a study."""
    store = await _store(dask_worker)
    # Ending processes takes a moment, in which the worker has to answer its scheduler.
    await asyncio.to_thread(store.release, fmu, problem)


async def _store(worker: Any) -> WorkerStore:
    if PLUGIN not in worker.plugins:
        await worker.plugin_add(WorkerStore(), name=PLUGIN, catch_errors=False)
    store: WorkerStore = worker.plugins[PLUGIN]
    return store


def open_executor(problem: Problem, fmu: Path) -> Executor:
    """Return an executor that runs one simulation at a time."""
    problem = replace(problem, fmu=fmu)
    return ProcessExecutor(problem)


def interrupt(executor: Executor) -> None:
    """Stop the simulation that another thread is running, if possible."""
    if isinstance(executor, ProcessExecutor):
        for pid in executor.pids:
            end_process(pid)
