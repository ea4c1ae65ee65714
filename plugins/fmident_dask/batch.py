"""Execution of one batch of simulations on the cluster."""

from __future__ import annotations

import contextlib
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fmident.errors import Code, EstimationError
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask
from fmident_dask.local import ChunkSizes
from fmident_dask.shipments import Chunk, Missing, Ran, Refused, WorkerCounts

if TYPE_CHECKING:
    from distributed import Client, Future

    from fmident.evaluation.executors.base import Done

LOOK_SECONDS = 0.5
"""The cluster is looked at when no answer has come for this time, s."""

_AHEAD = 2
"""Chunks per slot on their way, so that a worker has the next one when it is done."""

_OVERTIME = 2.0
"""Times its expected length after which a chunk brings back what it has."""

_ATTEMPTS = 20
"""A chunk that comes back unrun more often than this is an error."""


@dataclass
class _Part:
    """Tasks `begin` to `end` of the batch, `end` excluded."""

    begin: int
    end: int
    attempts: int = 0


@dataclass(frozen=True)
class _Lost:
    """A chunk that was cancelled because a connection was lost."""


class Batch:
    """Runs one batch of tasks on the cluster.

    `template` is the chunk that is copied for each group of tasks, and `slots` returns how
    many simulations run at once, which may change. `supply` sends shipments to a worker;
    `look` checks that the cluster still exists, by raising or waiting, when no worker has
    `answered` for a while; `explain` raises a more helpful error than that of the cluster,
    if there is one.
    """

    def __init__(
        self,
        client: Client,
        template: Chunk,
        tasks: Sequence[SimulationTask],
        sizes: ChunkSizes,
        slots: Callable[[], int],
        supply: Callable[[str, Sequence[str]], None],
        look: Callable[[], None],
        answered: Callable[[], None],
        explain: Callable[[BaseException], None],
        done: Done | None = None,
        name_of: Callable[[SimulationTask], str] = lambda _: "",
    ) -> None:
        self._client = client
        self._template = template
        self._tasks = tasks
        self._sizes = sizes
        self._slots = slots
        self._supply = supply
        self._look = look
        self._answered = answered
        self._explain = explain
        self._done = done
        self._name_of = name_of
        self.counts = WorkerCounts()
        self._next = 0
        self._again: deque[_Part] = deque()
        self._flying: dict[Future, _Part] = {}
        self._answers: queue.SimpleQueue[tuple[Future, object]] = queue.SimpleQueue()
        self._outcomes: list[Simulated | None] = [None] * len(tasks)
        self._left = len(tasks)

    def run(self) -> list[Simulated]:
        """Run all tasks and return the outcomes in their order."""
        from fmident_dask.worker import call_off

        try:
            while self._left:
                self._submit()
                for future, answer in self._arrived():
                    self._take(self._flying.pop(future), answer)
        except BaseException:
            # Ctrl-C as well: the workers must not go on with what nobody waits for.
            # Whatever a client that has lost its scheduler raises here would hide the reason.
            with contextlib.suppress(Exception, CancelledError):
                self._client.cancel(list(self._flying), force=True)
                self._client.run(call_off, self._template.batch, on_error="ignore")
            raise
        return [outcome for outcome in self._outcomes if outcome is not None]

    # ------------------------------------------------------------------- out

    def _submit(self) -> None:
        slots = max(1, self._slots())
        while len(self._flying) < _AHEAD * slots:
            part = self._next_part(slots)
            if part is None:
                return
            self._send(part, _OVERTIME * self._sizes.longest(slots))

    def _next_part(self, slots: int) -> _Part | None:
        if self._again:
            part = self._again.popleft()
            end = min(part.end, self._sizes.take(self._tasks, part.begin, slots))
            if end < part.end:
                self._again.appendleft(_Part(end, part.end, part.attempts))
                part.end = end
            return part
        if self._next == len(self._tasks):
            return None
        part = _Part(self._next, self._sizes.take(self._tasks, self._next, slots))
        self._next = part.end
        return part

    def _send(self, part: _Part, seconds: float) -> None:
        from fmident_dask.worker import run_chunk

        tasks = tuple(self._tasks[part.begin : part.end])
        chunk = replace(self._template, seconds=seconds, tasks=tasks)
        key = f"fmident-{uuid.uuid4().hex}"
        future = self._client.submit(run_chunk, chunk, key=key, pure=False)
        self._flying[future] = part
        future.add_done_callback(self._fetch)

    # -------------------------------------------------------------------- in

    def _fetch(self, future: Future) -> None:
        """Fetch the answer; called by Dask in a separate thread, as it may take a while."""
        try:
            answer: object = future.result()
        except CancelledError:
            answer = _Lost()
        except Exception as error:  # whatever the task raised is raised where it was asked for
            answer = error
        self._answers.put((future, answer))

    def _arrived(self) -> Iterator[tuple[Future, object]]:
        """Wait for answers; check the cluster while there are none."""
        while True:
            try:
                yield self._answers.get(timeout=LOOK_SECONDS)
                break
            except queue.Empty:
                self._look()
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._answers.get_nowait()

    def _take(self, part: _Part, answer: object) -> None:
        match answer:
            case Ran():
                self._answered()
                self._keep(part, answer)
            case Missing():
                self._supply(answer.worker, answer.keys)
                self._retry(part, f"worker {answer.worker} does not keep what it is sent")
            case Refused():
                raise answer.error
            case _Lost():
                self._look()
                time.sleep(0.05)  # the connection is being made again
                self.counts += WorkerCounts(again=1)
                self._retry(part, "the cluster cancels every simulation")
            case BaseException():
                self._failed(part, answer)
            case _:
                raise EstimationError(f"the cluster answered with {type(answer).__name__}")

    def _keep(self, part: _Part, ran: Ran) -> None:
        end = part.begin + len(ran.outcomes)
        if end == part.begin:
            self._retry(part, "the workers leave out simulations")
            return
        self._sizes.observe(self._tasks[part.begin : end], ran.seconds)
        self._outcomes[part.begin : end] = [_writable(o) for o in ran.outcomes]
        self.counts += ran.counts
        self._settle(part.begin, end)
        if end < part.end:
            self._again.append(_Part(end, part.end))

    def _settle(self, begin: int, end: int) -> None:
        self._left -= end - begin
        if self._done is not None:
            for index in range(begin, end):
                outcome = self._outcomes[index]
                assert outcome is not None
                self._done(index, outcome)

    def _retry(self, part: _Part, reason: str) -> None:
        part.attempts += 1
        if part.attempts > _ATTEMPTS:
            raise EstimationError(
                f"{reason}: {part.attempts} attempts to run the same simulations",
                hint="look at the workers' logs; restart the cluster",
                code=Code.EXECUTOR_LOST,
            )
        self._again.append(part)

    def _failed(self, part: _Part, error: BaseException) -> None:
        """Isolate tasks that kill workers; raise any other error."""
        from distributed import KilledWorker

        if not isinstance(error, KilledWorker):
            self._explain(error)
            raise error
        if part.end - part.begin > 1:
            self._again += [_Part(k, k + 1) for k in range(part.begin, part.end)]
            return
        task = self._tasks[part.begin]
        self._outcomes[part.begin] = SimulationFailure(
            "every worker of the cluster that tried this simulation was lost",
            None,
            dict(task.values),
            experiment=self._name_of(task),
            hint="look at the workers' logs: did the system end them for their memory?",
            final=False,
            code=Code.PROCESS_CRASHED,
        )
        self._settle(part.begin, part.end)


def _writable(outcome: Any) -> Simulated:
    """Return outputs outside the read-only memory of a network message."""
    result: Simulated = outcome if isinstance(outcome, SimulationFailure) else outcome.copy()
    return result
