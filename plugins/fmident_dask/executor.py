"""The executor that runs simulations on Dask."""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from fmident.errors import Code, Diagnostic, EstimationError, Location
from fmident.evaluation import (
    Done,
    Executor,
    ExecutorReport,
    Simulated,
    SimulationTask,
    Warn,
    simulation_setup,
    simulation_setups,
)
from fmident.fmu.sensitivities import differentiable
from fmident.operating_system import processors
from fmident_dask.batch import Batch
from fmident_dask.connection import (
    TroubleTimeout,
    ask_workers,
    connect,
    greet_workers,
    import_distributed,
)
from fmident_dask.local import ChunkSizes
from fmident_dask.options import DaskOptions
from fmident_dask.shipments import (
    Chunk,
    Shipment,
    WorkerCounts,
    pack_other,
    pack_problem,
)

if TYPE_CHECKING:
    from distributed import Client

    from fmident.data.experiment import Experiment
    from fmident.problem.model import Problem
    from fmident_dask.local import LocalCluster

PATIENCE = 60.0
"""A cluster without workers, or without its scheduler, is waited for so long, s."""

_REFRESH = 1.0
"""The number of workers is asked for at most this often, s."""

_OTHERS = 8
_FLOAT = 8


def _warn(diagnostic: Diagnostic) -> None:
    warnings.warn(str(diagnostic), stacklevel=4)


