"""The executor that runs simulations on Dask, and how it sends a batch.

A batch goes out in chunks, which must be long against the milliseconds that the cluster
takes for each, and short against the rest of the batch, so that no worker is idle at its
end: a chunk takes a part of what is left (guided self-scheduling: Polychronopoulos and
Kuck, IEEE Trans. Computers C-36, 1987). It comes back after a fraction of a second with
what is done by then, which keeps Ctrl-C and lost workers cheap.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from distributed import Client, Future, KilledWorker

from fmident.errors import Code, Diagnostic, EstimationError, FmidentError
from fmident.evaluation import (
    Executor,
    ExecutorReport,
    OtherExperiment,
    Outcomes,
    Simulated,
    SimulationFailure,
    SimulationTask,
    Warn,
    simulation_setup,
)
from fmident.fmu.sensitivities import differentiable
from fmident.operating_system import processors
from fmident.problem.model import Problem
from fmident_dask.connection import TroubleTimeout, check_workers, connect
from fmident_dask.kind import DaskOptions, place_of
from fmident_dask.local import LocalCluster
from fmident_dask.worker import Study, call_off, keep, release, run_chunk

PATIENCE = 60.0
"""A cluster without workers, or without its scheduler, is waited for so long, s."""

LOOK_SECONDS = 0.5
"""The cluster is looked at when no answer has come for this time, s."""

SECONDS = 0.2
"""Longest chunk, unless one simulation takes longer."""

_PER_SLOT = 0.01
"""Seconds per slot that a chunk may take in large clusters: this side must keep up."""

_AHEAD = 2
"""Chunks per slot on their way, so that a worker has the next one when it is done."""

_ATTEMPTS = 20
"""A chunk that comes back unrun more often than this is an error."""

_REFRESH = 1.0
"""The number of workers is asked for at most this often, s."""


def _warn(diagnostic: Diagnostic) -> None:
    warnings.warn(str(diagnostic), stacklevel=4)


class DaskExecutor(Executor):
    """Runs simulations on the workers of a Dask cluster.

    Every worker receives the FMU and the problem once. For a simulation only its parameter
    values are sent. Losing a worker only costs time: its simulations run on another one.
    Raises `EstimationError` if the cluster cannot be used.

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
        own = problem.evaluation.executor_options
        address = scheduler or (own.scheduler if isinstance(own, DaskOptions) else None)
        self._place = place_of(problem, "executor" if address is None else "scheduler")
        self._problem = problem
        self._workers = workers or problem.evaluation.workers
        self._trouble = TroubleTimeout(patience, warn or _warn)
        self._slots, self._asked = 0, 0.0
        self._counts: Counter[str] = Counter()
        self._notes: dict[str, None] = {}
        self._doubts: dict[str, None] = {}
        self._closed = False
        self._client: Client | None = None
        study = Study.of(problem)
        self._key, self._study = study.key, None
        self._local = None if address is not None else LocalCluster(self._workers or processors())
        self._address = address or (self._local.address if self._local is not None else "")
        # Dask's client is silent, since the executor reports trouble itself.
        self._silent: Callable[[logging.LogRecord], bool] = lambda _: False
        logging.getLogger("distributed.client").addFilter(self._silent)
        try:
            self._client = connect(self._address, self._place, direct=self._local is not None)
            while self._count_slots(fresh=True) == 0:
                self.look()
                time.sleep(0.1)
            check_workers(self._client, self._place)
            self._study = self._kept(study)
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

    other_experiments = True

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks, in chunks.

        Raises `EstimationError` if the cluster is lost, `FmuError` if a worker cannot use the
        FMU, such as when it has no binary for that machine.
        """
        begin = 0
        for other, group in groupby(tasks, key=lambda task: task.other):
            # An experiment goes to each worker once, not with each task.
            sent = [replace(task, other=None) for task in group]
            for index, outcome in self._batch(sent, other).run():
                yield begin + index, outcome
            begin += len(sent)

    def _batch(self, tasks: Sequence[SimulationTask], other: OtherExperiment | None) -> Batch:
        if other is None:
            return Batch(self, tasks, [e.name for e in self._problem.experiments])
        experiment = other.experiment
        simulation_setup(self._problem, experiment, other.variables)  # refuses what cannot be
        slim = replace(experiment, measurements=(), notes=())
        return Batch(self, tasks, [experiment.name], self._kept(replace(other, experiment=slim)))

    def report(self) -> ExecutorReport:
        """Return a report of the executor's activity so far."""
        count, notes = self._counts, [*self._notes]
        if again := count["again"]:
            notes.append(f"simulations were run again since a Dask worker was lost, {again} times")
        return ExecutorReport(
            "dask", self._slots, count["renewals"], count["crashes"], count["timeouts"],
            tuple(notes), tuple(self._doubts),
        )  # fmt: skip

    def close(self) -> None:
        """Release the workers' executors, close the connection and stop local workers."""
        if self._closed:
            return
        self._closed = True
        client = self._client
        if client is not None:
            if client.status == "running" and self._local is None:
                with contextlib.suppress(OSError, RuntimeError):
                    client.run(release, self._key, on_error="ignore")
            client.close()
        if self._local is not None:
            self._local.close()
        logging.getLogger("distributed.client").removeFilter(self._silent)

    # ---------------------------------------------------------------- the cluster

    @property
    def client(self) -> Client:
        """The connection; raises `EstimationError` if it is closed."""
        if self._closed or self._client is None:
            raise EstimationError("the executor is closed", hint="make a new one")
        return self._client

    def _kept(self, data: object) -> Future:
        """Return data that Dask sends to each worker once, also to those that come later."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Dask's, of large data: they are needed everywhere
            return self._sent(keep, data)

    def _sent(self, function: Callable[..., object], *arguments: object) -> Future:
        try:
            return self.client.submit(function, *arguments, pure=False)
        except Exception:
            self.look()  # the client may have been closed since the last look
            raise

    def submit(self, tasks: Sequence[SimulationTask], other: Future | None, batch: str) -> Future:
        """Send a chunk of a batch."""
        seconds = max(SECONDS, _PER_SLOT * self._slots)
        return self._sent(run_chunk, self._study, other, batch, seconds, tuple(tasks))

    def call_off(self, futures: Sequence[Future], batch: str) -> None:
        """Cancel a batch, so that the workers stop: its outcomes are not awaited."""
        # Whatever a client that has lost its scheduler raises here would hide the reason.
        with contextlib.suppress(Exception, CancelledError):
            self.client.cancel(list(futures), force=True)
            self.client.run(call_off, batch, on_error="ignore")

    def take(
        self, counts: Counter[str], notes: Sequence[str] = (), doubts: Sequence[str] = ()
    ) -> None:
        """Add the counts and notes of a worker to the report; a worker that answers is well."""
        self._trouble.fine()
        self._counts += counts
        self._notes |= dict.fromkeys(notes)
        self._doubts |= dict.fromkeys(doubts)

    def _count_slots(self, *, fresh: bool = False) -> int:
        """Return how many simulations run at once; asks the scheduler only now and then."""
        now = time.monotonic()
        if fresh or now - self._asked > _REFRESH:
            threads = self._threads()
            self._slots = min(threads, self._workers) if self._workers else threads
            self._asked = now
        return self._slots

    def _threads(self) -> int:
        client = self.client
        if client.scheduler is None:  # what is left when the connection was given up
            return 0
        try:
            return sum(client.nthreads().values())
        except (OSError, RuntimeError, ValueError, AttributeError):  # not connected just now
            return 0

    def look(self) -> None:
        """Check that the cluster exists; raises `EstimationError` if it is lost for too long."""
        local = self._local
        at = f" at '{self._address}'" if local is None else " on this machine"
        if local is not None:
            local.revive()
        status = self.client.status
        if status == "closed":
            raise EstimationError(
                f"the Dask scheduler{at} is gone",
                hint="start the cluster again, then go on with 'fmident estimate --resume'",
                code=Code.EXECUTOR_LOST,
            )
        if status != "running":
            self._trouble.trouble(
                f"the connection to the Dask scheduler{at} is lost",
                "is the scheduler still running?",
            )
        elif self._count_slots(fresh=True) == 0:
            self._trouble.trouble(
                f"the Dask scheduler{at} has no workers",
                f"start some with 'dask worker {self._address}'"
                if local is None
                else "new ones are being started",
            )
        else:
            self._trouble.fine()

    def explain(self) -> None:
        """Raise a more helpful error if a worker that joined later has other versions."""
        check_workers(self.client, self._place)


@dataclass
class _Part:
    """Tasks `begin` to `end` of the batch, `end` excluded."""

    begin: int
    end: int
    attempts: int = 0


class Batch:
    """Runs one batch of tasks on the cluster of an executor.

    `names` are those of the experiments, `other` the :class:`OtherExperiment` that replaces
    them.
    """

    def __init__(
        self,
        executor: DaskExecutor,
        tasks: Sequence[SimulationTask],
        names: Sequence[str],
        other: Future | None = None,
    ) -> None:
        self._executor, self._tasks, self._names = executor, tasks, names
        self._other = other
        self._name = uuid.uuid4().hex
        self._parts = deque([_Part(0, len(tasks))])
        self._flying: dict[Future, _Part] = {}
        self._answers: queue.SimpleQueue[tuple[Future, Any]] = queue.SimpleQueue()
        self._finished = 0
        self._outcomes: deque[tuple[int, Simulated]] = deque()

    def run(self) -> Outcomes:
        """Run all tasks."""
        try:
            while self._finished < len(self._tasks):
                self._submit()
                try:
                    future, answer = self._answers.get(timeout=LOOK_SECONDS)
                except queue.Empty:
                    self._executor.look()
                else:
                    self._take(self._flying.pop(future), answer)
                    self._finished += len(self._outcomes)
                    while self._outcomes:
                        yield self._outcomes.popleft()
        except BaseException:  # Ctrl-C as well
            self._executor.call_off(list(self._flying), self._name)
            raise

    def _submit(self) -> None:
        slots = self._executor.simultaneous
        while self._parts and len(self._flying) < _AHEAD * slots:
            part = self._parts.popleft()
            left = part.end - part.begin + sum(p.end - p.begin for p in self._parts)
            middle = min(part.end, part.begin + -(-left // (2 * slots)))
            if middle < part.end:
                self._parts.appendleft(_Part(middle, part.end, part.attempts))
                part.end = middle
            chunk = self._tasks[part.begin : part.end]
            future = self._executor.submit(chunk, self._other, self._name)
            self._flying[future] = part
            future.add_done_callback(self._fetch)

    def _fetch(self, future: Future) -> None:
        """Fetch the answer; called by Dask in a separate thread, as it may take a while."""
        try:
            answer: Any = future.result()
        except (Exception, CancelledError) as error:
            answer = error  # is raised where it was asked for
        self._answers.put((future, answer))

    def _take(self, part: _Part, answer: Any) -> None:
        if isinstance(answer, CancelledError):  # a connection was lost
            self._executor.look()
            time.sleep(0.05)  # it is being made again
            self._executor.take(Counter(again=1))
            self._retry(part, "the cluster cancels every simulation")
        elif isinstance(answer, KilledWorker):
            self._isolate(part)
        elif isinstance(answer, BaseException):
            if not isinstance(answer, FmidentError):
                self._executor.explain()
            raise answer
        else:
            self._executor.take(answer.counts, answer.notes, answer.doubts)
            self._keep(part, answer.outcomes)

    def _keep(self, part: _Part, outcomes: Sequence[Simulated]) -> None:
        for index, outcome in enumerate(outcomes, part.begin):
            if not isinstance(outcome, SimulationFailure):
                outcome = outcome.copy()  # out of the read-only memory of a network message
            self._outcomes.append((index, outcome))
        middle = part.begin + len(outcomes)
        if not outcomes:
            self._retry(part, "the workers leave out simulations")
        elif middle < part.end:
            self._parts.append(_Part(middle, part.end))

    def _retry(self, part: _Part, reason: str) -> None:
        part.attempts += 1
        if part.attempts > _ATTEMPTS:
            raise EstimationError(
                f"{reason}: {part.attempts} attempts to run the same simulations",
                hint="look at the workers' logs; restart the cluster",
                code=Code.EXECUTOR_LOST,
            )
        self._parts.append(part)

    def _isolate(self, part: _Part) -> None:
        """Send tasks that killed workers one by one, and give up the one that does."""
        if part.end - part.begin > 1:
            self._parts += [_Part(k, k + 1) for k in range(part.begin, part.end)]
            return
        task = self._tasks[part.begin]
        failure = SimulationFailure(
            "every worker of the cluster that tried this simulation was lost",
            None,
            dict(task.values),
            experiment=self._names[task.experiment],
            hint="look at the workers' logs: did the system end them for their memory?",
            final=False,
            code=Code.PROCESS_CRASHED,
        )
        self._keep(part, [failure])
