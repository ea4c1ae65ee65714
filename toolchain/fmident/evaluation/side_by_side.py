"""Concurrent searches whose simulations become joint batches of one executor.

A search is ordinary code that simulates and continues with the results, such as a
third-party solver, in its own thread. Exactly one thread, of a search or their caller,
runs at any time, so that the order of events is fixed and no locks are needed. A search
keeps its turn until it submits a batch, or ends. When all have submitted, the caller's
thread runs the joint batch. That thread alone simulates, writes the journal, calls
plugins and is interrupted by Ctrl-C.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fmident.evaluation.executors.base import Done, Executor, HandingOn, run_other
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

T = TypeVar("T")

MOST = 32
"""Searches at the same time by default; it does not depend on the workers, since the
order of events would, too."""


class Share(HandingOn):
    """Delegates simulations to an executor that others use as well, which stays open."""

    def at_once(self) -> Executor:
        """Return an executor that does not wait for others, for the catch-up of a resumed run.

        Searches take the same turns only if the batches are those of the original run.
        """
        return self


def whole_of(executor: Executor) -> Executor:
    """Return the executor that this one shares, or itself."""
    while isinstance(executor, Share):
        executor = executor.whole
    return executor


def run_side_by_side(
    searches: Sequence[Callable[[Executor], T]], executor: Executor, most: int = MOST
) -> list[T]:
    """Run searches that simulate, and return their results in order.

    Each is called with an executor that is valid until it returns; `executor` runs all
    simulations in the caller's thread. `most` is the maximum number of concurrent searches.
    After any exception, or ``KeyboardInterrupt``, the next simulation of all searches
    raises :class:`Ended`.
    """
    if len(searches) == 1:
        return [searches[0](Share(executor))]
    return _Together(searches, executor, most).run()


def in_callers_thread(call: Callable[[], T]) -> T:
    """Call a function that is not thread-safe in the thread that started the searches.

    Without searches, this is the present thread. Exceptions are raised here.
    """
    search: _Search[Any] | None = getattr(_current, "search", None)
    if search is None:
        return call()
    result: T = search.ask(_Call(call))
    return result


class Ended(BaseException):
    """Raised in a search to end it; not an error, so it must not be caught."""


# ------------------------------------------------------------------- what they tell each other


@dataclass(frozen=True)
class _Batch:
    """Simulations of the problem's experiments that a search waits for."""

    tasks: Sequence[SimulationTask]
    done: Done | None


@dataclass(frozen=True)
class _Other:
    """Simulations of another experiment that a search waits for."""

    experiment: Experiment
    variables: Sequence[str]
    values: Sequence[Mapping[str, float]]
    sensitivities: Sequence[str] = ()


@dataclass(frozen=True)
class _Call:
    """A function to be called in the caller's thread at once."""

    call: Callable[[], object]


@dataclass(frozen=True)
class _End:
    """Result or exception of a search."""

    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class _Reply:
    """Reply with which a search continues."""

    value: Any = None
    error: Exception | None = None


_Request = _Batch | _Other


class _Current(threading.local):
    """The search that runs in this thread, if any."""

    search: _Search[Any] | None = None


_current = _Current()


class _Share(Share):
    """Executor of a search in its own thread."""

    def __init__(self, whole: Executor, search: _Search[Any]) -> None:
        super().__init__(whole)
        self._search = search

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks in the next joint batch."""
        outcomes: list[Simulated] = self._search.ask(_Batch(tasks, done))
        return outcomes

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment when all searches wait."""
        other = _Other(experiment, variables, values, sensitivities)
        outcomes: list[Simulated] = self._search.ask(other)
        return outcomes

    def at_once(self) -> Executor:
        """Return an executor that does not wait for others."""
        return _AtOnce(whole_of(self))


