"""Simulations in worker processes on this machine."""

from __future__ import annotations

import dataclasses
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, FmuError, Location, SimulationError
from fmident.evaluation.executors.base import (
    GROWTH_LIMIT,
    ExecutorReport,
    FmuExecutor,
)
from fmident.evaluation.executors.processes.worker import EXIT_TIMEOUT, Sent, Worker, with_words
from fmident.evaluation.setups import NumberedSetup
from fmident.evaluation.tasks import (
    Outcomes,
    Simulated,
    SimulationFailure,
    SimulationTask,
    refuse_not_finite,
)
from fmident.fmu.fmu import read_description
from fmident.fmu.life_cycle.probe import ResetVerdict
from fmident.fmu.processes.child import End, ScratchFolder
from fmident.fmu.processes.guard import lost as lost_child
from fmident.operating_system import processors, readable

if TYPE_CHECKING:
    from fmident.problem.model import Problem


START_LIMIT = 60.0
"""Seconds that a worker has to start and to load the FMU, besides the time of a simulation."""

STARTS = 3
"""Workers in a row that may die before they are ready."""

_TRIAL_POLL = 0.2
"""Seconds between two looks at how far the trial of the reset is."""

_LIFE_POLL = 1.0
"""Seconds without any answer before checking that the workers are alive."""

_GRACE = 1.0
"""Seconds by which a simulation may exceed its limit before the worker is killed; one that is
between two steps gives up by itself, and the worker lives on."""

_QUICK = 5e-3
"""A worker gets its next task in advance when simulations take less than so many seconds."""

_SLACK = 4 * 1024 * 1024
"""Bytes by which a worker may grow however near its limit is: memory varies as it is."""

_MEMORY_POLL = 0.02
"""Seconds between two looks at the memory of the workers, where it is limited."""