class DaskExecutor(Executor):
    """Runs simulations on the workers of a Dask cluster.

    Every worker receives the FMU and the problem once, identified by their SHA-256, and
    keeps the FMU beyond this executor. For a simulation only its parameter values are sent.
    Losing a worker only costs time: its simulations run on another one. Raises
    `EstimationError` if the cluster cannot be used.

    Without a `scheduler`, here and in the problem's options, workers are started on this
    machine. `workers`, the simulations at once, are those of the problem by default, or
    else all threads of the cluster or one local worker per processor. `patience` is the
    time to wait for a cluster without workers or scheduler, s.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        scheduler: str | None = None,
        workers: int | None = None,
        patience: float = PATIENCE,
        warn: Warn | None = None,
    ) -> None:
        setups = simulation_setups(problem)
        sizes = [s.times.size * len(s.output_names) * _FLOAT for s in setups]
        self._problem = problem
        self._sizes = ChunkSizes(sizes)
        self._fmu = Shipment.of(problem.fmu.name, problem.fmu.read_bytes())
        self._study = pack_problem(problem)
        self._shipments = {p.key: p for p in (self._fmu, self._study)}
        self._others: OrderedDict[str, ChunkSizes] = OrderedDict()
        self._trouble = TroubleTimeout(patience, warn or _warn)
        own = problem.evaluation.executor_options
        self._address = scheduler or (own.scheduler if isinstance(own, DaskOptions) else None)
        self._workers = workers or problem.evaluation.workers
        self._place = _place(problem, "executor" if self._address is None else "scheduler")
        self._slots, self._asked = 0, 0.0
        self._counts = WorkerCounts()
        self._closed = False
        import_distributed(self._place)
        self._local: LocalCluster | None = None
        if self._address is None:
            from fmident_dask.local import LocalCluster

            self._local = LocalCluster(self._workers or processors())
        self._client: Client | None = None
        self._quiet: _Quiet | None = None
        try:
            address = self._address if self._local is None else self._local.address
            self._quiet = _Quiet()
            self._client = connect(address or "", self._place, direct=self._local is not None)
            self._begin()
        except BaseException:
            self.close()
            raise

    isolated = True

    @property
    def simultaneous(self) -> int:  # type: ignore[override]
        """Number of simulations that the cluster runs at once."""
        return max(1, self._count_slots())

    @cached_property
    def differentiable(self) -> frozenset[str]:  # type: ignore[override]
        """FMU variables for which tasks may request sensitivities."""
        return differentiable(self._problem.fmu, self._problem.evaluation.interface)

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks; `done` is called after each chunk of them.

        Raises `EstimationError` if the cluster is lost, `FmuError` if a worker cannot use the
        FMU, such as when it has no binary for that machine.
        """

        def name_of(task: SimulationTask) -> str:
            return self._problem.experiments[task.experiment].name

        return self._run(tasks, None, self._sizes, done, name_of=name_of)

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment that need not belong to the problem."""
        simulation_setup(self._problem, experiment, variables)  # refuses what cannot be
        shipment = pack_other(experiment, variables)
        sizes = self._others.pop(shipment.key, None)
        if sizes is None:
            sizes = ChunkSizes([experiment.times.size * len(variables) * _FLOAT])
        self._others[shipment.key] = sizes
        self._shipments[shipment.key] = shipment
        while len(self._others) > _OTHERS:
            old, _ = self._others.popitem(last=False)
            del self._shipments[old]
        tasks = [SimulationTask(0, dict(v), None, tuple(sensitivities)) for v in values]
        return self._run(tasks, shipment.key, sizes, name_of=lambda _: experiment.name)

    def report(self) -> ExecutorReport:
        """Return a report of the executor's activity so far."""
        total = self._counts
        lost = f"simulations were run again since a Dask worker was lost, {total.again} times"
        notes = (*total.notes, *((lost,) if total.again else ()))
        return ExecutorReport(
            "dask", self._slots, total.renewals, total.crashes, total.timeouts, notes, total.doubts
        )

    def close(self) -> None:
        """Release the workers' executors, close the connection and stop local workers."""
        if self._closed:
            return
        self._closed = True
        client = self._client
        if client is not None:
            if client.status == "running" and self._local is None:
                from fmident_dask.worker import release_study

                with contextlib.suppress(OSError, RuntimeError):
                    client.run(release_study, self._fmu.key, self._study.key, on_error="ignore")
            client.close()
        if self._local is not None:
            self._local.close()
        if self._quiet is not None:
            self._quiet.end()

    # ------------------------------------------------------------------ the batch

    def _run(
        self,
        tasks: Sequence[SimulationTask],
        other: str | None,
        sizes: ChunkSizes,
        done: Done | None = None,
        *,
        name_of: Callable[[SimulationTask], str],
    ) -> list[Simulated]:
        if not tasks:
            return []
        if self._closed or self._client is None:
            raise EstimationError("the executor is closed", hint="make a new one")
        template = Chunk(self._fmu.key, self._study.key, other, uuid.uuid4().hex, 0.0, ())
        batch = Batch(
            self._client,
            template,
            tasks,
            sizes,
            self._count_slots,
            self._supply,
            self._look,
            self._trouble.fine,
            self._explain,
            done,
            name_of,
        )
        try:
            return batch.run()
        finally:
            self._counts += batch.counts

    def _begin(self) -> None:
        """Wait for a worker, compare versions and send the missing shipments."""
        assert self._client is not None
        while self._count_slots(fresh=True) == 0:
            self._look()
            time.sleep(0.1)
        self._send(greet_workers(self._client, tuple(self._shipments), self._place))

    def _supply(self, worker: str, keys: Sequence[str]) -> None:
        """Check a worker's version and send it the shipments that it lacks."""
        assert self._client is not None
        self._send(ask_workers(self._client, keys, self._place, (worker,)))

    def _send(self, lacking: Mapping[str, Sequence[str]]) -> None:
        from fmident_dask.worker import receive_shipments

        assert self._client is not None
        groups: dict[tuple[str, ...], list[str]] = {}
        for worker, keys in lacking.items():
            if keys:
                groups.setdefault(tuple(keys), []).append(worker)
        for keys, workers in groups.items():
            shipments = [self._shipments[key] for key in keys]
            with contextlib.suppress(OSError):  # lost on the way: it will not ask again
                self._client.run(receive_shipments, shipments, workers=workers, on_error="ignore")

    # ---------------------------------------------------------------- the cluster

    def _count_slots(self, *, fresh: bool = False) -> int:
        """Return how many simulations run at once; asks the scheduler only now and then."""
        now = time.monotonic()
        if fresh or now - self._asked > _REFRESH:
            threads = self._threads()
            self._slots = min(threads, self._workers) if self._workers else threads
            self._asked = now
        return self._slots

    def _threads(self) -> int:
        assert self._client is not None
        if self._client.scheduler is None:  # what is left when the connection was given up
            return 0
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError, ValueError, AttributeError):  # not connected just now
            return 0

    def _look(self) -> None:
        """Check that the cluster exists; raises `EstimationError` if it is lost for too long."""
        assert self._client is not None
        if self._local is not None:
            self._local.revive()
        if self._client.status == "closed":
            raise EstimationError(
                f"the Dask scheduler{self._at} is gone",
                hint="start the cluster again, then go on with 'fmident estimate --resume'",
                code=Code.EXECUTOR_LOST,
            )
        if self._client.status != "running":
            self._trouble.trouble(
                f"the connection to the Dask scheduler{self._at} is lost",
                "is the scheduler still running?",
            )
        elif self._count_slots(fresh=True) == 0:
            self._trouble.trouble(
                f"the Dask scheduler{self._at} has no workers",
                "new ones are being started"
                if self._local is not None
                else f"start some with 'dask worker {self._address}'",
            )
        else:
            self._trouble.fine()

    def _explain(self, error: BaseException) -> None:
        """Raise a more helpful error if a worker that joined later has other versions."""
        assert self._client is not None
        greet_workers(self._client, (), self._place)

    @property
    def _at(self) -> str:
        return " on this machine" if self._local is not None else f" at '{self._address}'"


class _Quiet:
    """Silences the log of Dask's client, since the executor reports trouble itself."""

    _held = 0
    _before = logging.NOTSET

    def __init__(self) -> None:
        logger = logging.getLogger("distributed.client")
        if not _Quiet._held:
            _Quiet._before = logger.level
            logger.setLevel(logging.CRITICAL)
        _Quiet._held += 1

    def end(self) -> None:
        """Restore the log when no other executor needs it silent."""
        _Quiet._held -= 1
        if not _Quiet._held:
            logging.getLogger("distributed.client").setLevel(_Quiet._before)


def _place(problem: Problem, key: str) -> Location | None:
    """Return where the problem file sets a key of ``[evaluation]``."""
    if problem.source is None:
        return None
    try:
        as_written = problem.source.read_text(encoding="utf-8") == problem.file.text
    except OSError:
        as_written = False
    if not as_written:  # settings of the command line are not in the file
        return problem.where()
    return problem.where("evaluation", key)