class _AtOnce(Share):
    """Runs the simulations of a search in the caller's thread while it keeps its turn."""

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks now."""
        return in_callers_thread(lambda: self.whole.run(tasks, done))


class _Search(Generic[T]):
    """A search and its thread; `request` is ``None`` during its turn."""

    def __init__(self, number: int, work: Callable[[Executor], T], executor: Executor) -> None:
        self.number = number
        self.request: _Request | None = None
        self.reply = _Reply()
        self._work = work
        self._executor = _Share(executor, self)
        self._replies: SimpleQueue[_Reply] = SimpleQueue()
        self._messages: SimpleQueue[_Request | _Call | _End] = SimpleQueue()
        self._to_end = False
        self._started = False
        # NumPy's error state and the like are those of the caller. A daemon, so that a search
        # that ignores its end does not keep the process alive.
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=lambda: context.run(self._body), name=f"search {number}", daemon=True
        )

    # in the caller's thread

    def start(self) -> None:
        """Start the thread, which waits for its turn."""
        self._thread.start()
        self._started = True

    def turn(self) -> _Request | _End:
        """Let the search continue until it waits for simulations or ends."""
        self.request = None
        while True:
            reply, self.reply = self.reply, _Reply()
            self._replies.put(reply)
            message = self._messages.get()
            if not isinstance(message, _Call):
                break
            try:
                self.reply = _Reply(in_callers_thread(message.call))
            except Exception as error:
                self.reply = _Reply(error=error)
        if isinstance(message, _End):
            self._thread.join()
        else:
            self.request = message
        return message

    def to_end(self) -> None:
        """Refuse all further requests."""
        self._to_end = True

    def wake(self) -> None:
        """Let the search continue if it waits, after :meth:`to_end`."""
        self._replies.put(_Reply())

    def join(self) -> None:
        """Wait until the search has ended, after :meth:`wake`."""
        # Had Ctrl-C interrupted its start, it might never end; it has nothing to do anyway.
        if self._started:
            self._thread.join()

    # in its own thread

    def ask(self, message: _Request | _Call) -> Any:
        """Submit a request, give up the turn, and return the reply."""
        if self._to_end:
            raise Ended
        self._messages.put(message)
        return self._wait()

    def _wait(self) -> Any:
        reply = self._replies.get()
        if self._to_end:
            raise Ended
        if reply.error is not None:
            raise reply.error
        return reply.value

    def _body(self) -> None:
        _current.search = self
        try:
            self._wait()
            end = _End(self._work(self._executor))
        except BaseException as error:
            end = _End(error=error)
        self._messages.put(end)


# --------------------------------------------------------------------------- the caller's thread


class _Together(Generic[T]):
    """Gives searches their turns and runs the joint batches; see :func:`run_side_by_side`."""

    def __init__(
        self, works: Sequence[Callable[[Executor], T]], executor: Executor, most: int
    ) -> None:
        self._executor = executor
        self._most = most
        self._waiting = deque(enumerate(works))
        self._live: list[_Search[T]] = []
        self._found: dict[int, T] = {}

    def run(self) -> list[T]:
        """Return the results of the searches."""
        try:
            try:
                self._take_turns()
                while self._live:
                    self._simulate()
                    self._take_turns()
            except BaseException:
                self._end_all()
                raise
        except BaseException:  # Ctrl-C again: do not wait for those that take long to end
            self._let_go()
            raise
        return [self._found[number] for number in sorted(self._found)]

    def _take_turns(self) -> None:
        """Let each search continue until it waits; ended ones are replaced by others."""
        place = 0
        while place < len(self._live) or (self._waiting and len(self._live) < self._most):
            if place == len(self._live):
                number, work = self._waiting.popleft()
                self._live.append(_Search(number, work, self._executor))
                self._live[place].start()
            search = self._live[place]
            message = search.turn()
            if not isinstance(message, _End):
                place += 1
                continue
            del self._live[place]
            if message.error is not None:
                raise message.error
            self._found[search.number] = message.value

    def _simulate(self) -> None:
        """Run what the searches wait for: one joint batch, then other experiments."""
        joint = [(s, s.request) for s in self._live if isinstance(s.request, _Batch)]
        if joint:
            batches = _run_joint(self._executor, [batch for _, batch in joint])
            for (search, _), outcomes in zip(joint, batches, strict=True):
                search.reply = _Reply(outcomes)
        for search in self._live:
            other = search.request
            if not isinstance(other, _Other):
                continue
            try:
                outcomes = run_other(
                    self._executor,
                    other.experiment,
                    other.variables,
                    other.values,
                    other.sensitivities,
                )
            except Exception as error:  # such as a variable that the FMU does not have
                search.reply = _Reply(error=error)
            else:
                search.reply = _Reply(outcomes)

    def _end_all(self) -> None:
        """End the searches one after the other, so that still only one runs at a time."""
        for search in self._live:
            search.to_end()
        for search in self._live:
            search.wake()
            search.join()

    def _let_go(self) -> None:
        """Tell all searches to end, without waiting for them."""
        for search in self._live:
            search.to_end()
            search.wake()


def _run_joint(executor: Executor, batches: Sequence[_Batch]) -> list[list[Simulated]]:
    """Run several batches as one, and return the outcomes of each."""
    tasks = [task for batch in batches for task in batch.tasks]
    owners = [(batch, index) for batch in batches for index in range(len(batch.tasks))]

    def report(number: int, outcome: Simulated) -> None:
        batch, index = owners[number]
        if batch.done is not None:
            batch.done(index, outcome)

    listens = any(batch.done is not None for batch in batches)
    outcomes = iter(executor.run(tasks, report if listens else None))
    return [list(islice(outcomes, len(batch.tasks))) for batch in batches]
