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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from fmident.evaluation.executors.base import DelegatingExecutor, Executor
from fmident.evaluation.tasks import Outcomes, Simulated, SimulationTask

T = TypeVar("T")

MOST = 32
"""Searches at the same time by default; it does not depend on the workers, since the
order of events would, too."""


class Share(DelegatingExecutor):
    """Delegates simulations to an executor that others use as well, which stays open."""


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
    result: T = search.ask(call)
    return result


class Ended(BaseException):
    """Raised in a search to end it; not an error, so it must not be caught."""


# ------------------------------------------------------------------- what they tell each other


@dataclass(frozen=True)
class _Request:
    """Simulations that a search waits for."""

    tasks: Sequence[SimulationTask]

    @property
    def joins(self) -> bool:
        return all(task.other is None for task in self.tasks)


@dataclass(frozen=True)
class _Reply:
    """What simulations, a call or a whole search give: a value or an exception."""

    value: Any = None
    error: BaseException | None = None


class _Current(threading.local):
    """The search that runs in this thread, if any."""

    search: _Search[Any] | None = None


_current = _Current()


class _Share(Share):
    """The executor of a search in its own thread."""

    def __init__(self, whole: Executor, search: _Search[Any]) -> None:
        super().__init__(whole)
        self._search = search

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run tasks in the next joint batch, another experiment when all searches wait."""
        outcomes: list[Simulated] = self._search.ask(_Request(tasks))
        return enumerate(outcomes)


class _Search(Generic[T]):
    """A search and its thread; `request` is ``None`` during its turn."""

    def __init__(self, number: int, work: Callable[[Executor], T], executor: Executor) -> None:
        self.number = number
        self.request: _Request | None = None
        self.reply = _Reply()
        self._work = work
        self._executor = _Share(executor, self)
        self._replies: SimpleQueue[_Reply] = SimpleQueue()
        # Simulations, a function to be called in the caller's thread, or the end.
        self._messages: SimpleQueue[_Request | Callable[[], object] | _Reply] = SimpleQueue()
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
        self._thread.start()
        self._started = True

    def turn(self) -> _Request | _Reply:
        """Let the search continue until it waits for simulations or ends."""
        self.request = None
        while True:
            reply, self.reply = self.reply, _Reply()
            self._replies.put(reply)
            message = self._messages.get()
            if isinstance(message, _Request | _Reply):
                break
            try:
                self.reply = _Reply(in_callers_thread(message))
            except Exception as error:
                self.reply = _Reply(error=error)
        if isinstance(message, _Reply):
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

    def ask(self, message: _Request | Callable[[], object]) -> Any:
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
            end = _Reply(self._work(self._executor))
        except BaseException as error:
            end = _Reply(error=error)
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
            if isinstance(message, _Request):
                place += 1
                continue
            del self._live[place]
            if message.error is not None:
                raise message.error
            self._found[search.number] = message.value

    def _simulate(self) -> None:
        """Run what the searches wait for: one joint batch, then other experiments."""
        waiting = [(s, s.request) for s in self._live if s.request is not None]
        joint = [(search, request.tasks) for search, request in waiting if request.joins]
        if joint:
            batch = [task for _, tasks in joint for task in tasks]
            outcomes = iter(self._executor.run_all(batch))
            for search, tasks in joint:
                search.reply = _Reply(list(islice(outcomes, len(tasks))))
        for search, request in waiting:
            if not request.joins:
                try:
                    search.reply = _Reply(self._executor.run_all(request.tasks))
                except Exception as error:  # such as a variable that the FMU does not have
                    search.reply = _Reply(error=error)

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