class ProcessExecutor(FmuExecutor):
    """Runs simulations in separate processes, each with one instance of the FMU.

    Workers take one task after the other through shared memory, and are replaced when they
    crash, hang, reach their number of runs or use too much memory. `verdict` says whether
    the FMU can be reset, if known.
    """

    isolated = True

    def __init__(
        self,
        problem: Problem,
        fmu: str | os.PathLike[str] | None = None,
        *,
        verdict: ResetVerdict | None = None,
    ) -> None:
        super().__init__(problem)
        self._path = Path(problem.fmu if fmu is None else fmu).resolve()
        self._description = read_description(self._path)
        self.simultaneous = self._settings.workers or processors()
        self._verdict = verdict
        self._trying = False
        self._workers: list[Worker] = []
        self._leaving: list[Worker] = []
        self._failed_starts = self._started = 0
        self._renewals = self._crashes = self._timeouts = 0
        self._duration = 0.0
        self._folder: ScratchFolder | None = None
        self._batch: Batch | None = None

    # ------------------------------------------------------------- the interface

    def report(self) -> ExecutorReport:
        """Return a report of the executor's activity so far."""
        verdict = self._verdict or ResetVerdict()
        notes = [*verdict.notes]
        if self._crashes:
            times = "once" if self._crashes == 1 else f"{self._crashes} times"
            notes.append(
                f"the FMU's code ended a worker process {times}, in a simulation or in the trial of"
                " its reset; another worker took over"
            )
        return ExecutorReport(
            "processes",
            self.simultaneous,
            self._renewals,
            self._crashes,
            self._timeouts,
            tuple(notes),
            verdict.doubts,
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """Identifiers of the live processes."""
        return tuple(worker.pid for worker in (*self._workers, *self._leaving))

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            if worker.outstanding:
                worker.kill()
            worker.dismiss()
        self._leaving += self._workers
        self._workers = []
        try:
            while self._leaving:
                self._leaving = [w for w in self._leaving if not w.gone()]
                if self._leaving:
                    time.sleep(0.002)
        except BaseException:
            for worker in self._leaving:
                worker.kill()
                worker.close()
            self._leaving = []
            raise
        finally:
            if self._folder is not None:
                self._folder.close()
                self._folder = None

    # ----------------------------------------------------------------- one batch

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks, as many at once as there are workers."""
        batch = self._batch = Batch([(self._table.of(task), task.values) for task in tasks])
        if any(s.index is not None for w in self._workers for s in w.outstanding):
            self._abandon()  # which a second Ctrl-C has prevented
        for worker in [w for w in self._workers if w.ended]:
            self._workers.remove(worker)
            worker.close()
        try:
            while batch.unfinished:
                self._start_worker(batch)
                self._feed(batch)
                self._wait(batch)
                self._look_after(batch)
                while batch.outcomes:
                    yield batch.outcomes.popleft()
        except BaseException:  # also when the rest is called off, be it amid the next batch
            if self._batch is batch:
                self._abandon()
            raise
        for worker in self._workers:
            for sent in worker.outstanding:
                # It still starts, or learns what another has done meanwhile.
                sent.index = None
        if batch.refusal is not None:
            raise batch.refusal

    def _start_worker(self, batch: Batch) -> None:
        able = sum(not w.retiring for w in self._workers)
        wanted = min(self.simultaneous, batch.unfinished)
        for _ in range(wanted - able):
            if self._folder is None:
                self._folder = ScratchFolder()
            self._started += 1
            folder = self._folder.path / str(self._started)
            folder.mkdir()
            settings = self._settings
            worker = Worker(folder, str(self._path), settings.interface, settings.timeout)
            self._workers.append(worker)

    def _feed(self, batch: Batch) -> None:
        """Give tasks to workers that can take more, idle ones first."""
        able = [w for w in self._workers if w.ready and not w.retiring]
        if able and self._verdict is None:
            idle = [w for w in able if not w.outstanding]
            if idle and not self._trying and batch.waiting:
                self._trying = True
                own = [(p.number, p.setup, dict(p.values)) for p in self._table.own]
                # In one message, since who writes a long one to a busy worker waits for its FMU.
                idle[0].send(Sent("try_reset"), own)
            return
        depth = 2 if 0.0 < self._duration < _QUICK else 1
        for held in range(depth):
            for worker in able:
                if not batch.waiting and not batch.for_fresh_worker:
                    return
                if len(worker.outstanding) == held and not self._spent(worker):
                    self._assign(worker, batch)
        if batch.for_fresh_worker and all(w.runs or w.retiring for w in self._workers):
            # Only used workers are left, and these have nothing else to do.
            for worker in able:
                worker.retiring = worker.retiring or not worker.outstanding

    def _assign(self, worker: Worker, batch: Batch) -> None:
        """Give the next task to a worker, or first send it what it needs for that."""
        index = batch.first(fresh=not worker.runs)
        if index is None:
            return
        prepared, values = batch.work[index]
        if prepared.number in worker.known:
            batch.withdraw(index)
            worker.run(index, prepared.number, values)
        elif not worker.outstanding:
            self._send_setup(worker, prepared, index)

    def _send_setup(self, worker: Worker, prepared: NumberedSetup, index: int) -> None:
        """Send a setup, and let the worker drop those that are no longer needed."""
        for number in worker.known - self._table.numbers:
            worker.tell(("forget", number))
            worker.known.discard(number)
        # What has passed the trial; other experiments are checked in the worker, as they come.
        trusted = prepared in self._table.own and self._verdict is not None
        worker.known.add(prepared.number)
        sent = Sent("learn", index, setup=prepared.number)
        worker.send(sent, prepared.number, prepared.setup, dict(prepared.values), trusted)

    def _wait(self, batch: Batch) -> None:
        by_descriptor = {w.replies: w for w in self._workers}
        listeners = {w.output: w for w in self._workers}
        events = readable([*by_descriptor, *listeners], self._poll_timeout())
        for descriptor, filled in events:
            if descriptor in listeners:
                if filled:
                    listeners[descriptor].listen()
                continue
            worker = by_descriptor[descriptor]
            try:
                for sent, reply in worker.answered():
                    self._take(worker, sent, reply, batch)
            except EOFError:
                self._handle_worker_exit(worker, batch)
        if not events:
            # A process that the FMU has started may hold the other end of the pipe of a dead one.
            for worker in [w for w in self._workers if w.ended]:
                self._handle_worker_exit(worker, batch)

    def _take(self, worker: Worker, sent: Sent, reply: Any, batch: Batch) -> None:
        if isinstance(reply, FmuError):
            worker.known.discard(sent.setup)
            if sent.index is not None:
                batch.refuse(sent.index, reply)
            elif self._trying:
                raise reply
            # Else a batch before has asked, and another worker has answered.
        elif sent.command == "open":
            self._mark_ready(worker)
        elif sent.command == "try_reset":
            self._trying, worker.tried = False, True
            worker.known.update(prepared.number for prepared in self._table.own)
            self._verdict = reply
            if reply.reinstantiate:
                for other in self._workers:
                    if other.ready and other is not worker:
                        other.tell(("never_reset",))
        elif sent.command == "run":
            assert sent.index is not None
            took = time.monotonic() - sent.begun
            self._duration = took if not self._duration else 0.8 * self._duration + 0.2 * took
            batch.finish(sent.index, self._outcome(worker, sent.index, reply, batch))
        self._weigh(worker, sent)

    def _mark_ready(self, worker: Worker) -> None:
        limit = self._settings.memory_limit
        if limit is not None and worker.resident >= limit:
            raise EstimationError(
                f"a worker process needs {worker.resident / 1e6:.0f} MB before its first"
                f" simulation, but may have {limit / 1e6:.0f} MB",
                hint="raise [evaluation] memory_limit_mb",
                code=Code.OUT_OF_MEMORY,
            )
        worker.ready = True
        self._failed_starts = 0
        if self._verdict is not None and self._verdict.reinstantiate:
            worker.tell(("never_reset",))

    def _outcome(
        self, worker: Worker, index: int, reply: F64 | SimulationError, batch: Batch
    ) -> Simulated:
        prepared, values = batch.work[index]
        if isinstance(reply, SimulationError):
            self._timeouts += reply.timed_out
            failure = SimulationFailure.of(reply, values, prepared.experiment)
            return with_words(failure, worker.said)
        return refuse_not_finite(
            reply, values, prepared.experiment, len(prepared.setup.output_names)
        )

    def _weigh(self, worker: Worker, sent: Sent) -> None:
        worker.weigh(sent)
        if worker.grown > self._allowance(worker) or self._spent(worker):
            worker.retiring = True

    def _allowance(self, worker: Worker) -> float:
        """Return the permitted memory growth in bytes: at most half of what the limit leaves."""
        limit = self._settings.memory_limit
        if limit is None:
            return GROWTH_LIMIT
        left = limit - (worker.resident - worker.grown)
        return min(GROWTH_LIMIT, max(left / 2, _SLACK))

    def _spent(self, worker: Worker) -> bool:
        if self._verdict is not None and self._verdict.new_process:
            return worker.runs >= 1 or worker.tried
        share = self._settings.renew_after
        return share is not None and worker.runs >= share

    # --------------------------------------------------------- when things go wrong

    def _poll_timeout(self) -> float:
        """Return the time until a worker must be checked, s."""
        now = time.monotonic()
        busy = [w for w in self._workers if w.outstanding]
        ends = [self._deadline(w) - now for w in busy]
        if self._settings.memory_limit is not None and busy:
            ends.append(_MEMORY_POLL)
        if self._trying:
            ends.append(_TRIAL_POLL)
        if self._leaving:
            ends.append(0.1)
        if any(w.retiring and not w.outstanding for w in self._workers):
            ends.append(0.0)
        ends.append(_LIFE_POLL)
        return max(min(ends), 0.0)

    def _deadline(self, worker: Worker) -> float:
        head, limit = worker.outstanding[0], self._settings.timeout
        if head.command == "run":
            return head.begun + limit + _GRACE
        if head.command == "try_reset":
            # Each of its simulations has the time of any other; between two of them the FMU may
            # be instantiated, which is loading.
            if began := worker.trial():
                return began + limit + _GRACE
            runs = 2.0 + 2.0 * len(self._table.own)
            return head.begun + self._start_limit + runs * (limit + _GRACE)
        return head.begun + self._start_limit

    @property
    def _start_limit(self) -> float:
        return max(START_LIMIT, self._settings.timeout)

    def _look_after(self, batch: Batch) -> None:
        """Kill workers that hang or use too much memory; release those that are done."""
        now, limit = time.monotonic(), self._settings.memory_limit
        for worker in self._workers:
            if not worker.outstanding or worker.killed:
                continue
            if now > self._deadline(worker):
                head = worker.outstanding[0].command
                self._timeouts += 1
                allowed = self._settings.timeout if head == "run" else self._start_limit
                worker.kill(End(f"did not answer within {allowed:g} s", "timeout"))
            elif limit is not None and worker.ready and worker.memory() > limit:
                exceeded = f"took more memory than the limit of {limit / 1e6:.0f} MB"
                worker.kill(End(exceeded, "memory"))
        for worker in [w for w in self._workers if w.retiring and not w.outstanding]:
            self._workers.remove(worker)
            self._renewals += 1
            worker.dismiss()
            self._leaving.append(worker)
        self._leaving = [w for w in self._leaving if not w.gone()]

    def _handle_worker_exit(self, worker: Worker, batch: Batch) -> None:
        """Attribute the death of a worker to the simulation that it was running."""
        self._workers.remove(worker)
        worker.close(EXIT_TIMEOUT)
        head = worker.outstanding.popleft() if worker.outstanding else None
        for sent in reversed(worker.outstanding):
            if sent.command == "run" and sent.index is not None:
                batch.put_back(sent.index)
        worker.outstanding.clear()
        if head is None:
            return
        error = lost_child(worker, self._description)
        if head.command == "open":
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise FmuError(
                    f"no worker process can load the FMU: {error.message}",
                    location=Location(str(self._path)),
                    hint=f"tried {STARTS} times; 'fmident simulate' may show more",
                )
            return
        if head.command == "run" and worker.begun() < head.run and head.index not in batch.retried:
            # Killed from outside while it rested: the simulation has nothing to do with it.
            assert head.index is not None
            batch.retried.add(head.index)
            batch.put_back(head.index)
            return
        over_limit = worker.end.cause == "memory"
        if (
            over_limit
            and head.run > 1
            and head.index is not None
            and batch.move_to_fresh_worker(head.index)
        ):
            # What the runs before have left behind may have been too much, not this one.
            self._renewals += 1
            return
        if not worker.killed or over_limit:
            self._crashes += 1
        if head.command == "try_reset" or (head.index is None and self._trying):
            # The crash will come again in a simulation, which can then report it. What was not
            # seen to be clean is not used again.
            self._trying, self._verdict = False, ResetVerdict(reinstantiate=True, new_process=True)
        elif head.index is not None:
            if head.command == "learn" and not batch.withdraw(head.index):
                return  # another worker, which had learned meanwhile, has taken it
            prepared, values = batch.work[head.index]
            if head.command == "run" and worker.trace.step >= 0:
                error.time = float(prepared.setup.times[worker.trace.step])
            failure = SimulationFailure.of(error, values, prepared.experiment)
            failure = dataclasses.replace(failure, final=worker.end.cause == "crash")
            batch.finish(head.index, failure)

    def _abandon(self) -> None:
        """Kill the busy workers, whose replies would be taken for those of the next batch."""
        busy = [w for w in self._workers if w.outstanding]
        for worker in busy:
            worker.kill()
        for worker in busy:
            worker.close()
            self._workers.remove(worker)
        self._trying = False


class Batch:
    """Tasks, and the `outcomes` that are known and not passed on yet.

    Tasks are `waiting` for any worker, or `for_fresh_worker` without previous runs, in
    order; `retried` were requeued because their worker was killed before it began them.
    `refusal` is why a task does not fit the FMU, if one does not.
    """

    def __init__(self, work: Sequence[tuple[NumberedSetup, Mapping[str, float]]]) -> None:
        self.work = work
        self.outcomes: deque[tuple[int, Simulated]] = deque()
        self.waiting = deque(range(len(work)))
        self.for_fresh_worker: deque[int] = deque()
        self.retried: set[int] = set()
        self._moved_to_fresh: set[int] = set()
        self.refusal: FmuError | None = None
        self._finished: set[int] = set()

    @property
    def unfinished(self) -> int:
        """Number of tasks without outcome."""
        return len(self.work) - len(self._finished)

    def finish(self, index: int, outcome: Simulated) -> None:
        """Store an outcome."""
        self._finished.add(index)
        self.outcomes.append((index, outcome))

    def first(self, *, fresh: bool) -> int | None:
        """Return the next task for a worker, `fresh` if it has run none; do not remove it."""
        queue = self.for_fresh_worker if fresh and self.for_fresh_worker else self.waiting
        return queue[0] if queue else None

    def withdraw(self, index: int) -> bool:
        """Remove a waiting task from its queue; return whether it was there."""
        for queue in (self.waiting, self.for_fresh_worker):
            if index in queue:
                queue.remove(index)
                return True
        return False

    def put_back(self, index: int) -> None:
        """Return a task to the front of the queue."""
        (self.for_fresh_worker if index in self._moved_to_fresh else self.waiting).appendleft(index)

    def move_to_fresh_worker(self, index: int) -> bool:
        """Queue a task for a fresh worker; return whether it had none before."""
        if index in self._moved_to_fresh:
            return False
        self._moved_to_fresh.add(index)
        self.for_fresh_worker.append(index)
        return True

    def refuse(self, index: int, error: FmuError) -> None:
        """Record a task that does not fit the FMU: an error of the caller, not a failed run."""
        self.refusal = self.refusal or error
        self._finished.add(index)
        self.withdraw(index)
